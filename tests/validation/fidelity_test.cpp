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

TEST(ValidateFidelityTest, EveryRowHolds) {
    std::set<std::string> ids;
    for (const ValidationRow& row : validate_fidelity(card_of())) {
        EXPECT_TRUE(row.holds()) << row.id << ": " << row.model << " instead of "
                                 << row.reference_low;
        EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is there twice";
    }
    // Per load: three mixes of reads alone, two of writes alone, two of both.
    EXPECT_EQ(ids.size(), 3U * (3 * 3 + 2 * 3 + 2 * 5));
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
