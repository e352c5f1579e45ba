// SPDX-License-Identifier: Apache-2.0
/// The names of choices that more than one key has: a run's config takes one of them, a study's
/// axis a list.
#pragma once

#include "explore/form.h"
#include "host_driver/driver/config.h"
#include "model/engine/config.h"
#include "model/index/config.h"

namespace kvplane::explore {

[[nodiscard]] Form<driver::Mechanism> mechanism_form();
[[nodiscard]] Form<driver::QueuePlace> queue_place_form();
[[nodiscard]] Form<engine::Fence> fence_form();
[[nodiscard]] Form<index::Implementation> implementation_form();

}  // namespace kvplane::explore
