// SPDX-License-Identifier: Apache-2.0
#include "model/common/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "model/common/errors.h"

namespace kvplane {
namespace {

constexpr int kDraws = 200'000;

/// Sum of (observed - expected)^2 / expected.
double chi_square(const std::vector<double>& observed, const std::vector<double>& expected) {
    double sum = 0;
    for (std::size_t i = 0; i < observed.size(); ++i) {
        sum += (observed[i] - expected[i]) * (observed[i] - expected[i]) / expected[i];
    }
    return sum;
}

/// What chi-square stays under with probability about 1 - 10^-6 (Wilson and Hilferty).
double chi_square_limit(double degrees) {
    const double a = 2.0 / (9.0 * degrees);
    return degrees * std::pow(1.0 - a + 4.75 * std::sqrt(a), 3);
}

TEST(RandomStreamTest, DrawsAreTheSameOnEveryMachine) {
    // Frozen: a change here changes the result of every seed.
    RandomStream stream(1, "workload");
    EXPECT_EQ(stream.bits(), 8815159457498126881U);
    EXPECT_EQ(stream.uniform(1'000'000), 104304U);
    EXPECT_EQ(stream.exponential(Time::from_s(1)).ps, 682335855439);
    EXPECT_EQ(stream.normal_q32(), 8236875231);
    EXPECT_EQ(stream.lognormal(Time::from_s(5), 1.5).ps, 369283369509);
    EXPECT_EQ(stream.zipf(Zipf(200, 1.1)), 18U);
}

TEST(RandomStreamTest, SameSeedAndNameRepeatOthersDiffer) {
    RandomStream a(7, "arrivals");
    RandomStream same(7, "arrivals");
    RandomStream other_seed(8, "arrivals");
    RandomStream other_name(7, "lengths");
    const std::uint64_t first = a.bits();
    EXPECT_EQ(first, same.bits());
    EXPECT_NE(first, other_seed.bits());
    EXPECT_NE(first, other_name.bits());
}

TEST(RandomStreamTest, Fnv1aOfKnownStrings) {
    EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325ULL);
    EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cULL);
    EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8ULL);
}

TEST(RandomStreamTest, UniformIsUniform) {
    RandomStream stream(1, "uniform");
    std::vector<double> seen(7, 0.0);
    for (int i = 0; i < kDraws; ++i) seen[stream.uniform(7)] += 1;
    EXPECT_LT(chi_square(seen, std::vector<double>(7, kDraws / 7.0)), chi_square_limit(6));
}

TEST(RandomStreamTest, UniformIsUnbiasedWhereTheProductMethodAloneIsNot) {
    // Of [0, 3 x 2^62) taken from 2^64 words without rejection, a third would come twice as often.
    RandomStream stream(1, "bias");
    constexpr std::uint64_t n = std::uint64_t{3} << 62;
    std::vector<double> thirds(3, 0.0);
    std::vector<double> residues(3, 0.0);
    for (int i = 0; i < kDraws; ++i) {
        const std::uint64_t draw = stream.uniform(n);
        ASSERT_LT(draw, n);
        thirds[draw >> 62] += 1;
        residues[draw % 3] += 1;
    }
    EXPECT_LT(chi_square(thirds, std::vector<double>(3, kDraws / 3.0)), chi_square_limit(2));
    EXPECT_LT(chi_square(residues, std::vector<double>(3, kDraws / 3.0)), chi_square_limit(2));
}

TEST(RandomStreamTest, UniformRangeIncludesBothEnds) {
    RandomStream stream(1, "range");
    std::array<int, 3> seen{};
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t draw = stream.uniform(5, 7);
        ASSERT_GE(draw, 5U);
        ASSERT_LE(draw, 7U);
        ++seen[draw - 5];
    }
    EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 250);
    EXPECT_EQ(stream.uniform(9, 9), 9U);
    (void)stream.uniform(0, UINT64_MAX);
    EXPECT_THROW((void)stream.uniform(0), InvariantError);
    EXPECT_THROW((void)stream.uniform(3, 2), InvariantError);
}

TEST(RandomStreamTest, ExponentialHasTheRightMomentsAndTail) {
    RandomStream stream(1, "exponential");
    const Time mean = Time::from_ms(588);
    double sum = 0;
    double squares = 0;
    int beyond_two_means = 0;
    for (int i = 0; i < kDraws; ++i) {
        const double x = stream.exponential(mean).s() / mean.s();
        ASSERT_GE(x, 0.0);
        sum += x;
        squares += x * x;
        beyond_two_means += x > 2.0 ? 1 : 0;
    }
    const double root = std::sqrt(static_cast<double>(kDraws));
    EXPECT_NEAR(sum / kDraws, 1.0, 5.0 / root);
    EXPECT_NEAR(squares / kDraws, 2.0, 5.0 * std::sqrt(20.0) / root);  // variance of x^2 is 20
    EXPECT_NEAR(beyond_two_means / static_cast<double>(kDraws), std::exp(-2.0), 5.0 * 0.342 / root);
    EXPECT_EQ(stream.exponential(Time{0}).ps, 0);
}

