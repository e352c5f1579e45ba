// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "explore/validate.h"

namespace kvplane::explore {
namespace {

TEST(ValidateDramTest, EveryReferenceHolds) {
    std::set<std::string> ids;
    std::size_t loaded = 0;
    std::size_t held_out = 0;
    for (const ValidationRow& row : validate_dram()) {
        EXPECT_TRUE(row.holds()) << row.id << ": " << row.model << " instead of "
                                 << row.reference_low << " to " << row.reference_high;
        EXPECT_TRUE(row.reason.empty()) << row.id;
        EXPECT_LE(row.tolerance, 0.05) << row.id;
        EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is there twice";
        loaded += row.id.starts_with("dram-loaded") ? 1 : 0;
        held_out += row.held_out ? 1 : 0;
    }
    EXPECT_EQ(ids.size(), 34U);
    EXPECT_GE(loaded, 8U);
    EXPECT_GE(held_out, 20U);
}

}  // namespace
}  // namespace kvplane::explore
