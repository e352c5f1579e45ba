// SPDX-License-Identifier: Apache-2.0
/// The untimed replay: micro-scenarios P1 to P7, the chain rule, MIN against its bound.
#include "host_driver/control/replay.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "host_driver/control/bounds.h"
#include "model/common/errors.h"
#include "tests/unit/host_driver/control/chains.h"

namespace kvplane::control {
namespace {

/// On-evict LRU, as the scenarios say.
ReplayConfig lru(std::uint64_t frames) { return {.frames = frames}; }

ReplayConfig threshold(std::uint64_t frames, std::uint32_t references) {
    ReplayConfig config = lru(frames);
    config.control.store = {.selection = Selection::kThreshold, .references = references};
    return config;
}

ReplayConfig with(std::uint64_t frames, Replacement replacement) {
    ReplayConfig config = lru(frames);
    config.control.replacement.replacement = replacement;
    return config;
}

struct Expected {
    std::uint64_t hits = 0, promotions = 0, demotions = 0, clean = 0, dead = 0, recomputed = 0;
    double a_read = 0, a_traffic = 0;
};

void expect(const workload::Workload& workload, const ReplayConfig& config, const Expected& want) {
    const ReplayResult result = replay(workload, config);
    ASSERT_TRUE(result.feasible);
    EXPECT_EQ(result.hits, want.hits);
    EXPECT_EQ(result.counts.promotions, want.promotions);
    EXPECT_EQ(result.counts.demotions, want.demotions);
    EXPECT_EQ(result.counts.clean_discards, want.clean);
    EXPECT_EQ(result.dead_writes, want.dead);
    EXPECT_EQ(result.counts.recomputed, want.recomputed);
    EXPECT_EQ(result.recomputed, want.recomputed);
    EXPECT_EQ(result.private_copies, 0U);
    EXPECT_EQ(result.counts.violations, 0U);
    EXPECT_DOUBLE_EQ(result.a_read(), want.a_read);
    EXPECT_DOUBLE_EQ(result.a_traffic(), want.a_traffic);
    EXPECT_EQ(result.bounded, want.recomputed == 0);
}

/// MIN's promotions and the optimum of all moves, where bounds meet.
void expect_optimum(const workload::Workload& workload, std::uint64_t budget, std::uint64_t min,
                    std::uint64_t moves) {
    const GapTable table(read_sets(workload));
    const auto bounds = std::get<Bounds>(bound_traffic(table, budget, 200));
    EXPECT_EQ(bounds.min_promotions, min);
    EXPECT_EQ(std::max(bounds.lb1, bounds.lb2), moves);
    EXPECT_EQ(bounds.ub, moves);
    EXPECT_EQ(replay(workload, with(budget, Replacement::kMin)).counts.promotions, min);
}

TEST(MicroScenarioTest, P1) {
    const auto workload = chains({{"A"}, {"B"}, {"C"}, {"A"}});
    expect(workload, lru(2),
           {.promotions = 1, .demotions = 2, .dead = 1, .a_read = 1. / 3, .a_traffic = 1});
    ReplayConfig through = lru(2);
    through.control.demotion = Demotion::kWriteThrough;
    expect(workload, through,
           {.promotions = 1,
            .demotions = 3,
            .clean = 2,
            .dead = 2,
            .a_read = 1. / 3,
            .a_traffic = 4. / 3});
    expect(workload, threshold(2, 2), {.recomputed = 1});
    expect_optimum(workload, 2, 0, 0);
}

TEST(MicroScenarioTest, P2) {
    const auto workload = chains({{"A"}, {"B"}, {"A"}, {"B"}, {"A"}});
    expect(workload, lru(1),
           {.promotions = 3, .demotions = 2, .clean = 2, .a_read = 1.5, .a_traffic = 2.5});
    expect_optimum(workload, 1, 3, 5);
    // Its 3/2 lies below the bound of 5/2; expect() checks that it is not said to be bounded.
    expect(workload, threshold(1, 2),
           {.promotions = 1,
            .demotions = 2,
            .dead = 1,
            .recomputed = 2,
            .a_read = .5,
            .a_traffic = 1.5});
}

TEST(MicroScenarioTest, P3) {
    const auto workload = chains({{"R", "a1", "a2"}, {"R", "b1", "b2"}, {"R", "a1", "a2"}});
    EXPECT_EQ(replay(workload, lru(4)).block_refs, 9U);
    expect(workload, lru(4),
           {.hits = 3, .promotions = 1, .demotions = 2, .dead = 1, .a_read = .2, .a_traffic = .6});
    expect_optimum(workload, 4, 1, 2);
    expect(workload, lru(3),
           {.hits = 2, .promotions = 2, .demotions = 4, .dead = 2, .a_read = .4, .a_traffic = 1.2});
    expect_optimum(workload, 3, 2, 4);
    const ReplayResult none = replay(workload, lru(2));
    EXPECT_FALSE(none.feasible);
    EXPECT_EQ(none.largest_read_set, 3U);
    EXPECT_TRUE(
        std::holds_alternative<Infeasible>(bound_traffic(GapTable(read_sets(workload)), 2, 0)));
}

TEST(MicroScenarioTest, P4) {
    const auto workload = chains({{"A"}, {"B"}, {"C"}, {"A"}, {"B"}, {"C"}, {"A"}, {"B"}, {"C"}});
    expect(workload, lru(2),
           {.promotions = 6, .demotions = 3, .clean = 4, .a_read = 2, .a_traffic = 3});
    expect_optimum(workload, 2, 3, 5);
}

TEST(MicroScenarioTest, P5) {
    // X is demoted for Y, Y's demotion for Z drops X's copy, X is recomputed and demoted for Y.
    const auto workload = chains({{"X"}, {"Y"}, {"Z"}, {"X"}, {"Y"}});
    ReplayConfig config = lru(1);
    config.tier_blocks = 1;
    const ReplayResult result = replay(workload, config);
    EXPECT_EQ(result.counts.violations, 0U);
    EXPECT_EQ(result.counts.lives, 5U);
    EXPECT_EQ(result.counts.recomputed, 2U);
    EXPECT_EQ(result.distinct, 3U);
    EXPECT_EQ(result.counts.demotions, 4U);
    EXPECT_EQ(result.counts.tier_evictions, 3U);
    EXPECT_EQ(result.dead_writes, 4U);
    EXPECT_FALSE(result.bounded);
}

TEST(MicroScenarioTest, P5InTheLedger) {
    for (const bool tier_evicts : {true, false}) {
        block::Ledger ledger(1, block::OnBreach::kCount);
        const BlockIndex x{0};
        ledger.produced(x);
        ledger.demoted(x);
        ledger.left_hbm(x, true);
        if (tier_evicts) ledger.left_tier(x);
        ledger.produced(x);
        ledger.demoted(x);
        EXPECT_EQ(ledger.counts().lives, 2U);
        EXPECT_EQ(ledger.counts().demotions, 2U);
        EXPECT_EQ(ledger.required(), 1U);
        EXPECT_EQ(ledger.counts().violations > 0, !tier_evicts);
    }
}

TEST(MicroScenarioTest, P6) {
    for (const std::uint64_t reads : {5U, 500U}) {
        block::Ledger ledger(1, block::OnBreach::kThrow);
        const BlockIndex x{0};
        ledger.produced(x);
        ledger.demoted(x);
        ledger.left_hbm(x, true);
        ledger.promoted(x);
        for (std::uint64_t i = 0; i < reads; ++i) ledger.read(x);
        EXPECT_DOUBLE_EQ(ledger.reuse_per_move(), static_cast<double>(reads) / 2);
    }
}

TEST(MicroScenarioTest, P7) {
    // Moves of X alone: each visitor but the last is demoted once and never promoted.
    const auto moves = [](const std::vector<std::vector<std::string>>& requests, int visitors) {
        const auto counts = replay(chains(requests), lru(1)).counts;
        return static_cast<int>(counts.promotions + counts.demotions) - visitors;
    };
    EXPECT_EQ(moves({{"X"}, {"X"}}, 0), 0);
    EXPECT_EQ(moves({{"X"}, {"a"}}, 0), 1);
    EXPECT_EQ(moves({{"X"}, {"a"}, {"X"}}, 1), 2);
    EXPECT_EQ(moves({{"X"}, {"a"}, {"X"}, {"b"}, {"X"}, {"c"}, {"X"}}, 3), 4);
}

TEST(ReplayTest, MinWithTheChainRuleMeetsItsBound) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const auto workload = random_workload(seed, 100);
        const GapTable table(read_sets(workload));
        for (const std::uint64_t budget : {6U, 9U, 14U, 25U}) {
            const auto bounds = bound_traffic(table, budget, 0);
            const auto result = replay(workload, with(budget, Replacement::kMin));
            ASSERT_EQ(std::holds_alternative<Bounds>(bounds), result.feasible);
            if (!result.feasible) continue;
            ASSERT_EQ(std::get<Bounds>(bounds).min_promotions, result.counts.promotions);
            ASSERT_EQ(result.unreachable_blocks, 0U);
        }
    }
}

