// SPDX-License-Identifier: Apache-2.0
/// Least recent use over blocks of which only some may go. The victim is the first eligible block
/// in order of last use; others keep their place. A heap of the blocks that became eligible, with
/// stamps brought up to date when they come to the top: O(log n) a victim, nothing at a touch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/block/block.h"

namespace kvplane::control {

class LruOrder {
public:
    explicit LruOrder(std::uint32_t blocks) : m_stamp(blocks), m_queued(blocks) {}

    /// `b` is now the most recently used.
    void touch(block::BlockIndex b) { m_stamp[b.value] = ++m_clock; }

    /// To be called whenever `b` becomes eligible.
    void eligible(block::BlockIndex b) {
        if (m_queued[b.value]) return;
        m_queued[b.value] = true;
        push(b);
    }

    /// The least recently used block of which `may_go` holds, which then is no longer queued; or
    /// nothing.
    template <class MayGo>
    [[nodiscard]] std::optional<block::BlockIndex> victim(MayGo may_go) {
        while (!m_heap.empty()) {
            std::pop_heap(m_heap.begin(), m_heap.end(), Later{});
            const Entry top = m_heap.back();
            m_heap.pop_back();
            m_queued[top.block.value] = false;
            if (!may_go(top.block)) continue;
            if (m_stamp[top.block.value] == top.stamp) return top.block;
            eligible(top.block);
        }
        return std::nullopt;
    }

private:
    struct Entry {
        std::uint64_t stamp;
        block::BlockIndex block;
    };
    struct Later {
        bool operator()(const Entry& a, const Entry& b) const { return a.stamp > b.stamp; }
    };

    void push(block::BlockIndex b) {
        m_heap.push_back({m_stamp[b.value], b});
        std::push_heap(m_heap.begin(), m_heap.end(), Later{});
    }

    std::vector<std::uint64_t> m_stamp;
    std::vector<bool> m_queued;
    std::vector<Entry> m_heap;
    std::uint64_t m_clock = 0;
};

}  // namespace kvplane::control