TEST(RandomStreamTest, NormalHasTheRightMomentsAndQuantiles) {
    RandomStream stream(1, "normal");
    std::array<double, 4> moments{};
    int below_one = 0;
    int beyond_three = 0;
    for (int i = 0; i < kDraws; ++i) {
        const double x = static_cast<double>(stream.normal_q32()) / 4294967296.0;
        double power = 1;
        for (double& moment : moments) moment += (power *= x);
        below_one += x < 1.0 ? 1 : 0;
        beyond_three += std::fabs(x) > 3.0 ? 1 : 0;
    }
    const double root = std::sqrt(static_cast<double>(kDraws));
    EXPECT_NEAR(moments[0] / kDraws, 0.0, 5.0 / root);
    EXPECT_NEAR(moments[1] / kDraws, 1.0, 5.0 * std::sqrt(2.0) / root);
    EXPECT_NEAR(moments[2] / kDraws, 0.0, 5.0 * std::sqrt(15.0) / root);
    EXPECT_NEAR(moments[3] / kDraws, 3.0, 5.0 * std::sqrt(96.0) / root);
    EXPECT_NEAR(below_one / static_cast<double>(kDraws), 0.841345, 5.0 * 0.366 / root);
    EXPECT_NEAR(beyond_three / static_cast<double>(kDraws), 0.0026998, 5.0 * 0.052 / root);
}

TEST(RandomStreamTest, LognormalHasTheRightMedianAndSpread) {
    RandomStream stream(1, "lognormal");
    const Time median = Time::from_s(5);
    double logs = 0;
    double squares = 0;
    int below = 0;
    for (int i = 0; i < kDraws; ++i) {
        const Time draw = stream.lognormal(median, 1.5);
        below += draw < median ? 1 : 0;
        const double x = std::log(draw.s() / median.s());
        logs += x;
        squares += x * x;
    }
    const double root = std::sqrt(static_cast<double>(kDraws));
    EXPECT_NEAR(below / static_cast<double>(kDraws), 0.5, 5.0 * 0.5 / root);
    EXPECT_NEAR(logs / kDraws, 0.0, 5.0 * 1.5 / root);
    EXPECT_NEAR(squares / kDraws, 2.25, 5.0 * 2.25 * std::sqrt(2.0) / root);
    EXPECT_EQ(stream.lognormal(median, 0.0), median);
    EXPECT_GT(stream.lognormal(Time::never(), 16.0).ps, 0);
}

TEST(ZipfTest, WeightsFollowThePowerLaw) {
    const Zipf table(200, 1.1);
    for (std::size_t rank = 0; rank < table.size(); ++rank) {
        const double expected = std::pow(static_cast<double>(rank + 1), -1.1);
        const double actual =
            static_cast<double>(table.weight(rank)) / static_cast<double>(table.weight(0));
        EXPECT_NEAR(actual / expected, 1.0, 1e-8) << rank;
    }
}

TEST(ZipfTest, ExponentZeroIsUniformAndOneIsHarmonic) {
    const Zipf uniform(3, 0.0);
    EXPECT_EQ(uniform.total(), std::uint64_t{3} << 40);
    const Zipf harmonic(4, 1.0);
    EXPECT_EQ(harmonic.weight(0), std::uint64_t{1} << 40);
    EXPECT_EQ(harmonic.weight(1), std::uint64_t{1} << 39);
    EXPECT_EQ(harmonic.weight(3), std::uint64_t{1} << 38);
}

TEST(ZipfTest, EveryPointBelongsToTheRankWhoseWeightCoversIt) {
    const Zipf table(5, 2.0);
    std::uint64_t point = 0;
    for (std::size_t rank = 0; rank < table.size(); ++rank) {
        EXPECT_EQ(table.rank_at(point), rank);
        point += table.weight(rank);
        EXPECT_EQ(table.rank_at(point - 1), rank);
    }
    EXPECT_EQ(point, table.total());
}

TEST(ZipfTest, DrawsPassChiSquare) {
    const Zipf table(200, 1.1);
    RandomStream stream(1, "zipf");
    std::vector<double> seen(200, 0.0);
    for (int i = 0; i < kDraws; ++i) seen[stream.zipf(table)] += 1;
    std::vector<double> expected;
    for (int rank = 1; rank <= 200; ++rank) expected.push_back(std::pow(rank, -1.1));
    const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
    for (double& e : expected) e *= kDraws / sum;
    EXPECT_LT(chi_square(seen, expected), chi_square_limit(199));
}

TEST(ZipfTest, RejectsWhatItCannotRepresent) {
    EXPECT_THROW(Zipf(0, 1.0), InvariantError);
    EXPECT_THROW(Zipf((std::size_t{1} << 22) + 1, 1.0), InvariantError);
    EXPECT_THROW(Zipf(10, -0.1), InvariantError);
    EXPECT_THROW(Zipf(10, std::nan("")), InvariantError);
}

}  // namespace
}  // namespace kvplane
