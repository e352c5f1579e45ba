// SPDX-License-Identifier: Apache-2.0
#include "host_driver/gpu/copy_engine.h"

#include <gtest/gtest.h>

#include "model/card/type3_card.h"
#include "model/index/tlm_index.h"
#include "tests/support/systemc_test.h"

namespace kvplane::gpu {
namespace {

using engine::BulkDirection;

constexpr Bytes kBlock = Bytes::from_mib(5);

/// A copy engine and a card, and what the engine reports.
class Bench : private CopyClient {
public:
    Bench(const CopyEngineConfig& config, std::uint32_t width)
        : m_card("card", card_of(width), kBlock, m_index), engine("engine", config, *this) {
        engine.mem.bind(m_card.bulk);
    }

    std::vector<CopyTimes> reads;
    std::vector<CopyTimes> writes;

private:
    static card::CardConfig card_of(std::uint32_t width) {
        card::CardConfig config;
        config.link.width = width;
        return config;
    }
    void copy_done(BulkDirection direction, const CopyTimes& times) override {
        EXPECT_EQ(times.ended, now());
        (direction == BulkDirection::kRead ? reads : writes).push_back(times);
    }

    index::TlmIndex m_index{index::IndexConfig{}};
    card::Type3Card m_card;

public:
    CopyEngine engine;
};

constexpr Time kLoop{3'240'000};  // L0 of a copy in a loop

class CopyEngineTest : public test::SystemCTest {
protected:
    /// One copy of a block from the card to an idle GPU.
    static double one_copy_us(CopyEngineConfig config, std::uint32_t width) {
        double us = 0;
        {
            Bench bench(config, width);
            bench.engine.copy(BulkDirection::kRead, 1, kBlock);
            sc_core::sc_start();
            us = bench.reads.at(0).ended.us();
        }
        fresh_kernel();
        return us;
    }
};

// Closed forms: L0 + 133 ns + n / min(51.8 GB/s, link, window / 973 ns).
TEST_F(CopyEngineTest, ZeroLoadInALoop) {
    CopyEngineConfig config;
    config.launch_latency = kLoop;
    config.issue_interval = kLoop;
    EXPECT_NEAR(one_copy_us(config, 8), 202.27, 0.2);
    EXPECT_NEAR(one_copy_us(config, 16), 104.59, 0.1);
    config.window = Bytes{43'520};  // 42.5 KiB
    EXPECT_NEAR(one_copy_us(config, 16), 120.59, 0.1);
    config.window = Bytes::from_kib(32);
    EXPECT_NEAR(one_copy_us(config, 16), 159.05, 0.1);
}

TEST_F(CopyEngineTest, ZeroLoadIsolated) {
    EXPECT_NEAR(one_copy_us({}, 8), 206.03, 0.2);
    EXPECT_NEAR(one_copy_us({}, 16), 108.35, 0.1);
}

TEST_F(CopyEngineTest, OnlyTheFirstOfALoopPaysTheLaunch) {
    const CopyEngineConfig config;
    Bench bench(config, 16);
    bench.engine.copy(BulkDirection::kRead, 2, kBlock);
    bench.engine.copy(BulkDirection::kRead, 1, kBlock);  // queued while it runs: the same loop
    sc_core::sc_start();
    ASSERT_EQ(bench.reads.size(), 3U);
    const Time wire = transfer_time(kBlock, config.bandwidth);
    Time start;
    Time launch = config.launch_latency;
    for (const CopyTimes& times : bench.reads) {
        EXPECT_EQ(times.queued, Time{});
        EXPECT_EQ(times.started, start);
        EXPECT_EQ(times.launched, start + launch);
        EXPECT_EQ(times.begun, times.launched + config.card_latency);
        EXPECT_EQ(times.ended, times.begun + wire);
        start = times.ended;
        launch = config.issue_interval;
    }
    // Idle again: the next one is isolated.
    bench.engine.copy(BulkDirection::kRead, 1, kBlock);
    sc_core::sc_start();
    EXPECT_EQ(bench.reads.at(3).launched - start, config.launch_latency);
}

TEST_F(CopyEngineTest, SmallCopiesOfALoopCostWhatTheirTableSays) {
    CopyEngineConfig config;
    config.issue_interval = Time::from_us(3);
    config.small_copies = {{Bytes::from_kib(4), Time::from_ns(100)},
                           {Bytes::from_kib(12), Time::from_ns(500)},
                           {Bytes::from_kib(20), Time::from_ns(300)}};
    const auto extra_ns = [&](std::uint64_t bytes) {
        return (loop_interval(config, {bytes}) - config.issue_interval).ps / 1000;
    };
    EXPECT_EQ(extra_ns(64), 100) << "below the first size";
    EXPECT_EQ(extra_ns(4 << 10), 100);
    EXPECT_EQ(extra_ns(6 << 10), 200);
    EXPECT_EQ(extra_ns(12 << 10), 500);
    EXPECT_EQ(extra_ns(18 << 10), 350);
    EXPECT_EQ(extra_ns(20 << 10), 300);
    EXPECT_EQ(extra_ns((20 << 10) + 1), 0) << "above the last size";

    // An idle engine pays its launch alone, the copy behind it the table.
    Bench bench(config, 16);
    bench.engine.copy(BulkDirection::kRead, 2, Bytes::from_kib(6));
    sc_core::sc_start();
    EXPECT_EQ(bench.reads.at(0).launched, config.launch_latency);
    EXPECT_EQ(bench.reads.at(1).launched - bench.reads.at(0).ended, Time::from_ns(3'200));
}

TEST_F(CopyEngineTest, DirectionsRunBesideEachOther) {
    const CopyEngineConfig config;
    Bench bench(config, 16);
    bench.engine.copy(BulkDirection::kRead, 1, kBlock);
    bench.engine.copy(BulkDirection::kWrite, 1, kBlock);
    sc_core::sc_start();
    ASSERT_EQ(bench.writes.size(), 1U);
    EXPECT_EQ(bench.reads.at(0).begun, bench.writes.at(0).begun);
    // To the card go 85 B for 64 written and 17 B for 64 read: 63.0 GB/s leave 37 for the writes.
    EXPECT_NEAR(bench.writes.at(0).ended.us(), 7.1 + 132.5, 2);
    EXPECT_LT(bench.reads.at(0).ended.us(), 125);
}

}  // namespace
}  // namespace kvplane::gpu
