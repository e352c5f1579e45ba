// SPDX-License-Identifier: Apache-2.0
/// Residency under LRU against a twin that counts everything anew, over random operations.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "host_driver/control/residency.h"
#include "model/common/random.h"

namespace kvplane::control {
namespace {

constexpr std::uint32_t kBlocks = 40;
constexpr std::uint32_t kRoots = 4;
constexpr std::uint64_t kFrames = 14;
constexpr std::uint64_t kTierBlocks = 18;
constexpr std::uint32_t kNone = kBlocks;

/// A forest: the parent of a block that is no root is any block before it.
std::vector<workload::BlockEntry> forest(RandomStream& random) {
    std::vector<workload::BlockEntry> blocks;
    for (std::uint32_t b = 0; b < kBlocks; ++b) {
        const auto any = static_cast<std::uint32_t>(b < kRoots ? 0 : random.uniform(b));
        blocks.push_back({.key = {0, b}, .parent = b < kRoots ? block::kNoBlock : BlockIndex{any}});
    }
    return blocks;
}

class Twin {
public:
    explicit Twin(std::uint64_t seed)
        : m_random(seed, "residency_twin"),
          m_blocks(forest(m_random)),
          m_ledger(kBlocks, block::OnBreach::kThrow),
          m_residency(m_blocks, kFrames, kTierBlocks, m_ledger),
          m_states(kBlocks) {}

    void step() {
        const std::uint32_t b = below(kBlocks);
        switch (below(16)) {
            case 0:
                return pin(b);
            case 1:
            case 2:
            case 3:
                return unpin(b);
            case 4:
            case 5:
            case 6:
                return bring_in(b);
            case 7:
            case 8:
                return arrive(b);
            case 9:
            case 10:
                return store(b);
            case 11:
            case 12:
                return end_store(b);
            case 13:
                return evict();
            case 14:
                return below(3) == 0 ? drop() : evict();
            default:
                return touch(b);
        }
    }
    void check();

    int evictions = 0;
    int drops = 0;
    int stays = 0;
    int loads = 0;

private:
    struct State {
        bool expected = false;
        bool loading = false;  ///< expected from the tier
        bool resident = false;
        bool leaving = false;
        bool storing = false;
        bool stored = false;
        std::uint32_t pins = 0;  ///< stores not counted
        std::uint64_t used = 0;
        std::uint64_t copy_used = 0;

        [[nodiscard]] bool in_hbm() const { return expected || resident; }
        [[nodiscard]] bool in_tier() const { return storing || stored; }
        [[nodiscard]] bool held() const { return pins != 0 || storing; }
    };

    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(m_random.uniform(n)); }
    std::uint64_t count(const std::function<bool(const State&)>& holds) const {
        std::uint64_t n = 0;
        for (const State& state : m_states) n += holds(state) ? 1 : 0;
        return n;
    }
    [[nodiscard]] bool any_child(std::uint32_t b,
                                 const std::function<bool(const State&)>& holds) const {
        for (std::uint32_t c = b + 1; c < kBlocks; ++c) {
            if (m_blocks[c].parent == BlockIndex{b} && holds(m_states[c])) return true;
        }
        return false;
    }
    [[nodiscard]] bool may_leave_hbm(std::uint32_t b) const {
        return m_states[b].resident && !m_states[b].held() &&
               !any_child(b, [](const State& s) { return s.in_hbm() && !s.leaving; });
    }
    [[nodiscard]] bool may_leave_tier(std::uint32_t b) const {
        return m_states[b].stored && !m_states[b].loading &&
               !any_child(b, [](const State& s) { return s.in_tier(); });
    }
    /// The least recently used of those that may go, by a sorted list's rule.
    std::uint32_t first(const std::function<bool(std::uint32_t)>& may_go,
                        std::uint64_t State::*used) const {
        std::uint32_t best = kNone;
        for (std::uint32_t b = 0; b < kBlocks; ++b) {
            if (!may_go(b)) continue;
            if (best == kNone || m_states[b].*used < m_states[best].*used) best = b;
        }
        return best;
    }

