// SPDX-License-Identifier: Apache-2.0
#include "model/memory/dram.h"

#include <gtest/gtest.h>

#include "model/common/random.h"

namespace kvplane::memory {
namespace {

constexpr Dram::Transfers kNoFlows;

Dram::Transfers share_of(std::uint32_t ppm) {
    Dram::Transfers transfers;
    transfers.share = {ppm};
    return transfers;
}

TEST(DramTest, BandwidthIsPinsTimesService) {
    EXPECT_NEAR(Dram(DramConfig{}).bandwidth().gb_s(), 4 * 8 * 5.6 * 0.91, 1e-6);
    DramConfig x8{.channels = 2, .speed = {4'800'000'000}, .service = {1'000'000}, .device = {}};
    EXPECT_EQ(Dram(x8).bandwidth(), Rate{76'800'000'000});
}

TEST(DramTest, SubchannelsTogetherGiveTheBandwidth) {
    for (const std::uint32_t channels : {1U, 2U, 4U, 8U}) {
        const Dram dram({.channels = channels, .device = {}});
        const double lines_per_second = 1e12 / static_cast<double>(dram.line_service().ps);
        EXPECT_NEAR(lines_per_second * 64 * 2 * channels / 1e9, dram.bandwidth().gb_s(),
                    0.001 * dram.bandwidth().gb_s());
    }
}

TEST(DramTest, AnIdleLineTakesTheIdleLatency) {
    Dram dram(DramConfig{});
    EXPECT_EQ(dram.idle_latency(), Time{56'600});
    EXPECT_EQ(dram.access_line(Time::from_us(3), {0}, false, kNoFlows), Time{3'056'600});
}

TEST(DramTest, LinesOfOneSubchannelQueueAndOthersDoNot) {
    Dram dram({.channels = 2, .device = {}});
    const Time service = dram.line_service();
    for (std::int64_t k = 0; k < 10; ++k) {
        EXPECT_EQ(dram.access_line({}, {64 * 4 * static_cast<std::uint64_t>(k)}, false, kNoFlows),
                  dram.idle_latency() + service * k);
    }
    for (std::uint64_t other = 1; other < 4; ++other) {
        EXPECT_EQ(dram.access_line({}, {64 * other}, false, kNoFlows), dram.idle_latency());
    }
    // Any byte of a line is that line.
    EXPECT_EQ(dram.access_line({}, {64 * 4 + 63}, false, kNoFlows),
              dram.idle_latency() + service * 10);
    // Later, the queue is gone.
    EXPECT_EQ(dram.access_line(Time::from_us(1), {0}, false, kNoFlows),
              Time::from_us(1) + dram.idle_latency());
}

TEST(DramTest, TransfersStretchTheServiceOfALine) {
    const DramConfig config;
    const std::int64_t service = Dram(config).line_service().ps;
    const auto alone = [&](std::uint32_t ppm) {
        Dram dram(config);
        return (dram.access_line({}, {0}, false, share_of(ppm)) - dram.idle_latency()).ps;
    };
    EXPECT_EQ(alone(0), 0);
    EXPECT_NEAR(static_cast<double>(alone(500'000)), static_cast<double>(service), 1);
    EXPECT_NEAR(static_cast<double>(alone(750'000)), static_cast<double>(3 * service), 1);
    EXPECT_EQ(alone(1'000'000), alone(950'000));
    EXPECT_NEAR(static_cast<double>(alone(950'000)), static_cast<double>(19 * service), 20);
}

TEST(DramTest, LoadMakesLatencyGrowAsAQueueWithFixedServiceDoes) {
    const DramConfig config;
    double before = 0;
    for (const std::uint64_t percent : {20U, 50U, 80U}) {
        Dram dram(config);
        RandomStream random(percent, "dram load");
        const std::int64_t service = dram.line_service().ps;
        const Time gap{service * 100 / static_cast<std::int64_t>(percent)};
        Time at{};
        double waited = 0;
        constexpr int kLines = 400'000;
        for (int i = 0; i < kLines; ++i) {
            at += random.exponential(gap);
            waited += static_cast<double>((dram.access_line(at, {0}, false, kNoFlows) - at).ps) -
                      static_cast<double>(dram.idle_latency().ps);
        }
        const double rho = static_cast<double>(percent) / 100;
        const double expected = rho / (2 * (1 - rho)) * static_cast<double>(service);  // M/D/1
        EXPECT_NEAR(waited / kLines, expected, 0.03 * expected) << percent << " %";
        EXPECT_GT(waited / kLines, before);
        before = waited / kLines;
    }
}

TEST(DramTest, AMixedWritePaysTwoTurnaroundsABatch) {
    EXPECT_EQ(Dram({.turnaround = Time::from_ns(20), .write_batch = 24, .device = {}})
                  .mixed_write_extra(),
              Time{1'666});
    EXPECT_EQ(
        Dram({.turnaround = Time::from_ns(10), .write_batch = 1, .device = {}}).mixed_write_extra(),
        Time::from_ns(20));
}

}  // namespace
}  // namespace kvplane::memory
