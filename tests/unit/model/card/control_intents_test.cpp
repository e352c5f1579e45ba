// SPDX-License-Identifier: Apache-2.0
/// Intents that move nothing: rights, pins, policy, questions, cancels.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "host.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Intent;
using engine::Opcode;
using engine::Status;
using enum engine::Status;

constexpr Bytes kBlock = Bytes::from_kib(64);

class ControlIntentsTest : public test::SystemCTest {
protected:
    /// An intent of `tenant` about one block.
    static Done ask(Bench& bench, Opcode opcode, std::uint16_t tenant, std::uint64_t key,
                    std::uint32_t argument = 0, std::uint8_t flags = 0) {
        return bench.finish(make(bench, opcode, tenant, key, argument, flags));
    }
    static Intent make(Bench& bench, Opcode opcode, std::uint16_t tenant, std::uint64_t key,
                       std::uint32_t argument = 0, std::uint8_t flags = 0) {
        Intent intent = bench.host.intent(opcode, key_of(key), static_cast<std::uint32_t>(key));
        intent.tenant = tenant;
        intent.argument = argument;
        intent.flags = flags;
        return intent;
    }
    static Status status(Bench& bench, Opcode opcode, std::uint16_t tenant, std::uint64_t key,
                         std::uint32_t argument = 0) {
        return ask(bench, opcode, tenant, key, argument).status;
    }
};

TEST_F(ControlIntentsTest, AnothersBlockIsMissingInEveryWayAnAbsentOneIs) {
    Bench bench(baseline(16), kBlock);
    ASSERT_EQ(status(bench, Opcode::kDemote, 1, 7), kOk);
    for (const Opcode opcode :
         {Opcode::kPromote, Opcode::kPrefetch, Opcode::kDiscard, Opcode::kPin, Opcode::kUnpin,
          Opcode::kRetain, Opcode::kShare, Opcode::kRelease, Opcode::kReEncode, Opcode::kQuery}) {
        std::array<Time, 2> took;
        std::array<Done, 2> heard;
        for (const std::uint64_t key : {7U, 8U}) {  // there for tenant 1; nowhere
            const Time begin = now();
            const std::uint32_t argument =
                opcode == Opcode::kPin || opcode == Opcode::kShare ? 2 : 0;
            heard.at(key - 7) = ask(bench, opcode, 2, key, argument);
            took.at(key - 7) = heard.at(key - 7).at - begin;
        }
        EXPECT_EQ(heard[0].status, opcode == Opcode::kQuery ? kOk : kMissing) << int(opcode);
        EXPECT_EQ(heard[0].status, heard[1].status);
        EXPECT_EQ(heard[0].argument, heard[1].argument);
        EXPECT_EQ(took[0], took[1]) << "time tells them apart: " << int(opcode);
    }
    // A demotion of the key cannot be taken, and does not say why.
    EXPECT_EQ(status(bench, Opcode::kDemote, 2, 7), kClipped);
    EXPECT_EQ(status(bench, Opcode::kPromote, 1, 7), kOk);
}

