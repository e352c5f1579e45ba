// SPDX-License-Identifier: Apache-2.0
/// Doubly linked lists over dense block indices.
#pragma once

#include <cstdint>
#include <vector>

#include "model/block/block.h"

namespace kvplane::control {

using block::BlockIndex;
using block::kNoBlock;

/// Up to 255 lists of blocks; a block is in at most one of them. Every operation is O(1), nothing
/// allocates after construction. 9 B a block.
class BlockLists {
public:
    static constexpr std::uint8_t kNowhere = 255;

    BlockLists(std::size_t blocks, std::size_t lists)
        : m_links(blocks), m_list(blocks, kNowhere), m_ends(lists) {}

    /// The block must be in no list.
    void push_back(std::uint8_t list, BlockIndex block) {
        Ends& ends = m_ends[list];
        m_links[block.value] = {ends.back, kNoBlock};
        (ends.back == kNoBlock ? ends.front : m_links[ends.back.value].next) = block;
        ends.back = block;
        ++ends.size;
        m_list[block.value] = list;
    }
    /// The block must be in a list.
    void erase(BlockIndex block) {
        Ends& ends = m_ends[m_list[block.value]];
        const Links links = m_links[block.value];
        (links.previous == kNoBlock ? ends.front : m_links[links.previous.value].next) = links.next;
        (links.next == kNoBlock ? ends.back : m_links[links.next.value].previous) = links.previous;
        --ends.size;
        m_list[block.value] = kNowhere;
    }

    /// The block that was pushed first, or kNoBlock.
    [[nodiscard]] BlockIndex front(std::uint8_t list) const { return m_ends[list].front; }
    [[nodiscard]] std::uint64_t size(std::uint8_t list) const { return m_ends[list].size; }
    /// The list that a block is in, or kNowhere.
    [[nodiscard]] std::uint8_t list_of(BlockIndex block) const { return m_list[block.value]; }

private:
    struct Links {
        BlockIndex previous = kNoBlock;
        BlockIndex next = kNoBlock;
    };
    struct Ends {
        BlockIndex front = kNoBlock;
        BlockIndex back = kNoBlock;
        std::uint64_t size = 0;
    };
    std::vector<Links> m_links;
    std::vector<std::uint8_t> m_list;
    std::vector<Ends> m_ends;
};

}  // namespace kvplane::control
