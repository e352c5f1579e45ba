// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "explore/validate.h"

namespace kvplane::explore {
namespace {

TEST(ValidateLinkTest, EveryReferenceHolds) {
    std::set<std::string> ids;
    for (const ValidationRow& row : validate_link()) {
        EXPECT_TRUE(row.holds()) << row.id << ": " << row.model << " instead of "
                                 << row.reference_low << " to " << row.reference_high;
        EXPECT_TRUE(row.reason.empty()) << row.id;
        EXPECT_LE(row.tolerance, 0.05) << row.id;
        EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is there twice";
    }
    EXPECT_EQ(ids.size(), 178U);
}

TEST(ValidateLinkTest, ErrorIsTheDistanceOutsideTheRange) {
    ValidationRow row;
    row.reference_low = 50;
    row.reference_high = 60;
    row.tolerance = 0.01;
    row.model = 55;
    EXPECT_EQ(row.error(), 0);
    EXPECT_TRUE(row.holds());
    row.model = 49;
    EXPECT_DOUBLE_EQ(row.error(), -0.02);
    EXPECT_FALSE(row.holds());
    row.model = 60.3;
    EXPECT_NEAR(row.error(), 0.3 / 60, 1e-12);
    EXPECT_TRUE(row.holds());
}

/// A reason covers the error that it was given for, and no other.
TEST(ValidateLinkTest, AnExcuseIsBoundedByItsError) {
    ValidationRow row;
    row.reference_low = row.reference_high = 100;
    row.tolerance = 0.05;
    row.model = 88;
    EXPECT_FALSE(row.passes());
    row.reason = "why";
    EXPECT_FALSE(row.passes()) << "of no error";
    row.excused = -0.125;
    EXPECT_TRUE(row.passes());
    row.model = 89.1;
    EXPECT_FALSE(row.passes()) << "it is better than it was";
    row.model = 60;
    EXPECT_FALSE(row.passes()) << "and far worse";
    row.model = 112.5;
    EXPECT_FALSE(row.passes()) << "on the other side";
    row.model = 96;
    EXPECT_TRUE(row.passes());
}

TEST(ValidateLinkTest, JsonHasTheKeysThatOthersRelyOn) {
    std::ostringstream out;
    EXPECT_EQ(validate({.only = "link", .json = true}, out), 0);
    const auto object = nlohmann::json::parse(out.str());
    EXPECT_EQ(object["schema"], "kvplane.validate/1");
    const std::set<std::string> kinds{"silicon", "vendor", "simulator", "arithmetic", "prototype"};
    for (const auto& row : object["rows"]) {
        for (const char* key : {"id", "source", "kind", "reference_low", "reference_high", "model",
                                "error", "tolerance", "held_out", "holds", "reason", "excused"}) {
            EXPECT_TRUE(row.contains(key)) << key;
        }
        EXPECT_TRUE(kinds.count(row["kind"])) << row["kind"];
    }
}

}  // namespace
}  // namespace kvplane::explore
