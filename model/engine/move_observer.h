// SPDX-License-Identifier: Apache-2.0
/// Measurements of single moves. An instrument of the model: no card reports this to a host.
#pragma once

#include <cstdint>

#include "model/engine/stage_clock.h"

namespace kvplane::engine {

/// One block that has moved.
struct BlockMove {
    std::uint16_t queue = 0;
    std::uint32_t intent = 0;  ///< Intent::id
    std::uint32_t block = 0;   ///< its place in the run
    Bytes bytes;
    Time arrived;       ///< when the card saw the doorbell
    StageTimes stages;  ///< from `arrived` until its completion entry would be in host memory
};

class MoveObserver {
public:
    virtual ~MoveObserver() = default;
    virtual void block_promoted(const BlockMove& move) = 0;
    virtual void block_demoted(const BlockMove& move) = 0;
};

}  // namespace kvplane::engine
