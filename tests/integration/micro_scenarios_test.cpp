// SPDX-License-Identifier: Apache-2.0
// The timed micro-scenarios, by name, through the whole model: a block of 5 MiB crosses in exactly
// 100 us, a step takes exactly 10 ms, and nothing else takes time. The copy engine with its
// overheads at zero is the mechanism, since a card's own pipeline always costs nanoseconds.
#include <gtest/gtest.h>

#include "explore/platform.h"
#include "host_driver/control/load_split.h"
#include "host_driver/control/prefetch_metrics.h"
#include "host_driver/driver/host_issued.h"
#include "model/index/tlm_index.h"
#include "tests/support/systemc_test.h"
#include "tests/support/tiny_workload.h"

namespace kvplane {
namespace {

using test::TinyWorkload;

constexpr Rate kBlockIn100Us{52'428'800'000};

explore::RunConfig bare_config(std::uint64_t frames) {
    explore::RunConfig config;
    config.node = {.parameters = 0,
                   .layers = 0,
                   .hidden = 0,
                   .weights = {0},
                   .kv_bandwidth = {UINT64_MAX},
                   .fixed = Time::from_ms(10),
                   .kv_budget = config.block.bytes() * frames};
    config.serving.watermark = {0};
    config.driver.mechanism = driver::Mechanism::kCopyEngine;
    config.driver.copy_engine = {.launch_latency = {},
                                 .issue_interval = {},
                                 .bandwidth = kBlockIn100Us,
                                 .bandwidth_d2h = kBlockIn100Us,
                                 .window = {},
                                 .card_latency = {}};
    config.card.link.rate = {128'000'000'000};
    return config;
}

class MicroScenarioTest : public test::SystemCTest {};

TEST_F(MicroScenarioTest, U1ByteTimeOnDemand) {
    explore::RunConfig config = bare_config(10);
    config.control.demotion = control::Demotion::kOnEvict;
    explore::Platform platform(config, TinyWorkload().add({}, {0}, 16, 4).make(), true);
    platform.run();
    const serving::ServingMetrics& metrics = platform.engine().metrics();
    EXPECT_EQ(metrics.ttft.max(), Time::from_ms(10));
    EXPECT_EQ(metrics.itl.count(), 3U);
    EXPECT_EQ(metrics.itl.min(), Time::from_ms(10));
    EXPECT_EQ(metrics.itl.max(), Time::from_ms(10));
    EXPECT_EQ(metrics.finished, Time::from_ms(40));  // 4 tokens: 100 tok/s
    EXPECT_EQ(metrics.output_tokens, 4U);
    // 40 ms + 30 ms of one 5 MiB frame: 350 MiB.ms.
    EXPECT_TRUE(platform.hbm().frame_ps() == static_cast<Uint128>(Time::from_ms(40 + 30).ps));
}

TEST_F(MicroScenarioTest, U1ByteTimeReservedUpFront) {
    explore::RunConfig config = bare_config(10);
    config.serving.reserve = serving::Reserve::kFull;
    explore::Platform platform(config, TinyWorkload().add({}, {0}, 16, 4).make(), true);
    platform.run();
    EXPECT_TRUE(platform.hbm().frame_ps() == static_cast<Uint128>(Time::from_ms(2 * 40).ps));
}

/// Blocks 0 to 2 are made, written to the tier and pushed out of HBM; at 2 s a request comes that
/// loads them and computes 16 tokens.
TinyWorkload three_loads_at_2_s() {
    TinyWorkload workload;
    workload.add({}, {0, 1, 2}, 48, 1);
    workload.add(Time::from_s(1), {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22}, 208, 1);
    return workload;
}

constexpr Time kLate = Time::from_s(2);

TEST_F(MicroScenarioTest, U2LoadOnAnIdleEngine) {
    explore::RunConfig config = bare_config(13);
    config.workload.warm_up = kLate;
    explore::Platform platform(config, three_loads_at_2_s().add(kLate, {0, 1, 2, 23}, 64, 4).make(),
                               true);
    platform.run();
    const serving::ServingMetrics& metrics = platform.engine().metrics();
    EXPECT_EQ(platform.moves().promotion().count(), 3U);
    EXPECT_EQ(platform.moves().last_block().max(), Time::from_us(300));
    EXPECT_EQ(metrics.requests, 1U);
    EXPECT_EQ(metrics.ttft.max(), Time::from_us(10'300));
    EXPECT_EQ(metrics.request_stall, Time::from_us(300));
    EXPECT_EQ(metrics.engine_stall, Time::from_us(300));
    EXPECT_EQ(metrics.output_tokens, 4U);  // 75 us of stall a token
}

TEST_F(MicroScenarioTest, U3LoadBesideADecodingSequence) {
    explore::RunConfig config = bare_config(13);
    config.workload.warm_up = kLate;
    // The other sequence starts a step each 10 ms from 1.9 s on, 2 s among them.
    explore::Platform platform(config,
                               three_loads_at_2_s()
                                   .add(Time::from_ms(1'900), {24}, 16, 60)
                                   .add(kLate, {0, 1, 2, 23}, 64, 4)
                                   .make(),
                               true);
    platform.run();
    const serving::ServingMetrics& metrics = platform.engine().metrics();
    EXPECT_EQ(platform.moves().promotion().count(), 3U);
    EXPECT_EQ(metrics.requests, 1U);
    EXPECT_EQ(metrics.ttft.max(), Time::from_ms(20));
    EXPECT_EQ(metrics.request_stall, Time::from_ms(10));
    EXPECT_EQ(metrics.engine_stall, Time{});
}

/// The control plane on its own: no engine decides when it is asked.
class FrameWaitTest : public test::SystemCTest, public control::ReadyListener {
public:
    void holdings_changed() override {}
    /// Longer than any move takes.
    static void settle() { sc_core::sc_start(to_sc_time(Time::from_ms(1))); }
};

TEST_F(FrameWaitTest, U9FrameWaitThenLink) {
    explore::RunConfig config = bare_config(2);
    config.control.demotion = control::Demotion::kOnEvict;
    const workload::Workload workload =
        TinyWorkload().add({}, {0}, 16, 1).add({}, {1}, 16, 1).add({}, {2}, 16, 1).make();
    block::Ledger ledger(3, block::OnBreach::kThrow);
    gpu::HbmPool hbm(2, config.block.bytes(), false);
    driver::MoveMetrics moves;
    index::TlmIndex index(config.card.index);
    card::Type3Card card("card", config.card, config.block.bytes(), index);
    driver::HostIssuedDriver driver(config.driver, config.card.tier_capacity, 3, hbm, moves);
    driver.copy_engine.mem.bind(card.bulk);
    control::ControlPlane plane(config.control, workload, 100, hbm, ledger, driver, *this);

    // X (block 0) is made, then written back for the frames of blocks 1 and 2.
    const auto make = [&](std::uint32_t request) {
        control::Holding holding;
        const auto chain = workload.full_chain(workload.requests[request]);
        ASSERT_TRUE(plane.admit(holding, {.chain = chain, .prompt_blocks = 1}));
        settle();
        plane.activate(holding);
        plane.computed(holding, 1);
        plane.end_of_step();
        plane.release(holding);
    };
    make(0);
    make(1);
    make(2);
    ASSERT_EQ(ledger.counts().demotions, 1U);
    ASSERT_EQ(moves.promotion().count(), 0U);

    // Both frames are unwritten and unpinned; X is wanted back.
    control::Holding holding;
    ASSERT_TRUE(plane.admit(
        holding,
        {.chain = workload.full_chain(workload.requests[0]), .reusable = 1, .prompt_blocks = 1}));
    settle();
    EXPECT_TRUE(holding.ready());
    EXPECT_EQ(moves.promotion().count(), 1U);
    EXPECT_EQ(moves.promotion().max(), Time::from_us(200));
    EXPECT_TRUE(moves.stage_sum_ps(engine::Stage::kFrameWait) == Time::from_us(100).ps);
    EXPECT_TRUE(moves.stage_sum_ps(engine::Stage::kLink) == Time::from_us(100).ps);
    plane.audit();
}

TEST(LoadSplitTest, U8FetchOrRecompute) {
    control::PrefixPrice price{
        .blocks = 10, .fetch = Time::from_us(100), .recompute = Time::from_us(500)};
    EXPECT_EQ(control::split_time(price, 0), Time::from_us(1'000));
    EXPECT_EQ(control::split_time(price, 10), Time::from_us(5'000));
    EXPECT_EQ(control::best_split(price), 1U);
    EXPECT_EQ(control::split_time(price, 1), Time::from_us(900));
    for (const std::int64_t backlog_us : {0, 1'000, 4'000, 4'001, 9'000}) {
        price.link_backlog = Time::from_us(backlog_us);
        EXPECT_EQ(control::recompute_beats_fetch(price), backlog_us > 4'000) << backlog_us;
    }
}

/// Prefetches through the copy engine of the bare setting: 100 us a block, one after another.
class PrefetchTest : public test::SystemCTest, public driver::MoveClient {
public:
    void run_done(std::uint32_t token, engine::Status, std::size_t) override {
        ends.at(token) = now();
    }
    std::array<Time, 4> ends{};
};

TEST_F(PrefetchTest, U11PrefetchAccuracy) {
    const explore::RunConfig config = bare_config(4);
    gpu::HbmPool hbm(4, config.block.bytes(), false);
    driver::MoveMetrics moves;
    index::TlmIndex index(config.card.index);
    card::Type3Card card("card", config.card, config.block.bytes(), index);
    driver::HostIssuedDriver driver(config.driver, config.card.tier_capacity, 4, hbm, moves);
    driver.copy_engine.mem.bind(card.bulk);
    driver.set_client(*this);
    const auto order = [&](driver::MoveKind kind, std::uint32_t i) {
        const driver::Move move{{i}, {0, i}, i};
        driver.submit({.kind = kind,
                       .token = i,
                       .decided = now(),
                       .frames_ready = now(),
                       .deadline = now(),
                       .moves = {&move, 1}});
    };
    for (std::uint32_t i = 0; i < 4; ++i) order(driver::MoveKind::kDemote, i);
    sc_core::sc_start();
    const Time start = now();
    for (std::uint32_t i = 0; i < 4; ++i) order(driver::MoveKind::kPrefetch, i);
    sc_core::sc_start();

    control::PrefetchMetrics metrics;
    for (std::uint32_t i = 0; i < 4; ++i) {
        metrics.prefetched();
        EXPECT_EQ(ends.at(i) - start, Time::from_us(100 * (i + 1)));
    }
    // The third comes 50 us late, the fourth is never read.
    for (const auto& [block, needed_us] : {std::pair{0U, 100}, {1U, 250}, {2U, 250}}) {
        metrics.read(start + Time::from_us(needed_us), ends.at(block));
    }
    metrics.wasted(config.block.bytes());
    EXPECT_DOUBLE_EQ(metrics.accuracy().value_or(-1), 0.75);
    EXPECT_DOUBLE_EQ(metrics.timely().value_or(-1), 0.50);
    EXPECT_EQ(metrics.wasted(), Bytes::from_mib(5));
    EXPECT_EQ(control::PrefetchMetrics{}.accuracy(), std::nullopt);
}

TEST(StageTest, U14StagesAndLookupShare) {
    engine::StageTimes stages;
    stages[engine::Stage::kSubmit] = Time::from_ns(100);
    stages[engine::Stage::kFetch] = Time::from_ns(741);
    stages[engine::Stage::kLookup] = Time::from_ns(4);
    stages[engine::Stage::kRecord] = Time::from_ns(60);
    stages[engine::Stage::kLink] = Time::from_us(100);
    stages[engine::Stage::kComplete] = Time::from_ns(500);
    driver::MoveMetrics moves;
    moves.promoted(stages, Bytes::from_mib(5));
    EXPECT_EQ(moves.promotion().max(), Time::from_ns(101'405));
    EXPECT_DOUBLE_EQ(moves.stage_share(engine::Stage::kLookup), 4.0 / 101'405.0);
}

}  // namespace
}  // namespace kvplane
