// SPDX-License-Identifier: Apache-2.0
/// A host's reads beside the card's moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "explore/config.h"
#include "explore/validate.h"

namespace kvplane::explore {
namespace {

TEST(ValidateHostReadsTest, EveryRowHoldsAndNoCurveFallsOrRunsAway) {
    const ValidationPart part = validate_host_reads(load({}).run);
    EXPECT_EQ(part.rows.size(), 12U);
    for (const ValidationRow& row : part.rows) {
        EXPECT_TRUE(row.holds()) << row.id << ": " << row.model << " instead of "
                                 << row.reference_low << " to " << row.reference_high;
    }
    std::map<std::string, LoadedLatencyPoint> last;
    for (const LoadedLatencyPoint& point : part.curves) {
        const auto before = last.find(point.series);
        if (before != last.end()) {
            EXPECT_GT(point.gb_s, before->second.gb_s) << point.series;
            EXPECT_GT(point.mean_ns, before->second.mean_ns) << point.series;
        }
        EXPECT_LE(point.p50_ns, point.p99_ns);
        last[point.series] = point;
    }
    ASSERT_EQ(last.size(), 3U);
    EXPECT_GT(last["beside both"].mean_ns, last["beside promotions"].mean_ns + 5);
    EXPECT_GT(last["beside both"].mean_ns, last["beside demotions"].mean_ns + 5);
}

TEST(ValidateHostReadsTest, ReadsThatWaitForMoreAreSeen) {
    const std::vector<std::string> sets{"card.dram.channels=1", "card.link.width=8"};
    const ValidationPart part = validate_host_reads(load({}, sets).run);
    EXPECT_TRUE(std::any_of(part.rows.begin(), part.rows.end(),
                            [](const ValidationRow& row) { return !row.holds(); }));
}

}  // namespace
}  // namespace kvplane::explore
