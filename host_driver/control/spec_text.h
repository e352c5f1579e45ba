// SPDX-License-Identifier: Apache-2.0
/// Policies, states, admissions and store rules as text: a name, then key=value for what differs
/// from the default. Printing is canonical, one text per value: it leaves defaults out, except for
/// the clock and alpha of a policy that has them, which rows must not hide.
///
///     lru                     ema alpha=1% clock=request state=full
///     lfu state=ghosts(4096)  w-tinylfu state=sketch(64KiB)
///     none                    horizon h=120s          counter references=2 sketch=64KiB
///     all                     threshold references=2 counter=full
///     predicted horizon=120s probability=38.5%        intent
///
/// The parsers throw std::invalid_argument with one sentence that names what is available.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "host_driver/control/admission.h"
#include "host_driver/control/policy.h"
#include "host_driver/control/store_rule.h"

namespace kvplane::control {

/// The names of the policies, in the order of the enumeration.
[[nodiscard]] std::span<const std::string_view> replacement_names();
[[nodiscard]] std::string_view name_of(Replacement replacement);

/// reset, ghosts(N), sketch(BYTES), full.
[[nodiscard]] StateSpec parse_state(std::string_view text);
[[nodiscard]] std::string to_string(const StateSpec& state);

[[nodiscard]] PolicySpec parse_policy(std::string_view text);
[[nodiscard]] std::string to_string(const PolicySpec& policy);

[[nodiscard]] AdmissionSpec parse_admission(std::string_view text);
[[nodiscard]] std::string to_string(const AdmissionSpec& admission);

[[nodiscard]] StoreSpec parse_store(std::string_view text);
[[nodiscard]] std::string to_string(const StoreSpec& store);

}  // namespace kvplane::control
