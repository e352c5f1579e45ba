// SPDX-License-Identifier: Apache-2.0
/// Where a block's latency went. Stages are disjoint and sum to the latency exactly; where pipeline
/// stages overlap, time belongs to the stage in which the last byte waited.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/common/units.h"

namespace kvplane::engine {

enum class Stage : std::uint8_t {
    kFrameWait,   ///< for a frame of HBM
    kSubmit,      ///< CPU and flight of the doorbell
    kFetch,       ///< descriptor, checks and gather list
    kQueueOwn,    ///< behind blocks of its own run
    kQueueOther,  ///< behind other jobs, and the scheduler's decision
    kLookup,      ///< index, its queue included
    kRecord,      ///< hot record and full-key check
    kDram,        ///< first data
    kDecode,      ///< fill of the decoder
    kLink,        ///< serialisation and flight
    kFence,
    kComplete,  ///< commit, completion entry, poll
};
inline constexpr std::size_t kStages = 12;

/// Names as in results.
inline constexpr std::array<std::string_view, kStages> kStageNames{
    "frame_wait", "submit", "fetch",  "queue_own", "queue_other", "lookup",
    "record",     "dram",   "decode", "link",      "fence",       "complete"};

struct StageTimes {
    std::array<Time, kStages> spans{};

    Time& operator[](Stage stage) { return spans[static_cast<std::size_t>(stage)]; }
    const Time& operator[](Stage stage) const { return spans[static_cast<std::size_t>(stage)]; }
    [[nodiscard]] Time total() const {
        Time sum;
        for (const Time span : spans) sum += span;
        return sum;
    }
};

}  // namespace kvplane::engine
