// SPDX-License-Identifier: Apache-2.0
/// Burst fidelity against line fidelity of the same DRAM.
#include <gtest/gtest.h>

#include <tuple>

#include "model/memory/ddr5_load.h"
#include "model/memory/dram.h"

namespace kvplane::memory {
namespace {

constexpr DramPreset kPresets[] = {DramPreset::kDdr5At4800B, DramPreset::kDdr5At5600B,
                                   DramPreset::kDdr5At6400B, DramPreset::kDdr4At3200AA,
                                   DramPreset::kDdr4At1866M};

double line_gb_s(const Ddr5Config& config, std::uint32_t reads, std::uint32_t writes) {
    DramLoad load;
    load.reads = reads;
    load.writes = writes;
    load.seed = 99;
    const DramMeasure measure = measure_dram(config, load);
    return (measure.reads.gb_s() + measure.writes.gb_s()) * config.subchannels();
}

/// A stream of so many reads and writes in the closed form.
double burst_gb_s(const DramConfig& config, std::uint32_t reads, std::uint32_t writes) {
    const Dram dram(config);
    const double lines = reads + writes;
    const double mixed = reads != 0 && writes != 0 ? writes : 0;
    const double ps = lines * static_cast<double>(dram.line_service().ps) +
                      mixed * static_cast<double>(dram.mixed_write_extra().ps);
    return lines * 64e3 / ps * config.channels * config.subchannels;
}

TEST(DramBurstTest, ReadsAreWithinOnePercentOfLineFidelity) {
    for (const DramPreset preset : kPresets) {
        const Ddr5Config line = Ddr5Config::of(preset);
        const DramConfig burst = burst_config(line);
        const double reads = line_gb_s(line, 1, 0);
        EXPECT_NEAR(Dram(burst).bandwidth().gb_s(), reads, 0.01 * reads) << to_string(preset);
        EXPECT_NEAR(burst_gb_s(burst, 1, 0), reads, 0.01 * reads) << to_string(preset);
        const double mixed = line_gb_s(line, 2, 1);
        EXPECT_NEAR(burst_gb_s(burst, 2, 1), mixed, 0.01 * mixed) << to_string(preset);
    }
}

/// Mixes that no parameter was taken from. With DDR5, writes alone are slower than reads alone by
/// up to 1.4 %, because each refresh waits for a longer recovery; the closed form knows no such
/// thing.
TEST(DramBurstTest, OtherMixesFollowWithinOnePercent) {
    for (const DramPreset preset : kPresets) {
        const Ddr5Config line = Ddr5Config::of(preset);
        const DramConfig burst = burst_config(line);
        for (const auto& [reads, writes, within] : {std::tuple{9U, 1U, 0.01},
                                                    {4U, 1U, 0.01},
                                                    {3U, 1U, 0.01},
                                                    {3U, 2U, 0.01},
                                                    {1U, 1U, 0.01},
                                                    {0U, 1U, 0.015}}) {
            const double expected = line_gb_s(line, reads, writes);
            EXPECT_NEAR(burst_gb_s(burst, reads, writes), expected, within * expected)
                << to_string(preset) << ' ' << reads << ':' << writes;
        }
    }
}

TEST(DramBurstTest, AnIdleReadTakesTheSameTime) {
    for (const DramPreset preset : kPresets) {
        Ddr5Config line = Ddr5Config::of(preset);
        line.refresh = DramRefreshMode::kNone;
        Ddr5Subchannel channel(line);
        channel.submit({}, {.line = 12'345});
        EXPECT_EQ(channel.take_answer(0), Dram(burst_config(line)).idle_latency());
    }
}

/// The defaults were set before there was a line model, and exact expectations rest on them.
TEST(DramBurstTest, TheDefaultsAreThoseOfTheirDevice) {
    const DramConfig defaults;
    const DramConfig derived = burst_config(Ddr5Config::of(DramPreset::kDdr5At5600B));
    EXPECT_EQ(defaults.speed, derived.speed);
    EXPECT_EQ(defaults.subchannels, derived.subchannels);
    EXPECT_EQ(defaults.controller, derived.controller);
    EXPECT_NEAR(defaults.service.ppm, derived.service.ppm, 0.01 * derived.service.ppm);
    const auto closed_row = static_cast<double>(derived.closed_row.ps);
    EXPECT_NEAR(static_cast<double>(defaults.closed_row.ps), closed_row, 0.03 * closed_row);
    EXPECT_NEAR(defaults.write_batch, derived.write_batch, 2);
}

TEST(DramBurstTest, WhatMovesTheLineModelMovesTheBurstParameters) {
    const Ddr5Config line;
    const DramConfig before = burst_config(line);
    Ddr5Config changed = line;
    changed.timing.rfc1 += 200;
    EXPECT_LT(burst_config(changed).service, before.service);
    changed = line;
    changed.timing.wtr_l += 40;
    EXPECT_GT(burst_config(changed).turnaround, before.turnaround);
    changed = line;
    changed.timing.rcd += 10;
    EXPECT_GT(burst_config(changed).closed_row, before.closed_row);
    changed = line;
    changed.ecc = DramEcc::kInline;
    EXPECT_LT(burst_config(changed).service.ppm, before.service.ppm * 0.9);
}

}  // namespace
}  // namespace kvplane::memory
