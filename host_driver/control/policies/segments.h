// SPDX-License-Identifier: Apache-2.0
/// What policies share that keep blocks in several lists.
#pragma once

#include <vector>

#include "host_driver/control/block_lists.h"
#include "host_driver/control/eligible_queue.h"

namespace kvplane::control {

/// Lists of resident blocks, oldest first, each with a queue of its eligible blocks.
class Segments {
public:
    Segments(std::size_t blocks, std::uint8_t segments)
        : m_lists(blocks, segments),
          m_queues(segments, EligibleQueue(blocks)),
          m_stamp(blocks, 0),
          m_eligible(blocks, false) {}

    /// Puts a block, new or from any segment, at the young end of a segment.
    void place(BlockIndex block, std::uint8_t segment) {
        remove(block);
        m_lists.push_back(segment, block);
        m_stamp[block.value] = ++m_stamps;
        if (m_eligible[block.value]) m_queues[segment].push(block, {0, m_stamps});
    }
    /// Nothing happens where the block is in no segment. Eligibility stays.
    void remove(BlockIndex block) {
        const std::uint8_t segment = segment_of(block);
        if (segment == BlockLists::kNowhere) return;
        m_queues[segment].erase(block);
        m_lists.erase(block);
    }
    /// The block must be in a segment.
    void set_eligible(BlockIndex block, bool eligible) {
        m_eligible[block.value] = eligible;
        EligibleQueue& queue = m_queues[segment_of(block)];
        if (eligible) {
            queue.push(block, {0, m_stamp[block.value]});
        } else {
            queue.erase(block);
        }
    }
    /// The block has left HBM.
    void drop(BlockIndex block) {
        remove(block);
        m_eligible[block.value] = false;
    }

    [[nodiscard]] std::uint64_t size(std::uint8_t segment) const { return m_lists.size(segment); }
    [[nodiscard]] std::uint8_t segment_of(BlockIndex block) const { return m_lists.list_of(block); }
    /// The oldest block of a segment, eligible or not; the oldest that is eligible. Or kNoBlock.
    [[nodiscard]] BlockIndex oldest(std::uint8_t segment) const { return m_lists.front(segment); }
    [[nodiscard]] BlockIndex first(std::uint8_t segment) const { return m_queues[segment].first(); }

private:
    BlockLists m_lists;
    std::vector<EligibleQueue> m_queues;
    std::vector<std::uint64_t> m_stamp;
    std::vector<bool> m_eligible;
    std::uint64_t m_stamps = 0;
};

}  // namespace kvplane::control
