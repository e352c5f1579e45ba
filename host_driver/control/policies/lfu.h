// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_driver/control/policies/ranked.h"

namespace kvplane::control {

/// Fewest references first. State: the count. With reset it counts from 1 at each return (in-cache
/// LFU, LMCache), with full it never forgets (perfect LFU).
class Lfu final : public RankedPolicy {
public:
    Lfu(std::size_t blocks, const StateSpec& state)
        : RankedPolicy(blocks), m_history(state, blocks, 1) {}
    [[nodiscard]] Bytes state_bytes() const override { return m_history.bytes(); }

private:
    std::uint64_t arrive(BlockIndex block, const Moment& /*now*/) override {
        return m_history.load(block);
    }
    std::uint64_t use(const Access& access) override { return number(access.block) + 1; }
    void leave(BlockIndex block) override { m_history.save(block, number(block)); }

    History m_history;
};

}  // namespace kvplane::control
