// SPDX-License-Identifier: Apache-2.0
#include "explore/move_load.h"

#include <gtest/gtest.h>

#include "explore/config.h"
#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

using driver::MoveKind;

const std::vector<std::string> kCopies{"driver.mechanism=copy-engine"};

MoveLoad closed(Bytes block, std::uint32_t depth, std::uint32_t run = 1) {
    MoveLoad load;
    load.block = block;
    load.flows = {{.kind = MoveKind::kPromote, .depth = depth, .run = run}};
    return load;
}

MoveLoad open(Bytes block, std::uint64_t mb_s) {
    MoveLoad load = closed(block, 0);
    load.flows[0].rate = {mb_s * 1'000'000};
    load.orders = 4'000;
    return load;
}

MoveMeasure measure(const MoveLoad& load, const std::vector<std::string>& sets = {}) {
    return measure_moves(explore::load({}, sets).run, load);
}

/// Orders in flight = orders a second x latency, by either mechanism.
TEST(MoveLoadTest, DepthIsThroughputTimesLatency) {
    for (const std::vector<std::string>& sets : {std::vector<std::string>{}, kCopies}) {
        for (const std::uint32_t depth : {1U, 3U, 16U}) {
            for (const std::uint32_t run : {1U, 5U}) {
                const MoveMeasure m = measure(closed(Bytes::from_kib(64), depth, run), sets);
                const double bytes_in_flight =
                    m.flows[0].payload.gb_s() * 1e3 * m.flows[0].latency.mean_us();
                EXPECT_NEAR(bytes_in_flight / (65'536.0 * run), depth, 0.01 * depth);
                EXPECT_EQ(m.flows[0].latency.count(), 1'000U);
            }
        }
    }
}

/// One order at a time: what the driver measures of a block is what the host sees of its order.
TEST(MoveLoadTest, StagesSumToTheLatency) {
    for (const std::vector<std::string>& sets : {std::vector<std::string>{}, kCopies}) {
        const MoveMeasure m = measure(closed(Bytes::from_kib(64), 1), sets);
        double sum = 0;
        for (const double stage : m.stage_us) sum += stage;
        EXPECT_NEAR(sum, m.block_latency.mean_us(), 1e-9);
        EXPECT_NEAR(sum, m.flows[0].latency.mean_us(), 1e-9);
        EXPECT_EQ(m.flows[0].latency.max(), m.block_latency.max());
    }
}

TEST(MoveLoadTest, AnOpenLoopReachesWhatIsOffered) {
    const MoveMeasure light = measure(open(Bytes::from_kib(64), 10'000));
    const MoveMeasure heavy = measure(open(Bytes::from_kib(64), 45'000));
    EXPECT_NEAR(light.flows[0].payload.gb_s(), 10, 0.4);
    EXPECT_NEAR(heavy.flows[0].payload.gb_s(), 45, 1.8);
    EXPECT_GT(heavy.flows[0].latency.mean_us(), light.flows[0].latency.mean_us());
    // Half of what can pass: M/D/1 says half a service time of waiting, here on the wire alone.
    const MoveMeasure half = measure(open(Bytes::from_mib(5), 27'110));
    EXPECT_NEAR(half.flows[0].latency.mean_us() - 98.95, 96.69 / 2, 4);
}

TEST(MoveLoadTest, FlowsShareACard) {
    MoveLoad load = closed(Bytes::from_mib(1), 4);
    load.flows.push_back({.kind = MoveKind::kDemote, .depth = 4});
    const MoveMeasure both = measure(load);
    EXPECT_GT(both.flows[0].payload.gb_s(), 51);
    EXPECT_GT(both.flows[1].payload.gb_s(), 54);
    EXPECT_GE(both.flows[1].blocks, both.flows[1].latency.count());
    // Only promoted blocks have stages.
    EXPECT_NEAR(static_cast<double>(both.block_latency.count()), 1'000, 10);
}

/// What is less urgent yields, whatever its backlog.
TEST(MoveLoadTest, TheUrgentDoNotWaitForABacklog) {
    const auto p99 = [](MoveKind measured, MoveFlow beside) {
        MoveLoad load = open(Bytes::from_mib(5), 20'000);
        load.flows[0].kind = measured;
        load.orders = 500;
        load.flows.push_back(beside);
        return measure(load).flows[0].latency.percentile(990);
    };
    EXPECT_EQ(p99(MoveKind::kPromote, {.kind = MoveKind::kPrefetch, .depth = 4}),
              p99(MoveKind::kPromote, {.kind = MoveKind::kPrefetch, .depth = 400}));
    const MoveFlow busy{.kind = MoveKind::kPrefetch, .depth = 0, .rate = {32'000'000'000}};
    MoveFlow urgent = busy;
    urgent.kind = MoveKind::kPromote;
    EXPECT_GT(p99(MoveKind::kPrefetch, urgent), p99(MoveKind::kPromote, busy) * 2);
}

TEST(MoveLoadTest, ARunIsOneOrder) {
    const MoveMeasure one = measure(closed(Bytes::from_kib(640), 1, 8));
    const MoveMeasure whole = measure(closed(Bytes::from_mib(5), 1));
    // The gather list is one more way to host memory and back.
    const double list = one.flows[0].latency.mean_us() - whole.flows[0].latency.mean_us();
    EXPECT_NEAR(list, 0.84, 0.05);
    EXPECT_EQ(one.block_latency.count(), 8'000U);
}

TEST(MoveLoadTest, TheSameLoadGivesTheSameTimes) {
    MoveLoad load = open(Bytes::from_kib(64), 40'000);
    const MoveMeasure a = measure(load);
    const MoveMeasure b = measure(load);
    EXPECT_TRUE(a.flows[0].latency.sum_ps() == b.flows[0].latency.sum_ps());
    load.seed = 2;
    EXPECT_FALSE(a.flows[0].latency.sum_ps() == measure(load).flows[0].latency.sum_ps());
}

TEST(MoveLoadTest, LoadsThatMeanNothingAreRefused) {
    const auto refused = [](auto change) {
        MoveLoad load = closed(Bytes::from_kib(64), 1);
        change(load);
        EXPECT_THROW((void)measure(load), InvariantError);
    };
    refused([](MoveLoad& load) { load.flows.clear(); });
    refused([](MoveLoad& load) { load.flows[0].kind = MoveKind::kDiscard; });
    refused([](MoveLoad& load) { load.flows[0].depth = 0; });
    refused([](MoveLoad& load) { load.flows[0].rate = Rate::from_gb_s(1); });
    refused([](MoveLoad& load) { load.flows[0].run = 0; });
    refused([](MoveLoad& load) { load.flows.push_back(load.flows[0]); });
    refused([](MoveLoad& load) { load.orders = 0; });
    refused([](MoveLoad& load) { load.warm_up = 0; });
}

}  // namespace
}  // namespace kvplane::explore
