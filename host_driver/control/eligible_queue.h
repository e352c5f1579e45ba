// SPDX-License-Identifier: Apache-2.0
/// The eligible blocks of a policy in its order.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "model/block/block.h"

namespace kvplane::control {

using block::BlockIndex;
using block::kNoBlock;

/// A place in a policy's order; the lowest leaves first. `minor` is unique.
struct Rank {
    std::uint64_t major = 0;
    std::uint64_t minor = 0;
    auto operator<=>(const Rank&) const = default;
};

/// A priority queue of blocks that knows where each stands, so that ranks can change and blocks can
/// leave. O(log n) in the number of queued blocks, O(1) for the first. 4 B a block.
class EligibleQueue {
public:
    explicit EligibleQueue(std::size_t blocks) : m_place(blocks, kAbsent) {}

    [[nodiscard]] bool contains(BlockIndex block) const { return m_place[block.value] != kAbsent; }
    /// The block of lowest rank, or kNoBlock.
    [[nodiscard]] BlockIndex first() const { return m_heap.empty() ? kNoBlock : m_heap[0].block; }
    [[nodiscard]] Rank first_rank() const { return m_heap[0].rank; }

    /// The block must be absent.
    void push(BlockIndex block, Rank rank) {
        m_heap.push_back({rank, block});
        up(static_cast<std::uint32_t>(m_heap.size() - 1));
    }
    /// Nothing happens where the block is absent.
    void update(BlockIndex block, Rank rank) {
        const std::uint32_t at = m_place[block.value];
        if (at == kAbsent) return;
        m_heap[at].rank = rank;
        down(up(at));
    }
    /// Nothing happens where the block is absent.
    void erase(BlockIndex block) {
        const std::uint32_t at = m_place[block.value];
        if (at == kAbsent) return;
        m_place[block.value] = kAbsent;
        const Entry last = m_heap.back();
        m_heap.pop_back();
        if (at == m_heap.size()) return;
        m_heap[at] = last;
        down(up(at));
    }

private:
    static constexpr std::uint32_t kAbsent = UINT32_MAX;
    static constexpr std::uint32_t kArity = 4;
    struct Entry {
        Rank rank;
        BlockIndex block;
    };

    void set(std::uint32_t at, const Entry& entry) {
        m_heap[at] = entry;
        m_place[entry.block.value] = at;
    }
    std::uint32_t up(std::uint32_t at) {
        const Entry entry = m_heap[at];
        while (at > 0) {
            const std::uint32_t parent = (at - 1) / kArity;
            if (m_heap[parent].rank <= entry.rank) break;
            set(at, m_heap[parent]);
            at = parent;
        }
        set(at, entry);
        return at;
    }
    void down(std::uint32_t at) {
        const Entry entry = m_heap[at];
        const auto size = static_cast<std::uint32_t>(m_heap.size());
        for (;;) {
            const std::uint32_t first = at * kArity + 1;
            std::uint32_t least = at;
            Rank rank = entry.rank;
            for (std::uint32_t child = first; child < first + kArity && child < size; ++child) {
                if (m_heap[child].rank < rank) {
                    least = child;
                    rank = m_heap[child].rank;
                }
            }
            if (least == at) break;
            set(at, m_heap[least]);
            at = least;
        }
        set(at, entry);
    }

    std::vector<std::uint32_t> m_place;
    std::vector<Entry> m_heap;
};

}  // namespace kvplane::control
