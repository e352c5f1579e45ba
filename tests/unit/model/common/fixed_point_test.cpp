// SPDX-License-Identifier: Apache-2.0
#include "model/common/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/common/errors.h"

namespace kvplane {
namespace {

TEST(FixedPointTest, Log2IsExactAtPowersOfTwo) {
    for (int n = 0; n < 64; ++n) {
        EXPECT_EQ(log2_q32(std::uint64_t{1} << n), n * kOneQ32) << n;
    }
}

TEST(FixedPointTest, Log2OfKnownValues) {
    EXPECT_EQ(log2_q32(3), 6807362105);                 // 1.584962500721...
    EXPECT_EQ(log2_q32(10), 14267572527);               // 3.321928094887...
    EXPECT_EQ(log2_q32(1'000'000'007), 128408152788);   // 29.89735286397...
    EXPECT_EQ(log2_q32(UINT64_MAX), 64 * kOneQ32 - 1);  // just under 64
    EXPECT_EQ(log2_q32((std::uint64_t{1} << 63) + 1), 63 * kOneQ32);
    EXPECT_THROW((void)log2_q32(0), InvariantError);
}

TEST(FixedPointTest, Log2NeverExceedsTheTrueValueAndIsClose) {
    for (std::uint64_t x = 1; x < 100'000; x += 7) {
        const double truth = std::log2(static_cast<double>(x)) * 4294967296.0;
        const auto value = static_cast<double>(log2_q32(x));
        EXPECT_LE(value, truth + 1e-4) << x;
        EXPECT_GT(value, truth - 1.0 - 1e-4) << x;
    }
}

TEST(FixedPointTest, Exp2IsExactAtWholePowers) {
    for (int n = -32; n <= 30; ++n) {
        EXPECT_EQ(exp2_q32(n * kOneQ32), std::uint64_t{1} << (32 + n)) << n;
    }
    EXPECT_EQ(exp2_q32(0, 62), std::uint64_t{1} << 62);
}

TEST(FixedPointTest, Exp2OfKnownValues) {
    EXPECT_EQ(exp2_q32(kOneQ32 / 2, 62), 6521908912666391106U);   // sqrt(2) x 2^62
    EXPECT_EQ(exp2_q32(-kOneQ32 / 2, 62), 3260954456333195553U);  // sqrt(1/2) x 2^62
}

TEST(FixedPointTest, Exp2SaturatesAndUnderflows) {
    EXPECT_EQ(exp2_q32(31 * kOneQ32), UINT64_MAX);
    EXPECT_EQ(exp2_q32(INT64_MAX), UINT64_MAX);
    EXPECT_EQ(exp2_q32(-33 * kOneQ32), 0U);
    EXPECT_EQ(exp2_q32(INT64_MIN), 0U);
}

TEST(FixedPointTest, Exp2InvertsLog2) {
    for (std::uint64_t x = 1; x < (std::uint64_t{1} << 30); x = x * 3 + 1) {
        const auto back = static_cast<double>(exp2_q32(log2_q32(x))) / 4294967296.0;
        EXPECT_NEAR(back / static_cast<double>(x), 1.0, 1e-9) << x;
    }
}

TEST(FixedPointTest, SquareRootIsTheLargestRoot) {
    EXPECT_EQ(integer_sqrt(0), 0U);
    EXPECT_EQ(integer_sqrt(1), 1U);
    EXPECT_EQ(integer_sqrt(~static_cast<Uint128>(0)), UINT64_MAX);
    for (std::uint64_t root : {2ULL, 3ULL, 65'535ULL, 4'294'967'296ULL, 9'999'999'999'999ULL}) {
        const Uint128 square = static_cast<Uint128>(root) * root;
        EXPECT_EQ(integer_sqrt(square), root);
        EXPECT_EQ(integer_sqrt(square - 1), root - 1);
        EXPECT_EQ(integer_sqrt(square + 2 * root), root);
    }
}

TEST(FixedPointTest, NumbersBecomeTheNearestQ32) {
    EXPECT_EQ(to_q32(1.0), kOneQ32);
    EXPECT_EQ(to_q32(-1.5), -3 * kOneQ32 / 2);
    EXPECT_EQ(to_q32(1.1), 4724464026);
    EXPECT_THROW((void)to_q32(2147483648.0), InvariantError);
    EXPECT_THROW((void)to_q32(std::nan("")), InvariantError);
}

}  // namespace
}  // namespace kvplane
