// SPDX-License-Identifier: Apache-2.0
/// What the card answers, to sound intents and to others. Each intent gets one completion.
#include <functional>
#include <map>
#include <set>

#include "host.h"
#include "model/common/random.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Intent;
using engine::Opcode;
using engine::Status;
using enum engine::Status;

constexpr Bytes kBlock = Bytes::from_kib(64);

class IntentsTest : public test::SystemCTest {
protected:
    static CardConfig config(std::uint64_t blocks = 64) {
        CardConfig made = baseline(16);
        made.tier_capacity = kBlock * blocks;
        return made;
    }
    static void expect(const Done& done, Status status, std::uint64_t argument) {
        EXPECT_EQ(done.status, status);
        EXPECT_EQ(done.argument, argument);
    }
};

struct Flaw {
    const char* name;
    std::function<void(Intent&)> make;
    Status status = kMalformed;
    bool sign = true;
};

void PrintTo(const Flaw& flaw, std::ostream* out) { *out << flaw.name; }

class FlawedIntentTest : public test::SystemCTest, public testing::WithParamInterface<Flaw> {};

TEST_P(FlawedIntentTest, IsAnsweredAndDoesNothing) {
    Bench bench(baseline(16), kBlock);
    bench.load({key_of(1)});
    for (const Opcode opcode : {Opcode::kPromote, Opcode::kPrefetch, Opcode::kDemote}) {
        Intent intent = bench.host.intent(opcode, key_of(opcode == Opcode::kDemote ? 2 : 1));
        GetParam().make(intent);
        const std::size_t before = bench.host.done.size();
        const std::uint32_t id = bench.host.submit(intent, 0, GetParam().sign);
        Bench::drain();
        ASSERT_EQ(bench.host.done.size(), before + 1);
        EXPECT_EQ(bench.host.done.back().id, id);
        EXPECT_EQ(bench.host.done.back().status, GetParam().status);
        EXPECT_EQ(bench.host.done.back().argument, 0U);
    }
    EXPECT_TRUE(bench.host.promoted.empty());
    EXPECT_EQ(bench.host.demoted.size(), 1U);
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), 1U);
    // And the card goes on.
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(1))).status, kOk);
}

INSTANTIATE_TEST_SUITE_P(
    All, FlawedIntentTest,
    testing::Values(
        Flaw{"Crc", [](Intent& i) { i.crc = 0x12345678; }, kMalformed, false},
        Flaw{"OneBitAfterTheCrc",
             [](Intent& i) {
                 i.crc = engine::intent_crc(i);
                 i.deadline_ns ^= 1U << 20;
             },
             kMalformed, false},
        Flaw{"Version", [](Intent& i) { i.format_version = 2; }},
        Flaw{"CountZero", [](Intent& i) { i.count = 0; }},
        Flaw{"CountWithoutAList", [](Intent& i) { i.count = 2; }},
        Flaw{"OpcodeZero", [](Intent& i) { i.opcode = 0; }},
        Flaw{"OpcodeUnknown", [](Intent& i) { i.opcode = 77; }},
        Flaw{"SlotPastTheWindow",
             [](Intent& i) { i.target = engine::make_target(Host::kWindow, Host::kSlots); }},
        Flaw{"SlotBeyond32Bits",
             [](Intent& i) { i.target = engine::make_target(Host::kWindow, 1ULL << 32); }},
        Flaw{"WindowNotRegistered", [](Intent& i) { i.target = engine::make_target(2, 0); }},
        Flaw{"WindowUnknown", [](Intent& i) { i.target = engine::make_target(999, 0); }},
        Flaw{"NoLength", [](Intent& i) { i.length_4k = 0; }},
        Flaw{"NoClass", [](Intent& i) { i.transfer_class = 0; }},
        Flaw{"UnknownClass", [](Intent& i) { i.transfer_class = 5; }},
        Flaw{"ATenantThatIsAll", [](Intent& i) { i.tenant = engine::kEveryTenant; }},
        Flaw{"TooLong", [](Intent& i) { i.length_4k += 1; }},
        Flaw{"AnotherBoot", [](Intent& i) { i.boot_generation = 1; }, kMissing}),
    [](const auto& instance) { return instance.param.name; });

