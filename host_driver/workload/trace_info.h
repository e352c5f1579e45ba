// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host_driver/workload/request.h"

namespace kvplane::workload {

/// How a whole number is distributed over the requests or sessions of a workload. A percentile is
/// the smallest value that at least that share of them does not exceed (nearest rank).
struct Spread {
    double mean = 0;
    std::uint64_t p10 = 0;
    std::uint64_t p50 = 0;
    std::uint64_t p90 = 0;
    std::uint64_t p99 = 0;
    std::uint64_t max = 0;
};

/// What a workload is made of, before any policy or timing.
struct TraceInfo {
    std::uint64_t requests = 0;
    std::uint64_t block_refs = 0;     ///< blocks of all prompts, partial last ones included
    std::uint64_t unique_blocks = 0;  ///< distinct ones
    std::uint64_t max_read_set = 0;   ///< blocks of the longest prompt
    double infinite_hit_rate = 0;     ///< share of references to a block seen before
    double touched_once = 0;          ///< share of the distinct blocks that have one reference
    double span_s = 0;                ///< from the first arrival to the last
    double requests_per_s = 0;        ///< requests / span; 0 where the span is
    Spread input_tokens;
    Spread output_tokens;
    Spread refs_per_request;
    std::uint64_t sessions = 0;
    std::uint64_t multi_turn_sessions = 0;  ///< those of two requests or more
    double multi_turn_requests = 0;         ///< share of the requests that belong to them
    Spread turns;                           ///< requests of a multi-turn session
    std::uint64_t tenants = 0;
};

/// `workload` has at least one request.
[[nodiscard]] TraceInfo trace_info(const Workload& workload);

}  // namespace kvplane::workload