const std::vector<Replacement> kAll{
    Replacement::kLru,      Replacement::kFifo, Replacement::kSieve,    Replacement::kS3Fifo,
    Replacement::kArc,      Replacement::kLru2, Replacement::kSlru,     Replacement::kLfu,
    Replacement::kEma,      Replacement::kGdsf, Replacement::kWTinyLfu, Replacement::kPriority,
    Replacement::kQueueLru, Replacement::kMin};

TEST(ReplayTest, EveryPolicyStaysInsideTheBracket) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto workload = random_workload(seed, 150);
        const GapTable table(read_sets(workload));
        const std::uint64_t budget = 8 + seed % 8;
        const auto bounds = std::get<Bounds>(bound_traffic(table, budget, 100));
        for (const Replacement replacement : kAll) {
            const auto result = replay(workload, with(budget, replacement));
            EXPECT_EQ(result.hits + result.counts.promotions + result.distinct, result.block_refs);
            EXPECT_GE(result.counts.promotions, bounds.min_promotions);
            EXPECT_GE(result.counts.promotions + result.counts.demotions,
                      std::max(bounds.lb1, bounds.lb2));
            EXPECT_TRUE(result.bounded);
        }
    }
}

TEST(ReplayTest, UnpinnedNeedsNoRoomForTheChain) {
    const auto workload = chains({{"R", "a1", "a2"}, {"R", "b1", "b2"}, {"R", "a1", "a2"}});
    ReplayConfig config = lru(1);
    config.pinned = false;
    const ReplayResult one = replay(workload, config);
    EXPECT_TRUE(one.feasible);
    EXPECT_EQ(one.hits, 0U);
    EXPECT_EQ(one.counts.promotions, 4U);
    EXPECT_FALSE(one.bounded);
    config.frames = 5;
    EXPECT_EQ(replay(workload, config).hits, 4U);
}

