// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "host_driver/control/eligible_queue.h"
#include "host_driver/control/policy.h"

namespace kvplane::control {

/// SIEVE: a FIFO with one hand that moves from old to young and wraps. It takes the first eligible
/// block that no hit has marked, and unmarks the marked ones it passes; blocks that are not
/// eligible it passes without looking. Keeps no state.
class Sieve final : public Policy {
public:
    explicit Sieve(std::size_t blocks)
        : m_queue(blocks), m_place(blocks, 0), m_marked(blocks, false) {}

    void on_insert(BlockIndex block, const Moment& /*now*/) override {
        m_place[block.value] = ++m_places;
        m_marked[block.value] = false;
    }
    void on_access(const Access& access) override {
        if (access.hit) m_marked[access.block.value] = true;
    }
    void on_remove(BlockIndex block) override { m_queue.erase(block); }
    void set_eligible(BlockIndex block, bool eligible) override {
        if (eligible) {
            m_queue.push(block, {m_lap + (m_place[block.value] <= m_hand), m_place[block.value]});
        } else {
            m_queue.erase(block);
        }
    }
    [[nodiscard]] BlockIndex victim(const Moment& /*now*/) override {
        for (;;) {
            const BlockIndex block = m_queue.first();
            if (block == kNoBlock) return kNoBlock;
            m_lap = m_queue.first_rank().major;
            m_hand = m_place[block.value];
            if (!m_marked[block.value]) return block;
            m_marked[block.value] = false;
            m_queue.update(block, {m_lap + 1, m_hand});
        }
    }

private:
    EligibleQueue m_queue;  ///< by the lap in which the hand comes to a block, then by its place
    std::vector<std::uint64_t> m_place;
    std::vector<bool> m_marked;
    std::uint64_t m_places = 0;
    std::uint64_t m_lap = 0;
    std::uint64_t m_hand = 0;  ///< the place it stands at
};

}  // namespace kvplane::control
