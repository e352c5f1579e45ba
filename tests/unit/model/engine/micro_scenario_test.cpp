// SPDX-License-Identifier: Apache-2.0
/// Scenarios of the transfer scheduler whose answers are worked out by hand: a block takes 100 us.
#include <gtest/gtest.h>

#include "scheduled_flow.h"

namespace kvplane::engine {
namespace {

using test::kBlock;
using test::ScheduledFlow;

constexpr std::uint8_t kDemandClass = 1;

FlowJob block(std::uint32_t id, std::int64_t deadline_us, std::uint32_t blocks = 1) {
    return {.id = id,
            .priority = kDemandClass,
            .deadline = Time::from_us(deadline_us),
            .blocks = blocks,
            .block_bytes = kBlock};
}

/// Hiding fails, sustainability holds.
TEST(MicroScenarioTest, U6) {
    for (const bool run : {false, true}) {
        ScheduledFlow link;
        if (run) {
            link.push(block(0, 100, 3));
        } else {
            for (std::uint32_t id = 0; id < 3; ++id) link.push(block(id, 100));
        }
        link.until(Time::from_ms(10));
        ASSERT_EQ(link.drained.size(), 3U);
        for (std::int64_t i = 0; i < 3; ++i) {
            const Time lateness =
                link.drained[static_cast<std::size_t>(i)].end - Time::from_us(100);
            EXPECT_EQ(lateness, Time::from_us(100 * i));
        }
        EXPECT_EQ(link.missed(), 2U);
        // 3 % of the bandwidth over the 10 ms.
        EXPECT_EQ(link.flow.busy_time(0), Time::from_us(300));
        EXPECT_EQ(link.flow.drained(0).count * 100,
                  std::uint64_t{test::kLinkRate.bytes_per_second} / 100 * 3);
    }
}

/// Sustainability fails, hiding holds: 1.2 blocks a step of 100 us, from 200 us before the first.
TEST(MicroScenarioTest, U7) {
    constexpr std::int64_t kHead = 200;
    ScheduledFlow link;
    constexpr Bytes kStep = kBlock * 6;  // over 5
    ASSERT_EQ(kStep.count % 5, 0U);
    for (std::int64_t step = 0; step < 6; ++step) {
        link.push({.id = static_cast<std::uint32_t>(step),
                   .priority = kDemandClass,
                   .deadline = Time::from_us(kHead + 100 * step),
                   .block_bytes = {kStep.count / 5}});
    }
    link.finish();
    ASSERT_EQ(link.drained.size(), 6U);
    for (std::int64_t step = 0; step < 6; ++step) {
        const Time lateness =
            link.drained[static_cast<std::size_t>(step)].end - Time::from_us(kHead + 100 * step);
        EXPECT_EQ(lateness, Time::from_us(120 * (step + 1) - kHead - 100 * step));
        EXPECT_EQ(lateness < Time{}, step < 4);
        EXPECT_EQ(lateness == Time{}, step == 4);
        EXPECT_EQ(lateness == Time::from_us(20), step == 5);
    }
    EXPECT_EQ(link.missed(), 1U);
}

std::uint64_t misses(const SchedulerConfig& config, std::initializer_list<std::int64_t> deadlines) {
    ScheduledFlow link(config);
    // The first must not start before the others are there: all come while something runs.
    link.flow.stop(0, true, {});
    link.push({.id = 9, .priority = 0, .block_bytes = {1}});
    std::uint32_t id = 0;
    for (const std::int64_t deadline : deadlines) {
        FlowJob job = block(id++, deadline);
        // The byte in front takes 20 ps.
        job.deadline += Time{20};
        job.drop_after = job.deadline;
        link.push(job);
    }
    link.flow.stop(0, false, {});
    link.finish();
    EXPECT_EQ(link.ended.size(), deadlines.size() + 1);
    return link.missed();
}

TEST(MicroScenarioTest, U10) {
    const SchedulerConfig fifo{.policy = SchedulerPolicy::kFifo, .late_drop = false};
    const SchedulerConfig edf{.late_drop = false};
    const SchedulerConfig late_drop{.late_drop = true};
    EXPECT_EQ(misses(fifo, {350, 250, 150}), 1U);
    EXPECT_EQ(misses(edf, {350, 250, 150}), 0U);
    EXPECT_EQ(misses(late_drop, {350, 250, 150}), 0U);
    EXPECT_EQ(misses(edf, {90, 190, 290}), 3U);
    EXPECT_EQ(misses(late_drop, {90, 190, 290}), 1U);
    EXPECT_EQ(misses(fifo, {90, 190, 290}), 3U);
}

}  // namespace
}  // namespace kvplane::engine
