// SPDX-License-Identifier: Apache-2.0
#include "host_driver/gpu/step_time.h"

#include <gtest/gtest.h>

#include "model/block/block.h"

namespace kvplane::gpu {
namespace {

/// Default node, Llama-3-70B.
StepTime default_node() { return {NodeConfig{}, block::Shape{}.bytes_per_token()}; }

Time decode(const StepTime& step, int sequences, std::uint64_t context) {
    StepLoad load;
    for (int i = 0; i < sequences; ++i) load.add_decode(context);
    return step.of(load);
}

TEST(StepTimeTest, DefaultNodeDecodes) {
    const StepTime step = default_node();
    EXPECT_NEAR(decode(step, 1, 4'096).ms(), 10.11, 0.005);
    EXPECT_NEAR(decode(step, 32, 12'378).ms(), 15.44, 0.005);
    EXPECT_NEAR(decode(step, 64, 12'378).ms(), 20.83, 0.005);
}

TEST(StepTimeTest, DefaultNodePrefills) {
    StepLoad load;
    load.add_chunk(0, 2'048);
    EXPECT_NEAR(default_node().of(load).ms(), 71.7, 0.05);
}

// 6.44 ms + 43.7 ns x context: Llama-3.1-8B in BF16 on one H100.
TEST(StepTimeTest, PublishedLineOf8BOnOneH100) {
    const NodeConfig node{.name = "h100x1",
                          .parameters = 8'030'000'000,
                          .layers = 32,
                          .hidden = 4'096,
                          .weights = {16'060'000'000},
                          .compute = {543'950'000'000'000},
                          .weight_bandwidth = {2'914'500'000'000},  // 0.87 of 3.35 TB/s
                          .kv_bandwidth = {3'015'000'000'000},      // 0.90
                          .fixed = Time::from_us(930)};
    const StepTime step(node, Bytes::from_kib(128));
    for (const std::uint64_t context : {1'000, 8'000, 32'000, 128'000}) {
        const double published = 6.44 + 43.7e-6 * static_cast<double>(context);
        EXPECT_NEAR(decode(step, 1, context).ms(), published, 0.05 * published);
        // The line, not only its level.
        const double slope_ns = (decode(step, 1, context) - decode(step, 1, 0)).us() * 1e3 /
                                static_cast<double>(context);
        EXPECT_NEAR(slope_ns, 43.7, 0.05 * 43.7);
    }
}

TEST(StepTimeTest, WeightsHideTokensUntilTheyDoNot) {
    const StepTime step = default_node();
    const auto prefill = [&](std::uint64_t tokens) {
        StepLoad load;
        load.tokens = tokens;
        return step.of(load);
    };
    // 141.1 GB at 23.3 TB/s are 6.056 ms: 186.7 tokens of arithmetic.
    EXPECT_EQ(prefill(1), prefill(186));
    EXPECT_GT(prefill(188), prefill(186));
    EXPECT_EQ(prefill(4'000) - prefill(2'000), prefill(3'000) - prefill(1'000));
}

TEST(StepTimeTest, ChunksOfAPromptAttendToWhatIsBeforeThem) {
    StepLoad whole;
    whole.add_chunk(0, 3'000);
    StepLoad parts;
    parts.add_chunk(0, 1'000);
    parts.add_chunk(1'000, 500);
    parts.add_chunk(1'500, 1'500);
    EXPECT_EQ(whole.tokens, parts.tokens);
    EXPECT_EQ(whole.prefill_pairs_x2, parts.prefill_pairs_x2);
    EXPECT_EQ(whole.prefill_pairs_x2, 3'000U * 3'000U);
}

TEST(StepTimeTest, ComputeIsTheArithmetic) {
    const StepTime step = default_node();
    StepLoad load;
    load.add_chunk(4'096, 2'048);
    // Above the weights' time, all but the fixed cost is arithmetic.
    EXPECT_EQ(step.of(load) - step.compute_of(load), Time::from_ms(4));
    StepLoad one;
    one.add_decode(4'096);
    EXPECT_LT(step.compute_of(one), Time::from_us(33));
}

}  // namespace
}  // namespace kvplane::gpu