/// With most of the index in DRAM neither, and what he must not see does not move for him.
TEST_F(ControlIntentsTest, AnothersBlockBehindTheSramIsMissingLikeAnAbsentOne) {
    CardConfig config = baseline(16);
    config.index.sram = Bytes::from_kib(4);
    Bench bench(config, Bytes::from_kib(4));
    Bench::drain();
    for (const std::uint64_t first : {0U, 100U}) {
        Intent run = bench.host.run(Opcode::kDemote, keys_of(first, 100));
        run.tenant = 1;
        ASSERT_EQ(bench.finish(run).status, kOk);
    }
    for (std::uint64_t first = 200; first < 2'000; first += 600) {
        Intent run = bench.host.run(Opcode::kDemote, keys_of(first, 600));
        run.tenant = 1;
        ASSERT_EQ(bench.finish(run).status, kOk);
    }
    ASSERT_GT(bench.index.overflow_entries(), 1'500U);
    std::map<std::int64_t, std::array<int, 2>> took;  // in picoseconds
    for (std::uint64_t i = 0; i < 400; ++i) {
        for (const std::uint64_t key : {i * 5, 100'000 + i}) {  // there for tenant 1; nowhere
            const Time begin = now();
            const Done done = ask(bench, Opcode::kPin, 2, key, 5);
            ASSERT_EQ(done.status, kMissing);
            ++took[(done.at - begin).ps].at(key < 2'000 ? 0 : 1);
        }
    }
    const auto usual = std::max_element(took.begin(), took.end(), [](const auto& a, const auto& b) {
        return a.second[0] + a.second[1] < b.second[0] + b.second[1];
    });
    // Else a line of the table in DRAM is full, and the one behind it is read too.
    EXPECT_GT(usual->second[0], 360) << usual->first;
    EXPECT_EQ(usual->second[1], 400) << usual->first;
    EXPECT_EQ(bench.index.counters().fills, 0U);
    ASSERT_EQ(status(bench, Opcode::kPin, 1, 1'999, 5), kOk);
    ASSERT_EQ(status(bench, Opcode::kPin, 1, 1'999, 5), kOk);
    EXPECT_EQ(bench.index.counters().fills, 1U) << "its owner's use moves it";
}

TEST_F(ControlIntentsTest, AGrantLetsReadAndNoMore) {
    Bench bench(baseline(16), kBlock);
    ASSERT_EQ(status(bench, Opcode::kDemote, 1, 7), kOk);
    ASSERT_EQ(status(bench, Opcode::kShare, 1, 7, 2), kOk);
    EXPECT_EQ(status(bench, Opcode::kShare, 1, 7, 2), kOk) << "to have it already is as good";
    EXPECT_EQ(status(bench, Opcode::kPromote, 2, 7), kOk);
    EXPECT_EQ(ask(bench, Opcode::kQuery, 2, 7).argument, 1U);
    for (const Opcode opcode :
         {Opcode::kDiscard, Opcode::kShare, Opcode::kRetain, Opcode::kReEncode}) {
        EXPECT_EQ(status(bench, opcode, 2, 7), kNotOwner) << int(opcode);
    }
    EXPECT_EQ(status(bench, Opcode::kDemote, 2, 7), kRejected) << "it is there for him";
    EXPECT_EQ(status(bench, Opcode::kPromote, 3, 7), kMissing);
    ASSERT_EQ(status(bench, Opcode::kShare, 1, 7, engine::kEveryTenant), kOk);
    EXPECT_EQ(status(bench, Opcode::kPromote, 3, 7), kOk);
}

TEST_F(ControlIntentsTest, ASharedBlockLivesUntilItsLastRightIsGivenUp) {
    Bench bench(baseline(16), kBlock);
    ASSERT_EQ(status(bench, Opcode::kDemote, 1, 7), kOk);
    ASSERT_EQ(status(bench, Opcode::kShare, 1, 7, 2), kOk);
    EXPECT_EQ(status(bench, Opcode::kDiscard, 1, 7), kBusy) << "another relies on it";
    EXPECT_EQ(status(bench, Opcode::kRelease, 1, 7), kOk);
    EXPECT_EQ(status(bench, Opcode::kPromote, 1, 7), kMissing) << "no longer his";
    EXPECT_EQ(status(bench, Opcode::kPromote, 2, 7), kOk);
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), 1U);
    EXPECT_EQ(status(bench, Opcode::kRelease, 2, 7), kOk);
    EXPECT_EQ(status(bench, Opcode::kPromote, 2, 7), kMissing);
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), 0U);
    EXPECT_EQ(bench.card.data_plane().counters().released_blocks, 1U);
    bench.card.data_plane().tier().audit();
}

TEST_F(ControlIntentsTest, ABlockReleasedWhileItIsReadIsDeliveredWhole) {
    CardConfig config = baseline(16);
    config.payload = Payload::kBytes;
    Bench bench(config, kBlock);
    bench.host.fill_slot(0, pattern(1, kBlock));
    bench.host.fill_slot(1, pattern(2, kBlock));
    ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(1), 0)).status, kOk);
    const std::uint32_t read =
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(1), 5), 0);
    bench.host.submit(bench.host.intent(Opcode::kRelease, key_of(1)), 0);
    Bench::drain();
    ASSERT_EQ(bench.host.done.size(), 3U);
    EXPECT_NE(bench.host.done[1].id, read) << "the release is answered first";
    EXPECT_EQ(bench.host.done[1].status, kOk);
    EXPECT_EQ(bench.host.done[2].status, kOk);
    EXPECT_EQ(bench.host.slot(5), pattern(1, kBlock));
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), 0U);
    bench.card.data_plane().tier().audit();
}

