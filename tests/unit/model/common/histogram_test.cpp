// SPDX-License-Identifier: Apache-2.0
#include "model/common/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/common/random.h"

namespace kvplane {
namespace {

TEST(HistogramTest, IsZeroWhileEmpty) {
    const Histogram histogram;
    EXPECT_EQ(histogram.count(), 0U);
    EXPECT_EQ(histogram.mean_us(), 0.0);
    EXPECT_EQ(histogram.max(), Time{});
    EXPECT_EQ(histogram.min(), Time{});
    EXPECT_EQ(histogram.percentile(500), Time{});
}

TEST(HistogramTest, IsExactBelow256Picoseconds) {
    for (std::int64_t value = 0; value < 256; ++value) {
        Histogram histogram;
        histogram.add({0});
        histogram.add({value}, 3);
        histogram.add({1'000});
        EXPECT_EQ(histogram.percentile(500), Time{value});
    }
}

TEST(HistogramTest, EveryBinIsNarrowAndHoldsItsMiddle) {
    const LogAxis axis;
    for (std::int64_t value = 1; value < INT64_MAX / 3; value += value / 50 + 1) {
        const int bin = axis.index(value);
        ASSERT_LT(bin, axis.size());
        EXPECT_EQ(axis.index(LogAxis::middle(bin)), bin) << value;
        const double off = std::fabs(static_cast<double>(LogAxis::middle(bin) - value));
        EXPECT_LE(off, 0.004 * static_cast<double>(value)) << value;
        EXPECT_GE(axis.index(value + 1), bin);
    }
    EXPECT_LT(axis.index(INT64_MAX), axis.size());
    EXPECT_EQ(axis.index(-5), 0);
}

TEST(HistogramTest, PercentilesAreWithinABinOfTheSortedSamples) {
    RandomStream random(3, "histogram");
    for (int trial = 0; trial < 20; ++trial) {
        Histogram histogram;
        std::vector<Time> samples;
        const std::size_t n = random.uniform(1, 3'000);
        Int128 sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const Time value = random.exponential(Time::from_us(200));
            samples.push_back(value);
            sum += value.ps;
            histogram.add(value);
        }
        std::sort(samples.begin(), samples.end());
        for (const std::uint32_t per_mille : {0U, 1U, 500U, 950U, 990U, 999U, 1000U}) {
            const std::size_t rank = std::max<std::size_t>(1, (n * per_mille + 999) / 1000);
            const auto exact = static_cast<double>(samples[rank - 1].ps);
            EXPECT_NEAR(static_cast<double>(histogram.percentile(per_mille).ps), exact,
                        0.008 * exact);
        }
        EXPECT_EQ(histogram.sum_ps(), sum);
        EXPECT_EQ(histogram.count(), n);
        EXPECT_EQ(histogram.min(), samples.front());
        EXPECT_EQ(histogram.max(), samples.back());
        EXPECT_EQ(histogram.percentile(1000) <= samples.back(), true);
    }
}

TEST(HistogramTest, WeightsCountAsThatManySamples) {
    Histogram once;
    Histogram many;
    for (int i = 0; i < 7; ++i) many.add(Time::from_us(5));
    once.add(Time::from_us(5), 7);
    many.add(Time::from_us(9));
    once.add(Time::from_us(9));
    EXPECT_EQ(once.count(), 8U);
    EXPECT_EQ(once.sum_ps(), many.sum_ps());
    EXPECT_EQ(once.mean_us(), 5.5);
    EXPECT_EQ(once.percentile(875), many.percentile(875));
    EXPECT_EQ(once.percentile(876), Time::from_us(9));
}

TEST(HistogramTest, SumsBeyond64BitsStayExact) {
    Histogram histogram;
    histogram.add({INT64_MAX}, 1'000);
    histogram.add({1});
    EXPECT_EQ(histogram.sum_ps(), static_cast<Int128>(INT64_MAX) * 1'000 + 1);
}

}  // namespace
}  // namespace kvplane
