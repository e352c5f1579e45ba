// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_driver/control/policies/segments.h"
#include "host_driver/control/policy.h"

namespace kvplane::control {

/// Segmented LRU: blocks come in on probation, a hit protects them; the protected part is at most
/// four fifths of the capacity, its least recently used go back on probation. Victims are the least
/// recently used on probation, then of the protected. Keeps no state.
class Slru final : public Policy {
public:
    Slru(std::uint64_t capacity, std::size_t blocks)
        : m_protected_limit(capacity * 4 / 5), m_segments(blocks, 2) {}

    void on_insert(BlockIndex block, const Moment& /*now*/) override {
        m_segments.place(block, kProbation);
    }
    void on_access(const Access& access) override {
        m_segments.place(access.block,
                         access.hit ? kProtected : m_segments.segment_of(access.block));
        while (m_segments.size(kProtected) > m_protected_limit) {
            m_segments.place(m_segments.oldest(kProtected), kProbation);
        }
    }
    void on_remove(BlockIndex block) override { m_segments.drop(block); }
    void set_eligible(BlockIndex block, bool eligible) override {
        m_segments.set_eligible(block, eligible);
    }
    [[nodiscard]] BlockIndex victim(const Moment& /*now*/) override {
        const BlockIndex block = m_segments.first(kProbation);
        return block == kNoBlock ? m_segments.first(kProtected) : block;
    }

private:
    static constexpr std::uint8_t kProbation = 0;
    static constexpr std::uint8_t kProtected = 1;

    std::uint64_t m_protected_limit;
    Segments m_segments;
};

}  // namespace kvplane::control
