// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "host_driver/control/policies/ranked.h"

namespace kvplane::control {

/// The second last reference decides: longest ago first, never before all. State: the time of the
/// last reference, on the declared clock.
class Lru2 final : public RankedPolicy {
public:
    Lru2(std::size_t blocks, const StateSpec& state, Clock clock)
        : RankedPolicy(blocks), m_clock(clock), m_last(blocks, 0), m_history(state, blocks, 8) {}
    [[nodiscard]] Bytes state_bytes() const override { return m_history.bytes(); }

private:
    std::uint64_t arrive(BlockIndex block, const Moment& /*now*/) override {
        m_last[block.value] = m_history.load(block);
        return 0;
    }
    std::uint64_t use(const Access& access) override {
        const std::uint64_t previous = m_last[access.block.value];
        m_last[access.block.value] = tick(m_clock, access.now);
        return previous;
    }
    void leave(BlockIndex block) override { m_history.save(block, m_last[block.value]); }

    Clock m_clock;
    std::vector<std::uint64_t> m_last;  ///< 0: no reference
    History m_history;
};

}  // namespace kvplane::control
