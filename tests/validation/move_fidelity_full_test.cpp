// SPDX-License-Identifier: Apache-2.0
/// Burst against line fidelity of a card's moves, and of a host's reads beside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "explore/config.h"
#include "explore/validate.h"

namespace kvplane::explore {
namespace {

RunConfig config_of() {
    const std::vector<std::string> sets{"card.dram.preset=ddr5-5600b",
                                        "card.tier.capacity=256 MiB"};
    return load({}, sets).run;
}

TEST(ValidateMoveFidelityTest, EveryRowHolds) {
    std::set<std::string> ids;
    for (const ValidationRow& row : validate_move_fidelity(config_of())) {
        EXPECT_TRUE(row.holds()) << row.id << ": " << row.model << " instead of "
                                 << row.reference_low;
        EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is there twice";
    }
    // Three sizes at three loads: one kind of moves twice, both once; each with the host's reads.
    EXPECT_EQ(ids.size(), 3U * 3U * (2 * (3 + 2) + (2 * 3 + 2)));
}

/// Without rows, refreshes and batches of writes, latencies of small moves and of lines are off.
TEST(ValidateMoveFidelityTest, AClosedFormWithoutItsDeviceIsSeen) {
    RunConfig config = config_of();
    config.card.dram.device.reset();
    const std::vector<ValidationRow> rows = validate_move_fidelity(config);
    const auto broken = std::count_if(rows.begin(), rows.end(),
                                      [](const ValidationRow& row) { return !row.holds(); });
    EXPECT_GE(broken, 20);
}

}  // namespace
}  // namespace kvplane::explore
