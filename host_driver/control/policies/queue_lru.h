// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "host_driver/control/policies/ranked.h"

namespace kvplane::control {

/// LRU that is told of the waiting queue: blocks that a waiting request names leave last.
class QueueLru final : public RankedPolicy {
public:
    explicit QueueLru(std::size_t blocks) : RankedPolicy(blocks), m_waiting(blocks, 0) {}

    void set_wanted(BlockIndex block, bool wanted) override {
        m_waiting[block.value] += wanted ? 1U : UINT32_MAX;
        rerank(block, value(block));
    }

private:
    std::uint64_t arrive(BlockIndex block, const Moment& /*now*/) override { return value(block); }
    std::uint64_t use(const Access& access) override { return value(access.block); }
    [[nodiscard]] std::uint64_t value(BlockIndex block) const {
        return m_waiting[block.value] == 0 ? 0 : 1;
    }

    std::vector<std::uint32_t> m_waiting;  ///< requests
};

}  // namespace kvplane::control