TEST(ReplayTest, UnpinnedStreamsNoBetterThanItsBound) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto workload = random_workload(seed, 150);
        for (const std::uint64_t budget : {2U, 5U, 10U}) {
            const GapTable table(read_sets(workload));
            ReplayConfig config = with(budget, Replacement::kMin);
            config.pinned = false;
            EXPECT_GE(replay(workload, config).counts.promotions,
                      min_promotions_streamed(table, budget));
        }
    }
}

TEST(ReplayTest, CountsAfterTheWarmUpOnly) {
    const auto workload = chains({{"A"}, {"B"}, {"C"}, {"A"}});
    ReplayConfig config = lru(2);
    config.first_counted = 3;
    const ReplayResult result = replay(workload, config);
    EXPECT_EQ(result.block_refs, 1U);
    EXPECT_EQ(result.distinct, 1U);
    EXPECT_EQ(result.counts.promotions, 1U);
    EXPECT_EQ(result.counts.demotions, 1U);
    EXPECT_EQ(result.dead_writes, 1U);
    EXPECT_FALSE(result.bounded);
    // One hit before, one after.
    config.first_counted = 2;
    EXPECT_EQ(replay(chains({{"A"}, {"A"}, {"B"}, {"A"}}), config).hits, 1U);
}

TEST(ReplayTest, AWarmUpThatLeavesNothingIsRefused) {
    const auto workload = chains({{"A"}, {"B"}});
    for (const std::uint64_t first : {2U, 3U}) {
        ReplayConfig config = lru(2);
        config.first_counted = first;
        EXPECT_THROW((void)replay(workload, config), InvariantError);
    }
}

