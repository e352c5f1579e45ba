// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/json_record.h"

#include <gtest/gtest.h>

namespace kvplane::workload {
namespace {

TEST(ScaledDecimalTest, IsExactAndRoundsDownBelowTheLastDigit) {
    EXPECT_EQ(scaled_decimal("0", 9), 0U);
    EXPECT_EQ(scaled_decimal("61.114", 9), 61'114'000'000U);
    EXPECT_EQ(scaled_decimal("0.1", 6), 100'000U);
    EXPECT_EQ(scaled_decimal("1.9999999999", 9), 1'999'999'999U);
    EXPECT_EQ(scaled_decimal("6.1e1", 9), 61'000'000'000U);
    EXPECT_EQ(scaled_decimal("61E-1", 9), 6'100'000'000U);
    EXPECT_EQ(scaled_decimal("1e+2", 0), 100U);
    EXPECT_EQ(scaled_decimal("1e-30", 9), 0U);
    EXPECT_EQ(scaled_decimal("0e999999999999", 9), 0U);
    EXPECT_EQ(scaled_decimal("0." + std::string(100, '3'), 3), 333U);
    EXPECT_EQ(scaled_decimal("18446744073709551614", 0), UINT64_MAX - 1);
}

TEST(ScaledDecimalTest, SaysWhatIsNoSuchNumber) {
    for (const char* text : {"", ".", "-1", "+1", "1e", "1e-", "e3", "1.2.3", "1 ", "x", "1e30",
                             "18446744073709551616", "1e999999999999", "inf", "nan"}) {
        EXPECT_EQ(scaled_decimal(text, 9), UINT64_MAX) << text;
    }
    EXPECT_EQ(scaled_decimal(std::string(50, '9'), 0), UINT64_MAX);
}

}  // namespace
}  // namespace kvplane::workload
