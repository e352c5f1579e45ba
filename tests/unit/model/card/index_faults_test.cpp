// SPDX-License-Identifier: Apache-2.0
/// What the host hears where the card's index is full, or has lost entries.
#include <gtest/gtest.h>

#include <set>

#include "host.h"
#include "model/common/random.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Opcode;
using engine::Status;

constexpr Bytes kBlock = Bytes::from_kib(8);

class IndexFaultsTest : public test::SystemCTest {
protected:
    static CardConfig config() {
        CardConfig config = baseline(16);
        config.tier_capacity = kBlock * 1'000;
        config.payload = Payload::kBytes;
        config.index.sram = Bytes::from_kib(4);
        config.index.stash = 2;
        return config;
    }
    static void flip(Bench& bench, std::uint64_t n, std::uint32_t bits) {
        for (std::uint32_t bit = 0; bit < bits; ++bit) {
            ASSERT_TRUE(bench.index.table().flip(key_of(n).fold(), 3 + bit)) << n;
        }
    }
    static Status promote(Bench& bench, std::uint64_t n) {
        const Done done = bench.finish(bench.host.intent(Opcode::kPromote, key_of(n), 4'000));
        if (done.status == Status::kOk) {
            EXPECT_EQ(bench.host.slot(4'000), pattern(n, kBlock)) << n;
        }
        return done.status;
    }
};

TEST_F(IndexFaultsTest, AFullIndexClipsARunBeforeItsBytesMoveAndNoBlockIsLost) {
    CardConfig full = config();
    full.index.overflow = index::Overflow::kNone;
    Bench bench(full, kBlock);
    Bench::drain();
    const engine::DataPlane& plane = bench.card.data_plane();
    std::set<std::uint64_t> stored;
    std::uint64_t clipped = 0;
    for (std::uint64_t first = 0; first < 400; first += 8) {
        for (std::uint32_t i = 0; i < 8; ++i) {
            bench.host.fill_slot(static_cast<std::uint32_t>(first) + i, pattern(first + i, kBlock));
        }
        const Bytes before = plane.counters().written_to_tier;
        const Done done = bench.finish(
            bench.host.run(Opcode::kDemote, keys_of(first, 8), static_cast<std::uint32_t>(first)));
        ASSERT_EQ(done.status, done.argument == 8 ? Status::kOk : Status::kClipped);
        EXPECT_EQ(plane.counters().written_to_tier - before, kBlock * done.argument);
        clipped += done.status == Status::kClipped ? 1 : 0;
        for (std::uint64_t i = 0; i < done.argument; ++i) stored.insert(first + i);
        plane.tier().audit();
        ASSERT_EQ(plane.tier().blocks(), stored.size());
        ASSERT_EQ(bench.index.sram_entries(), stored.size());
    }
    EXPECT_GT(clipped, 10U);
    EXPECT_EQ(plane.tier().counters().index_full, clipped);
    EXPECT_EQ(plane.counters().demoted_blocks, stored.size());
    EXPECT_EQ(bench.index.overflow_entries(), 0U);
    // Each is where it was or in the tier, and whole.
    for (std::uint64_t n = 0; n < 400; ++n) {
        EXPECT_EQ(bench.host.slot(static_cast<std::uint32_t>(n)), pattern(n, kBlock));
        ASSERT_EQ(promote(bench, n), stored.count(n) == 1 ? Status::kOk : Status::kMissing) << n;
    }
    // Room that a discard makes is used again.
    for (std::uint64_t n = 0; n < 100; ++n) {
        if (stored.count(n) == 0) continue;
        ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kDiscard, key_of(n))).status, Status::kOk);
    }
    for (std::uint64_t n = 500; n < 540; ++n) {
        bench.host.fill_slot(0, pattern(n, kBlock));
        ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(n), 0)).status,
                  Status::kOk);
        ASSERT_EQ(promote(bench, n), Status::kOk);
    }
    plane.tier().audit();
}

