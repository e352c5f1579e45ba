// SPDX-License-Identifier: Apache-2.0
#include "model/block/ledger.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "model/common/errors.h"
#include "model/common/random.h"

namespace kvplane::block {
namespace {

constexpr BlockIndex kX{0};

Ledger strict(std::uint32_t blocks = 1) { return {blocks, OnBreach::kThrow}; }

/// Evicted from HBM: written out where the tier has no copy.
void evict(Ledger& ledger, BlockIndex b) {
    const bool written_back = !ledger.in_tier(b);
    if (written_back) ledger.demoted(b);
    ledger.left_hbm(b, written_back);
}

TEST(LedgerTest, P5TierEvictionStartsASecondLife) {
    Ledger ledger = strict();
    ledger.produced(kX);
    ledger.demoted(kX);
    ledger.left_hbm(kX, true);
    ledger.left_tier(kX);
    ledger.produced(kX);
    ledger.demoted(kX);
    EXPECT_EQ(ledger.counts().lives, 2U);
    EXPECT_EQ(ledger.counts().recomputed, 1U);
    EXPECT_EQ(ledger.counts().violations, 0U);
    EXPECT_EQ(ledger.required(), 1U);
    EXPECT_EQ(ledger.counts().demotions, 2U);
    EXPECT_EQ(ledger.counts().tier_evictions, 1U);
    EXPECT_EQ(ledger.counts().unbacked_writes, 0U);  // the second write is of another life
    EXPECT_EQ(ledger.dead_writes(), 2U);
}

TEST(LedgerTest, P5WithoutTheTierEvictionIsABreach) {
    Ledger ledger = strict();
    ledger.produced(kX);
    ledger.demoted(kX);
    ledger.left_hbm(kX, true);
    EXPECT_THROW(ledger.produced(kX), InvariantError);

    Ledger counting(1, OnBreach::kCount);
    counting.produced(kX);
    counting.demoted(kX);
    counting.left_hbm(kX, true);
    counting.produced(kX);
    counting.demoted(kX);
    EXPECT_EQ(counting.counts().violations, 2U);  // produced beside a copy, and demoted onto it
}

TEST(LedgerTest, P6ReusePerMovedByte) {
    for (const auto& [reads, expected] : {std::pair{5, 2.5}, std::pair{500, 250.0}}) {
        Ledger ledger = strict();
        ledger.produced(kX);
        ledger.demoted(kX);
        ledger.left_hbm(kX, true);
        ledger.promoted(kX);
        for (int i = 0; i < reads; ++i) ledger.read(kX);
        EXPECT_EQ(ledger.reuse_per_move(), expected);
        EXPECT_EQ(ledger.counts().demotions, 1U);
        EXPECT_EQ(ledger.counts().promotions, 1U);
    }
}

TEST(LedgerTest, P7TrafficOfOneBlock) {
    const auto traffic = [](int returns, bool leaves) {
        Ledger ledger = strict();
        ledger.produced(kX);
        if (leaves) evict(ledger, kX);
        for (int i = 0; i < returns; ++i) {
            ledger.promoted(kX);
            if (i + 1 < returns) evict(ledger, kX);
        }
        EXPECT_EQ(ledger.a_read(), returns);
        return ledger.a_traffic();
    };
    EXPECT_EQ(traffic(0, false), 0);
    EXPECT_EQ(traffic(0, true), 1);
    EXPECT_EQ(traffic(1, true), 2);
    EXPECT_EQ(traffic(3, true), 4);
}

TEST(LedgerTest, CountsCleanDiscardsUnbackedAndDeadWrites) {
    Ledger ledger = strict(2);
    const BlockIndex y{1};
    ledger.produced(kX);
    ledger.produced(y);
    evict(ledger, kX);
    ledger.promoted(kX);
    evict(ledger, kX);  // the tier still has it
    EXPECT_EQ(ledger.counts().clean_discards, 1U);
    EXPECT_EQ(ledger.counts().demotions, 1U);
    EXPECT_EQ(ledger.dead_writes(), 0U);

    ledger.promoted(kX);
    ledger.left_tier(kX);  // under a copy in HBM
    ledger.demoted(kX);
    EXPECT_EQ(ledger.counts().unbacked_writes, 1U);
    EXPECT_EQ(ledger.dead_writes(), 1U);
    ledger.left_tier(kX);
    EXPECT_EQ(ledger.dead_writes(), 1U);  // it was never read
    ledger.demoted(kX);
    EXPECT_EQ(ledger.dead_writes(), 2U);

    ledger.left_hbm(y, false);  // lost without a copy
    EXPECT_EQ(ledger.counts().clean_discards, 1U);
    ledger.produced(y);
    EXPECT_EQ(ledger.counts().recomputed, 1U);
    EXPECT_EQ(ledger.counts().distinct, 2U);
}

TEST(LedgerTest, AnonymousBlocksAreRequiredAndReadsAreCounted) {
    Ledger ledger = strict();
    EXPECT_EQ(ledger.a_read(), 0);
    EXPECT_EQ(ledger.a_traffic(), 0);
    EXPECT_LT(ledger.reuse_per_move(), 0);
    ledger.produced(kX);
    ledger.produced_anonymous(3);
    ledger.read(kX);
    ledger.read_resident(4);
    evict(ledger, kX);
    EXPECT_EQ(ledger.required(), 4U);
    EXPECT_EQ(ledger.a_traffic(), 0.25);
    EXPECT_EQ(ledger.counts().reads, 5U);
    EXPECT_EQ(ledger.reuse_per_move(), 5);
}

struct Breach {
    const char* name;
    std::function<void(Ledger&)> before;
    std::function<void(Ledger&)> act;
};

class LedgerBreachTest : public testing::TestWithParam<Breach> {};

TEST_P(LedgerBreachTest, ThrowsWithTheStateOrIsCounted) {
    Ledger ledger = strict();
    GetParam().before(ledger);
    EXPECT_EQ(ledger.counts().violations, 0U);
    try {
        GetParam().act(ledger);
        ADD_FAILURE() << "no breach";
    } catch (const InvariantError& error) {
        EXPECT_NE(std::string(error.what()).find("block 0"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("HBM copy"), std::string::npos);
    }
    Ledger counting(1, OnBreach::kCount);
    GetParam().before(counting);
    GetParam().act(counting);
    EXPECT_EQ(counting.counts().violations, 1U);
}

void nothing(Ledger&) {}
void produce(Ledger& l) { l.produced(kX); }
void demote(Ledger& l) { l.produced(kX), l.demoted(kX); }
void keep_in_tier(Ledger& l) { demote(l), l.left_hbm(kX, true); }

INSTANTIATE_TEST_SUITE_P(
    All, LedgerBreachTest,
    testing::Values(Breach{"ProducedBesideHbmCopy", produce, [](Ledger& l) { l.produced(kX); }},
                    Breach{"ProducedBesideTierCopy", keep_in_tier,
                           [](Ledger& l) { l.produced(kX); }},
                    Breach{"DemotedFromNowhere", nothing, [](Ledger& l) { l.demoted(kX); }},
                    Breach{"DemotedTwice", demote, [](Ledger& l) { l.demoted(kX); }},
                    Breach{"PromotedFromNowhere", nothing, [](Ledger& l) { l.promoted(kX); }},
                    Breach{"PromotedOntoACopy", demote, [](Ledger& l) { l.promoted(kX); }},
                    Breach{"LeftHbmTwice", keep_in_tier, [](Ledger& l) { l.left_hbm(kX, true); }},
                    Breach{"LeftTierWithoutACopy", produce, [](Ledger& l) { l.left_tier(kX); }},
                    Breach{"ReadWhileAway", keep_in_tier, [](Ledger& l) { l.read(kX); }}),
    [](const auto& instance) { return instance.param.name; });

TEST(LedgerTest, LegalRandomLivesBreachNothingAndBalance) {
    constexpr std::uint32_t kBlocks = 200;
    Ledger ledger = strict(kBlocks);
    RandomStream random(6, "ledger");
    for (int i = 0; i < 200'000; ++i) {
        const BlockIndex b{static_cast<std::uint32_t>(random.uniform(kBlocks))};
        const bool hbm = ledger.in_hbm(b);
        const bool tier = ledger.in_tier(b);
        const std::uint64_t action = random.uniform(4);
        if (!hbm && !tier) {
            ledger.produced(b);
        } else if (hbm && !tier) {
            action == 0   ? ledger.left_hbm(b, false)
            : action == 1 ? ledger.read(b)
                          : ledger.demoted(b);
        } else if (hbm) {
            action == 0 ? ledger.left_tier(b) : ledger.left_hbm(b, false);
        } else {
            action == 0 ? ledger.left_tier(b) : ledger.promoted(b);
        }
    }
    const LedgerCounts& counts = ledger.counts();
    std::uint64_t in_tier = 0;
    for (std::uint32_t b = 0; b < kBlocks; ++b) in_tier += ledger.in_tier({b}) ? 1 : 0;
    EXPECT_EQ(counts.demotions, counts.tier_evictions + in_tier);
    EXPECT_EQ(counts.lives, counts.distinct + counts.recomputed);
    EXPECT_LE(ledger.dead_writes(), counts.demotions);
    EXPECT_EQ(counts.violations, 0U);
}

}  // namespace
}  // namespace kvplane::block
