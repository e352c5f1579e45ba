// SPDX-License-Identifier: Apache-2.0
/// What a host sees of a card over CXL.mem under a load of single lines: bandwidth and latency. For
/// validation and tests; a simulation of its own.
#pragma once

#include <cstdint>

#include "model/card/config.h"
#include "model/common/histogram.h"
#include "model/common/units.h"

namespace kvplane::explore {

struct HostLoad {
    bool random = true;        ///< uniform over the span, or line after line
    std::uint32_t reads = 1;   ///< so many in a hundredth of all lines ...
    std::uint32_t writes = 0;  ///< ... to so many; drawn one by one
    /// Lines in flight at most. Latency counts from when a line could leave.
    std::uint32_t outstanding = 1;
    /// Open loop: lines come at random (Poisson) at this payload rate, and latency counts from when
    /// they come. Zero: closed loop, `outstanding` are always in flight.
    Rate rate{0};
    std::uint64_t lines = 100'000;  ///< measured
    std::uint64_t warm_up = 2'000;  ///< before that
    Bytes span = Bytes::from_mib(256);
    std::uint64_t seed = 1;
};

struct HostMeasure {
    Rate bandwidth;  ///< payload, both ways
    Histogram read_latency;
    Histogram write_latency;
    std::uint64_t answered = 0;  ///< warm-up included
};

/// Simulates a card alone. Its tier must hold the span. Throws InvariantError where a line is lost
/// or refused.
[[nodiscard]] HostMeasure measure_host(const card::CardConfig& config, const HostLoad& load);

}  // namespace kvplane::explore