TEST_F(ControlIntentsTest, APinnedBlockStaysUntilItsPinRunsOut) {
    Bench bench(baseline(16), kBlock);
    ASSERT_EQ(status(bench, Opcode::kDemote, 0, 7), kOk);
    EXPECT_EQ(status(bench, Opcode::kUnpin, 0, 7), kRejected) << "it is not pinned";
    ASSERT_EQ(status(bench, Opcode::kPin, 0, 7, 5), kOk);
    EXPECT_EQ(status(bench, Opcode::kDiscard, 0, 7), kBusy);
    sc_core::sc_start(4'900, sc_core::SC_US);
    EXPECT_EQ(status(bench, Opcode::kDiscard, 0, 7), kBusy);
    sc_core::sc_start(200, sc_core::SC_US);
    EXPECT_EQ(status(bench, Opcode::kDiscard, 0, 7), kOk);
    EXPECT_EQ(status(bench, Opcode::kPin, 0, 7, 5), kMissing);
    ASSERT_EQ(status(bench, Opcode::kDemote, 0, 7), kOk);
    ASSERT_EQ(status(bench, Opcode::kPin, 0, 7, 5), kOk);
    EXPECT_EQ(status(bench, Opcode::kUnpin, 0, 7), kOk);
    EXPECT_EQ(status(bench, Opcode::kDiscard, 0, 7), kOk);
    EXPECT_EQ(status(bench, Opcode::kPin, 0, 7, 0), kMalformed) << "a pin without a life";
}

TEST_F(ControlIntentsTest, PinsHaveABudgetOfEachTenant) {
    CardConfig config = baseline(16);
    config.engine.pin_budget = kBlock * 2;
    Bench bench(config, kBlock);
    for (const std::uint64_t key : {1U, 2U, 3U}) {
        ASSERT_EQ(status(bench, Opcode::kDemote, 1, key), kOk);
        ASSERT_EQ(status(bench, Opcode::kShare, 1, key, 2), kOk);
    }
    EXPECT_EQ(status(bench, Opcode::kPin, 1, 1, 5), kOk);
    EXPECT_EQ(status(bench, Opcode::kPin, 1, 2, 50), kOk);
    EXPECT_EQ(status(bench, Opcode::kPin, 1, 3, 5), kRejected);
    EXPECT_EQ(status(bench, Opcode::kPin, 1, 1, 5), kOk) << "the same again costs nothing";
    EXPECT_EQ(status(bench, Opcode::kPin, 2, 3, 5), kOk) << "another's budget";
    sc_core::sc_start(6, sc_core::SC_MS);
    EXPECT_EQ(status(bench, Opcode::kPin, 1, 3, 5), kOk) << "the first has run out";
}

TEST_F(ControlIntentsTest, AMappedPinTellsWhereTheLinesAre) {
    CardConfig config = baseline(16);
    config.payload = Payload::kBytes;
    Bench bench(config, kBlock);
    bench.host.fill_slot(3, pattern(9, kBlock));
    ASSERT_EQ(status(bench, Opcode::kDemote, 0, 2), kOk);
    ASSERT_EQ(status(bench, Opcode::kDemote, 0, 3), kOk);
    const Done mapped = ask(bench, Opcode::kPin, 0, 3, 5, engine::kMapped);
    ASSERT_EQ(mapped.status, kOk);
    EXPECT_EQ(mapped.argument, kBlock.count);
    std::vector<std::uint8_t> line(64);
    sc_core::sc_time delay;
    ASSERT_EQ(bench.host.access(tlm::TLM_READ_COMMAND, mapped.argument + 128, line, delay),
              tlm::TLM_OK_RESPONSE);
    const std::vector<std::uint8_t> whole = pattern(9, kBlock);
    EXPECT_TRUE(std::equal(line.begin(), line.end(), whole.begin() + 128));
    EXPECT_NE(bench.host.access(tlm::TLM_WRITE_COMMAND, mapped.argument, line, delay),
              tlm::TLM_OK_RESPONSE);
}

/// Whoever pins a block reads his own bytes until he lets go, whatever its owner does meanwhile.
TEST_F(ControlIntentsTest, AReadersPinKeepsTheBlockFromItsOwnersRelease) {
    for (const bool unpinned : {true, false}) {
        fresh_kernel();
        CardConfig config = baseline(16);
        config.payload = Payload::kBytes;
        Bench bench(config, kBlock);
        bench.host.fill_slot(1, pattern(7, kBlock));
        bench.host.fill_slot(3, pattern(9, kBlock));
        ASSERT_EQ(status(bench, Opcode::kDemote, 1, 1), kOk);
        ASSERT_EQ(status(bench, Opcode::kShare, 1, 1, engine::kEveryTenant), kOk);
        const Done mapped = ask(bench, Opcode::kPin, 2, 1, 10, engine::kMapped);
        ASSERT_EQ(mapped.status, kOk);
        EXPECT_EQ(status(bench, Opcode::kDiscard, 1, 1), kBusy);
        EXPECT_EQ(status(bench, Opcode::kRelease, 1, 1), kBusy);
        ASSERT_EQ(status(bench, Opcode::kDemote, 3, 3), kOk);
        std::vector<std::uint8_t> line(64);
        sc_core::sc_time delay;
        ASSERT_EQ(bench.host.access(tlm::TLM_READ_COMMAND, mapped.argument, line, delay),
                  tlm::TLM_OK_RESPONSE);
        const std::vector<std::uint8_t> whole = pattern(7, kBlock);
        EXPECT_TRUE(std::equal(line.begin(), line.end(), whole.begin()));
        EXPECT_EQ(status(bench, Opcode::kPromote, 2, 1), kOk);
        if (unpinned) {
            EXPECT_EQ(status(bench, Opcode::kUnpin, 2, 1), kOk);
        } else {
            sc_core::sc_start(11, sc_core::SC_MS);
        }
        EXPECT_EQ(status(bench, Opcode::kRelease, 1, 1), kOk);
        EXPECT_EQ(bench.card.data_plane().tier().blocks(), 1U);
        bench.card.data_plane().audit();
    }
}

/// With a grant of his own left somebody else's block stays; whoever reads it as one of all does
/// not lose it while he pins it either.
TEST_F(ControlIntentsTest, AReleaseEndsNoRightThatAPinStandsOn) {
    Bench bench(baseline(16), kBlock);
    ASSERT_EQ(status(bench, Opcode::kDemote, 1, 1), kOk);
    ASSERT_EQ(status(bench, Opcode::kShare, 1, 1, engine::kEveryTenant), kOk);
    ASSERT_EQ(status(bench, Opcode::kShare, 1, 1, 3), kOk);
    ASSERT_EQ(status(bench, Opcode::kPin, 2, 1, 10), kOk);
    ASSERT_EQ(status(bench, Opcode::kPin, 3, 1, 10), kOk);
    EXPECT_EQ(status(bench, Opcode::kRelease, 1, 1), kBusy);
    EXPECT_EQ(status(bench, Opcode::kPromote, 2, 1), kOk);
    EXPECT_EQ(status(bench, Opcode::kRelease, 2, 1), kOk) << "his pin alone goes";
    EXPECT_EQ(status(bench, Opcode::kRelease, 1, 1), kOk) << "the other has a grant";
    EXPECT_EQ(status(bench, Opcode::kPromote, 2, 1), kMissing);
    EXPECT_EQ(status(bench, Opcode::kPromote, 3, 1), kOk);
    EXPECT_EQ(status(bench, Opcode::kRelease, 3, 1), kOk);
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), 0U);
}