TEST_F(IndexFaultsTest, ALostEntryIsRebuiltAndItsBlockDelivered) {
    Bench bench(config(), kBlock);
    Bench::drain();
    const engine::Tier& tier = bench.card.data_plane().tier();
    for (std::uint64_t n = 0; n < 100; ++n) {
        bench.host.fill_slot(0, pattern(n, kBlock));
        ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(n), 0)).status,
                  Status::kOk);
    }
    const auto latency = [&](std::uint64_t n) {
        const std::size_t before = bench.host.promoted.size();
        EXPECT_EQ(promote(bench, n), Status::kOk);
        return bench.host.promoted.at(before).stages;
    };
    const Time usual = latency(7)[engine::Stage::kLookup];
    flip(bench, 7, 1);
    EXPECT_EQ(latency(7)[engine::Stage::kLookup], usual);
    EXPECT_GE(bench.index.ecc().corrected, 1U);
    EXPECT_EQ(tier.counters().rebuilds, 0U);
    flip(bench, 8, 2);
    // A line of DRAM at least, and the lookup anew.
    EXPECT_GT(latency(8)[engine::Stage::kLookup], usual + Time::from_ns(50));
    EXPECT_EQ(tier.counters().rebuilt, 1U);
    // A second demotion and a discard meet it too.
    flip(bench, 9, 2);
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(9))).status,
              Status::kRejected);
    flip(bench, 10, 2);
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kDiscard, key_of(10))).status, Status::kOk);
    EXPECT_EQ(tier.counters().rebuilt, 3U);
    EXPECT_EQ(bench.index.ecc().lost, 3U);
    EXPECT_EQ(tier.counters().lost_blocks, 0U);
    for (std::uint64_t n = 0; n < 100; ++n) {
        ASSERT_EQ(promote(bench, n), n == 10 ? Status::kMissing : Status::kOk) << n;
    }
    tier.audit();
}

TEST_F(IndexFaultsTest, WithoutItsRecordALostBlockIsMissingAndCanComeAgain) {
    Bench bench(config(), kBlock);
    Bench::drain();
    bench.host.fill_slot(0, pattern(1, kBlock));
    bench.load({key_of(1)});
    flip(bench, 1, 2);
    bench.card.data_plane().tier().flip_record({0}, 77);
    EXPECT_EQ(promote(bench, 1), Status::kMissing);
    EXPECT_EQ(bench.card.data_plane().tier().counters().lost_blocks, 1U);
    bench.load({key_of(1)});
    EXPECT_EQ(promote(bench, 1), Status::kOk);
}

/// Bits flip while promotions, demotions and discards are under way.
TEST_F(IndexFaultsTest, InMidTrafficNothingIsReturnedWrong) {
    Bench bench(config(), kBlock);
    Bench::drain();
    RandomStream random(41, "index faults");
    constexpr std::uint64_t kKeys = 300;
    for (std::uint64_t n = 0; n < kKeys; ++n) {
        bench.host.fill_slot(static_cast<std::uint32_t>(n), pattern(n, kBlock));
    }
    for (int round = 0; round < 400; ++round) {
        for (int i = 0; i < 3; ++i) {
            const std::uint64_t first = random.uniform(kKeys - 6);
            const auto opcode = static_cast<Opcode>(random.uniform(1, 4));
            const bool demote = opcode == Opcode::kDemote;
            bench.host.submit(bench.host.run(opcode, keys_of(first, random.uniform(1, 6)),
                                             static_cast<std::uint32_t>(demote ? first : 3'000)),
                              demote ? 1 : 0);
        }
        sc_core::sc_start(static_cast<double>(random.uniform(1, 4'000)), sc_core::SC_NS);
        index::CuckooTable& table = bench.index.table();
        for (std::uint64_t row = 0; row < table.capacity(); ++row) (void)table.scrub();
        if (table.bad_slots() == 0) {
            const std::uint64_t fold = key_of(random.uniform(kKeys)).fold();
            if (table.flip(fold, 20)) (void)table.flip(fold, 30);
        }
        sc_core::sc_start(static_cast<double>(random.uniform(1, 40'000)), sc_core::SC_NS);
    }
    Bench::drain();
    const engine::Tier& tier = bench.card.data_plane().tier();
    EXPECT_GT(tier.counters().rebuilt, 20U);
    EXPECT_EQ(tier.counters().lost_blocks, 0U);
    tier.audit();
    std::uint64_t present = 0;
    for (std::uint64_t n = 0; n < kKeys; ++n) {
        const Status status = promote(bench, n);
        present += status == Status::kOk ? 1 : 0;
        ASSERT_TRUE(status == Status::kOk || status == Status::kMissing);
    }
    EXPECT_EQ(present, tier.blocks());
    EXPECT_GT(present, 20U);
}

}  // namespace
}  // namespace kvplane::card
