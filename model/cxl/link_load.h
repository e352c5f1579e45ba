// SPDX-License-Identifier: Apache-2.0
/// Traffic that loads a LineLink, and what the link then carries: for validation and tests. Host
/// and card on either side answer at once and never limit.
#pragma once

#include <cstdint>

#include "model/common/random.h"
#include "model/cxl/line_link.h"

namespace kvplane::cxl {

enum class LoadKind : std::uint8_t {
    kNone,
    kSaturating,  ///< always more to send
};

/// What loads the link. Parts may be combined.
struct LinkLoad {
    MemMix mix;                             ///< host accesses in this ratio, evenly mixed
    std::uint32_t outstanding = 256;        ///< of those, closed loop
    Rate burst_reads;                       ///< open loop beside it: reads, in bursts
    std::uint32_t burst = 64;               ///< reads of a burst
    LoadKind promotions = LoadKind::kNone;  ///< MWr towards the host
    Bytes promotion{0};                     ///< 0: endless; else a completion after each
    LoadKind demotions = LoadKind::kNone;   ///< MRd, answered by CplD
    std::uint32_t demotion_reads = 256;     ///< read requests in flight
    std::uint32_t probes = 0;               ///< single reads at random times, one at a time
    Time warm_up = Time::from_us(2);
    Time duration = Time::from_us(100);
    WireFaults faults;
};

/// Payload over the measured time, and counts.
struct LinkMeasure {
    Rate reads;
    Rate writes;
    Rate promoted;
    Rate demoted;
    Time worst_probe_wait;  ///< from the data being there to their flit's start
    Time mean_probe_wait;
    std::uint64_t requests = 0;  ///< offered in all
    std::uint64_t answers = 0;
    WireCounters to_card;
    WireCounters to_host;
};

/// Runs `load` over the link of `config`.
[[nodiscard]] LinkMeasure measure_link(const LinkConfig& config, const LinkLoad& load);

}  // namespace kvplane::cxl
