// SPDX-License-Identifier: Apache-2.0
/// Burst against line fidelity of a card, as the host sees it.
#include <gtest/gtest.h>

#include <set>

#include "explore/config.h"
#include "explore/validate.h"

namespace kvplane::explore {
namespace {

card::CardConfig card_of(const std::vector<std::string>& sets = {}) {
    std::vector<std::string> all{"card.dram.preset=ddr5-5600b", "card.tier.capacity=256 MiB"};
    all.insert(all.end(), sets.begin(), sets.end());
    return load({}, all).run.card;
}

std::size_t expect_sound(const std::vector<ValidationRow>& rows) {
    std::set<std::string> ids;
    std::size_t excused = 0;
    for (const ValidationRow& row : rows) {
        EXPECT_TRUE(row.passes()) << row.id << ": " << row.model << " instead of "
                                  << row.reference_low << ", " << row.error();
        EXPECT_EQ(row.holds(), row.reason.empty()) << row.id;
        EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is there twice";
        excused += row.holds() ? 0 : 1;
    }
    return excused;
}

TEST(ValidateFidelityTest, EveryRowHoldsOrIsExcusedByItsError) {
    const std::vector<ValidationRow> rows = validate_fidelity(card_of());
    EXPECT_EQ(rows.size(), 3U * (4 * 3 + 2 * 5 + 3) - 3U * 3U + 3U * 3U);
    EXPECT_LE(expect_sound(rows), rows.size() / 3);
}

/// What is far from the line model is seen: a burst DRAM that knows nothing of rows and refreshes.
TEST(ValidateFidelityTest, AClosedFormWithoutItsDeviceIsSeen) {
    card::CardConfig card = card_of();
    card.dram.device.reset();
    std::size_t broken = 0;
    for (const ValidationRow& row : validate_fidelity(card)) broken += row.holds() ? 0 : 1;
    EXPECT_GE(broken, 8U);
}

}  // namespace
}  // namespace kvplane::explore