    /// It and all that it continues are in HBM.
    [[nodiscard]] bool rooted(std::uint32_t b) const {
        const BlockIndex parent = m_blocks[b].parent;
        return m_states[b].in_hbm() && (parent == block::kNoBlock || rooted(parent.value));
    }
    /// It is wanted, and with it what it continues.
    void stay(std::uint32_t b) {
        if (!m_states[b].leaving) return;
        m_states[b].leaving = false;
        ++stays;
        if (m_blocks[b].parent != block::kNoBlock) stay(m_blocks[b].parent.value);
    }
    void pin(std::uint32_t b) {
        // A host that wants a block wants what it continues first.
        if (m_states[b].pins == 2 || (m_states[b].leaving && !rooted(b))) return;
        m_residency.pin({b});
        ++m_states[b].pins;
        stay(b);
    }
    void unpin(std::uint32_t b) {
        if (m_states[b].pins == 0) return;
        m_residency.unpin({b});
        --m_states[b].pins;
    }
    void touch(std::uint32_t b) {
        m_residency.touch({b});
        ++m_clock;
        if (m_states[b].in_hbm()) m_states[b].used = m_clock;
        if (m_states[b].in_tier()) m_states[b].copy_used = m_clock;
    }
    void bring_in(std::uint32_t b) {
        State& state = m_states[b];
        const BlockIndex parent = m_blocks[b].parent;
        const bool continues = parent == block::kNoBlock || rooted(parent.value);
        if (state.in_hbm() || !continues || m_residency.free_frames() == 0) return;
        if (state.stored) m_residency.begin_read({b});
        m_residency.expect({b});
        state.expected = true;
        state.loading = state.stored;
        state.used = ++m_clock;
        if (parent != block::kNoBlock) stay(parent.value);
    }
    void arrive(std::uint32_t b) {
        State& state = m_states[b];
        if (!state.expected) return;
        state.expected = false;
        if (state.loading) {
            m_residency.loaded({b});
            m_residency.end_read({b});
            ++loads;
        } else if (below(4) == 0 && !any_child(b, [](const State& s) { return s.in_hbm(); })) {
            m_residency.give_up({b});
            return;
        } else {
            m_residency.computed({b});
        }
        state.loading = false;
        state.resident = true;
    }
    void begin_store(std::uint32_t b) {
        m_residency.begin_store({b});
        m_states[b].storing = true;
        m_states[b].copy_used = ++m_clock;
    }
    void store(std::uint32_t b) {
        if (!m_states[b].resident || m_states[b].in_tier() || m_residency.tier_full()) return;
        begin_store(b);
    }
    void end_store(std::uint32_t b) {
        State& state = m_states[b];
        if (!state.storing) return;
        const bool refused = !state.leaving && below(5) == 0;
        state.storing = false;
        state.stored = !refused;
        if (refused) {
            m_residency.abandon_store({b});
            return;
        }
        m_residency.end_store({b});
        if (state.leaving) remove(b);
    }
    void remove(std::uint32_t b) {
        m_residency.evict({b});
        m_states[b].resident = false;
        m_states[b].leaving = false;
        ++evictions;
    }
    void evict() {
        const auto victim = m_residency.next_victim();
        const std::uint32_t b =
            first([&](std::uint32_t i) { return may_leave_hbm(i); }, &State::used);
        ASSERT_EQ(victim ? victim->value : kNone, b);
        if (b == kNone) return;
        if (m_states[b].in_tier() || m_residency.tier_full() || below(2) == 0) return remove(b);
        m_residency.begin_leave({b});
        m_states[b].leaving = true;
        begin_store(b);
    }
    void drop() {
        const auto victim = m_residency.next_tier_victim();
        const std::uint32_t b =
            first([&](std::uint32_t i) { return may_leave_tier(i); }, &State::copy_used);
        ASSERT_EQ(victim ? victim->value : kNone, b);
        if (b == kNone) return;
        m_residency.drop_tier_copy({b});
        m_states[b].stored = false;
        ++drops;
    }

    RandomStream m_random;
    std::vector<workload::BlockEntry> m_blocks;
    block::Ledger m_ledger;
    Residency m_residency;
    std::vector<State> m_states;
    std::uint64_t m_clock = 0;
};

void Twin::check() {
    m_residency.audit();
    using S = const State&;
    ASSERT_EQ(m_residency.used_frames(), count([](S s) { return s.in_hbm(); }));
    ASSERT_EQ(m_residency.tier_used(), count([](S s) { return s.in_tier(); }));
    ASSERT_EQ(m_residency.idle_blocks(), count([](S s) { return s.resident && !s.held(); }));
    ASSERT_EQ(m_residency.pinned_resident(), count([](S s) { return s.resident && s.held(); }));
    for (std::uint32_t b = 0; b < kBlocks; ++b) {
        const State& state = m_states[b];
        ASSERT_EQ(m_residency.hbm({b}) == Residency::Hbm::kResident, state.resident) << b;
        ASSERT_EQ(m_residency.hbm({b}) == Residency::Hbm::kExpected, state.expected) << b;
        ASSERT_EQ(m_residency.tier({b}) == Residency::Tier::kStored, state.stored) << b;
        ASSERT_EQ(m_residency.tier({b}) == Residency::Tier::kStoring, state.storing) << b;
        ASSERT_EQ(m_residency.leaving({b}), state.leaving) << b;
        ASSERT_EQ(m_residency.pins({b}), state.pins + (state.storing ? 1 : 0)) << b;
        // The chain rule: what is in HBM continues what is there, or what is just leaving it.
        const BlockIndex parent = m_blocks[b].parent;
        if (!state.in_hbm() || state.leaving || parent == block::kNoBlock) continue;
        ASSERT_TRUE(m_states[parent.value].in_hbm()) << b << " lost its parent";
    }
}

TEST(ResidencyTwinTest, AgreesOverRandomOperations) {
    int evictions = 0;
    int drops = 0;
    int stays = 0;
    int loads = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        Twin twin(seed);
        for (int i = 0; i < 3'000; ++i) {
            ASSERT_NO_THROW(twin.step()) << "step " << i;
            twin.check();
            if (testing::Test::HasFatalFailure()) return;
        }
        evictions += twin.evictions;
        drops += twin.drops;
        stays += twin.stays;
        loads += twin.loads;
    }
    EXPECT_GT(evictions, 800);
    EXPECT_GT(drops, 700);
    EXPECT_GT(stays, 100);
    EXPECT_GT(loads, 50);
}

}  // namespace
}  // namespace kvplane::control
