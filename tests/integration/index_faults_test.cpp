// SPDX-License-Identifier: Apache-2.0
/// Whole runs whose index is full or loses entries: every invariant holds.
#include <gtest/gtest.h>

#include "model/index/tlm_index.h"
#include "small_run.h"

namespace kvplane::test {
namespace {

class IndexFaultsRunTest : public RunTest {
protected:
    static Sets setting() {
        return small_setting() + Sets{"card.index.sram=4 KiB", "card.payload=bytes",
                                      "workload.zipf_sessions.turns=200"};
    }
    /// Flips `bits` bits of the entries of all blocks, in one go, after a while.
    static void flip_all(explore::Platform& platform, std::uint32_t bits) {
        sc_core::sc_start(20, sc_core::SC_MS);
        auto& index = dynamic_cast<index::TlmIndex&>(platform.index());
        ASSERT_GT(index.sram_entries(), 20U);
        for (const workload::BlockEntry& block : platform.workload().blocks) {
            for (std::uint32_t bit = 0; bit < bits; ++bit) {
                (void)index.table().flip(block.key.fold(), 9 + bit);
            }
        }
    }
};

TEST_F(IndexFaultsRunTest, OneWrongBitInEveryEntryChangesNothing) {
    const auto clean = simulate(setting());
    const auto result =
        simulate(setting(), Inspect{}, [](explore::Platform& platform) { flip_all(platform, 1); });
    EXPECT_GT(result["index"]["corrected"], 20);
    EXPECT_EQ(result["index"]["entries_lost"], 0);
    EXPECT_EQ(result["placement"], clean["placement"]);
    EXPECT_EQ(result["promotion"], clean["promotion"]);
    EXPECT_EQ(clean["index"]["corrected"], 0);
}

TEST_F(IndexFaultsRunTest, TwoWrongBitsInEveryEntryAreMadeGoodFromTheRecords) {
    const auto result =
        simulate(setting(), Inspect{}, [](explore::Platform& platform) { flip_all(platform, 2); });
    EXPECT_GT(result["index"]["entries_lost"], 20);
    EXPECT_EQ(result["index"]["entries_rebuilt"], result["index"]["entries_lost"]);
    EXPECT_EQ(result["index"]["blocks_lost"], 0);
}

TEST_F(IndexFaultsRunTest, AFullIndexRefusesBlocksAndTheRunGoesOn) {
    for (const char* demotion : {"write-through", "on-evict"}) {
        const Sets sets =
            setting() + Sets{std::string("host.demotion=") + demotion, "card.index.overflow=none",
                             "card.index.stash=1", "workload.zipf_sessions.sessions=64"};
        const auto result = simulate(sets, [](explore::Platform& platform) {
            EXPECT_EQ(platform.index().overflow_entries(), 0U);
            EXPECT_EQ(platform.index().sram_entries(), platform.control().tier_used());
            EXPECT_LE(platform.control().tier_used(), 257U);
        });
        EXPECT_GT(result["index"]["full"], 0) << demotion;
        EXPECT_GT(result["placement"]["stores_refused"], 0) << demotion;
        EXPECT_GE(result["placement"]["stores_refused"], result["index"]["full"]);
        EXPECT_GT(result["promotion"]["count"], 0) << demotion;
        EXPECT_EQ(result["placement"]["write_once_violations"], 0);
    }
}

}  // namespace
}  // namespace kvplane::test
