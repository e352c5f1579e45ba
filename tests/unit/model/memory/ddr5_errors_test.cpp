// SPDX-License-Identifier: Apache-2.0
/// Errors that ECC corrects: by reads of the host, and by the patrol scrub.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"
#include "model/memory/ddr5_subchannel.h"
#include "random_traffic.h"

namespace kvplane::memory {
namespace {

TEST(Ddr5ErrorsTest, AReadCorrectsAnErrorAndHasItsLineWritten) {
    Ddr5Config config;
    config.controller = {};
    config.refresh = DramRefreshMode::kNone;
    config.ecc = DramEcc::kNone;
    EXPECT_THROW(Ddr5Subchannel(config).inject_correctable(5), UserError);
    config.ecc = DramEcc::kSideband;
    Ddr5Subchannel channel(config);
    channel.inject_correctable(5);
    channel.inject_correctable(5);
    channel.inject_correctable(6);
    channel.inject_correctable(7);
    channel.submit({}, {.line = 6, .op = LineOp::kWrite});
    channel.submit({}, {.line = 5, .tag = 1});
    const Time answered = channel.take_answer(1);
    channel.advance(Time::from_us(1));
    channel.submit(Time::from_us(1), {.line = 5, .tag = 2});
    channel.submit(Time::from_us(1), {.line = 6, .tag = 3});
    channel.advance(Time::from_us(2));
    EXPECT_TRUE(channel.idle());
    EXPECT_EQ(channel.counters().corrected, 1U) << "6 was written over, 7 was not read";
    EXPECT_EQ(channel.counters().scrubbed, 1U);
    EXPECT_EQ(channel.counters().writes, 2U) << "of the host, and of the corrected line";
    const auto found = channel.take_corrections();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].line, 5U);
    EXPECT_EQ(found[0].at, answered);
    EXPECT_FALSE(found[0].patrol);
    EXPECT_FALSE(channel.has_corrections());
}

TEST(Ddr5ErrorsTest, ThePatrolScrubFindsErrorsBusyOrIdle) {
    for (const bool busy : {false, true}) {
        Ddr5Config config;
        config.geometry.rows = 2;  // 4,096 lines: round in 410 us
        config.scrub_interval = Time::from_ns(100);
        Ddr5Subchannel channel(config);
        for (std::uint64_t line = 0; line < 40; ++line) channel.inject_correctable(line * 100);
        Time at{};
        RandomStream random(1, "patrol");
        for (; at < Time::from_us(420); at += Time::from_ns(40)) {
            channel.advance(at);
            while (channel.pop_answer(at)) {
            }
            // Lines that have no error.
            const std::uint64_t line = random.uniform(4'000) / 100 * 100 + 50;
            if (busy && channel.can_accept(LineOp::kRead)) channel.submit(at, {.line = line});
        }
        EXPECT_EQ(channel.counters().corrected, 40U) << busy;
        EXPECT_EQ(channel.counters().scrubbed, 40U) << busy;
        std::uint64_t lines = 0;
        for (const DramCorrection& found : channel.take_corrections()) {
            EXPECT_TRUE(found.patrol);
            EXPECT_LE(found.at, at);
            lines += found.line;
        }
        EXPECT_EQ(lines, 78'000U) << "each once";
    }
}

/// Errors everywhere, in every phase of traffic: requests are answered all the same.
TEST(Ddr5ErrorsTest, ErrorsTakeNoPlaceOfTheQueues) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        Ddr5Config config;
        config.geometry.rows = 2;
        config.read_queue = 4;
        config.write_queue = 4;
        config.write_high = 2;
        config.write_low = 1;
        config.scrub_interval = Time::from_ns(100);
        test::RandomTraffic traffic(config, seed);
        for (std::uint64_t line = 0; line < 4'096; ++line) {
            traffic.channel().inject_correctable(line);
        }
        ASSERT_NO_THROW(traffic.run(2'000)) << seed;
        EXPECT_GT(traffic.channel().counters().scrubbed, 100U);
    }
}

}  // namespace
}  // namespace kvplane::memory
