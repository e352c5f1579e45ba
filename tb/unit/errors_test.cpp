// SPDX-License-Identifier: Apache-2.0
/// Bit errors, scrubbing, and what the registers say.
#include <gtest/gtest.h>

#include <vector>

#include "tb/unit/twin.h"

namespace kvplane::rtl {
namespace {

using index::Answer;
using index::Operation;
using index::Status;

class EngineErrors : public testing::Test {
protected:
    EngineErrors() {
        const std::uint64_t first = TwinBench::key_of(1);
        for (std::uint64_t n = 1; m_keys.size() < 10; ++n) {
            const std::uint64_t key = TwinBench::key_of(n);
            if (m_table.bucket_of(0, key) == m_table.bucket_of(0, first) &&
                m_table.bucket_of(1, key) == m_table.bucket_of(1, first)) {
                m_keys.push_back(key);
            }
        }
    }
    Answer ask(Operation operation, std::uint64_t key, std::uint32_t frame = 1) {
        return m_bench.ask_quietly({.operation = operation, .key = key, .entry = entry_of(frame)});
    }
    /// Flips bits of the slot that holds `key`.
    void spoil(std::uint64_t key, std::uint32_t frame, const std::vector<std::uint32_t>& bits) {
        m_bench.inject(bits);
        ASSERT_EQ(ask(Operation::kUpdate, key, frame).status, Status::kDone);
    }
    /// Eight slots of two buckets full; key i in frame i.
    void fill() {
        for (std::uint32_t i = 0; i < 8; ++i) ask(Operation::kInsert, m_keys[i], i);
    }

