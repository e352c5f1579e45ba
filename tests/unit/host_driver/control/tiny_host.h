// SPDX-License-Identifier: Apache-2.0
/// A few frames, a small forest of blocks and overlapping requests, to drive policies with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "host_driver/control/policy.h"
#include "host_driver/workload/request.h"

namespace kvplane::control {

/// Runs random requests over one policy and asks a second one, its twin, the same questions. Pins,
/// children and eligibility are counted anew from scratch at every step.
class TinyHost {
public:
    static constexpr std::uint32_t kBlocks = 60;

    TinyHost(std::uint64_t seed, std::uint64_t capacity, Policy& policy, Policy& twin)
        : m_random(seed),
          m_capacity(capacity),
          m_policies{&policy, &twin},
          m_parent(kBlocks, kNoBlock),
          m_resident(kBlocks, false),
          m_pins(kBlocks, 0),
          m_eligible(kBlocks, false) {
        for (std::uint32_t b = 8; b < kBlocks; ++b) {
            m_parent[b] = {static_cast<std::uint32_t>(below(b))};
        }
    }

    /// The forest that a host of that seed has.
    static std::vector<workload::BlockEntry> forest(std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::vector<workload::BlockEntry> blocks(kBlocks);
        for (std::uint32_t b = 8; b < kBlocks; ++b) {
            blocks[b].parent = {static_cast<std::uint32_t>(random() % b)};
        }
        return blocks;
    }

    void run(int steps) {
        draw_chains(steps);
        for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
            m_now.request = static_cast<std::uint64_t>(i);
            m_now.wall = Time::from_ms(static_cast<std::int64_t>(i * 7));
            say_intents();
            if (m_active.size() == 2 || below(2) == 0) finish_one();
            admit(i);
        }
    }
    [[nodiscard]] int evictions() const { return m_evictions; }

private:
    using Chain = std::vector<BlockIndex>;

    std::uint64_t below(std::uint64_t n) { return m_random() % n; }

    void draw_chains(int steps) {
        std::uint32_t tip = 0;
        for (int i = 0; i < steps; ++i) {
            // Skewed, and often near the last one.
            const std::uint64_t spread = 1 + below(kBlocks);
            tip = static_cast<std::uint32_t>(below(3) == 0 ? (tip + below(3)) % kBlocks
                                                           : below(spread));
            Chain chain;
            for (BlockIndex b{tip}; b != kNoBlock; b = m_parent[b.value]) chain.push_back(b);
            std::reverse(chain.begin(), chain.end());
            m_chains.push_back(chain);
        }
    }

    void say_intents() {
        const BlockIndex block{static_cast<std::uint32_t>(below(kBlocks))};
        const Retention retention{static_cast<std::uint8_t>(below(101)),
                                  below(2) == 0 ? Time::never() : m_now.wall + Time::from_ms(100)};
        const BlockIndex wanted{static_cast<std::uint32_t>(below(kBlocks))};
        if (below(3) == 0) {
            for (Policy* policy : m_policies) policy->retain(block, retention);
        }
        for (Policy* policy : m_policies) policy->set_wanted(wanted, true);
        m_wanted.push_back(wanted);
        if (m_wanted.size() > 10) {
            for (Policy* policy : m_policies) policy->set_wanted(m_wanted.front(), false);
            m_wanted.erase(m_wanted.begin());
        }
    }

    void finish_one() {
        if (m_active.empty()) return;
        const auto at = static_cast<std::ptrdiff_t>(below(m_active.size()));
        for (const BlockIndex b : m_active[static_cast<std::size_t>(at)]) --m_pins[b.value];
        m_active.erase(m_active.begin() + at);
        tell_eligibility();
    }

    void admit(int number) {
        const Chain& chain = m_chains[static_cast<std::size_t>(number)];
        for (const BlockIndex b : chain) ++m_pins[b.value];
        tell_eligibility();
        std::uint64_t missing = 0;
        for (const BlockIndex b : chain) missing += !m_resident[b.value];
        while (resident() + missing > m_capacity) {
            if (!evict()) {  // the running requests hold too much
                for (const BlockIndex b : chain) --m_pins[b.value];
                return tell_eligibility();
            }
            if (testing::Test::HasFatalFailure()) return;
        }
        std::vector<bool> hit;
        for (const BlockIndex b : chain) {
            hit.push_back(m_resident[b.value]);
            if (m_resident[b.value]) continue;
            m_resident[b.value] = true;
            for (Policy* policy : m_policies) policy->on_insert(b, m_now);
        }
        for (std::size_t i = chain.size(); i-- > 0; ++m_now.access) {
            const Access access{chain[i], hit[i], m_now, next_read(number, chain[i])};
            for (Policy* policy : m_policies) policy->on_access(access);
        }
        m_active.push_back(chain);
    }

    [[nodiscard]] std::uint32_t next_read(int number, BlockIndex block) const {
        for (auto i = static_cast<std::size_t>(number) + 1; i < m_chains.size(); ++i) {
            const Chain& chain = m_chains[i];
            if (std::find(chain.begin(), chain.end(), block) != chain.end()) {
                return static_cast<std::uint32_t>(i);
            }
        }
        return kNeverRead;
    }

    [[nodiscard]] std::uint64_t resident() const {
        return static_cast<std::uint64_t>(std::count(m_resident.begin(), m_resident.end(), true));
    }

    bool evict() {
        const BlockIndex victim = m_policies[0]->victim(m_now);
        const BlockIndex expected = m_policies[1]->victim(m_now);
        EXPECT_EQ(victim.value, expected.value) << "eviction " << m_evictions;
        if (victim != expected || victim == kNoBlock) {
            EXPECT_EQ(std::count(m_eligible.begin(), m_eligible.end(), true), 0);
            return false;
        }
        EXPECT_TRUE(m_eligible[victim.value]) << "pinned, or has a resident child";
        m_resident[victim.value] = false;
        m_eligible[victim.value] = false;
        for (Policy* policy : m_policies) policy->on_remove(victim);
        tell_eligibility();
        ++m_evictions;
        return true;
    }

    void tell_eligibility() {
        std::vector<bool> eligible(kBlocks);
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            eligible[b] = m_resident[b] && m_pins[b] == 0;
        }
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            if (m_resident[b] && m_parent[b] != kNoBlock) eligible[m_parent[b].value] = false;
        }
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            if (eligible[b] == m_eligible[b]) continue;
            for (Policy* policy : m_policies) policy->set_eligible({b}, eligible[b]);
        }
        m_eligible = eligible;
    }

    std::mt19937_64 m_random;
    std::uint64_t m_capacity;
    std::vector<Policy*> m_policies;
    std::vector<BlockIndex> m_parent;
    std::vector<bool> m_resident;
    std::vector<int> m_pins;
    std::vector<bool> m_eligible;
    std::vector<Chain> m_chains;
    std::vector<Chain> m_active;
    std::vector<BlockIndex> m_wanted;
    Moment m_now;
    int m_evictions = 0;
};

}  // namespace kvplane::control
