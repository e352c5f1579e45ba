// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/trace_info.h"

#include <gtest/gtest.h>

#include "host_driver/workload/trace.h"
#include "tests/support/shared_data.h"

namespace kvplane::workload {
namespace {

TEST(TraceInfoTest, CountsByHand) {
    // Session 1: [0 1], [0 1 2]; session 2: [0 3]. Blocks 2 and 3 are read once.
    Workload w;
    w.tokens_per_block = 16;
    w.refs = {{0}, {1}, {0}, {1}, {2}, {0}, {3}};
    w.blocks.resize(4);
    w.requests = {{.arrival = Time::from_s(1),
                   .input_tokens = 32,
                   .output_tokens = 5,
                   .first_ref = 0,
                   .block_count = 2,
                   .session = 1},
                  {.arrival = Time::from_s(2),
                   .input_tokens = 40,
                   .output_tokens = 6,
                   .first_ref = 2,
                   .block_count = 3,
                   .session = 1},
                  {.arrival = Time::from_s(5),
                   .input_tokens = 20,
                   .output_tokens = 10,
                   .first_ref = 5,
                   .block_count = 2,
                   .session = 2,
                   .tenant = 7}};
    const TraceInfo info = trace_info(w);
    EXPECT_EQ(info.requests, 3U);
    EXPECT_EQ(info.block_refs, 7U);
    EXPECT_EQ(info.unique_blocks, 4U);
    EXPECT_EQ(info.max_read_set, 3U);
    EXPECT_DOUBLE_EQ(info.infinite_hit_rate, 3.0 / 7);
    EXPECT_DOUBLE_EQ(info.touched_once, 0.5);
    EXPECT_DOUBLE_EQ(info.span_s, 4.0);
    EXPECT_DOUBLE_EQ(info.requests_per_s, 0.75);
    EXPECT_DOUBLE_EQ(info.output_tokens.mean, 7.0);
    EXPECT_EQ(info.input_tokens.p10, 20U);
    EXPECT_EQ(info.input_tokens.p50, 32U);
    EXPECT_EQ(info.input_tokens.p90, 40U);
    EXPECT_EQ(info.input_tokens.max, 40U);
    EXPECT_EQ(info.sessions, 2U);
    EXPECT_EQ(info.multi_turn_sessions, 1U);
    EXPECT_DOUBLE_EQ(info.multi_turn_requests, 2.0 / 3);
    EXPECT_EQ(info.turns.max, 2U);
    EXPECT_EQ(info.tenants, 2U);
}

TEST(TraceInfoTest, PercentilesAreNearestRanks) {
    Workload w;
    for (std::uint32_t i = 1; i <= 100; ++i) {
        w.requests.push_back({.input_tokens = 101 - i, .output_tokens = 1});
    }
    const Spread spread = trace_info(w).input_tokens;
    EXPECT_EQ(spread.p10, 10U);
    EXPECT_EQ(spread.p50, 50U);
    EXPECT_EQ(spread.p90, 90U);
    EXPECT_EQ(spread.p99, 99U);
    EXPECT_EQ(spread.max, 100U);
    EXPECT_DOUBLE_EQ(spread.mean, 50.5);
}

TEST(TraceInfoTest, TheConversationTraceHasItsKnownFigures) {
    const char* const kTrace = "traces/mooncake/conversation_trace.jsonl";
    KVPLANE_REQUIRE_SHARED(kTrace);
    TraceOptions options;
    options.assemble.tokens_per_block = 512;
    options.assemble.spread_equal_stamps = false;
    const TraceInfo info =
        trace_info(read_trace(test::shared_path(kTrace).string(), TraceFormat::kAuto, options));
    EXPECT_EQ(info.requests, 12'031U);
    EXPECT_EQ(info.block_refs, 288'500U);
    EXPECT_EQ(info.unique_blocks, 182'790U);
    EXPECT_NEAR(info.infinite_hit_rate, 0.3664, 0.00005);
    EXPECT_NEAR(info.touched_once, 138'646.0 / 182'790, 1e-9);
    EXPECT_NEAR(info.span_s, 3'537, 0.5);
    EXPECT_NEAR(info.requests_per_s, 3.40, 0.005);
    EXPECT_EQ(info.input_tokens.p10, 964U);
    EXPECT_EQ(info.input_tokens.p50, 6'909U);
    EXPECT_EQ(info.input_tokens.p90, 27'367U);
    EXPECT_EQ(info.input_tokens.p99, 85'401U);
    EXPECT_EQ(info.input_tokens.max, 126'195U);
    EXPECT_NEAR(info.input_tokens.mean, 12'035, 0.5);
    EXPECT_EQ(info.output_tokens.p50, 350U);
    EXPECT_EQ(info.sessions, 8'469U);
    EXPECT_NEAR(info.multi_turn_requests, 0.446, 0.0005);
    EXPECT_EQ(info.turns.p50, 2U);
    EXPECT_EQ(info.turns.p90, 5U);
    EXPECT_EQ(info.turns.p99, 13U);
    EXPECT_EQ(info.turns.max, 43U);
}

}  // namespace
}  // namespace kvplane::workload
