// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "host_driver/control/policies/segments.h"
#include "host_driver/control/policy.h"

namespace kvplane::control {

/// S3-FIFO: blocks come into a small FIFO, a tenth of the capacity; from its old end those with two
/// hits or more move on to the main FIFO and the others leave. The main FIFO gives a block one more
/// round for each hit, at most three. A block that left the small FIFO is a ghost, and a ghost that
/// returns goes to the main FIFO at once. State: the ghosts.
class S3Fifo final : public Policy {
public:
    S3Fifo(std::uint64_t capacity, std::size_t blocks, const StateSpec& state);

    void on_insert(BlockIndex block, const Moment& now) override;
    void on_access(const Access& access) override;
    void on_remove(BlockIndex block) override;
    void set_eligible(BlockIndex block, bool eligible) override {
        m_segments.set_eligible(block, eligible);
    }
    [[nodiscard]] BlockIndex victim(const Moment& now) override;
    [[nodiscard]] Bytes state_bytes() const override;

private:
    std::uint64_t m_small_limit;
    StateSpec m_state;
    Segments m_segments;
    BlockLists m_ghosts;
    std::vector<std::uint8_t> m_hits;
    std::uint64_t m_most_ghosts = 0;
};

}  // namespace kvplane::control