TEST(ReplayTest, StateBytesAreThoseOfAllThatRemembers) {
    const auto workload = random_workload(1, 100);
    ReplayConfig config = lru(8);
    const auto bytes = [&] { return replay(workload, config).state_bytes; };
    EXPECT_EQ(bytes(), Bytes{0});
    config.control.replacement = {.replacement = Replacement::kArc,
                                  .state = {Lifetime::kGhosts, kGhostBytes * 20}};
    EXPECT_EQ(bytes(), kGhostBytes * 20);
    config.control.store = {.selection = Selection::kThreshold,
                            .references = 2,
                            .counter = {Lifetime::kGhosts, kGhostBytes * 64'000}};
    EXPECT_EQ(bytes(), kGhostBytes * 64'020);
    config.control.store.counter = {Lifetime::kSketch, Bytes::from_kib(64)};
    EXPECT_EQ(bytes(), kGhostBytes * 20 + Bytes::from_kib(64));
    config.control.admission.admission = Admission::kCounter;
    EXPECT_EQ(bytes(), kGhostBytes * 20 + Bytes::from_kib(128));
    config.tier_blocks = 20;
    config.control.tier_eviction = {.replacement = Replacement::kLfu,
                                    .state = {Lifetime::kGhosts, kGhostBytes * 5}};
    EXPECT_EQ(bytes(), kGhostBytes * 25 + Bytes::from_kib(128));
    config = lru(8);
    config.control.admission.admission = Admission::kHorizon;
    const Bytes predictor = bytes();
    EXPECT_GT(predictor, ReusePredictor::kBlockBytes * workload.blocks.size());
    config.control.store.selection = Selection::kPredicted;
    EXPECT_EQ(bytes(), predictor * 2);
}

TEST(ReplayTest, RentIsPaidOnWhatARequestDoesNotRead) {
    // After A: nothing else; after B: A; after C: B, for A left; after A: C.
    EXPECT_EQ(replay(chains({{"A"}, {"B"}, {"C"}, {"A"}}), lru(2)).idle_block_requests, 3U);
}

TEST(ReplayTest, WatermarkEvictsAheadOfNeed) {
    const auto workload = chains({{"A"}, {"B"}, {"C"}, {"D"}, {"A"}});
    ReplayConfig config = lru(4);
    EXPECT_EQ(replay(workload, config).hits, 1U);
    config.watermark = {.start = 75, .batch = 25};
    const ReplayResult result = replay(workload, config);  // at D, A and B leave
    EXPECT_EQ(result.hits, 0U);
    EXPECT_EQ(result.counts.demotions, 2U);
    EXPECT_EQ(result.counts.promotions, 1U);
}

TEST(ReplayTest, SelectiveDemotionByEachRule) {
    const auto workload = chains({{"A"}, {"A"}, {"B"}, {"C"}, {"A"}});
    ReplayConfig config = lru(1);
    EXPECT_EQ(replay(workload, config).counts.demotions, 3U);
    config.control.store.selection = Selection::kIntent;  // there are none
    EXPECT_EQ(replay(workload, config).counts.demotions, 0U);
    config.control.store.selection = Selection::kThreshold;
    for (const StateSpec& counter :
         {StateSpec{Lifetime::kFull, {}}, StateSpec{Lifetime::kGhosts, kGhostBytes * 2},
          StateSpec{Lifetime::kSketch, Bytes::from_kib(4)}}) {
        config.control.store.counter = counter;
        EXPECT_EQ(replay(workload, config).counts.demotions, 1U);
    }
    config.control.store.references = 0;
    EXPECT_THROW((void)replay(workload, config), std::invalid_argument);
}

TEST(ReplayTest, PredictedReuseStoresWhatUsuallyReturns) {
    // Blocks read twice come back within seconds every time; the others never do.
    std::vector<std::vector<std::string>> requests;
    for (int i = 0; i < 40; ++i) {
        requests.push_back({"hot"});
        requests.push_back({"cold" + std::to_string(i)});
    }
    ReplayConfig config = lru(1);
    config.control.store = {.selection = Selection::kPredicted, .horizon = Time::from_s(10)};
    const ReplayResult result = replay(chains(requests), config);
    EXPECT_EQ(result.counts.demotions, 1U + result.dead_writes);
    EXPECT_LT(result.dead_writes, 3U);
    EXPECT_GT(result.counts.promotions, 30U);
}

TEST(ReplayTest, QueueLruKeepsWhatWaits) {
    const auto workload = chains({{"A"}, {"B"}, {"C"}, {"A"}, {"D"}, {"A"}});
    ReplayConfig config = with(2, Replacement::kQueueLru);
    EXPECT_EQ(replay(workload, config).hits, replay(workload, lru(2)).hits);
    config.queue = 4;
    EXPECT_EQ(replay(workload, config).hits, 2U);
    config.control.replacement.replacement = Replacement::kLru;
    EXPECT_THROW((void)replay(workload, config), std::invalid_argument);
}

TEST(ReplayTest, TierEvictionGoesLeafFirstAndNothingIsCutOff) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto workload = random_workload(seed, 200);
        ReplayConfig config = lru(8);
        config.tier_blocks = 10;
        const ReplayResult result = replay(workload, config);
        EXPECT_GT(result.counts.tier_evictions, 0U);
        EXPECT_GT(result.counts.recomputed, 0U);
        EXPECT_EQ(result.counts.violations, 0U);
    }
}

}  // namespace
}  // namespace kvplane::control
