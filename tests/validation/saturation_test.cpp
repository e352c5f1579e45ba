// SPDX-License-Identifier: Apache-2.0
/// The data plane at its limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "explore/config.h"
#include "explore/validate.h"

namespace kvplane::explore {
namespace {

std::set<std::string> broken(const std::vector<std::string>& sets) {
    std::set<std::string> ids;
    for (const ValidationRow& row : validate_saturation(load({}, sets).run)) {
        if (!row.holds()) ids.insert(row.id);
    }
    return ids;
}

std::size_t count_of(const std::set<std::string>& ids, const std::string& part) {
    return static_cast<std::size_t>(
        std::count_if(ids.begin(), ids.end(),
                      [&](const std::string& id) { return id.find(part) != std::string::npos; }));
}

TEST(ValidateSaturationTest, EveryRowHolds) {
    std::set<std::string> ids;
    for (const ValidationRow& row : validate_saturation(load({}).run)) {
        EXPECT_TRUE(row.holds()) << row.id << ": " << row.model << " instead of "
                                 << row.reference_low << " to " << row.reference_high;
        EXPECT_EQ(row.kind, "arithmetic");
        if (row.id.find("throughput") != std::string::npos) {
            EXPECT_LE(row.model, 54.226) << "more than the wire carries";
        }
        EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is there twice";
    }
    EXPECT_EQ(ids.size(), 43U);
}

TEST(ValidateSaturationTest, ACardThatHoldsOneIntentIsSeen) {
    const std::set<std::string> ids = broken({"card.in_flight=1"});
    EXPECT_EQ(count_of(ids, "64KiB-depth8"), 6U);
    EXPECT_EQ(count_of(ids, "4KiB-depth64"), 1U);
    EXPECT_EQ(count_of(ids, "depth1-"), 0U) << "one at a time is what it can";
}

TEST(ValidateSaturationTest, AShareOfTheWireThatIsMissingIsSeen) {
    const std::set<std::string> ids = broken({"card.link.push_rate_limit=26 GB/s"});
    EXPECT_EQ(count_of(ids, "5120KiB-depth4"), 5U) << "all but x8 with 128 B";
    EXPECT_EQ(count_of(ids, "demotions"), 0U);
    EXPECT_EQ(count_of(ids, "duplex-promotions-x16"), 1U);
    EXPECT_EQ(count_of(ids, "throughput"), 1U);
}

TEST(ValidateSaturationTest, DemandThatWaitsForPrefetchesIsSeen) {
    EXPECT_EQ(count_of(broken({"card.scheduler.policy=fifo"}), "demand-p99"), 2U);
    // A block is 97 us; half of one under way.
    const std::set<std::string> late =
        broken({"card.staging=4 MiB", "card.scheduler.destination_quota=4 MiB"});
    EXPECT_EQ(count_of(late, "demand-p99"), 2U);
    EXPECT_EQ(count_of(late, "backlog0"), 0U);
}

TEST(ValidateSaturationTest, WhatIsMoreThanAHundredthIsSeen) {
    const std::set<std::string> ids = broken({"driver.submit=1.21 us"});
    EXPECT_EQ(count_of(ids, "depth1-x16"), 6U);
    EXPECT_EQ(count_of(ids, "5120KiB-depth1-x8"), 0U);
    EXPECT_EQ(count_of(ids, "64KiB-depth1-x8"), 2U);
}

TEST(ValidateSaturationTest, CopiesFollowTheirEngine) {
    EXPECT_EQ(count_of(broken({"driver.copy_engine.launch_latency=12 us"}), "copy-depth1"), 2U);
    const std::set<std::string> slow = broken({"driver.copy_engine.issue_interval=8 us"});
    EXPECT_EQ(count_of(slow, "copy-loop"), 4U);
    EXPECT_EQ(slow.size(), 4U);
}

}  // namespace
}  // namespace kvplane::explore