TEST_F(IntentsTest, AFlawInOneEntryOfAListStopsTheWholeRun) {
    Bench bench(config(), kBlock);
    bench.load(keys_of(0, 4));
    // The last slot of the run lies outside the window.
    expect(bench.finish(bench.host.run(Opcode::kPromote, keys_of(0, 4), Host::kSlots - 3)),
           kMalformed, 0);
    // The last entry is of another length.
    expect(bench.finish(bench.host.run(Opcode::kPromote, keys_of(0, 4), 0, 1)), kMalformed, 0);
    EXPECT_TRUE(bench.host.promoted.empty());
}

TEST_F(IntentsTest, AMissingBlockEndsARunBehindWhatWasFound) {
    Bench bench(config(), kBlock);
    bench.load(keys_of(0, 3));
    expect(bench.finish(bench.host.run(Opcode::kPromote, keys_of(0, 5))), kMissing, 3);
    expect(bench.finish(bench.host.intent(Opcode::kPromote, key_of(9))), kMissing, 0);
    expect(bench.finish(bench.host.run(Opcode::kPrefetch, keys_of(2, 2))), kMissing, 1);
    EXPECT_EQ(bench.host.promoted.size(), 4U);
}

TEST_F(IntentsTest, AMissIsAnsweredAfterItsLookupAndARecord) {
    Bench bench(config(), kBlock);
    Bench::drain();
    Time begin = now();
    Intent flawed = bench.host.intent(Opcode::kPromote, key_of(1));
    flawed.opcode = 0;
    const Time malformed = bench.finish(flawed).at - begin;
    for (const Opcode opcode : {Opcode::kPromote, Opcode::kDiscard}) {
        begin = now();
        const Time missing = bench.finish(bench.host.intent(opcode, key_of(1))).at - begin;
        // The record of another block is read, so that time does not tell one that is not his.
        EXPECT_EQ(missing, malformed + Time::from_ns(6) + bench.card.data_plane().idle_latency());
    }
}

TEST_F(IntentsTest, AFullTierClips) {
    Bench bench(config(4), kBlock);
    expect(bench.finish(bench.host.run(Opcode::kDemote, keys_of(0, 3))), kOk, 3);
    expect(bench.finish(bench.host.run(Opcode::kDemote, keys_of(10, 3))), kClipped, 1);
    expect(bench.finish(bench.host.intent(Opcode::kDemote, key_of(20))), kClipped, 0);
    EXPECT_EQ(bench.card.data_plane().counters().tier_high_water, 4U);
    // What is discarded makes room.
    expect(bench.finish(bench.host.run(Opcode::kDiscard, keys_of(0, 2))), kOk, 2);
    expect(bench.finish(bench.host.run(Opcode::kDemote, keys_of(20, 3))), kClipped, 2);
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), 4U);
    expect(bench.finish(bench.host.intent(Opcode::kPromote, key_of(0))), kMissing, 0);
    expect(bench.finish(bench.host.intent(Opcode::kPromote, key_of(21))), kOk, 1);
}

TEST_F(IntentsTest, ASecondDemotionIsRejected) {
    Bench bench(config(), kBlock);
    bench.load({key_of(1)});
    expect(bench.finish(bench.host.intent(Opcode::kDemote, key_of(1))), kRejected, 0);
    expect(bench.finish(bench.host.run(Opcode::kDemote, {key_of(2), key_of(1), key_of(3)})),
           kRejected, 1);
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), 2U);
}

