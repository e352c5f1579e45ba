// SPDX-License-Identifier: Apache-2.0
/// Placement studies: prices, arms, and what a listener hears.
#include "host_driver/control/place.h"

#include <gtest/gtest.h>

#include <string>

#include "host_driver/workload/trace.h"
#include "tests/support/shared_data.h"
#include "tests/unit/host_driver/control/chains.h"

namespace kvplane::control {
namespace {

class Rows final : public PlaceListener {
public:
    void on_budget(std::uint64_t budget) override {
        m_heard += "budget " + std::to_string(budget) + "; ";
    }
    void on_bounds(const BoundsRow& row) override {
        m_heard += "bounds; ";
        m_bounds.push_back(row);
    }
    void on_row(const PlaceRow& row) override {
        m_heard += "row; ";
        m_rows.push_back(row);
    }
    [[nodiscard]] const std::string& heard() const { return m_heard; }
    [[nodiscard]] const BoundsRow& bounds() const { return m_bounds.front(); }
    [[nodiscard]] const PlaceRow& row() const { return m_rows.front(); }

private:
    std::string m_heard;
    std::vector<BoundsRow> m_bounds;
    std::vector<PlaceRow> m_rows;
};

constexpr Ratio percent(std::uint64_t n) { return {static_cast<std::uint32_t>(n * 10'000)}; }

BoundsRow priced(const workload::Workload& workload, std::uint64_t budget,
                 std::optional<Ratio> recompute, std::optional<Ratio> rent = std::nullopt) {
    Rows rows;
    place(workload, {.arms = {}, .budgets = {budget}, .recompute_price = recompute, .rent = rent},
          rows);
    return rows.bounds();
}

TEST(RecomputePriceTest, AtAHundredPercentEveryDroppedGapCostsOne) {
    const auto p4 = chains({{"A"}, {"B"}, {"C"}, {"A"}, {"B"}, {"C"}, {"A"}, {"B"}, {"C"}});
    const auto bracket = *priced(p4, 2, percent(100)).recompute;
    EXPECT_EQ(bracket.lower, 3U);
    EXPECT_EQ(bracket.upper, 3U);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto workload = random_workload(seed, 100);
        const BoundsRow row = priced(workload, 9, percent(100));
        const std::uint64_t least = std::get<Bounds>(row.bounds).min_promotions;
        EXPECT_EQ(row.recompute->upper, least);
        EXPECT_LE(row.recompute->lower, least);
        EXPECT_GE(row.recompute->lower * 100, least * 98);
    }
}

TEST(RecomputePriceTest, BelowAHundredPercentNothingIsMoved) {
    // Recomputing is cheaper than a promotion, so every dropped gap costs the price.
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto workload = random_workload(seed, 100);
        const std::uint64_t least =
            std::get<Bounds>(priced(workload, 9, std::nullopt).bounds).min_promotions;
        for (const std::uint64_t share : {10U, 33U, 50U, 90U, 99U}) {
            const auto bracket = *priced(workload, 9, percent(share)).recompute;
            EXPECT_EQ(bracket.upper, (least * share + 99) / 100) << share;
            EXPECT_LE(bracket.lower, least * share / 100) << share;
            EXPECT_GE(bracket.lower + 2, least * share * 98 / 10'000) << share;
        }
    }
}

TEST(RecomputePriceTest, OnTheConversationTrace) {
    KVPLANE_REQUIRE_SHARED("traces/mooncake");
    workload::TraceOptions options;
    options.assemble.tokens_per_block = 512;
    const auto workload =
        workload::read_trace(test::shared_path("traces/mooncake/conversation_trace.jsonl").string(),
                             workload::TraceFormat::kMooncake, options);
    Rows rows;
    place(workload,
          {.arms = {}, .budgets = {409}, .dual_iterations = 100, .recompute_price = percent(100)},
          rows);
    EXPECT_EQ(rows.bounds().recompute->upper, 76'967U);
    EXPECT_LE(rows.bounds().recompute->lower, 76'967U);
}

TEST(RentTest, IsBelowWhatAnyPolicyPays) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto workload = random_workload(seed, 100);
        for (const std::uint64_t share : {1U, 10U, 100U}) {
            const BoundsRow row = priced(workload, 12, std::nullopt, percent(share));
            EXPECT_FALSE(row.recompute);
            EXPECT_LE(row.rent->lower, row.rent->upper);
            EXPECT_GE(row.rent->lower, std::get<Bounds>(row.bounds).lb1);
            for (const Replacement replacement : {Replacement::kLru, Replacement::kMin}) {
                ReplayConfig config{.frames = 12};
                config.control.replacement.replacement = replacement;
                const ReplayResult result = replay(workload, config);
                const std::uint64_t moves = result.counts.promotions + result.counts.demotions;
                EXPECT_LE(row.rent->lower * 100, moves * 100 + result.idle_block_requests * share);
            }
        }
    }
}

TEST(RentTest, AGapIsHeldWhileThatIsCheaperThanTheTwoMoves) {
    for (std::uint64_t length = 1; length < 40; ++length) {
        std::vector<std::vector<std::string>> requests{{"A"}};
        requests.insert(requests.end(), length, {"B"});
        requests.push_back({"A"});
        const auto bracket = *priced(chains(requests), 8, std::nullopt, percent(10)).rent;
        EXPECT_EQ(bracket.lower, std::min<std::uint64_t>(length / 10, 2)) << length;
        EXPECT_EQ(bracket.upper, std::min<std::uint64_t>((length + 9) / 10, 2)) << length;
    }
    // A gap of seven requests costs .7 to hold, and half a move to recompute.
    const auto both =
        *priced(chains({{"A"}, {"B"}, {"B"}, {"B"}, {"B"}, {"B"}, {"B"}, {"B"}, {"A"}}), 8,
                percent(50), percent(10))
             .rent;
    EXPECT_EQ(both.upper, 1U);
    EXPECT_EQ(both.lower, 0U);
}

TEST(PlaceTest, TellsOfABudgetBeforeItsBoundsAndRows) {
    Rows rows;
    place(chains({{"A"}, {"B"}}), {.arms = {{}, {}}, .budgets = {1, 2}}, rows);
    EXPECT_EQ(rows.heard(), "budget 1; bounds; row; row; budget 2; bounds; row; row; ");
}

TEST(PlaceTest, APresetKeepsTheTierEvictionOfItsArm) {
    PlaceArm arm{.replay = {}, .preset = Preset::kVllm};
    arm.replay.control.tier_eviction.replacement = Replacement::kFifo;
    EXPECT_EQ(arm.at(9).control.tier_eviction.replacement, Replacement::kFifo);
    EXPECT_EQ(arm.at(9).control.replacement.replacement, Replacement::kLru);
}

}  // namespace
}  // namespace kvplane::control
