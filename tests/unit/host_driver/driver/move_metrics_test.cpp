// SPDX-License-Identifier: Apache-2.0
#include "host_driver/driver/move_metrics.h"

#include <gtest/gtest.h>

namespace kvplane::driver {
namespace {

using engine::Stage;

TEST(MoveMetricsTest, U14LookupShareIsExact) {
    engine::StageTimes stages;
    stages[Stage::kSubmit] = Time::from_ns(100);
    stages[Stage::kFetch] = Time::from_ns(741);
    stages[Stage::kLookup] = Time::from_ns(4);
    stages[Stage::kDram] = Time::from_ns(60);
    stages[Stage::kLink] = Time::from_ns(100'000);
    stages[Stage::kComplete] = Time::from_ns(500);
    MoveMetrics metrics;
    EXPECT_EQ(metrics.stage_share(Stage::kLookup), 0);
    for (int i = 0; i < 3; ++i) metrics.promoted(stages, Bytes::from_mib(5));
    EXPECT_EQ(metrics.promotion().sum_ps(), 3 * 101'405'000);
    EXPECT_EQ(metrics.promotion().max(), Time::from_ns(101'405));
    EXPECT_EQ(metrics.stage_share(Stage::kLookup), 4.0 / 101'405.0);
    Int128 sum = 0;
    for (std::size_t i = 0; i < engine::kStages; ++i) {
        sum += metrics.stage_sum_ps(static_cast<Stage>(i));
    }
    EXPECT_EQ(sum, metrics.promotion().sum_ps());
    EXPECT_EQ(metrics.promoted_bytes(), Bytes::from_mib(15));
    EXPECT_EQ(metrics.demoted_bytes(), Bytes{});
}

TEST(MoveMetricsTest, DemotionsAndLoadsAreCountedApart) {
    engine::StageTimes stages;
    stages[Stage::kLink] = Time::from_us(9);
    MoveMetrics metrics;
    metrics.demoted(stages, {100});
    metrics.load(Time::from_us(1), Time::from_us(2), {300});
    EXPECT_EQ(metrics.promotion().count(), 0U);
    EXPECT_EQ(metrics.demotion().max(), Time::from_us(9));
    EXPECT_EQ(metrics.demoted_bytes(), Bytes{100});
    EXPECT_EQ(metrics.first_block().max(), Time::from_us(1));
    EXPECT_EQ(metrics.last_block().max(), Time::from_us(2));
    EXPECT_EQ(metrics.loaded_bytes(), Bytes{300});
    EXPECT_EQ(metrics.stage_sum_ps(Stage::kLink), 0);
}

}  // namespace
}  // namespace kvplane::driver
