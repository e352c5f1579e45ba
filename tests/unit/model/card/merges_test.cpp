// SPDX-License-Identifier: Apache-2.0
/// Transfers that several intents share, and what changes while one is under way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "host.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Intent;
using engine::Opcode;
using management::WindowRegister;
using enum engine::Status;

constexpr Bytes kBlock = Bytes::from_kib(64);
constexpr Bytes kLong = Bytes::from_mib(4);

class MergesTest : public test::SystemCTest {
protected:
    static CardConfig config() {
        CardConfig made = baseline(16);
        made.payload = Payload::kBytes;
        return made;
    }
    static std::uint64_t merged(const Bench& bench) {
        return bench.card.data_plane().counters().merged_intents;
    }
    /// The same at line fidelity.
    static CardConfig lines() {
        CardConfig made = baseline(16);
        made.tier_capacity = Bytes::from_mib(256);
        made.mem.fidelity = cxl::LinkFidelity::kLine;
        made.dram_fidelity = DramFidelity::kLine;
        made.dram = memory::burst_config(line_dram(made));
        return made;
    }
    static std::uint64_t in_ns(Time time) { return static_cast<std::uint64_t>(time.ps / 1'000); }
    static Intent urgent(Intent intent, engine::TransferClass transfer_class, Time deadline) {
        intent.transfer_class = static_cast<std::uint8_t>(transfer_class);
        intent.deadline_ns = in_ns(deadline);
        return intent;
    }
    static Done of(const Bench& bench, std::uint32_t id) {
        const auto done = std::find_if(bench.host.done.begin(), bench.host.done.end(),
                                       [&](const Done& some) { return some.id == id; });
        EXPECT_NE(done, bench.host.done.end());
        return done == bench.host.done.end() ? Done{} : *done;
    }
};

TEST_F(MergesTest, AWindowThatPutsTheSecondHalfElsewhereIsAnotherMove) {
    Bench bench(config(), kBlock);
    bench.host.fill_slot(0, pattern(7, kBlock));
    ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(1), 0)).status, kOk);
    bench.host.fill_slot(0, std::vector<std::uint8_t>(kBlock.count));
    const auto set = [&](WindowRegister which, std::uint64_t value, std::uint32_t shard = 0) {
        EXPECT_TRUE(
            bench.host.write_register(management::window_register(0, 2, which, shard), value));
    };
    set(WindowRegister::kBase, Host::kDevice);
    set(WindowRegister::kBase, Host::kDevice + Bytes::from_gib(1).count, 1);
    set(WindowRegister::kShards, 2);
    set(WindowRegister::kStride, kBlock.count);
    set(WindowRegister::kSlots, 16);
    const Intent whole = bench.host.intent(Opcode::kPromote, key_of(1), 0);
    bench.host.submit(whole, 0);
    bench.host.submit(through(2, whole), 0);
    Bench::drain();
    const std::vector<std::uint8_t> payload = pattern(7, kBlock);
    const Bytes half{kBlock.count / 2};
    const std::vector<std::uint8_t> second = bench.host.device(Bytes::from_gib(1).count, half);
    EXPECT_TRUE(std::equal(second.begin(), second.end(),
                           payload.begin() + static_cast<std::ptrdiff_t>(half.count)));
    EXPECT_EQ(merged(bench), 0U);
}

TEST_F(MergesTest, EachOfAConvoyHasItsFlag) {
    Bench bench(config(), kBlock);
    bench.load(keys_of(1, 1));
    constexpr std::array<std::uint64_t, 2> kFlags{std::uint64_t{1} << 38, std::uint64_t{1} << 37};
    std::array<std::uint32_t, 2> ids{};
    const Intent promote = through(2, bench.host.intent(Opcode::kPromote, key_of(1), 0));
    for (std::uint32_t queue = 0; queue < 2; ++queue) {
        bench.host.add_window(queue, 2, kBlock, 0, kFlags.at(queue));
    }
    for (std::uint32_t queue = 0; queue < 2; ++queue) {
        ids.at(queue) = bench.host.submit(promote, queue);
    }
    Bench::drain();
    EXPECT_EQ(merged(bench), 1U);
    for (std::uint32_t queue = 0; queue < 2; ++queue) {
        std::uint64_t flag = 0;
        const std::vector<std::uint8_t> bytes = bench.host.device(kFlags.at(queue), {8});
        std::memcpy(&flag, bytes.data(), 8);
        EXPECT_EQ(flag, ids.at(queue) | std::uint64_t{1} << 32U) << queue;
    }
}

