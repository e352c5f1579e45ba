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
