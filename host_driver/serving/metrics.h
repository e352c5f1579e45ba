// SPDX-License-Identifier: Apache-2.0
/// What the requests of a run saw.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/common/histogram.h"

namespace kvplane::serving {

/// From the end of the warm-up on; of requests, those that arrived after it.
struct ServingMetrics {
    std::uint64_t requests = 0;     ///< finished
    std::uint64_t infeasible = 0;   ///< never served: larger than the HBM budget by themselves
    std::uint64_t preemptions = 0;  ///< of all requests
    std::uint64_t output_tokens = 0;
    std::uint64_t steps = 0;
    Histogram ttft;           ///< arrival to first token
    Histogram itl;            ///< between tokens of a request
    Time request_stall;       ///< a request could run, its data was not there
    Time engine_stall;        ///< the engine stood still for late data
    Time busy;                ///< the engine ran steps
    Time compute;             ///< of that, arithmetic that no batching saves
    Time frame_wait;                   ///< admitted requests waited for frames of HBM
    Time first_arrival;       ///< of the whole run
    Time measured_from;                ///< the end of the warm-up, or the first arrival
    Time last_arrival;
    Time finished;  ///< the last token of the run
};

/// One look at the waiting queue.
struct QueueSample {
    Time at;
    std::uint32_t waiting = 0;
};

/// Whether a queue sampled over the arrivals stayed bounded; nothing where there are too few samples
/// to tell. It did not where the arithmetic asked for takes longer than the time from the warm-up's
/// end to the last arrival, or where over the last half of the arrivals the queue's slope is
/// positive (95 %) and slope x half length exceeds half of that half's mean. The slope is that of
/// the means of ten equal windows, since neighbouring samples see the same queue.
[[nodiscard]] std::optional<bool> stable(const ServingMetrics& metrics,
                                         const std::vector<QueueSample>& samples);

}  // namespace kvplane::serving
