// SPDX-License-Identifier: Apache-2.0
/// Submission queues in their three places, and what stands between an intent and its payload:
/// registered regions, translations, bus master enable, fences.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "host.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Fence;
using engine::Intent;
using engine::Opcode;
using engine::Status;
using enum engine::Status;
using management::QueuePlace;
using management::QueueRegister;
using management::WindowRegister;

constexpr Bytes kBlock = Bytes::from_kib(64);

class QueuePlacesTest : public test::SystemCTest {
protected:
    static CardConfig config() {
        CardConfig made = baseline(16);
        made.ring_memory = Bytes::from_mib(1);
        return made;
    }
    static void move_rings(Bench& bench, QueuePlace place) {
        bench.card.reset(management::Reset::kFunction);
        bench.host.set_up(place);
    }
};

TEST_F(QueuePlacesTest, ZeroLoadDiffersByTheFetchAlone) {
    std::array<Time, 3> took;
    for (const QueuePlace place :
         {QueuePlace::kHostMemory, QueuePlace::kHdm, QueuePlace::kPortal}) {
        fresh_kernel();
        Bench bench(config(), kBlock);
        bench.load({key_of(1)});
        move_rings(bench, place);
        const Time begin = now();
        EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(1))).status, kOk);
        took.at(static_cast<std::size_t>(place)) = bench.host.done.back().at - begin;
    }
    const Time portal = took[2];
    EXPECT_NEAR((took[0] - portal).us(), 0.841, 0.001) << "741 ns round trip, 100 ns host memory";
    EXPECT_NEAR((took[1] - portal).us(), 0.057, 0.001) << "one line of the card's DRAM";
}

TEST_F(QueuePlacesTest, ManyPassesOfEachRingLoseNothing) {
    for (const QueuePlace place :
         {QueuePlace::kHostMemory, QueuePlace::kHdm, QueuePlace::kPortal}) {
        fresh_kernel();
        Bench bench(config(), kBlock, "bench", 8);
        bench.load(keys_of(0, 8));
        move_rings(bench, place);
        bench.host.done.clear();
        for (int round = 0; round < 40; ++round) {
            for (std::uint32_t i = 0; i < 5; ++i) {
                bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(i), i));
            }
            Bench::drain();
        }
        ASSERT_EQ(bench.host.done.size(), 200U);
        for (const Done& done : bench.host.done) ASSERT_EQ(done.status, kOk);
        EXPECT_EQ(bench.card.data_plane().counters().stale_descriptors, 0U);
        EXPECT_EQ(bench.card.refused_doorbells(), 0U);
    }
}

TEST_F(QueuePlacesTest, ADoorbellThatOvertakesItsDescriptorIsCaught) {
    Bench bench(config(), kBlock, "bench", 4);
    bench.load({key_of(1)});
    move_rings(bench, QueuePlace::kHdm);
    bench.host.done.clear();
    for (int i = 0; i < 4; ++i) {
        (void)bench.finish(bench.host.intent(Opcode::kPromote, key_of(1)));
    }
    // The driver moves the tail before its write of the next one is answered.
    EXPECT_TRUE(bench.host.write_register(
        management::queue_register(0, QueueRegister::kSubmissionTail), 1));
    Bench::drain();
    ASSERT_EQ(bench.host.done.size(), 5U);
    EXPECT_EQ(bench.host.done.back().status, kMalformed);
    EXPECT_EQ(bench.card.data_plane().counters().stale_descriptors, 1U);
    EXPECT_EQ(bench.host.promoted.size(), 4U) << "and nothing moved twice";
}

TEST_F(QueuePlacesTest, AFullPortalLosesWhatIsWrittenAndSaysSo) {
    CardConfig narrow = config();
    narrow.engine.in_flight = 1;
    Bench bench(narrow, kBlock, "bench", 4);
    bench.load({key_of(1)});
    move_rings(bench, QueuePlace::kPortal);
    bench.host.done.clear();
    for (std::uint32_t i = 0; i < 12; ++i) {
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(1), i));
    }
    Bench::drain();
    const std::uint64_t lost = bench.card.data_plane().counters().lost_portal_writes;
    EXPECT_GT(lost, 4U);
    EXPECT_EQ(bench.host.done.size() + lost, 12U);
}

