// SPDX-License-Identifier: Apache-2.0
/// The Mooncake conversation trace to the last block: bounds, LRU and MIN.
#include <gtest/gtest.h>

#include "host_driver/control/bounds.h"
#include "host_driver/control/replay.h"
#include "host_driver/workload/trace.h"
#include "tests/support/shared_data.h"
#include "tests/unit/host_driver/control/chains.h"

namespace kvplane::control {
namespace {

workload::Workload read_conversation(std::uint32_t tokens_per_block) {
    workload::TraceOptions options;
    options.assemble.tokens_per_block = tokens_per_block;
    return workload::read_trace(
        test::shared_path("traces/mooncake/conversation_trace.jsonl").string(),
        workload::TraceFormat::kMooncake, options);
}

struct Known {
    std::uint64_t budget, lru, promotions, streamed, lb1, ub;
};

std::uint64_t promotions(const workload::Workload& workload, std::uint64_t budget,
                         Replacement replacement) {
    ReplayConfig config{.frames = budget};
    config.control.replacement.replacement = replacement;
    return replay(workload, config).counts.promotions;
}

TEST(ConversationTest, In512TokenBlocks) {
    KVPLANE_REQUIRE_SHARED("traces/mooncake");
    const workload::Workload workload = read_conversation(512);
    const GapTable table(read_sets(workload));
    EXPECT_EQ(workload.refs.size(), 288'500U);
    EXPECT_EQ(table.distinct(), 182'790U);
    EXPECT_EQ(table.largest_need(), 247U);
    for (const Known& known : {Known{409, 93'550, 76'967, 69'925, 111'784, 116'071},
                               Known{819, 93'194, 59'804, 55'516, 86'694, 93'102}}) {
        const auto bounds = std::get<Bounds>(bound_traffic(table, known.budget, 100));
        EXPECT_EQ(bounds.min_promotions, known.promotions);
        EXPECT_EQ(bounds.min_promotions_streamed, known.streamed);
        EXPECT_EQ(bounds.lb1, known.lb1);
        EXPECT_LE(bounds.ub, known.ub);
        EXPECT_LE(std::max(bounds.lb1, bounds.lb2), bounds.ub);
        EXPECT_EQ(promotions(workload, known.budget, Replacement::kLru), known.lru);
        EXPECT_EQ(promotions(workload, known.budget, Replacement::kMin), known.promotions);
    }
    EXPECT_TRUE(std::holds_alternative<Infeasible>(bound_traffic(table, 246, 1)));
}

TEST(ConversationTest, PublishedShares) {
    KVPLANE_REQUIRE_SHARED("traces/mooncake");
    // To three digits, as shares of the 182,790 blocks: A_read*, LB1, dual, UB.
    struct Shares {
        std::uint64_t budget;
        double promotions, lb1, lb2, ub;
    };
    const GapTable table(read_sets(read_conversation(512)));
    const auto share = [](std::uint64_t moves) { return static_cast<double>(moves) / 182'790; };
    for (const Shares& known :
         {Shares{409, .421, .612, .622, .635}, Shares{1638, .218, .320, .336, .351},
          Shares{3276, .105, .159, .170, .182}, Shares{6553, .011, .0198, .0202, .0211}}) {
        const auto bounds = std::get<Bounds>(bound_traffic(table, known.budget, 3000));
        EXPECT_NEAR(share(bounds.min_promotions), known.promotions, .0005);
        EXPECT_NEAR(share(bounds.lb1), known.lb1, .0005);
        EXPECT_GE(share(bounds.lb2), known.lb2 - .0005);
        EXPECT_LE(share(bounds.ub), known.ub + .0005);
    }
}

TEST(ConversationTest, SelectiveDemotion) {
    KVPLANE_REQUIRE_SHARED("traces/mooncake");
    const workload::Workload workload = read_conversation(512);
    const std::vector<std::pair<double, std::uint64_t>> known{
        {1.494, 0}, {.502, 43'368}, {.265, 61'577}};
    for (std::uint32_t i = 0; i < known.size(); ++i) {
        ReplayConfig config{.frames = 1638};
        config.control.store = {.selection = Selection::kThreshold, .references = i + 1};
        const ReplayResult result = replay(workload, config);
        EXPECT_NEAR(result.a_traffic(), known[i].first, .0005);
        EXPECT_EQ(result.counts.recomputed, known[i].second);
    }
}

TEST(ConversationTest, In16TokenBlocks) {
    KVPLANE_REQUIRE_SHARED("traces/mooncake");
    const workload::Workload workload = read_conversation(16);
    const GapTable table(read_sets(workload));
    EXPECT_EQ(workload.refs.size(), 9'055'233U);
    EXPECT_EQ(table.distinct(), 5'674'025U);
    EXPECT_EQ(min_promotions(table, 13'107), 2'459'914U);
    EXPECT_EQ(min_promotions_streamed(table, 13'107), 2'235'692U);
    EXPECT_EQ(min_promotions(table, 13'107) + min_demoted(table, 13'107), 3'572'307U);
    EXPECT_EQ(promotions(workload, 13'107, Replacement::kLru), 2'992'133U);
}

}  // namespace
}  // namespace kvplane::control
