// SPDX-License-Identifier: Apache-2.0
/// The bounds of the Mooncake conversation trace, to the last block.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "host_driver/control/bounds.h"

namespace kvplane::control {
namespace {

/// The trace as points in file order, each 512-token id split into `split` blocks.
ReadTrace read_conversation(std::uint32_t split) {
    const char* shared = std::getenv("KVPLANE_SHARED");
    std::ifstream in(std::string(shared == nullptr ? "../shared" : shared) +
                     "/traces/mooncake/conversation_trace.jsonl");
    EXPECT_TRUE(in.is_open()) << "set KVPLANE_SHARED";
    ReadTrace trace;
    std::vector<BlockIndex> chain;
    for (std::string line; std::getline(in, line);) {
        const std::uint32_t tokens =
            static_cast<std::uint32_t>(std::stoul(line.substr(line.find("input_length") + 15)));
        const std::uint32_t blocks = (tokens + 512 / split - 1) / (512 / split);
        chain.clear();
        const char* at = line.c_str() + line.find('[') + 1;
        while (*at != ']') {
            char* end = nullptr;
            const auto id = static_cast<std::uint32_t>(std::strtoul(at, &end, 10));
            for (std::uint32_t i = 0; i < split && chain.size() < blocks; ++i) {
                chain.push_back({id * split + i});
            }
            at = end + std::strspn(end, ", ");
        }
        trace.read(chain);
    }
    return trace;
}

struct Known {
    std::uint64_t budget, promotions, streamed, lb1, ub;
};

void expect_known(const GapTable& table, const Known& known) {
    const auto bounds = std::get<Bounds>(bound_traffic(table, known.budget, 100));
    EXPECT_EQ(bounds.min_promotions, known.promotions);
    EXPECT_EQ(bounds.min_promotions_streamed, known.streamed);
    EXPECT_EQ(bounds.lb1, known.lb1);
    EXPECT_LE(bounds.ub, known.ub);
    EXPECT_LE(bounds.lb1, bounds.ub);
    EXPECT_LE(bounds.lb2, bounds.ub);
}

TEST(BoundsTraceTest, ConversationIn512TokenBlocks) {
    const ReadTrace trace = read_conversation(1);
    EXPECT_EQ(trace.refs().size(), 288'500U);
    const GapTable table(trace);
    EXPECT_EQ(table.distinct(), 182'790U);
    EXPECT_EQ(table.largest_need(), 247U);
    expect_known(table, {409, 76'967, 69'925, 111'784, 116'071});
    expect_known(table, {819, 59'804, 55'516, 86'694, 93'102});
    EXPECT_TRUE(std::holds_alternative<Infeasible>(bound_traffic(table, 246, 1)));
    // Published to three digits, as shares of the 182,790 blocks.
    const auto share = [&table](std::uint64_t budget) {
        return static_cast<double>(min_promotions(table, budget)) / 182'790.0;
    };
    EXPECT_NEAR(share(1638), .218, .0005);
    EXPECT_NEAR(share(3276), .105, .0005);
    EXPECT_NEAR(share(6553), .011, .0005);
}

TEST(BoundsTraceTest, DualMeetsThePublishedBracket) {
    const GapTable table(read_conversation(1));
    for (const auto& [budget, lb2] : {std::pair{409, .622}, {1638, .335}, {6553, .0201}}) {
        const auto bounds =
            std::get<Bounds>(bound_traffic(table, static_cast<std::uint64_t>(budget), 3000));
        EXPECT_GE(static_cast<double>(bounds.lb2) / 182'790.0, lb2) << "budget " << budget;
    }
}

TEST(BoundsTraceTest, ConversationIn16TokenBlocks) {
    const GapTable table(read_conversation(32));
    EXPECT_EQ(table.next_reference().size(), 9'055'233U);
    EXPECT_EQ(table.distinct(), 5'674'025U);
    EXPECT_EQ(min_promotions(table, 13'107), 2'459'914U);
    EXPECT_EQ(min_promotions_streamed(table, 13'107), 2'235'692U);
    EXPECT_EQ(min_promotions(table, 13'107) + min_demoted(table, 13'107), 3'572'307U);
}

}  // namespace
}  // namespace kvplane::control