TEST_F(QueuePlacesTest, ListsOutsideTheRegisteredRegionAreMalformed) {
    Bench bench(config(), kBlock);
    bench.load(keys_of(0, 3));
    Intent run = bench.host.run(Opcode::kPromote, keys_of(0, 3));
    run.target = engine::make_target(Host::kWindow, Host::kDevice - 48);  // 72 bytes
    EXPECT_EQ(bench.finish(run).status, kMalformed);
    run.target = engine::make_target(Host::kWindow, 0);
    EXPECT_EQ(bench.finish(run).status, kMalformed);
}

TEST_F(QueuePlacesTest, ABlockIsCutIntoTheShardsOfItsWindow) {
    CardConfig bytes = config();
    bytes.payload = Payload::kBytes;
    Bench bench(bytes, kBlock);
    Bench::drain();
    const auto set = [&](WindowRegister which, std::uint64_t value, std::uint32_t shard = 0) {
        EXPECT_TRUE(
            bench.host.write_register(management::window_register(0, 2, which, shard), value));
    };
    for (std::uint32_t shard = 0; shard < 8; ++shard) {
        set(WindowRegister::kBase, Host::kDevice + shard * Bytes::from_gib(1).count, shard);
    }
    set(WindowRegister::kShards, 8);
    set(WindowRegister::kStride, 8'192);
    set(WindowRegister::kSlots, 100);
    bench.host.fill_slot(0, pattern(5, kBlock));
    ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(1), 0)).status, kOk);
    Intent promote = bench.host.intent(Opcode::kPromote, key_of(1));
    promote.target = engine::make_target(2, 37);
    ASSERT_EQ(bench.finish(promote).status, kOk);
    const std::vector<std::uint8_t> whole = pattern(5, kBlock);
    for (std::uint32_t shard = 0; shard < 8; ++shard) {
        const std::vector<std::uint8_t> part =
            bench.host.device(shard * Bytes::from_gib(1).count + 37 * 8'192, {8'192});
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + shard * 8'192)) << shard;
    }
    Intent demote = bench.host.intent(Opcode::kDemote, key_of(2));
    demote.target = engine::make_target(2, 37);
    ASSERT_EQ(bench.finish(demote).status, kOk);
    ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(2), 9)).status, kOk);
    EXPECT_EQ(bench.host.slot(9), whole);
    promote.target = engine::make_target(2, 100);
    EXPECT_EQ(bench.finish(promote).status, kMalformed);
    EXPECT_FALSE(bench.host.write_register(
        management::window_register(0, 2, WindowRegister::kStride), 8'192))
        << "as it is until a reset";
    bench.host.add_window(0, 3, {kBlock.count - 1});
    EXPECT_EQ(bench.finish(through(3, bench.host.intent(Opcode::kPromote, key_of(1), 37))).status,
              kMalformed);
    bench.host.add_window(1, 3, kBlock, ~0ULL - Host::kDevice - kBlock.count + 1);
    EXPECT_EQ(bench.finish(through(3, bench.host.intent(Opcode::kPromote, key_of(1), 1)), 1).status,
              kMalformed)
        << "behind the last address";
}

TEST_F(QueuePlacesTest, NothingMovesWithoutBusMasterEnable) {
    Bench bench(config(), kBlock);
    bench.load(keys_of(0, 4));
    const auto master = [&](bool enabled) {
        EXPECT_TRUE(bench.host.write_register(management::kCommandRegister,
                                              enabled ? management::kBusMasterEnable : 0));
    };
    for (std::int64_t after = 100; after < 8'000; after += 100) {
        bench.host.done.clear();
        const std::size_t arrived = bench.host.arrivals.size();
        bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 4)), 0);
        sc_core::sc_start(static_cast<double>(after), sc_core::SC_NS);
        master(false);
        const std::size_t heard = bench.host.done.size();
        const std::size_t by_now = bench.host.arrivals.size();
        sc_core::sc_start(20, sc_core::SC_US);
        ASSERT_EQ(bench.host.done.size(), heard) << after;
        ASSERT_LE(bench.host.arrivals.size(), by_now + 1) << "but for what had left";
        master(true);
        Bench::drain();
        ASSERT_EQ(bench.host.done.size(), 1U) << after;
        ASSERT_EQ(bench.host.done[0].status, kOk);
        ASSERT_EQ(bench.host.arrivals.size(), arrived + 4);
    }
    bench.card.data_plane().audit();
}

