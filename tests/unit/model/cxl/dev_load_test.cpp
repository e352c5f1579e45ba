// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/dev_load.h"

#include <gtest/gtest.h>

#include <deque>

#include "model/common/errors.h"
#include "model/common/random.h"

namespace kvplane::cxl {
namespace {

TEST(DevLoadTest, LevelsRiseAtTheirThreshold) {
    const DevLoadConfig config;
    const auto level = [&](std::uint64_t occupied) {
        return DevLoadMeter(config).update(occupied, 1000);
    };
    EXPECT_EQ(level(0), DevLoad::kLight);
    EXPECT_EQ(level(249), DevLoad::kLight);
    EXPECT_EQ(level(250), DevLoad::kOptimal);
    EXPECT_EQ(level(599), DevLoad::kOptimal);
    EXPECT_EQ(level(600), DevLoad::kModerateOverload);
    EXPECT_EQ(level(849), DevLoad::kModerateOverload);
    EXPECT_EQ(level(850), DevLoad::kSevereOverload);
    EXPECT_EQ(level(5000), DevLoad::kSevereOverload);
}

TEST(DevLoadTest, LevelsFallOnlyBelowTheHysteresis) {
    DevLoadMeter meter({});
    EXPECT_EQ(meter.update(850, 1000), DevLoad::kSevereOverload);
    EXPECT_EQ(meter.update(750, 1000), DevLoad::kSevereOverload);
    EXPECT_EQ(meter.update(749, 1000), DevLoad::kModerateOverload);
    EXPECT_EQ(meter.update(500, 1000), DevLoad::kModerateOverload);
    EXPECT_EQ(meter.update(499, 1000), DevLoad::kOptimal);
    EXPECT_EQ(meter.update(150, 1000), DevLoad::kOptimal);
    EXPECT_EQ(meter.update(149, 1000), DevLoad::kLight);
    EXPECT_EQ(meter.update(900, 1000), DevLoad::kSevereOverload);
    EXPECT_EQ(meter.update(0, 1000), DevLoad::kLight);
    EXPECT_EQ(meter.changes(), 6U);
}

TEST(DevLoadTest, NoiseAroundAThresholdDoesNotFlicker) {
    RandomStream random(2, "noise");
    DevLoadMeter meter({});
    for (int i = 0; i < 10'000; ++i) meter.update(560 + random.uniform(80), 1000);
    EXPECT_LE(meter.changes(), 2U);
}

TEST(DevLoadTest, ThresholdsMustMakeSense) {
    EXPECT_THROW(DevLoadMeter({{500'000}, {400'000}, {800'000}, {1}}), UserError);
    EXPECT_THROW(DevLoadMeter({{50'000}, {400'000}, {800'000}, {60'000}}), UserError);
}

/// A queue of 64 entries in front of a server of 1 ns a line, 100 ns away from a host that would
/// keep 256 requests in flight.
struct Queueing {
    std::uint64_t longest = 0;
    double mean = 0;
    std::uint64_t served = 0;
};

Queueing closed_loop(bool throttled) {
    constexpr std::uint64_t kEntries = 64;
    constexpr int kFlight = 50;
    DevLoadMeter meter({});
    HostThrottle throttle({});
    std::deque<std::pair<int, DevLoad>> answers;
    std::deque<int> requests;
    std::uint64_t queue = 0;
    std::uint32_t in_flight = 0;
    Queueing result;
    constexpr int kSteps = 200'000;
    constexpr int kSettled = 50'000;
    double sum = 0;
    for (int now = 0; now < kSteps; ++now) {
        for (; !answers.empty() && answers.front().first == now; answers.pop_front()) {
            --in_flight;
            throttle.heard(answers.front().second);
        }
        const std::uint32_t window = throttled ? throttle.window() : 256;
        for (; in_flight < window; ++in_flight) requests.push_back(now + kFlight);
        for (; !requests.empty() && requests.front() == now; requests.pop_front()) ++queue;
        const DevLoad level = meter.update(queue, kEntries);
        if (queue != 0) {
            --queue;
            ++result.served;
            answers.emplace_back(now + kFlight, level);
        }
        if (now < kSettled) continue;
        result.longest = std::max(result.longest, queue);
        sum += static_cast<double>(queue);
    }
    result.mean = sum / (kSteps - kSettled);
    return result;
}

TEST(DevLoadTest, ThrottlingBoundsQueueing) {
    const Queueing free = closed_loop(false);
    const Queueing throttled = closed_loop(true);
    EXPECT_GT(free.mean, 150);  // 256 less what flies
    EXPECT_LT(throttled.mean, 0.6 * 64);
    EXPECT_LE(throttled.longest, 64U);
    // And the server stays busy.
    EXPECT_GT(static_cast<double>(throttled.served), 0.95 * static_cast<double>(free.served));
}

TEST(DevLoadTest, AWindowStaysWithinItsBounds) {
    HostThrottle throttle({.most = 64, .least = 4, .interval = 1});
    for (int i = 0; i < 100; ++i) throttle.heard(DevLoad::kSevereOverload);
    EXPECT_EQ(throttle.window(), 4U);
    for (int i = 0; i < 100; ++i) throttle.heard(DevLoad::kModerateOverload);
    EXPECT_EQ(throttle.window(), 4U);
    for (int i = 0; i < 10; ++i) throttle.heard(DevLoad::kOptimal);
    EXPECT_EQ(throttle.window(), 4U);
    for (int i = 0; i < 10; ++i) throttle.heard(DevLoad::kLight);
    EXPECT_EQ(throttle.window(), 14U);
    for (int i = 0; i < 100; ++i) throttle.heard(DevLoad::kLight);
    EXPECT_EQ(throttle.window(), 64U);
}

}  // namespace
}  // namespace kvplane::cxl