TEST_F(MergesTest, DemandThatJoinsAPrefetchIsNotDroppedWithIt) {
    for (const bool as_urgent : {false, true}) {
        fresh_kernel();
        Bench bench(baseline(8), kLong);
        bench.load(keys_of(1, 2));
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(1), 5), 0);  // fills the wire
        Intent prefetch = bench.host.intent(Opcode::kPrefetch, key_of(2), 0);
        prefetch.transfer_class = static_cast<std::uint8_t>(engine::TransferClass::kPrefetch);
        prefetch.deadline_ns = static_cast<std::uint64_t>(now().ps / 1'000) + 30'000;
        bench.host.submit(prefetch, 0);
        Intent demand = bench.host.intent(Opcode::kPromote, key_of(2), 0);
        if (as_urgent) demand.transfer_class = prefetch.transfer_class;
        const std::uint32_t id = bench.host.submit(demand, 0);
        Bench::drain();
        EXPECT_EQ(of(bench, id).status, kOk);
        EXPECT_EQ(merged(bench), 1U);
    }
}

/// Who shares a transfer has it as soon as his own deadline asks for, with moves as flows and line
/// by line.
TEST_F(MergesTest, ATransferIsAsUrgentAsTheMostUrgentWhoShareIt) {
    using enum engine::TransferClass;
    for (const bool line : {false, true}) {
        const Bytes block = line ? Bytes::from_kib(512) : Bytes::from_mib(5);
        const Time one = line ? Time::from_us(10) : Time::from_us(100);  // a block crosses
        std::array<Time, 2> took{};
        for (const bool shared : {false, true}) {
            fresh_kernel();
            Bench bench(line ? lines() : baseline(16), block);
            bench.load(keys_of(1, 20));
            const Time begin = now();
            bench.host.submit(
                urgent(bench.host.intent(Opcode::kPromote, key_of(20), 20), kDemand, {}), 1);
            bench.host.submit(urgent(bench.host.intent(Opcode::kPrefetch, key_of(1), 1), kPrefetch,
                                     begin + one * 10'000),
                              0);
            sc_core::sc_start(3, sc_core::SC_US);
            for (std::uint32_t i = 2; i < 12; ++i) {
                bench.host.submit(urgent(bench.host.intent(Opcode::kPromote, key_of(i), i), kDemand,
                                         begin + one * 50),
                                  1);
            }
            const std::uint32_t id = bench.host.submit(
                urgent(bench.host.intent(Opcode::kPromote, key_of(1), shared ? 1 : 100), kDemand,
                       begin + one * 4),
                1);
            Bench::drain();
            EXPECT_EQ(merged(bench), shared ? 1U : 0U);
            took.at(shared ? 1 : 0) = of(bench, id).at - begin;
            EXPECT_EQ(of(bench, id).status, kOk);
        }
        EXPECT_LT(took[0], one * 3) << line;
        EXPECT_LE(took[1], took[0] + Time::from_us(1)) << line;
    }
}

/// A deadline that nobody could meet is missed by him whose it is.
TEST_F(MergesTest, ADeadlineIsMissedByTheIntentWhoseItIs) {
    using enum engine::TransferClass;
    Bench bench(baseline(16), Bytes::from_mib(5));
    bench.load(keys_of(1, 4));
    const Time begin = now();
    const auto missed = [&](engine::TransferClass of) {
        return bench.card.data_plane().counters().missed_blocks.at(static_cast<std::size_t>(of));
    };
    bench.host.submit(urgent(bench.host.run(Opcode::kPrefetch, keys_of(1, 4)), kPrefetch,
                             begin + Time::from_ms(9)),
                      0);
    bench.host.submit(urgent(bench.host.run(Opcode::kPromote, keys_of(1, 4)), kDemand,
                             begin + Time::from_us(250)),
                      1);
    Bench::drain();
    EXPECT_EQ(merged(bench), 1U);
    EXPECT_EQ(missed(kDemand), 2U) << "two of four cross in time";
    EXPECT_EQ(missed(kPrefetch), 0U);
    bench.host.submit(urgent(bench.host.run(Opcode::kPrefetch, keys_of(1, 4)), kPrefetch,
                             now() + Time::from_us(9)),
                      0);
    Bench::drain();
    EXPECT_EQ(missed(kPrefetch), 4U) << "dropped";
}

/// A hint that is late for one is not dropped under those who did not give a hint.
TEST_F(MergesTest, WhatOneMayDoWithoutIsNotDroppedUnderTheOthers) {
    using enum engine::TransferClass;
    enum class Second { kNone, kPromote, kLaterPrefetch, kLatePrefetch };
    for (const Second second :
         {Second::kNone, Second::kPromote, Second::kLaterPrefetch, Second::kLatePrefetch}) {
        fresh_kernel();
        Bench bench(baseline(16), Bytes::from_mib(5));
        bench.load(keys_of(1, 40));
        const Time begin = now();
        const Intent run = bench.host.run(Opcode::kPrefetch, keys_of(1, 8), 0);
        const std::uint32_t first =
            bench.host.submit(urgent(run, kPrefetch, begin + Time::from_us(900)), 0);
        sc_core::sc_start(150, sc_core::SC_US);
        const bool hint = second != Second::kPromote;
        const Time due = second == Second::kLaterPrefetch  ? begin + Time::from_ms(10)
                         : second == Second::kLatePrefetch ? begin + Time::from_us(950)
                                                           : Time{};
        const Intent again =
            bench.host.run(hint ? Opcode::kPrefetch : Opcode::kPromote, keys_of(1, 8), 0);
        std::uint32_t other = 0;
        if (second != Second::kNone) {
            other = bench.host.submit(urgent(again, kPrefetch, due), 1);
        }
        sc_core::sc_start(50, sc_core::SC_US);
        for (std::uint32_t i = 20; i < 30; ++i) {  // demand comes between
            bench.host.submit(
                urgent(bench.host.intent(Opcode::kPromote, key_of(i), i), kDemand, {}), 1);
        }
        Bench::drain();
        const bool kept = second == Second::kPromote || second == Second::kLaterPrefetch;
        EXPECT_EQ(of(bench, first).status, kept ? kOk : kRejected);
        EXPECT_EQ(merged(bench), second == Second::kNone ? 0U : 1U);
        if (second == Second::kNone) continue;
        EXPECT_EQ(of(bench, other).status, kept ? kOk : kRejected);
        EXPECT_EQ(of(bench, other).argument, of(bench, first).argument);
        EXPECT_EQ(kept, of(bench, other).argument == 8U);
    }
}

/// A run ends at a block that is not there. That comes in before the run's first block has crossed:
/// whoever asks then must hear of what is (another length), not of what was.
TEST_F(MergesTest, ARunThatEndsEarlyIsNotJoined) {
    Bench bench(baseline(8), kLong);
    bench.load(keys_of(0, 1));
    const Intent run = bench.host.run(Opcode::kPromote, keys_of(0, 2));
    const std::uint32_t first = bench.host.submit(run, 0);
    sc_core::sc_start(5, sc_core::SC_US);
    Intent small = bench.host.intent(Opcode::kDemote, key_of(1), 9);
    small.length_4k = 1;
    const std::uint32_t demotion = bench.host.submit(small, 1);
    sc_core::sc_start(50, sc_core::SC_US);
    EXPECT_EQ(of(bench, demotion).status, kOk);
    const std::uint32_t second = bench.host.submit(run, 0);
    Bench::drain();
    EXPECT_EQ(of(bench, first).status, kMissing);
    EXPECT_EQ(of(bench, first).argument, 1U);
    EXPECT_EQ(of(bench, second).status, kRejected);
    EXPECT_EQ(of(bench, second).argument, 1U);
}

TEST_F(MergesTest, AnHeirsStagesAreNeverNegative) {
    Bench bench(baseline(8), kLong);
    bench.load(keys_of(0, 1));
    const Intent promote = bench.host.intent(Opcode::kPromote, key_of(0));
    Intent cancel = bench.host.intent(Opcode::kCancel, key_of(0));
    cancel.argument = bench.host.submit(promote);
    sc_core::sc_start(20, sc_core::SC_US);
    bench.host.submit(promote);
    sc_core::sc_start(3, sc_core::SC_US);
    bench.host.submit(cancel);
    Bench::drain();
    ASSERT_FALSE(bench.host.promoted.empty());
    for (const engine::BlockMove& move : bench.host.promoted) {
        for (std::size_t i = 0; i < engine::kStages; ++i) {
            EXPECT_GE(move.stages[static_cast<engine::Stage>(i)], Time{}) << engine::kStageNames[i];
        }
    }
}

TEST_F(MergesTest, AMappedBlockStaysWhereItIs) {
    Bench bench(config(), kBlock);
    bench.host.fill_slot(1, pattern(9, kBlock));
    ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(1), 1)).status, kOk);
    Intent pin = bench.host.intent(Opcode::kPin, key_of(1));
    pin.argument = 60'000;
    pin.flags = engine::kMapped;
    const Done mapped = bench.finish(pin);
    ASSERT_EQ(mapped.status, kOk);
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kReEncode, key_of(1))).status, kBusy);
    std::vector<std::uint8_t> line(64);
    sc_core::sc_time delay;
    ASSERT_EQ(bench.host.access(tlm::TLM_READ_COMMAND, mapped.argument, line, delay),
              tlm::TLM_OK_RESPONSE);
    const std::vector<std::uint8_t> payload = pattern(9, kBlock);
    EXPECT_TRUE(std::equal(line.begin(), line.end(), payload.begin()));
}

