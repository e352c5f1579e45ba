// SPDX-License-Identifier: Apache-2.0
/// What the requests of a run saw.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/histogram.h"

namespace kvplane::serving {

/// Requests that arrived after the warm-up, unless said.
struct ServingMetrics {
    std::uint64_t requests = 0;     ///< finished
    std::uint64_t infeasible = 0;   ///< never served: larger than the HBM budget by themselves
    std::uint64_t preemptions = 0;  ///< all requests
    std::uint64_t output_tokens = 0;
    std::uint64_t steps = 0;  ///< of the whole run
    Histogram ttft;           ///< arrival to first token
    Histogram itl;            ///< between tokens of a request
    Time request_stall;       ///< a request could run, its data was not there
    Time engine_stall;        ///< the engine stood still for late data; whole run
    Time busy;                ///< the engine ran steps; whole run
    Time compute;             ///< of that, arithmetic that no batching saves
    Time first_arrival;       ///< of the whole run
    Time last_arrival;
    Time finished;  ///< the last token of the run
};

/// One look at the waiting queue.
struct QueueSample {
    Time at;
    std::uint32_t waiting = 0;
};

/// Whether a queue sampled over the arrivals stayed bounded. It did not where the arithmetic
/// asked for takes longer than the time from the first to the last arrival, or where over the last
/// half of the arrivals the queue's slope is positive (95 %, lag-1 autocorrelation allowed for) and
/// slope x half length exceeds half of that half's mean.
[[nodiscard]] bool stable(const ServingMetrics& metrics, const std::vector<QueueSample>& samples);

}  // namespace kvplane::serving
