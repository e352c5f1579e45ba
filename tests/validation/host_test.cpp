// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "explore/validate.h"

namespace kvplane::explore {
namespace {

TEST(ValidateHostTest, EveryReferenceHolds) {
    std::set<std::string> ids;
    std::size_t held_out = 0;
    for (const ValidationRow& row : validate_host_copies({})) {
        EXPECT_TRUE(row.holds()) << row.id << ": " << row.model << " instead of "
                                 << row.reference_low << " to " << row.reference_high;
        EXPECT_TRUE(row.reason.empty()) << row.id;
        EXPECT_LE(row.tolerance, 0.05) << row.id;
        EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is there twice";
        held_out += row.held_out ? 1 : 0;
    }
    EXPECT_EQ(ids.size(), 14U);
    EXPECT_EQ(held_out, 2U);
}

/// The rows that fall after a change.
std::set<std::string> fallen(const std::function<void(RunConfig&)>& change) {
    RunConfig config;
    change(config);
    std::set<std::string> ids;
    for (const ValidationRow& row : validate_host_copies(config)) {
        if (!row.passes()) ids.insert(row.id);
    }
    return ids;
}

TEST(ValidateHostTest, AWrongParameterFellsItsRowsAndNoOther) {
    const auto bandwidth =
        fallen([](RunConfig& c) { c.driver.copy_engine.bandwidth = Rate::from_gb_s(40); });
    EXPECT_TRUE(bandwidth.contains("V9-h2d-2048KiB"));
    EXPECT_TRUE(bandwidth.contains("V9-h2d-16384KiB"));
    EXPECT_FALSE(bandwidth.contains("V9-h2d-8KiB"));
    EXPECT_FALSE(bandwidth.contains("V10-mmio-read"));

    const auto interval =
        fallen([](RunConfig& c) { c.driver.copy_engine.issue_interval = Time::from_us(5); });
    EXPECT_TRUE(interval.contains("V9-h2d-8KiB"));
    EXPECT_TRUE(interval.contains("V9-h2d-128KiB"));
    EXPECT_FALSE(interval.contains("V9-h2d-16384KiB"));

    EXPECT_EQ(fallen([](RunConfig& c) {
                  for (auto& row : c.driver.copy_engine.small_copies)
                      row.extra = Time::from_ns(800);
              }),
              (std::set<std::string>{"V9-h2d-8KiB", "V9-h2d-16KiB", "V9-h2d-64KiB"}));
    EXPECT_EQ(fallen([](RunConfig& c) { c.driver.submit = Time::from_ns(150); }),
              (std::set<std::string>{"V10-posted-write"}));
    EXPECT_EQ(fallen([](RunConfig& c) { c.card.flight = Time::from_ns(450); }),
              (std::set<std::string>{"V10-mmio-read"}));
    EXPECT_EQ(fallen([](RunConfig& c) { c.driver.poll_interval = Time::from_us(1); }),
              (std::set<std::string>{"V10-ping-pong"}));
}

}  // namespace
}  // namespace kvplane::explore