/// A block on its way to another place has no address to tell.
TEST_F(MergesTest, ABlockThatMovesIsNotMapped) {
    Bench bench(baseline(8), kLong);
    bench.load(keys_of(0, 1));
    bench.host.submit(bench.host.intent(Opcode::kReEncode, key_of(0)), 0);
    sc_core::sc_start(5, sc_core::SC_US);
    ASSERT_EQ(bench.card.data_plane().counters().moved_blocks, 0U);
    Intent pin = bench.host.intent(Opcode::kPin, key_of(0));
    pin.argument = 60'000;
    const std::uint32_t plain = bench.host.submit(pin, 1);
    pin.flags = engine::kMapped;
    const std::uint32_t mapped = bench.host.submit(pin, 1);
    Bench::drain();
    EXPECT_EQ(bench.card.data_plane().counters().moved_blocks, 1U);
    EXPECT_EQ(of(bench, plain).status, kOk);
    EXPECT_EQ(of(bench, mapped).status, kBusy);
    EXPECT_EQ(bench.finish(pin).status, kOk) << "it has arrived";
}

TEST_F(MergesTest, ADeadlineBeyondAllTimeIsNone) {
    Bench bench(baseline(16), kBlock);
    bench.load(keys_of(1, 1));
    for (const std::uint64_t deadline :
         {UINT64_MAX, std::uint64_t{1} << 63U, std::uint64_t{10'000'000'000'000'000}}) {
        Intent prefetch = bench.host.intent(Opcode::kPrefetch, key_of(1), 0);
        prefetch.deadline_ns = deadline;
        EXPECT_EQ(bench.finish(prefetch).status, kOk) << deadline;
    }
}

TEST_F(MergesTest, WhatWasSharedWithAllGoesWithItsOwner) {
    Bench bench(baseline(16), kBlock);
    bench.load(keys_of(1, 1));
    Intent share = bench.host.intent(Opcode::kShare, key_of(1));
    share.argument = engine::kEveryTenant;
    ASSERT_EQ(bench.finish(share).status, kOk);
    ASSERT_EQ(bench.finish(bench.host.intent(Opcode::kRelease, key_of(1))).status, kOk);
    EXPECT_EQ(bench.card.data_plane().tier().blocks(), 0U);
}

TEST_F(MergesTest, CompletionsThatWaitForOthersWaitForTheBusMasterToo) {
    CardConfig coalesced = baseline(16);
    coalesced.engine.coalesce = 8;
    coalesced.engine.coalesce_time = Time::from_us(50);
    Bench bench(coalesced, kBlock);
    Bench::drain();
    bench.host.submit(bench.host.intent(Opcode::kQuery, key_of(1)), 0);
    sc_core::sc_start(10, sc_core::SC_US);
    ASSERT_TRUE(bench.host.done.empty());
    ASSERT_TRUE(bench.host.write_register(management::kCommandRegister, 0));
    sc_core::sc_start(200, sc_core::SC_US);
    EXPECT_TRUE(bench.host.done.empty());
    ASSERT_TRUE(
        bench.host.write_register(management::kCommandRegister, management::kBusMasterEnable));
    Bench::drain();
    EXPECT_EQ(bench.host.done.size(), 1U);
}

}  // namespace
}  // namespace kvplane::card