TEST_F(QueuePlacesTest, CompletionsAreWrittenTogetherOrWhenTheirTimeHasCome) {
    CardConfig together = config();
    together.engine.coalesce = 4;
    together.engine.coalesce_time = Time::from_us(50);
    Bench bench(together, kBlock);
    Bench::drain();
    for (std::uint32_t i = 0; i < 6; ++i) {
        bench.host.submit(bench.host.intent(Opcode::kDemote, key_of(i), i));
    }
    Bench::drain();
    ASSERT_EQ(bench.host.done.size(), 6U);
    EXPECT_EQ(bench.host.done[0].at, bench.host.done[3].at);
    EXPECT_EQ(bench.host.done[4].at, bench.host.done[5].at);
    EXPECT_GT(bench.host.done[4].at, bench.host.done[3].at + Time::from_us(45));
    bench.card.data_plane().audit();
}

TEST_F(QueuePlacesTest, WithoutAFenceACompletionMayComeBeforeItsPayload) {
    for (const Fence fence : {Fence::kInBandFlag, Fence::kReadFlush, Fence::kNone}) {
        fresh_kernel();
        CardConfig slow = config();
        slow.engine.fence = fence;
        slow.engine.device_flight = Time::from_us(5);
        slow.payload = Payload::kBytes;
        Bench bench(slow, kBlock);
        bench.host.fill_slot(0, pattern(1, kBlock));
        ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(1), 0)).status, kOk);
        bench.host.arrivals.clear();
        ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(1), 8)).status, kOk);
        const Time completed = bench.host.done.back().at;
        ASSERT_EQ(bench.host.arrivals.size(), 1U);
        if (fence == Fence::kNone) {
            EXPECT_LT(completed, bench.host.arrivals[0].first) << "the hazard";
        } else {
            EXPECT_GE(completed, bench.host.arrivals[0].first);
        }
        EXPECT_EQ(bench.host.slot(8), pattern(1, kBlock));
    }
}

/// Whichever of the two comes last lets the card go on.
TEST_F(QueuePlacesTest, ALinkThatIsDownAndABusMasterThatIsOffDoNotKnowOfEachOther) {
    constexpr Bytes kLong = Bytes::from_mib(4);
    for (const bool link_first : {false, true}) {
        for (const bool query : {false, true}) {
            fresh_kernel();
            Bench bench(config(), kLong);
            bench.load(keys_of(0, 1));
            const auto master = [&](bool enabled) {
                EXPECT_TRUE(bench.host.write_register(management::kCommandRegister,
                                                      enabled ? management::kBusMasterEnable : 0));
            };
            const auto link = [&](bool up) { bench.card.stop_link(!up); };
            const auto quiet = [&] {
                sc_core::sc_start(2, sc_core::SC_MS);
                EXPECT_TRUE(bench.host.arrivals.empty());
                EXPECT_TRUE(bench.host.done.empty()) << "completions cross the link too";
            };
            bench.host.done.clear();
            bench.host.submit(
                bench.host.intent(query ? Opcode::kQuery : Opcode::kPromote, key_of(0)), 0);
            sc_core::sc_start(query ? 1'250 : 5'000, sc_core::SC_NS);
            link(false);
            master(false);
            quiet();
            link_first ? link(true) : master(true);
            quiet();
            link_first ? link(false) : master(false);
            quiet();
            link_first ? master(true) : link(true);
            quiet();
            link_first ? link(true) : master(true);
            Bench::drain();
            ASSERT_EQ(bench.host.done.size(), 1U);
            EXPECT_EQ(bench.host.done[0].status, kOk);
        }
    }
}

TEST_F(QueuePlacesTest, NothingIsFetchedWhileTheLinkIsDown) {
    Bench bench(config(), kBlock);
    Bench::drain();
    bench.card.stop_link(true);
    bench.host.submit(bench.host.intent(Opcode::kQuery, key_of(0)));
    Bench::drain();
    EXPECT_EQ(bench.card.data_plane().counters().intents, 0U);
    bench.card.stop_link(false);
    Bench::drain();
    EXPECT_EQ(bench.host.done.size(), 1U);
}

