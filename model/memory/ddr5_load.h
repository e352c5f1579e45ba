// SPDX-License-Identifier: Apache-2.0
/// What one subchannel does under a load: bandwidth and latency. For validation, tests, and for the
/// parameters of burst fidelity.
#pragma once

#include <cstdint>

#include "model/common/histogram.h"
#include "model/common/units.h"
#include "model/memory/ddr5_config.h"
#include "model/memory/ddr5_subchannel.h"

namespace kvplane::memory {

enum class DramPattern : std::uint8_t {
    kSequential,  ///< line after line
    kRandom       ///< uniform over the span
};

struct DramLoad {
    DramPattern pattern = DramPattern::kSequential;
    std::uint32_t reads = 1;   ///< so many reads ...
    std::uint32_t writes = 0;  ///< ... and then so many writes; not both zero
    /// Open loop: requests come at random, at this share of the pins, and wait outside while the
    /// queue is full; at most 150 %. Zero: closed loop, the next request always waits.
    Ratio rate{0};
    std::uint64_t requests = 200'000;  ///< after the warm-up; 1 or more
    std::uint64_t warm_up = 5'000;     ///< requests that are not measured
    Bytes span = Bytes::from_gib(4);   ///< of the subchannel that is accessed; cut to its capacity
    std::uint64_t seed = 1;
};

struct DramMeasure {
    Rate reads;                  ///< payload
    Rate writes;                 ///< payload
    Histogram read_latency;      ///< from when a read is generated to its last data
    Ddr5Counters counters;       ///< warm-up included
    std::uint64_t requests = 0;  ///< generated, warm-up included
    std::uint64_t answers = 0;
    Time duration;  ///< of all of it, until the last answer
};

/// Throws InvariantError on a load outside what DramLoad says.
[[nodiscard]] DramMeasure measure_dram(const Ddr5Config& config, const DramLoad& load,
                                       DramObserver* observer = nullptr);

}  // namespace kvplane::memory
