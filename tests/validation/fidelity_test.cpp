// SPDX-License-Identifier: Apache-2.0
/// Burst against line fidelity of a card, as the host sees it.
#include <gtest/gtest.h>

#include <set>

#include "explore/config.h"
#include "explore/host_load.h"
#include "explore/validate.h"

namespace kvplane::explore {
namespace {

card::CardConfig card_of(const std::vector<std::string>& sets = {}) {
    std::vector<std::string> all{"card.dram.preset=ddr5-5600b", "card.tier.capacity=256 MiB"};
    all.insert(all.end(), sets.begin(), sets.end());
    return load({}, all).run.card;
}

TEST(ValidateFidelityTest, EveryRowHoldsOrSaysWhyNot) {
    std::set<std::string> ids;
    std::size_t excused = 0;
    for (const ValidationRow& row : validate_fidelity(card_of())) {
        EXPECT_TRUE(row.holds() || !row.reason.empty())
            << row.id << ": " << row.model << " instead of " << row.reference_low;
        EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is there twice";
        excused += row.holds() ? 0 : 1;
    }
    EXPECT_EQ(ids.size(), 3U * (3 + 3 + 5 + 3));
    EXPECT_LE(excused, 1U);
}

/// What is far from the line model is seen: a burst DRAM that knows nothing of rows and refreshes.
TEST(ValidateFidelityTest, AClosedFormWithoutItsDeviceIsSeen) {
    card::CardConfig card = card_of();
    card.dram.device.reset();
    std::size_t broken = 0;
    for (const ValidationRow& row : validate_fidelity(card)) broken += row.holds() ? 0 : 1;
    EXPECT_GE(broken, 8U);
}

TEST(HostLoadTest, NoMoreThanThePinsAndTheWire) {
    for (const char* fidelity : {"burst", "line"}) {
        card::CardConfig card = card_of({"card.dram.channels=1", "card.mem.depth=512",
                                         std::string("card.dram.fidelity=") + fidelity});
        HostLoad load;
        load.outstanding = 512;
        const HostMeasure reads = measure_host(card, load);
        EXPECT_EQ(reads.answered, load.lines + load.warm_up);
        EXPECT_LT(reads.bandwidth.gb_s(), card::line_dram(card).pins().gb_s());
        EXPECT_GT(reads.bandwidth.gb_s(), 0.8 * card::line_dram(card).pins().gb_s());
    }
    card::CardConfig wide = card_of({"card.link.width=4", "card.mem.depth=512"});
    HostLoad load;
    load.outstanding = 512;
    EXPECT_NEAR(measure_host(wide, load).bandwidth.gb_s(),
                cxl::Link(wide.link).mem_bandwidth({1, 0, 0}).gb_s(), 0.1);
}

/// A closed loop with one line in flight is the idle latency; an open loop offers what it says.
TEST(HostLoadTest, LoadsAreWhatTheySay) {
    const card::CardConfig card = card_of({"card.dram.refresh=same-bank"});
    HostLoad one;
    one.lines = 5'000;
    const HostMeasure closed = measure_host(card, one);
    EXPECT_NEAR(closed.bandwidth.gb_s(), 64e-3 / closed.read_latency.mean_us(), 0.02);
    HostLoad open;
    open.rate = {10'000'000'000};
    open.outstanding = 512;
    EXPECT_NEAR(measure_host(card, open).bandwidth.gb_s(), 10.0, 0.2);
    open.reads = 3;
    open.writes = 1;
    const HostMeasure mixed = measure_host(card, open);
    EXPECT_NEAR(static_cast<double>(mixed.write_latency.count()), 25'000, 500);
    EXPECT_EQ(mixed.read_latency.count() + mixed.write_latency.count(), open.lines);
}

}  // namespace
}  // namespace kvplane::explore
