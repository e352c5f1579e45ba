// SPDX-License-Identifier: Apache-2.0
/// What transfers do to single lines, and to runs of lines that begin: refreshes, batches of
/// writes, and the rows that are left open.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/memory/dram.h"

namespace kvplane::memory {
namespace {

constexpr Rate kOut = Rate::from_gb_s(54);
constexpr Bytes kRun = Bytes::from_kib(64);

Ddr5Config device() {
    Ddr5Config config = Ddr5Config::of(DramPreset::kDdr5At5600B);
    config.channels = 4;
    return config;
}

Dram::Transfers transfers(Rate read, Rate written) {
    return {{}, read, written, {read.bytes_per_second + written.bytes_per_second}};
}

/// Over one interval of refreshes: mean and longest time until a run can leave, ns.
struct Begins {
    double mean = 0;
    double most = 0;
};
Begins begins(const DramConfig& config, Bytes size, Rate out, Rate written) {
    constexpr int kTimes = 4'000;
    Dram dram(config);
    Begins all;
    for (int i = 0; i < kTimes; ++i) {
        const Time at = Time::from_us(50) + Time{i * 977};
        const double took =
            static_cast<double>((dram.begin_run(at, {0}, size, out, written) - at).ps) / 1e3;
        all.mean += took / kTimes;
        all.most = std::max(all.most, took);
    }
    return all;
}

TEST(DramTransfersTest, ARunBeginsWithTheFirstLineOfAnUnknownDevice) {
    Dram dram(DramConfig{});
    EXPECT_EQ(dram.begin_run(Time::from_us(1), {0}, kRun, kOut, kOut),
              Time::from_us(1) + dram.idle_latency() + dram.line_service());
}

TEST(DramTransfersTest, ARunWaitsForRefreshesOfItsSubchannels) {
    const DramConfig config = burst_config(device());
    Dram dram(config);
    const double idle = static_cast<double>((dram.idle_latency() + dram.line_service()).ps) / 1e3;
    constexpr double kRefresh = 295;  // rfc1
    constexpr double kCloses = 16.1;  // rp, where rows are open
    // One line: its subchannel alone, so long as it refreshes.
    const Begins line = begins(config, kLine, kOut, {});
    EXPECT_NEAR(line.most, idle + kRefresh, 2);
    EXPECT_NEAR(line.mean, idle + kRefresh * kRefresh / 2 / 3'900, 2);
    // All eight: at 487.5 ns from each other, one of them nearly always.
    const Begins run = begins(config, kRun, kOut, {});
    EXPECT_NEAR(run.most, idle + kRefresh + kCloses, 2);
    EXPECT_GT(run.mean, idle + kRefresh * kRefresh / 2 / 487.5);
    // The slower it leaves, the sooner it is ahead of the next one.
    EXPECT_LT(begins(config, kRun, Rate::from_gb_s(20), {}).mean, run.mean - 10);
    // Where it leaves as fast as it is read, refreshes are in its bandwidth.
    EXPECT_NEAR(begins(config, kRun, dram.bandwidth(), {}).most, idle, 1);
}

TEST(DramTransfersTest, ARunWaitsForBatchesOfWrites) {
    DramConfig config = burst_config(device());
    const Begins none = begins(config, kRun, kOut, {});
    const Begins few = begins(config, kRun, kOut, Rate::from_gb_s(5));
    const Begins many = begins(config, kRun, kOut, Rate::from_gb_s(55));
    EXPECT_GT(few.mean, none.mean + 5);
    EXPECT_GT(many.mean, few.mean + 50);
    config.turnaround = config.turnaround * 3;
    EXPECT_GT(begins(config, kRun, kOut, Rate::from_gb_s(55)).mean, many.mean + 30);
}

/// The mean time of a read, ns; each of another row, far apart, so that none meets another.
double mean_read(Dram& dram, const Dram::Transfers& beside) {
    constexpr std::uint64_t kReads = 4'000;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < kReads; ++i) {
        const Time at = Time::from_us(100) + Time{static_cast<std::int64_t>(i) * 1'013'777};
        const Dpa line{(i * 7'919 % 262'144) * 8'192};
        sum += static_cast<std::uint64_t>((dram.access_line(at, line, false, beside) - at).ps);
    }
    return static_cast<double>(sum) / kReads / 1e3;
}

TEST(DramTransfersTest, ReadsFindTheRowsOfStreams) {
    const DramConfig config = burst_config(device());
    const auto mean = [&](Rate read) {
        Dram dram(config);
        return mean_read(dram, transfers(read, {}));
    };
    const double alone = mean({});
    // In most of an interval of refreshes the rows have been opened: rp more, 16.1 ns.
    EXPECT_GT(mean(Rate::from_gb_s(54)), alone + 0.75 * 16.1);
    EXPECT_LT(mean(Rate::from_gb_s(54)), alone + 16.1);
    EXPECT_LT(mean(Rate::from_gb_s(5)), alone + 0.25 * 16.1) << "they come by too rarely";
}

TEST(DramTransfersTest, ReadsWaitForBatchesWhereTransfersReadToo) {
    const DramConfig config = burst_config(device());
    const auto mean = [&](Rate read, Rate written) {
        Dram dram(config);
        return mean_read(dram, transfers(read, written));
    };
    const Rate half = Rate::from_gb_s(27);
    const Rate whole = Rate::from_gb_s(54);
    const double reads = mean(whole, {});
    const double writes = mean({}, whole);
    EXPECT_NEAR(writes, reads, 20) << "they make way, but behind a refresh";
    EXPECT_GT(writes, reads + 2);
    const double both = mean(half, half);
    EXPECT_GT(both, writes + 3);
    EXPECT_GT(mean(whole, whole), both + 15);
}

TEST(DramTransfersTest, AStreamComesByEveryBank) {
    const auto pass = [](const char* mapping) {
        Ddr5Config config = device();
        config.mapping = mapping;
        return DramRows(config).pass();
    };
    EXPECT_EQ(pass("mop4-xor"), 32U * 4 - 3);  // until it is in the last one
    EXPECT_EQ(pass("bank-interleave"), 32U);
    EXPECT_EQ(pass("bank-row-column"), 1U << 16U);
}

TEST(DramTransfersTest, ABatchTakesWhatItsGroupsTake) {
    const auto least = [](const char* mapping, Cycle more) {
        Ddr5Config config = device();
        config.mapping = mapping;
        config.timing.ccd_l_wr += more;
        return DramRows(config).least_batch(22);
    };
    const DramClock clock(device().timing.speed);
    // Four lines in each of six groups, or three in each of eight.
    EXPECT_EQ(least("mop4-xor", 0), clock.at(3 * 56 + 6 * 8));
    EXPECT_EQ(least("mop4-xor", 10), clock.at(3 * 66 + 6 * 8));
    EXPECT_EQ(least("bank-interleave", 0), clock.at(2 * 56 + 8 * 8));
}

}  // namespace
}  // namespace kvplane::memory
