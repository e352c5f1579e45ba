// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "host_driver/control/policies/ranked.h"

namespace kvplane::control {

/// Lowest priority first, then least recently used (TensorRT-LLM's prioritised LRU). A priority
/// that expires falls back to the default of 35. State: the retention, which an intent set and
/// which outlives the block.
class Priority final : public RankedPolicy {
public:
    explicit Priority(std::size_t blocks)
        : RankedPolicy(blocks), m_retention(blocks), m_resident(blocks, false) {}

    void retain(BlockIndex block, const Retention& retention) override;
    [[nodiscard]] BlockIndex victim(const Moment& now) override;

private:
    struct Expiry {
        Time at;
        BlockIndex block;
    };

    std::uint64_t arrive(BlockIndex block, const Moment& now) override;
    std::uint64_t use(const Access& access) override;
    void leave(BlockIndex block) override { m_resident[block.value] = false; }
    void expire(Time now);

    std::vector<Retention> m_retention;
    std::vector<bool> m_resident;
    std::vector<Expiry> m_expiries;  ///< heap, earliest first
};

}  // namespace kvplane::control