    index::CuckooTable m_table{{.buckets_log2 = kSmallShape.buckets_log2}};
    std::vector<std::uint64_t> m_keys;
    Bench m_bench{make_small_dut(), kSmallShape};
};

TEST_F(EngineErrors, EveryBitOfASlotIsCorrected) {
    ask(Operation::kInsert, m_keys[0]);
    for (std::uint32_t bit = 0; bit < 144; ++bit) {
        spoil(m_keys[0], bit, {bit});
        const Answer found = ask(Operation::kLookup, m_keys[0]);
        EXPECT_EQ(found.status, Status::kHit) << "bit " << bit;
        EXPECT_TRUE(found.corrected) << "bit " << bit;
        EXPECT_FALSE(found.uncorrectable);
        EXPECT_EQ(found.entry.frame, bit);
    }
    EXPECT_GE(m_bench.read(Register::kCorrected), 144U);
    EXPECT_EQ(m_bench.read(Register::kUncorrectable), 0U);
}

TEST_F(EngineErrors, OneWrongBitInEachWordIsCorrected) {
    ask(Operation::kInsert, m_keys[0]);
    spoil(m_keys[0], 9, {3, 70});
    const std::uint32_t before = m_bench.read(Register::kCorrected);
    const Answer found = ask(Operation::kLookup, m_keys[0]);
    EXPECT_EQ(found.status, Status::kHit);
    EXPECT_EQ(found.entry.frame, 9U);
    EXPECT_EQ(m_bench.read(Register::kCorrected), before + 2);
}

TEST_F(EngineErrors, ABadSlotMakesMissAndInsertUncorrectableAndNoMore) {
    ask(Operation::kInsert, m_keys[0]);
    ask(Operation::kInsert, m_keys[1], 11);
    spoil(m_keys[0], 5, {0, 1});
    for (const Operation operation : {Operation::kLookup, Operation::kInsert, Operation::kUpdate,
                                      Operation::kDelete, Operation::kEvict}) {
        const Answer answer = ask(operation, m_keys[0]);
        EXPECT_EQ(answer.status, Status::kUncorrectable) << static_cast<int>(operation);
        EXPECT_TRUE(answer.uncorrectable);
    }
    ask(Operation::kInsert, m_keys[2], 20);
    EXPECT_EQ(m_bench.read(Register::kSize), 2U) << "beside a bad slot nothing is inserted";
    // A key that is there is found past it; the bit tells.
    const Answer other = ask(Operation::kLookup, m_keys[1]);
    EXPECT_EQ(other.status, Status::kHit);
    EXPECT_TRUE(other.uncorrectable);
    EXPECT_EQ(other.entry.frame, 11U);
    EXPECT_EQ(ask(Operation::kUpdate, m_keys[1], 12).status, Status::kDone);
    EXPECT_EQ(ask(Operation::kDelete, m_keys[1]).status, Status::kDone);
}

TEST_F(EngineErrors, ABadEntryIsNotGivenAwayWhereItsTagIsWhole) {
    ask(Operation::kInsert, m_keys[0]);
    spoil(m_keys[0], 5, {70, 71});
    const Answer answer = ask(Operation::kLookup, m_keys[0]);
    EXPECT_EQ(answer.status, Status::kUncorrectable);
    EXPECT_EQ(answer.entry.frame, 0U);
}

TEST_F(EngineErrors, EccErrorInABucketBeingKickedIsCorrectedOnTheWay) {
    for (std::uint32_t round = 0; round < 20; ++round) {
        fill();
        for (std::uint32_t i = 0; i < 8; ++i) spoil(m_keys[i], i, {i * 7, 64 + i});
        ask(Operation::kInsert, m_keys[8], 8);
        for (std::uint32_t i = 0; i < 9; ++i) {
            const Answer found = ask(Operation::kLookup, m_keys[i]);
            ASSERT_EQ(found.status, Status::kHit) << "key " << i;
            ASSERT_EQ(found.entry.frame, i);
            ask(Operation::kDelete, m_keys[i]);
        }
    }
    EXPECT_GE(m_bench.read(Register::kKicks), 20U);
}

TEST_F(EngineErrors, ABadSlotInABucketBeingKickedStaysWhereItIs) {
    fill();
    spoil(m_keys[3], 3, {20, 21});
    ask(Operation::kInsert, m_keys[8]);
    EXPECT_EQ(m_bench.read(Register::kSize), 8U) << "the engine cannot tell: UNCORRECTABLE";
    // A key that only shares one bucket kicks past the bad slot.
    std::vector<std::uint64_t> sharing;
    for (std::uint64_t n = 1; sharing.size() < 40; ++n) {
        const std::uint64_t key = TwinBench::key_of(n);
        const bool first = m_table.bucket_of(0, key) == m_table.bucket_of(0, m_keys[0]);
        const bool second = m_table.bucket_of(1, key) == m_table.bucket_of(1, m_keys[0]);
        if (first != second) sharing.push_back(key);
    }
    std::uint32_t inserted = 0;
    for (const std::uint64_t key : sharing) {
        const Status status = ask(Operation::kInsert, key, 77).status;
        inserted += status == Status::kDone ? 1 : 0;
    }
    EXPECT_GT(inserted, 5U);
    for (std::uint32_t i = 0; i < 8; ++i) {
        const Answer found = ask(Operation::kLookup, m_keys[i]);
        EXPECT_EQ(found.status, i == 3 ? Status::kUncorrectable : Status::kHit) << "key " << i;
    }
}

TEST_F(EngineErrors, ABadSlotIsNeverTheVictimOfAKick) {
    fill();
    spoil(m_keys[3], 3, {20, 21});
    // Of the crowd's two buckets the bad slot spoils one; more keys than fit share the other with
    // the crowd, and a third one among them: their kicks go through all three.
    std::vector<std::uint64_t> others;
    std::uint64_t third = 0;
    for (std::uint64_t n = 1; others.size() < 6; ++n) {
        const std::uint64_t key = TwinBench::key_of(n);
        for (std::uint32_t good = 0; good < 2; ++good) {
            const bool shares = m_table.bucket_of(good, key) == m_table.bucket_of(good, m_keys[0]);
            const std::uint64_t other = m_table.bucket_of(1 - good, key);
            if (!shares || other == m_table.bucket_of(1 - good, m_keys[0])) continue;
            if (others.empty()) {
                if (ask(Operation::kLookup, key).uncorrectable) continue;
                third = other;
            }
            if (other == third && !ask(Operation::kLookup, key).uncorrectable) {
                others.push_back(key);
            }
        }
    }
    const std::uint32_t before = m_bench.read(Register::kKicks);
    for (std::uint32_t round = 0; round < 20; ++round) {
        for (const std::uint64_t key : others) {
            ASSERT_EQ(ask(Operation::kInsert, key).status, Status::kDone);
        }
        for (const std::uint64_t key : others) {
            ASSERT_EQ(ask(Operation::kDelete, key).status, Status::kDone);
        }
        for (std::uint32_t i = 0; i < 8; ++i) {
            const Answer found = ask(Operation::kLookup, m_keys[i]);
            ASSERT_EQ(found.status, i == 3 ? Status::kUncorrectable : Status::kHit)
                << "key " << i << ", round " << round;
        }
    }
    EXPECT_GT(m_bench.read(Register::kKicks), before + 400);
}

TEST_F(EngineErrors, ScrubCorrectsRowByRow) {
    fill();
    for (std::uint32_t i = 0; i < 8; ++i) spoil(m_keys[i], i, {i, 100});
    std::uint32_t corrected = 0;
    for (std::uint32_t row = 0; row < 2U << kSmallShape.buckets_log2; ++row) {
        const Answer answer = ask(Operation::kScrub, 0);
        EXPECT_EQ(answer.status, Status::kDone);
        corrected += answer.corrected ? 1 : 0;
    }
    EXPECT_EQ(corrected, 2U);
    for (std::uint32_t i = 0; i < 8; ++i) {
        const Answer found = ask(Operation::kLookup, m_keys[i]);
        EXPECT_EQ(found.status, Status::kHit);
        EXPECT_FALSE(found.corrected);
        EXPECT_EQ(found.entry.frame, i);
    }
}

TEST_F(EngineErrors, ScrubTellsABadSlotAndLeavesIt) {
    ask(Operation::kInsert, m_keys[0]);
    spoil(m_keys[0], 1, {64, 65});
    std::uint32_t bad = 0;
    for (std::uint32_t row = 0; row < 2U << kSmallShape.buckets_log2; ++row) {
        bad += ask(Operation::kScrub, 0).uncorrectable ? 1 : 0;
    }
    EXPECT_EQ(bad, 1U);
    EXPECT_EQ(ask(Operation::kLookup, m_keys[0]).status, Status::kUncorrectable);
}

TEST_F(EngineErrors, TheScrubRegisterScrubsByAcceptedRequests) {
    ask(Operation::kInsert, m_keys[0]);
    spoil(m_keys[0], 1, {5});
    m_bench.write(Register::kScrub, 4);
    std::uint32_t requests = 0;
    while (ask(Operation::kLookup, m_keys[0]).corrected) ++requests;
    EXPECT_GT(requests, 0U);
    EXPECT_LE(requests, 4U * (2U << kSmallShape.buckets_log2));
    m_bench.write(Register::kScrub, 0);
    spoil(m_keys[0], 1, {5});
    for (std::uint32_t i = 0; i < 4 * (2U << kSmallShape.buckets_log2); ++i) {
        ASSERT_TRUE(ask(Operation::kLookup, m_keys[0]).corrected);
    }
}

TEST(EngineRegisters, SeedsChangeOnlyWhenEmptyAndDisabled) {
    Bench bench(make_small_dut(), kSmallShape);
    EXPECT_FALSE(bench.write(Register::kSeed0, 5)) << "enabled";
    bench.ask_quietly({.operation = Operation::kInsert, .key = 1, .entry = entry_of(1)});
    bench.write(Register::kControl, 0);
    EXPECT_FALSE(bench.write(Register::kSeed0, 5)) << "not empty";
    bench.write(Register::kControl, 1);
    bench.ask_quietly({.operation = Operation::kDelete, .key = 1});
    bench.write(Register::kControl, 0);
    for (std::uint8_t i = 0; i < 4; ++i) {
        const auto seed = static_cast<Register>(static_cast<std::uint8_t>(Register::kSeed0) + i);
        EXPECT_TRUE(bench.write(seed, 0x55AA0000U + i));
        EXPECT_EQ(bench.read(seed), 0x55AA0000U + i);
    }
}

TEST(EngineRegisters, ADisabledEngineAcceptsNothing) {
    Bench bench(make_small_dut(), kSmallShape, false);
    const index::Request request{.operation = Operation::kLookup, .key = 1};
    EXPECT_TRUE(bench.refuses(request, 100));
    // Enabled while the request waits.
    const DutOutputs out = bench.dut().settle({.request_valid = true,
                                               .request = request,
                                               .register_valid = true,
                                               .register_write = true,
                                               .register_data = 1});
    EXPECT_FALSE(out.request_ready);
    bench.dut().posedge();
    bench.issue(request);
    EXPECT_GE(bench.read(Register::kStalls), 100U);
}

TEST(EngineRegisters, CountersCount) {
    Bench bench(make_small_dut(), kSmallShape);
    for (std::uint64_t n = 0; n < 10; ++n) {
        bench.ask(
            {.operation = Operation::kInsert, .key = TwinBench::key_of(n), .entry = entry_of(1)});
    }
    for (std::uint64_t n = 0; n < 15; ++n) {
        bench.ask({.operation = Operation::kLookup, .key = TwinBench::key_of(n)});
    }
    bench.ask({.operation = Operation::kEvict, .key = TwinBench::key_of(0)});
    EXPECT_EQ(bench.read(Register::kInserts), 10U);
    EXPECT_EQ(bench.read(Register::kLookups), 15U);
    EXPECT_EQ(bench.read(Register::kHits), 10U);
    EXPECT_EQ(bench.read(Register::kSize), 9U);
    bench.settle_down();
    EXPECT_EQ(bench.read(Register::kStatus), 3U);
}

TEST(EngineRegisters, IdleIsAFixedPoint) {
    // An idle engine that is clocked for long answers as one that is not.
    Bench clocked(make_small_dut(), kSmallShape);
    Bench stopped(make_small_dut(), kSmallShape);
    for (std::uint64_t n = 0; n < 1'900; ++n) {
        const index::Request request{
            .operation = Operation::kInsert, .key = TwinBench::key_of(n), .entry = entry_of(1)};
        ASSERT_EQ(clocked.ask_quietly(request).status, stopped.ask_quietly(request).status);
        for (std::uint64_t i = 0; i < n % 50; ++i) EXPECT_TRUE(clocked.step().idle);
    }
    for (const Register counter : {Register::kKicks, Register::kKicksMax, Register::kConflicts,
                                   Register::kStalls, Register::kStashHigh}) {
        EXPECT_EQ(clocked.read(counter), stopped.read(counter));
    }
}

TEST(EngineRegisters, ExactlyTwoHundredFiftySixMovesHideFromTheMoveVersion) {
    // The move version has eight bits: after 256 bumps between a read and its compare-and-set it
    // is as it was. Policy epochs (32 bits) live in the policy record for that reason.
    Bench bench(make_small_dut(), kSmallShape);
    bench.ask({.operation = Operation::kInsert, .key = 1, .entry = entry_of(1, 9)});
    for (std::uint32_t i = 1; i <= 256; ++i) {
        bench.ask({.operation = Operation::kUpdate,
                   .key = 1,
                   .entry = entry_of(i, static_cast<std::uint8_t>(9 + i))});
        const index::Request stale{.operation = Operation::kUpdate,
                                   .key = 1,
                                   .entry = entry_of(0),
                                   .mask = index::field::kPolicy,
                                   .expect_version = 9,
                                   .expect_valid = true};
        EXPECT_EQ(bench.ask(stale).status, i == 256 ? Status::kDone : Status::kVersionMismatch);
    }
}

}  // namespace
}  // namespace kvplane::rtl
