// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "host_driver/control/policies/ranked.h"

namespace kvplane::control {

/// Greedy dual size frequency: lowest L + references x cost / size first, where L rises to the
/// number of each block that leaves, so that old counts fade. All blocks are of one size, and cost
/// grows with depth as recomputing does. State: the count.
class Gdsf final : public RankedPolicy {
public:
    /// `cost`: of bringing each block back, in a unit of the caller's choice; empty where it is 1.
    Gdsf(std::size_t blocks, const StateSpec& state, std::span<const std::uint32_t> cost)
        : RankedPolicy(blocks),
          m_cost(cost.begin(), cost.end()),
          m_references(blocks, 0),
          m_history(state, blocks, 1) {}
    [[nodiscard]] Bytes state_bytes() const override { return m_history.bytes(); }

private:
    std::uint64_t arrive(BlockIndex block, const Moment& /*now*/) override {
        m_references[block.value] = static_cast<std::uint32_t>(m_history.load(block));
        return value(block);
    }
    std::uint64_t use(const Access& access) override {
        ++m_references[access.block.value];
        return value(access.block);
    }
    void leave(BlockIndex block) override {
        m_level = std::max(m_level, number(block));
        m_history.save(block, m_references[block.value]);
    }
    [[nodiscard]] std::uint64_t value(BlockIndex block) const {
        const std::uint64_t cost = m_cost.empty() ? 1 : m_cost[block.value];
        return m_level + m_references[block.value] * cost;
    }

    std::vector<std::uint32_t> m_cost;
    std::vector<std::uint32_t> m_references;
    std::uint64_t m_level = 0;
    History m_history;
};

}  // namespace kvplane::control
