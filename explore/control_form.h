// SPDX-License-Identifier: Apache-2.0
/// Forms of the control plane's specs (host_driver/control/spec_text.h).
#pragma once

#include <optional>

#include "explore/form.h"
#include "host_driver/control/admission.h"
#include "host_driver/control/policy.h"
#include "host_driver/control/presets.h"
#include "host_driver/control/store_rule.h"

namespace kvplane::explore {

/// "lru", "lfu state=full", ...
[[nodiscard]] Form<control::PolicySpec> policy_form();
/// "reset", "ghosts(4096)", "sketch(64KiB)", "full".
[[nodiscard]] Form<control::StateSpec> state_form();
/// "none", "horizon h=120s", "counter references=2 sketch=64KiB".
[[nodiscard]] Form<control::AdmissionSpec> admission_form();
/// "all", "threshold references=2 counter=full", ...
[[nodiscard]] Form<control::StoreSpec> store_form();
/// none, or a preset.
[[nodiscard]] Form<std::optional<control::Preset>> preset_form();

}  // namespace kvplane::explore