TEST_F(ControlIntentsTest, AMappedPinIsOfOneBlock) {
    Bench bench(baseline(16), kBlock);
    bench.load(keys_of(1, 2));
    Intent run = bench.host.run(Opcode::kPin, keys_of(1, 3));
    run.argument = 1'000;
    Done done = bench.finish(run);
    EXPECT_EQ(done.status, kMissing);
    EXPECT_EQ(done.argument, 2U);
    run.flags |= engine::kMapped;
    done = bench.finish(run);
    EXPECT_EQ(done.status, kMalformed) << "one address does not tell where three blocks are";
    EXPECT_EQ(done.argument, 0U);
    EXPECT_EQ(ask(bench, Opcode::kPin, 0, 3, 1'000, engine::kMapped).argument, 0U);
    EXPECT_EQ(ask(bench, Opcode::kPin, 0, 2, 1'000, engine::kMapped).argument, kBlock.count);
}

TEST_F(ControlIntentsTest, PolicyIsUpdatedAloneAtItsEpochAndInRuns) {
    Bench bench(baseline(16), kBlock);
    Intent update = make(bench, Opcode::kUpdatePolicy, 4, 7, 1'234);
    update.priority = 9;
    update.target = 3;  // class
    ASSERT_EQ(bench.finish(update).status, kOk) << "policy needs no copy";
    update.epoch = 1;
    ASSERT_EQ(bench.finish(update).status, kOk);
    EXPECT_EQ(bench.finish(update).status, kRejected) << "the epoch is 2 now";
    update.tenant = 5;
    update.epoch = 0;
    EXPECT_EQ(bench.finish(update).status, kClipped) << "another's record does not show";
    update.target = 8;
    update.tenant = 4;
    EXPECT_EQ(bench.finish(update).status, kMalformed) << "classes are 0 to 7";
    std::vector<index::PolicyChange> changes;
    for (std::uint64_t key = 10; key < 40; ++key) {
        changes.push_back({.key = key_of(key), .reuse_score = static_cast<std::uint32_t>(key)});
    }
    const Done run = bench.finish(bench.host.policy_run(changes));
    EXPECT_EQ(run.status, kOk);
    EXPECT_EQ(run.argument, 30U);
    EXPECT_EQ(bench.card.data_plane().policy().size(), 31U);
    EXPECT_EQ(status(bench, Opcode::kDemote, 0, 10), kOk);
    EXPECT_EQ(status(bench, Opcode::kRetain, 0, 10, 77), kOk);
    EXPECT_EQ(bench.card.data_plane().policy().size(), 31U);
}

TEST_F(ControlIntentsTest, AQueryCountsTheLongestPresentPrefix) {
    Bench bench(baseline(16), kBlock);
    bench.load(keys_of(0, 20));
    EXPECT_EQ(bench.finish(bench.host.run(Opcode::kQuery, keys_of(0, 20))).argument, 20U);
    EXPECT_EQ(bench.finish(bench.host.run(Opcode::kQuery, keys_of(5, 30))).argument, 15U);
    EXPECT_EQ(bench.finish(bench.host.run(Opcode::kQuery, keys_of(20, 30))).argument, 0U);
    // Lookups are pipelined: 20 keys cost little more than one.
    const Time one = now();
    (void)bench.finish(bench.host.run(Opcode::kQuery, keys_of(0, 1)));
    const Time many = now();
    (void)bench.finish(bench.host.run(Opcode::kQuery, keys_of(0, 20)));
    EXPECT_LT((now() - many).ps, (many - one).ps + Time::from_ns(150).ps);
}

TEST_F(ControlIntentsTest, ACancelEndsAnIntentAtAnyStageWithOneCompletionEach) {
    std::map<Status, int> heard;
    for (std::int64_t after = 150; after < 30'000; after += 150) {
        fresh_kernel();
        Bench bench(baseline(8), Bytes::from_kib(256));
        bench.load(keys_of(0, 2));
        const std::uint32_t id =
            bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 2)), 0);
        sc_core::sc_start(static_cast<double>(after), sc_core::SC_NS);
        const std::uint32_t cancel = bench.host.submit(make(bench, Opcode::kCancel, 0, 0, id), 0);
        Bench::drain();
        ASSERT_EQ(bench.host.done.size(), 3U) << after;
        Done of_move = bench.host.done[1];
        Done of_cancel = bench.host.done[2];
        if (of_move.id != id) std::swap(of_move, of_cancel);
        ASSERT_EQ(of_move.id, id);
        ASSERT_EQ(of_cancel.id, cancel);
        ++heard[of_cancel.status];
        if (of_cancel.status == kOk) {
            ASSERT_TRUE(of_move.status == kClipped || of_move.argument == 2) << after;
            ASSERT_EQ(of_move.argument, bench.host.promoted.size());
        } else {
            ASSERT_EQ(of_move.status, kOk) << after;
        }
        ASSERT_EQ(bench.finish(bench.host.run(Opcode::kDiscard, keys_of(0, 2))).argument, 2U)
            << "nothing is held any more";
        bench.card.data_plane().audit();
    }
    EXPECT_GT(heard[kOk], 50);
    EXPECT_GT(heard[kMissing], 10);
    EXPECT_GT(heard[kBusy], 2);
}

TEST_F(ControlIntentsTest, ACancelledDemotionKeepsWhatCrossedAndFreesTheRest) {
    Bench bench(baseline(8), Bytes::from_mib(1));
    Bench::drain();
    const std::uint32_t id = bench.host.submit(bench.host.run(Opcode::kDemote, keys_of(0, 8)), 0);
    sc_core::sc_start(130, sc_core::SC_US);
    bench.host.submit(make(bench, Opcode::kCancel, 0, 0, id), 0);
    Bench::drain();
    const Done demoted = bench.host.done[0].id == id ? bench.host.done[0] : bench.host.done[1];
    EXPECT_EQ(demoted.status, kClipped);
    EXPECT_GE(demoted.argument, 3U);
    EXPECT_LT(demoted.argument, 6U);
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), demoted.argument);
    EXPECT_EQ(bench.finish(bench.host.run(Opcode::kQuery, keys_of(0, 8))).argument,
              demoted.argument);
    bench.card.data_plane().audit();
}

