// SPDX-License-Identifier: Apache-2.0
/// The untimed replay against a twin that keeps sets and scans them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "host_driver/control/replay.h"
#include "tests/unit/host_driver/control/chains.h"

namespace kvplane::control {
namespace {

/// LRU, leaf first, on demand, on an unbounded tier that gets what the store rule wants.
class ReplayTwin {
public:
    ReplayTwin(const workload::Workload& workload, const ReplayConfig& config)
        : m_workload(workload),
          m_config(config),
          m_rule(config.control.store, workload.blocks.size()),
          m_touched(workload.blocks.size(), 0) {}

    void run() {
        for (m_number = 0; m_number < m_workload.requests.size(); ++m_number) {
            const auto chain = m_workload.chain(m_workload.requests[m_number]);
            std::size_t hole = 0;
            while (hole < chain.size() && has_copy(chain[hole])) ++hole;
            std::size_t named = hole;
            while (named < chain.size() && !has_copy(chain[named])) ++named;
            m_pinned.clear();
            for (std::size_t i = 0; i < named; ++i) m_pinned.insert(chain[i].value);
            for (std::size_t i = 0; i < named; ++i) bring(chain[i]);
            make_room(chain.size() - named);
            for (std::size_t i = named; i < chain.size(); ++i) compute(chain[i]);
            private_copies += chain.size() - named;
            for (std::size_t i = named; i-- > 0;) {
                m_rule.on_access({.block = chain[i], .now = {.wall = now()}});
                m_touched[chain[i].value] = ++m_touches;
            }
        }
    }

    std::uint64_t hits = 0, promotions = 0, demotions = 0, recomputed = 0, private_copies = 0;

private:
    [[nodiscard]] Time now() const { return m_workload.requests[m_number].arrival; }
    [[nodiscard]] bool has_copy(BlockIndex b) const {
        return m_hbm.contains(b.value) || m_tier.contains(b.value);
    }
    void compute(BlockIndex b) { recomputed += m_made.insert(b.value).second ? 0 : 1; }
    void bring(BlockIndex b) {
        if (m_hbm.contains(b.value)) {
            ++hits;
            return;
        }
        make_room(1);
        m_hbm.insert(b.value);
        if (m_tier.contains(b.value)) {
            ++promotions;
        } else {
            compute(b);
        }
    }
    /// A request that is still waiting names the block.
    [[nodiscard]] bool waited_for(std::uint32_t b) const {
        const std::size_t end =
            std::min<std::size_t>(m_workload.requests.size(), m_number + m_config.queue + 1);
        for (std::size_t r = m_number + 1; r < end; ++r) {
            for (const BlockIndex other : m_workload.chain(m_workload.requests[r])) {
                if (other.value == b) return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool has_child(std::uint32_t b) const {
        return std::any_of(m_hbm.begin(), m_hbm.end(), [&](std::uint32_t other) {
            return m_workload.blocks[other].parent == BlockIndex{b};
        });
    }
    void make_room(std::uint64_t frames) {
        while (m_hbm.size() + frames > m_config.frames) {
            std::pair<bool, std::uint64_t> least{true, UINT64_MAX};
            std::uint32_t victim = UINT32_MAX;
            for (const std::uint32_t b : m_hbm) {
                if (m_pinned.contains(b) || has_child(b)) continue;
                const std::pair rank{waited_for(b), m_touched[b]};
                if (rank < least) {
                    least = rank;
                    victim = b;
                }
            }
            if (!m_tier.contains(victim) && m_rule.stores({victim}, {.wall = now()})) {
                m_tier.insert(victim);
                ++demotions;
            }
            m_hbm.erase(victim);
        }
    }

    const workload::Workload& m_workload;
    ReplayConfig m_config;
    StoreRule m_rule;
    std::vector<std::uint64_t> m_touched;
    std::uint64_t m_touches = 0;
    std::size_t m_number = 0;
    std::set<std::uint32_t> m_hbm, m_tier, m_made, m_pinned;
};

/// Returns the blocks that were computed for one request alone.
std::uint64_t expect_twins(const workload::Workload& workload, const ReplayConfig& config) {
    ReplayTwin twin(workload, config);
    twin.run();
    const ReplayResult result = replay(workload, config);
    EXPECT_EQ(result.hits, twin.hits);
    EXPECT_EQ(result.counts.promotions, twin.promotions);
    EXPECT_EQ(result.counts.demotions, twin.demotions);
    EXPECT_EQ(result.recomputed, twin.recomputed);
    EXPECT_EQ(result.private_copies, twin.private_copies);
    EXPECT_EQ(result.hits + result.counts.promotions + result.recomputed + result.distinct,
              result.block_refs);
    return twin.private_copies;
}

TEST(ReplayTwinTest, NothingIsLoadedFromBehindAHole) {
    const std::vector<StoreSpec> rules{{},
                                       {.selection = Selection::kThreshold, .references = 2},
                                       {.selection = Selection::kThreshold,
                                        .references = 2,
                                        .counter = {Lifetime::kGhosts, kGhostBytes * 9}},
                                       {.selection = Selection::kThreshold,
                                        .references = 2,
                                        .counter = {Lifetime::kSketch, Bytes{64}}},
                                       {.selection = Selection::kPredicted,
                                        .horizon = Time::from_s(8),
                                        .probability_ppm = 300'000}};
    std::vector<std::uint64_t> cut_off(rules.size(), 0);
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const auto workload = random_workload(seed, 150);
        for (std::size_t i = 0; i < rules.size(); ++i) {
            ReplayConfig config{.frames = 8 + seed % 8};
            config.control.store = rules[i];
            cut_off[i] += expect_twins(workload, config);
        }
    }
    EXPECT_EQ(cut_off[0], 0U) << "a tier that gets and keeps everything has no holes";
    EXPECT_GT(cut_off[3], 0U);
    EXPECT_GT(cut_off[4], 0U);
}

TEST(ReplayTwinTest, QueueLruKnowsTheRequestsThatWait) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto workload = random_workload(seed, 60);
        for (const std::uint32_t queue : {1U, 4U, 16U, 100U}) {
            ReplayConfig config{.frames = 8 + seed % 8};
            config.control.replacement.replacement = Replacement::kQueueLru;
            config.queue = queue;
            EXPECT_EQ(expect_twins(workload, config), 0U);
        }
    }
}

}  // namespace
}  // namespace kvplane::control