/// Copies of a host-side mover cross the link, and are no DMA of the card.
TEST_F(QueuePlacesTest, ACopyOfTheHostStopsWithTheLinkAndNotWithTheBusMaster) {
    const std::uint64_t size = Bytes::from_mib(5).count;
    for (const auto direction : {engine::BulkDirection::kRead, engine::BulkDirection::kWrite}) {
        std::array<Time, 3> ends{};
        for (std::size_t fault = 0; fault < ends.size(); ++fault) {
            fresh_kernel();
            Bench bench(config(), kBlock);
            Bench::drain();
            const Time begin = now();
            bench.host.bulk->open_bulk(direction, Rate{50'000'000'000}, bench.host);
            bench.host.bulk->start_bulk(direction, 0, {size});
            sc_core::sc_start(20, sc_core::SC_US);
            if (fault == 1) {
                EXPECT_TRUE(bench.host.write_register(management::kCommandRegister, 0));
            }
            if (fault == 2) bench.card.stop_link(true);
            sc_core::sc_start(1, sc_core::SC_MS);
            EXPECT_EQ(bench.host.bulk_ends.size(), fault == 2 ? 0U : 1U);
            bench.card.stop_link(false);
            Bench::drain();
            ASSERT_EQ(bench.host.bulk_ends.size(), 1U);
            ends.at(fault) = bench.host.bulk_ends[0] - begin;
        }
        EXPECT_EQ(ends[1], ends[0]);
        EXPECT_EQ(ends[2], ends[0] + Time::from_ms(1));
    }
}

TEST_F(QueuePlacesTest, HostLinesStopWithTheLink) {
    Bench bench(config(), kBlock);
    Bench::drain();
    std::vector<std::uint8_t> line(64);
    for (const bool down : {true, false}) {
        bench.card.stop_link(down);
        sc_core::sc_time delay;
        EXPECT_EQ(bench.host.access(tlm::TLM_READ_COMMAND, 0, line, delay),
                  down ? tlm::TLM_GENERIC_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
        EXPECT_EQ(line[0], down ? 0xFF : 0);
    }
}

TEST_F(QueuePlacesTest, RefusedPayloadIsUnknownToWhoReadsItBackAndHasNoFlag) {
    for (const Fence fence : {Fence::kInBandFlag, Fence::kReadFlush}) {
        fresh_kernel();
        CardConfig fenced = config();
        fenced.engine.fence = fence;
        Bench bench(fenced, kBlock);
        bench.load(keys_of(0, 3));
        const std::uint64_t flags = Host::kSlots * kBlock.count;
        bench.host.add_window(0, 2, kBlock, 0, flags);
        const auto flag = [&] {
            std::uint64_t value = 0;
            const std::vector<std::uint8_t> bytes = bench.host.device(flags + 8, {8});
            std::memcpy(&value, bytes.data(), 8);
            return value;
        };
        bench.host.refuses = [&](std::uint64_t offset) { return offset >= 2 * kBlock.count; };
        const Intent run = through(2, bench.host.run(Opcode::kPromote, keys_of(0, 3), 1));
        const Done refused = bench.finish(run);
        if (fence == Fence::kReadFlush) {
            EXPECT_EQ(refused.status, kUnknown);
            EXPECT_EQ(refused.argument, 1U) << "blocks before the refused one";
        } else {
            EXPECT_EQ(refused.status, kOk) << "posted writes tell nothing";
        }
        EXPECT_EQ(flag(), 0U);
        bench.host.refuses = [](std::uint64_t) { return false; };
        const Done done = bench.finish(run);
        EXPECT_EQ(done.status, kOk);
        const bool flagged = fence == Fence::kInBandFlag;
        EXPECT_EQ(flag(), flagged ? done.id | std::uint64_t{3} << 32U : 0U);
    }
}

TEST_F(QueuePlacesTest, BlocksOfAnySizeLiveTogether) {
    CardConfig bytes = config();
    bytes.payload = Payload::kBytes;
    bytes.tier_capacity = Bytes::from_mib(2);
    Bench bench(bytes, Bytes::from_mib(1));
    Bench::drain();
    std::uint64_t demoted = 0;
    for (const std::uint32_t granules : {1U, 3U, 16U, 100U, 256U}) {
        const Bytes size = engine::kGranule * granules;
        bench.host.fill_slot(granules, pattern(granules, size));
        Intent intent = bench.host.intent(Opcode::kDemote, key_of(granules), granules);
        intent.length_4k = granules;
        ASSERT_EQ(bench.finish(intent).status, kOk);
        demoted += granules;
    }
    EXPECT_EQ(bench.card.data_plane().tier().room().used(), demoted);
    for (const std::uint32_t granules : {100U, 1U, 256U, 3U, 16U}) {
        Intent intent = bench.host.intent(Opcode::kPromote, key_of(granules), 1'000 + granules);
        intent.length_4k = granules + 1;
        EXPECT_EQ(bench.finish(intent).status, granules == 256 ? kMalformed : kRejected);
        intent.length_4k = granules;
        EXPECT_EQ(bench.finish(intent).status, kOk);
        EXPECT_EQ(bench.host.device((1'000 + granules) * Bytes::from_mib(1).count,
                                    engine::kGranule * granules),
                  pattern(granules, engine::kGranule * granules));
    }
}

TEST_F(QueuePlacesTest, ABlockInPiecesComesBackWhole) {
    CardConfig bytes = config();
    bytes.payload = Payload::kBytes;
    bytes.tier_capacity = Bytes::from_kib(64);
    Bench bench(bytes, Bytes::from_kib(4));
    bench.load(keys_of(0, 16));
    for (std::uint64_t key = 0; key < 16; key += 2) {
        ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kDiscard, key_of(key))).status, kOk);
    }
    // Eight pieces of one granule are free.
    Intent intent = bench.host.intent(Opcode::kDemote, key_of(100), 3);
    intent.length_4k = 5;
    EXPECT_EQ(bench.finish(intent).status, kMalformed) << "longer than a slot";
    constexpr Bytes kLong = Bytes::from_kib(20);
    bench.host.add_window(0, 2, kLong);
    intent.target = engine::make_target(2, 3);
    const std::vector<std::uint8_t> data = pattern(3, kLong);
    for (std::uint64_t i = 0; i < 5; ++i) {
        bench.host.fill_slot(static_cast<std::uint32_t>(15 + i),
                             std::span(data).subspan(i * 4'096, 4'096));
    }
    ASSERT_EQ(bench.finish(intent).status, kOk);
    const engine::Tier& tier = bench.card.data_plane().tier();
    EXPECT_EQ(tier.room().used(), 13U);
    intent.opcode = static_cast<std::uint8_t>(Opcode::kPromote);
    intent.target = engine::make_target(2, 50);
    ASSERT_EQ(bench.finish(intent).status, kOk);
    EXPECT_EQ(bench.host.device(50 * kLong.count, kLong), data);
    intent = bench.host.intent(Opcode::kPin, key_of(100));
    intent.argument = 5;
    intent.flags = engine::kMapped;
    EXPECT_EQ(bench.finish(intent).status, kRejected) << "its lines have no one address";
    intent = through(2, bench.host.intent(Opcode::kDemote, key_of(101), 3));
    intent.length_4k = 4;
    EXPECT_EQ(bench.finish(intent).status, kClipped);
}

TEST_F(QueuePlacesTest, ABlockMovesWithinTheTierWhileItIsRead) {
    CardConfig bytes = config();
    bytes.payload = Payload::kBytes;
    Bench bench(bytes, kBlock);
    bench.host.fill_slot(0, pattern(1, kBlock));
    ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(1), 0)).status, kOk);
    const engine::Tier& tier = bench.card.data_plane().tier();
    for (std::uint32_t i = 0; i < 20; ++i) {
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(1), 100 + i), 0);
        if (i % 4 == 2) bench.host.submit(bench.host.intent(Opcode::kReEncode, key_of(1)), 1);
        sc_core::sc_start(700, sc_core::SC_NS);
    }
    Bench::drain();
    std::uint64_t rejected = 0;
    for (const Done& done : bench.host.done) {
        if (done.status == kRejected) {
            ++rejected;  // it was moving already
        } else {
            EXPECT_EQ(done.status, kOk);
        }
    }
    EXPECT_EQ(bench.card.data_plane().counters().moved_blocks + rejected, 5U);
    EXPECT_GT(tier.counters().moved, 2U);
    EXPECT_EQ(tier.blocks(), 1U) << "the old places are free";
    for (std::uint32_t i = 0; i < 20; ++i) {
        EXPECT_EQ(bench.host.slot(100 + i), pattern(1, kBlock));
    }
    bench.card.data_plane().audit();
}

TEST_F(QueuePlacesTest, AMoveOfAPoisonedBlockLeavesTheOldState) {
    Bench bench(config(), kBlock);
    bench.load({key_of(1)});
    engine::DataPlane& plane = bench.card.data_plane();
    plane.set_poison({128}, true);
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kReEncode, key_of(1))).status, kPoisoned);
    EXPECT_EQ(plane.tier().counters().moved, 0U);
    EXPECT_EQ(plane.tier().blocks(), 1U);
    plane.set_poison({128}, false);
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kReEncode, key_of(1))).status, kOk);
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(1))).status, kOk);
    plane.audit();
}

}  // namespace
}  // namespace kvplane::card
