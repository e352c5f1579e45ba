// SPDX-License-Identifier: Apache-2.0
/// One line at a time: rows and refreshes in closed form are those of the scheduler.
#include "model/memory/dram_rows.h"

#include <gtest/gtest.h>

#include "model/common/random.h"
#include "model/memory/ddr5_subchannel.h"

namespace kvplane::memory {
namespace {

/// How many of `count` random reads differ by more than a cycle, per mille.
int differ_per_mille(const Ddr5Config& config, Time longest_gap, std::uint64_t lines,
                     Cycle refresh_offset = 0) {
    constexpr int kCount = 5'000;
    DramRows rows(config, refresh_offset);
    Ddr5Subchannel channel(config, nullptr, refresh_offset);
    RandomStream random(7, "dram rows");
    const Time cycle = channel.clock().at(2);
    Time at = Time::from_ns(100);
    int differ = 0;
    for (int i = 0; i < kCount; ++i) {
        const std::uint64_t line = random.uniform(lines);
        channel.submit(at, {.line = line});
        const Time expected = channel.take_answer(0);
        const Time model = rows.access(at, {}, line, false).data + config.controller;
        differ += model > expected + cycle || model < expected - cycle ? 1 : 0;
        at = expected + Time{static_cast<std::int64_t>(
                            random.uniform(static_cast<std::uint64_t>(longest_gap.ps)))};
    }
    return differ * 1000 / kCount;
}

TEST(DramRowsTest, LoneReadsTakeTheSameTime) {
    for (const DramPreset preset :
         {DramPreset::kDdr5At4800B, DramPreset::kDdr5At6400B, DramPreset::kDdr4At3200AA}) {
        for (const Time gap : {Time::from_ns(20), Time::from_ns(300), Time::from_us(20)}) {
            Ddr5Config config = Ddr5Config::of(preset);
            EXPECT_LE(differ_per_mille(config, gap, 1 << 20), 15) << to_string(preset) << gap.ps;
            EXPECT_LE(differ_per_mille(config, gap, 512), 15) << to_string(preset) << gap.ps;
            config.refresh = DramRefreshMode::kNone;
            EXPECT_EQ(differ_per_mille(config, gap, 1 << 20), 0) << to_string(preset) << gap.ps;
        }
    }
}

/// Lines at random as fast as they come: faw and rrd bound them, whatever else is free.
TEST(DramRowsTest, ActivatesKeepTheirDistance) {
    Ddr5Config config = Ddr5Config::of(DramPreset::kDdr4At3200AA);
    config.refresh = DramRefreshMode::kNone;
    const auto cycles = [](const Ddr5Config& of) {
        DramRows rows(of);
        RandomStream random(3, "rows");
        Time last{};
        constexpr std::int64_t kLines = 10'000;
        for (std::int64_t i = 0; i < kLines; ++i) {
            const std::uint64_t line = random.uniform(of.data_lines());
            last = std::max(last, rows.access({}, {}, line, false).data);
        }
        return static_cast<double>(DramClock(of.timing.speed).first_at(last)) / kLines;
    };
    EXPECT_NEAR(cycles(config), 34.0 / 4, 0.4);
    config.timing.faw = 60;
    EXPECT_NEAR(cycles(config), 60.0 / 4, 0.4);
    config.timing.faw = 16;
    config.timing.rrd_s = 7;
    EXPECT_NEAR(cycles(config), 7, 0.4);
}

TEST(DramRowsTest, SubchannelsTakeTurnsToRefresh) {
    Ddr5Config config;
    config.channels = 2;
    for (std::uint32_t i = 0; i < 4; ++i) {
        const Cycle offset = config.refresh_offset(i);
        EXPECT_EQ(offset, config.refresh_interval() / 4 * i);
        EXPECT_LE(differ_per_mille(config, Time::from_ns(300), 1 << 20, offset), 15) << i;
        DramRows rows(config, offset);
        const DramClock clock(config.timing.speed);
        const Cycle due = config.refresh_interval() + offset;
        EXPECT_EQ(rows.after_refresh(clock.at(due - 1)), clock.at(due - 1)) << i;
        EXPECT_EQ(rows.after_refresh(clock.at(due + 1)), clock.at(due + config.timing.rfc1)) << i;
    }
    config.geometry.ranks = 2;
    EXPECT_EQ(config.refresh_offset(1), config.refresh_interval() / 8);
    config.refresh = DramRefreshMode::kNone;
    EXPECT_EQ(config.refresh_offset(1), 0);
}

TEST(DramRowsTest, RefreshesStopASubchannelOfOneRankAlone) {
    Ddr5Config config;
    DramRows one(config);
    EXPECT_TRUE(one.stops());
    EXPECT_LT(one.running(), Ratio{940'000});
    const Time due = DramClock(config.timing.speed).at(config.refresh_interval());
    EXPECT_EQ(one.after_refresh(due - Time{1'000}), due - Time{1'000});
    EXPECT_EQ(one.after_refresh(due + Time{1'000}),
              DramClock(config.timing.speed).at(config.refresh_interval() + config.timing.rfc1));
    config.geometry.ranks = 2;
    EXPECT_FALSE(DramRows(config).stops());
    config.geometry.ranks = 1;
    config.refresh = DramRefreshMode::kSameBank;
    EXPECT_FALSE(DramRows(config).stops());
    EXPECT_EQ(DramRows(config).running(), Ratio{1'000'000});
}

}  // namespace
}  // namespace kvplane::memory
