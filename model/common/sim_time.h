// SPDX-License-Identifier: Apache-2.0
/// Between kvplane::Time and SystemC's time. The resolution is SystemC's default of 1 ps.
#pragma once

#include <systemc>

#include "model/common/units.h"

namespace kvplane {

/// The simulated time now.
[[nodiscard]] inline Time now() {
    return {static_cast<std::int64_t>(sc_core::sc_time_stamp().value())};
}

/// A span as SystemC sees it. `span` must not be negative.
[[nodiscard]] inline sc_core::sc_time to_sc_time(Time span) {
    return sc_core::sc_time::from_value(static_cast<std::uint64_t>(span.ps));
}

[[nodiscard]] inline Time from_sc_time(const sc_core::sc_time& span) {
    return {static_cast<std::int64_t>(span.value())};
}

}  // namespace kvplane