TEST_F(IntentsTest, ASecondDemotionIsRejectedWhileTheFirstIsUnderWay) {
    Bench bench(config(), kBlock);
    Bench::drain();
    const std::uint32_t first = bench.host.submit(bench.host.intent(Opcode::kDemote, key_of(1)), 0);
    bench.host.submit(bench.host.intent(Opcode::kDemote, key_of(1)), 0);
    bench.host.submit(bench.host.intent(Opcode::kDemote, key_of(1)), 1);
    bench.host.submit(bench.host.run(Opcode::kDemote, {key_of(2), key_of(2)}), 1);
    Bench::drain();
    ASSERT_EQ(bench.host.done.size(), 4U);
    for (const Done& done : bench.host.done) {
        if (done.id == first) {
            expect(done, kOk, 1);
        } else {
            EXPECT_EQ(done.status, kRejected);
        }
    }
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), 2U);
    EXPECT_EQ(bench.index.sram_entries(), 2U);
    EXPECT_EQ(bench.index.overflow_entries(), 0U);
}

TEST_F(IntentsTest, ABlockThatIsBeingReadIsNotDiscarded) {
    Bench bench(config(), kBlock);
    bench.load(keys_of(0, 3));
    const std::uint32_t promote =
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(1)), 0);
    const std::uint32_t discard =
        bench.host.submit(bench.host.run(Opcode::kDiscard, keys_of(0, 3)), 1);
    Bench::drain();
    ASSERT_EQ(bench.host.done.size(), 3U);
    EXPECT_EQ(bench.host.done[1].id, discard) << "an answer at once";
    expect(bench.host.done[1], kBusy, 1);
    EXPECT_EQ(bench.host.done[2].id, promote);
    expect(bench.host.done[2], kOk, 1);
    expect(bench.finish(bench.host.run(Opcode::kDiscard, keys_of(1, 2))), kOk, 2);
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), 0U);
    EXPECT_EQ(bench.card.data_plane().counters().discarded_blocks, 3U);
}

TEST_F(IntentsTest, APromotionWaitsForItsBlocksDemotion) {
    Bench bench(config(), kBlock);
    Bench::drain();
    bench.host.submit(bench.host.intent(Opcode::kDemote, key_of(1)), 1);
    bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(1)), 0);
    bench.host.submit(bench.host.intent(Opcode::kDiscard, key_of(1)), 0);
    Bench::drain();
    ASSERT_EQ(bench.host.done.size(), 3U);
    expect(bench.host.done[0], kMissing, 0);  // a discard does not wait
    expect(bench.host.done[1], kOk, 1);
    expect(bench.host.done[2], kOk, 1);
    EXPECT_EQ(bench.card.data_plane().counters().waited_intents, 1U);
    EXPECT_EQ(bench.card.data_plane().counters().promoted_blocks, 1U);
}

