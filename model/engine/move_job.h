// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/engine/allocator.h"
#include "model/engine/intent.h"

namespace kvplane::engine {

/// An intent on its way through the card.
struct MoveJob {
    struct Block {
        block::BlockKey key;
        std::uint32_t slot = 0;
        TierFrame frame{};
        Time lookup{};  ///< in the index
        Time record{};  ///< record read and full-key check
        Time dram{};    ///< first data
    };

    Intent intent;
    std::uint16_t queue = 0;
    Time arrived;               ///< the card saw the doorbell
    Time fetch_started;         ///< of the descriptor
    Time admitted;              ///< checked, and its gather list read
    Time first_start;           ///< the first block's drain began
    std::vector<Block> blocks;  ///< those that move
    std::uint32_t done = 0;     ///< blocks that arrived, or were discarded
    Status status = Status::kOk;
    bool holds = false;  ///< frames of its blocks: read by it, or reserved

    [[nodiscard]] Opcode opcode() const { return static_cast<Opcode>(intent.opcode); }
    [[nodiscard]] bool has_list() const { return (intent.flags & kGatherList) != 0; }
    [[nodiscard]] std::uint16_t window() const {
        return static_cast<std::uint16_t>(intent.target >> 48);
    }
    /// The slot of a single block, or the address of a gather list.
    [[nodiscard]] std::uint64_t low_target() const {
        return intent.target & ((std::uint64_t{1} << 48) - 1);
    }
};

}  // namespace kvplane::engine
