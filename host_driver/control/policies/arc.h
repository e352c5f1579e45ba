// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_driver/control/policies/segments.h"
#include "host_driver/control/policy.h"

namespace kvplane::control {

/// ARC: blocks seen once (T1) and more than once (T2), both in order of use, with ghosts of both
/// (B1, B2). A ghost of B1 that returns raises the target size of T1, one of B2 lowers it. State:
/// the ghosts; ARC as published has as many as there are frames.
///
/// The target moves when the block comes in, so after the replacement that made room for it (the
/// published form moves it before; frames here are made free for a whole read set at once). T1
/// gives up a block while it is larger than its target, T2 else; the other where one has none
/// eligible.
class Arc final : public Policy {
public:
    Arc(std::uint64_t capacity, std::size_t blocks, const StateSpec& state)
        : m_capacity(capacity), m_state(state), m_segments(blocks, 2), m_ghosts(blocks, 2) {}

    void on_insert(BlockIndex block, const Moment& now) override;
    void on_access(const Access& access) override;
    void on_remove(BlockIndex block) override;
    void set_eligible(BlockIndex block, bool eligible) override {
        m_segments.set_eligible(block, eligible);
    }
    [[nodiscard]] BlockIndex victim(const Moment& now) override;
    [[nodiscard]] Bytes state_bytes() const override;

private:
    std::uint64_t m_capacity;
    StateSpec m_state;
    Segments m_segments;
    BlockLists m_ghosts;
    std::uint64_t m_target = 0;  ///< of T1
    std::uint64_t m_most_ghosts = 0;
};

}  // namespace kvplane::control
