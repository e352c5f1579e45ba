// SPDX-License-Identifier: Apache-2.0
#include "explore/card_load.h"

#include <gtest/gtest.h>

#include <functional>

#include "model/common/errors.h"
#include "model/cxl/link.h"

namespace kvplane::explore {
namespace {

card::CardConfig small_card() {
    card::CardConfig config;
    config.tier_capacity = Bytes::from_mib(512);
    config.link.width = 8;
    config.dram.channels = 2;
    config.mem.depth = 256;
    config.lines.refresh = memory::DramRefreshMode::kNone;
    config.mem.fidelity = cxl::LinkFidelity::kLine;
    config.dram_fidelity = card::DramFidelity::kLine;
    return config;
}

CardLoad closed(std::uint32_t requesters, std::uint32_t lines) {
    CardLoad load;
    load.requesters = requesters;
    load.lines = lines;
    load.requests = 10'000;
    load.warm_up = 1'000;
    return load;
}

double mean_ns(const CardMeasure& measure) { return measure.read_latency.mean_us() * 1e3; }

/// One line at a time: lines in flight = bandwidth x latency, to a line, and so for any number.
TEST(CardLoadTest, LinesInFlightAreBandwidthTimesLatency) {
    for (const std::uint32_t lines : {1U, 8U, 40U}) {
        const CardMeasure measure = measure_card(small_card(), closed(3, lines));
        EXPECT_NEAR(measure.gb_s() * mean_ns(measure) / 64, 3.0 * lines, 0.02 * 3 * lines);
        EXPECT_EQ(measure.most_in_flight, 3 * lines);
    }
}

TEST(CardLoadTest, TheHostsShareIsAddedToEachAccess) {
    CardLoad load = closed(1, 1);
    const CardMeasure without = measure_card(small_card(), load);
    load.host = Time::from_ns(80);
    const CardMeasure with = measure_card(small_card(), load);
    EXPECT_NEAR(mean_ns(with) - mean_ns(without), 80, 0.5);
    load.host_spread = Time::from_ns(8);
    const CardMeasure spread = measure_card(small_card(), load);
    EXPECT_NEAR(mean_ns(spread) - mean_ns(without), 80, 1);
    const auto quarter = [](const CardMeasure& m, std::uint32_t p) {
        return static_cast<double>(m.read_latency.percentile(p).ps) / 1e3;
    };
    EXPECT_GT(quarter(spread, 750) - quarter(spread, 250),
              quarter(with, 750) - quarter(with, 250) + 4);
}

TEST(CardLoadTest, AnOpenLoopReachesWhatIsOfferedUntilItsLimitBinds) {
    CardLoad load = closed(4, 1);
    load.outstanding = 256;
    load.rate = Rate::from_gb_s(10);
    const CardMeasure open = measure_card(small_card(), load);
    EXPECT_NEAR(open.gb_s(), 10, 0.3);
    EXPECT_LT(open.most_in_flight, 60U);
    load.outstanding = 4;
    const CardMeasure limited = measure_card(small_card(), load);
    EXPECT_EQ(limited.most_in_flight, 4U);
    EXPECT_LT(limited.gb_s(), 4 * 64 / 80.0);
    EXPECT_GT(mean_ns(limited), 10 * mean_ns(open)) << "from when a line comes";
}

TEST(CardLoadTest, MixesAreWhatIsAsked) {
    CardLoad load = closed(4, 16);
    for (const auto& [reads, writes] : {std::pair{1U, 0U}, {2U, 1U}, {0U, 1U}, {90U, 10U}}) {
        load.reads = reads;
        load.writes = writes;
        const CardMeasure measure = measure_card(small_card(), load);
        EXPECT_NEAR(measure.reads.gb_s() / measure.gb_s(),
                    static_cast<double>(reads) / (reads + writes), 0.005);
    }
}

TEST(CardLoadTest, TheProbeIsBesideTheLoadAndItsLatencyAlone) {
    CardLoad load = closed(8, 8);
    const CardMeasure all = measure_card(small_card(), load);
    load.probe = true;
    const CardMeasure probed = measure_card(small_card(), load);
    EXPECT_EQ(all.issued, 11'000U);
    EXPECT_GT(probed.issued, 11'000U);
    EXPECT_LT(probed.read_latency.count(), all.read_latency.count() / 10);
    EXPECT_NEAR(probed.gb_s(), all.gb_s(), 0.03 * all.gb_s());
}

TEST(CardLoadTest, PausesLowerTheLoad) {
    CardLoad load = closed(4, 8);
    load.pause = Time::from_us(1);
    const CardMeasure paused = measure_card(small_card(), load);
    EXPECT_NEAR(paused.gb_s(), 32 * 64 / (1000 + mean_ns(paused)), 0.02);
    load.random_pause = true;
    EXPECT_NEAR(measure_card(small_card(), load).gb_s(), paused.gb_s(), 0.05 * paused.gb_s());
}

TEST(CardLoadTest, CardsTakeTurnsByPages) {
    CardLoad load = closed(32, 16);
    const CardMeasure one = measure_card(small_card(), load);
    load.cards = 2;
    load.requesters = 64;
    load.requests = 20'000;
    const CardMeasure two = measure_card(small_card(), load);
    EXPECT_NEAR(two.gb_s(), 2 * one.gb_s(), 0.05 * two.gb_s());
    load.pattern = CardPattern::kSequential;
    EXPECT_NEAR(measure_card(small_card(), load).gb_s(), two.gb_s(), 0.1 * two.gb_s());
}

TEST(CardLoadTest, SameSeedSameMeasureAnotherSeedAnother) {
    CardLoad load = closed(4, 8);
    const CardMeasure first = measure_card(small_card(), load);
    const CardMeasure again = measure_card(small_card(), load);
    EXPECT_EQ(first.read_latency.sum_ps(), again.read_latency.sum_ps());
    EXPECT_EQ(first.reads, again.reads);
    load.seed = 2;
    EXPECT_NE(measure_card(small_card(), load).read_latency.sum_ps(), first.read_latency.sum_ps());
}

/// Neither wire nor DRAM nor front end gives more than it has.
TEST(CardLoadTest, NothingExceedsWhatBoundsIt) {
    const auto reached = [](const std::function<void(card::CardConfig&)>& change) {
        card::CardConfig config = small_card();
        change(config);
        return measure_card(config, closed(16, 16)).gb_s();
    };
    const cxl::LinkConfig link = small_card().link;
    const double wire = cxl::Link(link).mem_bandwidth({1, 0, 0}).gb_s();
    const double on_wire = reached([](card::CardConfig&) {});
    EXPECT_LE(on_wire, wire * 1.001);
    EXPECT_GT(on_wire, wire * 0.98);
    const auto narrow = [](card::CardConfig& c) {
        c.dram.channels = 1;
        c.lines = memory::Ddr5Config::of(memory::DramPreset::kDdr4At1866M);
    };
    EXPECT_LT(reached(narrow), 14.93);
    EXPECT_GT(reached(narrow), 7);
    const double lanes =
        reached([](card::CardConfig& c) { c.mem.front_end.read = Time::from_ns(8); });
    EXPECT_LE(lanes, 8.001);
    EXPECT_GT(lanes, 7.9);
}

TEST(CardLoadTest, WhatIsNoLoadIsRefused) {
    const auto refused = [](const std::function<void(CardLoad&)>& change) {
        CardLoad load = closed(1, 1);
        change(load);
        EXPECT_THROW((void)measure_card(small_card(), load), InvariantError);
    };
    refused([](CardLoad& l) { l.reads = 0; });
    refused([](CardLoad& l) { l.requesters = 0; });
    refused([](CardLoad& l) { l.lines = 0; });
    refused([](CardLoad& l) { l.outstanding = 0; });
    refused([](CardLoad& l) { l.cards = 0; });
    refused([](CardLoad& l) { l.requests = 0; });
    refused([](CardLoad& l) { l.span = {100}; });
    refused([](CardLoad& l) { l.span = Bytes::from_gib(1); });
}

}  // namespace
}  // namespace kvplane::explore
