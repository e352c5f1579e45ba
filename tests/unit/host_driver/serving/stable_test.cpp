// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "host_driver/serving/metrics.h"
#include "model/common/random.h"

namespace kvplane::serving {
namespace {

constexpr int kSamples = 1'000;

/// One sample a second of the queue that `length` draws.
bool stable_queue(const std::function<double(int)>& length, Time compute = {},
                  int samples = kSamples) {
    ServingMetrics metrics;
    metrics.last_arrival = Time::from_s(samples - 1);
    metrics.compute = compute;
    std::vector<QueueSample> queue;
    for (int i = 0; i < samples; ++i) {
        queue.push_back({Time::from_s(i), static_cast<std::uint32_t>(length(i))});
    }
    const std::optional<bool> verdict = stable(metrics, queue);
    EXPECT_EQ(verdict.has_value(), samples / 2 >= 30);
    return verdict.value_or(true);
}

/// Uniform over [0, n).
std::function<double()> noise(std::uint64_t n) {
    return [n, random = std::make_shared<RandomStream>(1, "noise")] {
        return static_cast<double>(random->uniform(n));
    };
}

TEST(StableTest, FlatQueues) {
    EXPECT_TRUE(stable_queue([](int) { return 0; }));
    EXPECT_TRUE(stable_queue([](int) { return 7; }));
    const auto draw = noise(20);
    EXPECT_TRUE(stable_queue([&](int) { return draw(); }));
}

TEST(StableTest, RisingQueues) {
    EXPECT_FALSE(stable_queue([](int i) { return i; }));
    const auto draw = noise(50);
    EXPECT_FALSE(stable_queue([&](int i) { return i * 0.3 + draw(); }));
    // From nothing, in the last half alone.
    EXPECT_FALSE(stable_queue([](int i) { return i < 600 ? 0 : (i - 600) / 2; }));
}

TEST(StableTest, FallingQueuesAndOldBursts) {
    EXPECT_TRUE(stable_queue([](int i) { return kSamples - i; }));
    EXPECT_TRUE(stable_queue([](int i) { return i < 400 ? i : 0; }));
}

TEST(StableTest, ARiseThatIsSmallBesideTheQueue) {
    // Over the last half from 150 to 200: 50 is less than half of the mean, 175.
    EXPECT_TRUE(stable_queue([](int i) { return 100 + i * 0.1; }));
    // From 100 to 200: more than half of 150.
    EXPECT_FALSE(stable_queue([](int i) { return i * 0.2; }));
}

TEST(StableTest, BurstsAreNoTrend) {
    // Bursts of 25 that drain, as the arrivals of a trace come.
    EXPECT_TRUE(stable_queue([](int i) { return std::max(0, 25 - i % 50); }));
    // Two long waves in the last half, the second of them larger: neighbours tell the same story,
    // so the slope's error is wide.
    EXPECT_TRUE(stable_queue([](int i) { return i % 250 < 80 ? (i < 750 ? 20 : 26) : 0; }));
}

TEST(StableTest, MoreArithmeticThanTime) {
    EXPECT_TRUE(stable_queue([](int) { return 1; }, Time::from_s(kSamples - 1)));
    EXPECT_FALSE(stable_queue([](int) { return 1; }, Time::from_s(kSamples)));
}

TEST(StableTest, TooFewSamplesSayNothing) {
    EXPECT_TRUE(stable_queue([](int i) { return i; }, {}, 59));
    EXPECT_FALSE(stable_queue([](int i) { return i; }, {}, 60));
    EXPECT_TRUE(stable_queue([](int) { return 1; }, Time::from_s(100), 59));
    EXPECT_FALSE(stable_queue([](int) { return 1; }, Time::from_s(100), 60));
    EXPECT_FALSE(stable({}, {}).has_value());
}

}  // namespace
}  // namespace kvplane::serving