TEST_F(ControlIntentsTest, AConvoyLoadsOnce) {
    CardConfig config = baseline(16);
    Bench bench(config, kBlock);
    bench.load(keys_of(0, 4));
    for (int i = 0; i < 10; ++i) {
        bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 4), 100), 0);
    }
    bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 4), 200), 0);  // elsewhere
    Bench::drain();
    ASSERT_EQ(bench.host.done.size(), 12U);
    for (std::size_t i = 1; i < 12; ++i) {
        EXPECT_EQ(bench.host.done[i].status, kOk);
        EXPECT_EQ(bench.host.done[i].argument, 4U);
    }
    EXPECT_EQ(bench.card.data_plane().counters().promoted_blocks, 8U);
    EXPECT_EQ(bench.card.data_plane().counters().merged_intents, 9U);
    bench.card.data_plane().audit();
}

TEST_F(ControlIntentsTest, ACancelOfOneOfAConvoyLeavesTheOthers) {
    for (const std::size_t cancelled : {0U, 1U, 2U}) {
        fresh_kernel();
        Bench bench(baseline(8), Bytes::from_mib(1));
        bench.load(keys_of(0, 1));
        std::vector<std::uint32_t> ids;
        for (int i = 0; i < 3; ++i) {
            ids.push_back(bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(0)), 0));
        }
        sc_core::sc_start(5, sc_core::SC_US);
        bench.host.submit(make(bench, Opcode::kCancel, 0, 0, ids[cancelled]), 0);
        Bench::drain();
        ASSERT_EQ(bench.host.done.size(), 5U);
        for (const Done& done : bench.host.done) {
            const bool clipped = done.id == ids[cancelled];
            EXPECT_EQ(done.status, clipped ? kClipped : kOk) << done.id;
        }
        EXPECT_EQ(bench.card.data_plane().counters().promoted_blocks, 1U);
        bench.card.data_plane().audit();
    }
}

TEST_F(ControlIntentsTest, AQueuePairSpeaksForItsTenantOnly) {
    Bench bench(baseline(16), kBlock);
    Bench::drain();
    ASSERT_EQ(status(bench, Opcode::kDemote, 3, 1), kOk) << "a trusted driver's";
    bench.card.reset(management::Reset::kFunction);
    bench.host.set_up(management::QueuePlace::kHostMemory, 3);
    EXPECT_EQ(status(bench, Opcode::kPromote, 3, 1), kOk);
    EXPECT_EQ(status(bench, Opcode::kPromote, 4, 1), kMalformed);
}

}  // namespace
}  // namespace kvplane::card
