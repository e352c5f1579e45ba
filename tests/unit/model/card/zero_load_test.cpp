// SPDX-License-Identifier: Apache-2.0
/// A promotion of 5 MiB on an idle card, against the closed forms of each of its stages.
#include "host.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Opcode;
using engine::Stage;

constexpr Bytes kBlock = Bytes::from_mib(5);
/// CPU builds and posts the descriptor; half of a poll's interval. The host's, not the card's.
constexpr Time kSubmit = Time::from_ns(110);
constexpr Time kPoll = Time::from_ns(50);

struct Row {
    const char* name;
    std::uint32_t width;
    engine::Fence fence;
    std::uint64_t mps;
    double total_us;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class ZeroLoadTest : public test::SystemCTest, public testing::WithParamInterface<Row> {};

TEST_P(ZeroLoadTest, TotalIsTheOracles) {
    const Row& row = GetParam();
    CardConfig config = baseline(row.width);
    config.engine.fence = row.fence;
    config.link.mps = {row.mps};
    Bench bench(config, kBlock);
    bench.load({key_of(1)});
    const Time begin = now();
    const Done done = bench.finish(bench.host.intent(Opcode::kPromote, key_of(1)));
    EXPECT_EQ(done.status, engine::Status::kOk);
    const Time total = kSubmit + (done.at - begin) + kPoll;
    EXPECT_NEAR(total.us(), row.total_us, 0.01 * row.total_us);
    EXPECT_NEAR(total.us(), row.total_us, 0.02) << "no more than rounding";

    // The stages are those of this promotion and sum to it exactly.
    ASSERT_EQ(bench.host.promoted.size(), 1U);
    const engine::BlockMove& move = bench.host.promoted.front();
    EXPECT_EQ(move.arrived, begin + config.flight);
    EXPECT_EQ(move.stages.total(), done.at - move.arrived);
}

using enum engine::Fence;
INSTANTIATE_TEST_SUITE_P(
    HostRing, ZeroLoadTest,
    testing::Values(Row{"x8Flag", 8, kInBandFlag, 256, 195.64},
                    Row{"x16Flag", 16, kInBandFlag, 256, 98.95},
                    Row{"x8Read", 8, kReadFlush, 256, 196.38},
                    Row{"x16Read", 16, kReadFlush, 256, 99.69},
                    Row{"x8ReadMps128", 8, kReadFlush, 128, 212.96},
                    Row{"x8ReadMps512", 8, kReadFlush, 512, 188.09},
                    Row{"x16ReadMps128", 16, kReadFlush, 128, 107.98},
                    Row{"x16ReadMps512", 16, kReadFlush, 512, 95.55}),
    [](const auto& instance) { return instance.param.name; });

class ZeroLoadStagesTest : public test::SystemCTest {};

TEST_F(ZeroLoadStagesTest, EachStageIsTheOracles) {
    Bench bench(baseline(8), kBlock);
    bench.load({key_of(1)});
    (void)bench.finish(bench.host.intent(Opcode::kPromote, key_of(1)));
    ASSERT_EQ(bench.host.promoted.size(), 1U);
    const engine::StageTimes& stages = bench.host.promoted.front().stages;
    const auto ns = [&](Stage stage) { return static_cast<double>(stages[stage].ps) / 1e3; };
    EXPECT_EQ(ns(Stage::kFrameWait), 0);
    EXPECT_EQ(ns(Stage::kSubmit), 0) << "the host's";
    EXPECT_NEAR(ns(Stage::kFetch), 840 + 16, 4);  // 64 B on the wire: 2.8 ns
    EXPECT_EQ(ns(Stage::kQueueOwn), 0);
    EXPECT_NEAR(ns(Stage::kQueueOther), 4, 0.001);
    EXPECT_NEAR(ns(Stage::kLookup), 6, 0.001);
    EXPECT_NEAR(ns(Stage::kRecord), 57, 1);
    EXPECT_NEAR(ns(Stage::kDram), 60, 1);
    EXPECT_NEAR(ns(Stage::kDecode), 4, 0.001);
    EXPECT_NEAR(ns(Stage::kLink), 193'375 + 370, 25);
    EXPECT_EQ(ns(Stage::kFence), 0);
    EXPECT_NEAR(ns(Stage::kComplete), 4 + 3 + 370, 2);
}

TEST_F(ZeroLoadStagesTest, ADemotionPaysTheRoundTripOfItsReads) {
    const CardConfig config = baseline(16);
    Bench bench(config, kBlock);
    const Time begin = now();
    const Done done = bench.finish(bench.host.intent(Opcode::kDemote, key_of(1)), 1);
    ASSERT_EQ(bench.host.demoted.size(), 1U);
    const engine::BlockMove& move = bench.host.demoted.front();
    EXPECT_EQ(move.stages.total(), done.at - move.arrived);
    // Fetch and check 856, lookup 6, scheduler 4, first data 840, 5 MiB at 55.01 GB/s, end 377 ns.
    const double expected = 0.370 + 0.856 + 0.006 + 0.004 + 0.840 + 5.24288e6 / 55.01e3 + 0.377;
    EXPECT_NEAR((done.at - begin).us(), expected, 0.02);
    EXPECT_EQ(move.stages[Stage::kRecord], Time{}) << "a key that is not there has no record";
}

TEST_F(ZeroLoadStagesTest, WithoutAFenceNothingIsWaitedFor) {
    CardConfig config = baseline(16);
    config.engine.fence = kNone;
    Bench bench(config, kBlock);
    bench.load({key_of(1)});
    const Time begin = now();
    const Done done = bench.finish(bench.host.intent(Opcode::kPromote, key_of(1)));
    EXPECT_NEAR((kSubmit + (done.at - begin) + kPoll).us(), 98.95, 0.02);
}

TEST_F(ZeroLoadStagesTest, SmallBlocksAtQueueDepthOne) {
    CardConfig config = baseline(8);
    config.engine.fence = kReadFlush;
    Bench bench(config, Bytes::from_kib(64));
    bench.load({key_of(1)});
    const Time begin = now();
    const Done done = bench.finish(bench.host.intent(Opcode::kPromote, key_of(1)));
    EXPECT_NEAR((kSubmit + (done.at - begin) + kPoll).us(), 5.42, 0.0542);
}

}  // namespace
}  // namespace kvplane::card