TEST_F(IntentsTest, BlocksNeedNotBeWholeGranules) {
    CardConfig odd = config();
    odd.payload = Payload::kBytes;
    Bench bench(odd, {5'120});
    bench.host.fill_slot(3, pattern(1, {5'120}));
    expect(bench.finish(bench.host.intent(Opcode::kDemote, key_of(1), 3)), kOk, 1);
    expect(bench.finish(bench.host.intent(Opcode::kPromote, key_of(1), 8)), kOk, 1);
    EXPECT_EQ(bench.host.slot(8), pattern(1, {5'120}));
}

TEST_F(IntentsTest, BlocksWithOneFoldAreTwoBlocks) {
    // Keys that the index cannot tell apart: see the index's own test.
    const block::BlockKey first{.high = 0x6782737bea4239b9, .low = 42 ^ 0xaf56bc3b0996523a};
    const block::BlockKey second{.high = __builtin_bswap64(42) ^ 0x6782737bea4239b9,
                                 .low = 0xaf56bc3b0996523a};
    ASSERT_EQ(first.fold(), second.fold());
    CardConfig bytes = config();
    bytes.payload = Payload::kBytes;
    Bench bench(bytes, kBlock);
    bench.host.fill_slot(0, pattern(1, kBlock));
    bench.host.fill_slot(1, pattern(2, kBlock));
    expect(bench.finish(bench.host.intent(Opcode::kDemote, first, 0)), kOk, 1);
    expect(bench.finish(bench.host.intent(Opcode::kPromote, second, 5)), kMissing, 0);
    expect(bench.finish(bench.host.intent(Opcode::kDemote, second, 1)), kOk, 1);
    expect(bench.finish(bench.host.intent(Opcode::kPromote, first, 6)), kOk, 1);
    expect(bench.finish(bench.host.intent(Opcode::kPromote, second, 7)), kOk, 1);
    EXPECT_EQ(bench.host.slot(6), pattern(1, kBlock));
    EXPECT_EQ(bench.host.slot(7), pattern(2, kBlock));
    // The second one's record is read twice: the first one's, then its own.
    const engine::StageTimes& slow = bench.host.promoted[1].stages;
    const engine::StageTimes& fast = bench.host.promoted[0].stages;
    EXPECT_GT(slow[engine::Stage::kLookup], fast[engine::Stage::kLookup] + Time::from_ns(100));
    expect(bench.finish(bench.host.intent(Opcode::kDiscard, first)), kOk, 1);
    expect(bench.finish(bench.host.intent(Opcode::kPromote, second, 9)), kOk, 1);
    expect(bench.finish(bench.host.intent(Opcode::kDiscard, second)), kOk, 1);
    EXPECT_EQ(bench.index.sram_entries() + bench.index.overflow_entries(), 0U);
}

TEST_F(IntentsTest, RandomTrafficGetsOneCompletionEachAndTheTierStaysInStep) {
    Bench bench(config(40), kBlock, "bench", 16);
    Bench::drain();
    RandomStream random(31, "intents");
    std::set<std::uint32_t> open;
    std::size_t heard = 0;
    std::uint64_t submitted = 0;
    std::array<std::uint32_t, 2> in_ring{};
    std::map<std::uint32_t, std::uint32_t> queue_of;
    for (int i = 0; i < 3'000; ++i) {
        const auto queue = static_cast<std::uint32_t>(random.uniform(2));
        if (in_ring[queue] < 15) {
            const auto opcode = static_cast<Opcode>(random.uniform(1, 5) % 5);  // 0 is unknown
            const std::vector<block::BlockKey> keys =
                keys_of(random.uniform(60), random.uniform(1, 6));
            const std::uint32_t id = bench.host.submit(bench.host.run(opcode, keys), queue);
            ASSERT_TRUE(open.insert(id).second);
            queue_of[id] = queue;
            ++in_ring[queue];
            ++submitted;
        }
        sc_core::sc_start(static_cast<double>(random.uniform(1, 3'000)), sc_core::SC_NS);
        for (; heard < bench.host.done.size(); ++heard) {
            const std::uint32_t id = bench.host.done[heard].id;
            ASSERT_EQ(open.erase(id), 1U);
            --in_ring[queue_of[id]];
        }
    }
    Bench::drain();
    EXPECT_EQ(bench.host.done.size(), submitted);
    const engine::DataPlaneCounters& counters = bench.card.data_plane().counters();
    EXPECT_EQ(counters.intents, submitted);
    EXPECT_EQ(bench.card.data_plane().tier().blocks(),
              counters.demoted_blocks - counters.discarded_blocks);
    EXPECT_EQ(bench.index.sram_entries() + bench.index.overflow_entries(),
              bench.card.data_plane().tier().blocks());
    EXPECT_EQ(counters.read_from_tier, kBlock * counters.promoted_blocks);
    EXPECT_GT(counters.promoted_blocks, 500U);
    EXPECT_GT(counters.discarded_blocks, 100U);
    std::set<Status> outcomes;
    for (const Done& done : bench.host.done) outcomes.insert(done.status);
    EXPECT_EQ(outcomes, (std::set{kOk, kClipped, kRejected, kMissing, kBusy, kMalformed}));
}

}  // namespace
}  // namespace kvplane::card
