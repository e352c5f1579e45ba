// SPDX-License-Identifier: Apache-2.0
/// The hazards of the engine's design, each by name. What is asked and answered is held against the
/// table (TwinBench) unless bit errors are at work.
#include <gtest/gtest.h>

#include <vector>

#include "tb/unit/twin.h"

namespace kvplane::rtl {
namespace {

using index::Operation;
using index::Status;

/// Keys that all have the same two buckets: more than those hold.
class Crowd {
public:
    explicit Crowd(const index::CuckooTable& table, std::uint32_t count) {
        const std::uint64_t first = TwinBench::key_of(1);
        for (std::uint64_t n = 1; m_keys.size() < count; ++n) {
            const std::uint64_t key = TwinBench::key_of(n);
            if (table.bucket_of(0, key) == table.bucket_of(0, first) &&
                table.bucket_of(1, key) == table.bucket_of(1, first)) {
                m_keys.push_back(key);
            }
        }
    }
    std::uint64_t operator[](std::size_t i) const { return m_keys[i]; }
    [[nodiscard]] std::size_t size() const { return m_keys.size(); }

private:
    std::vector<std::uint64_t> m_keys;
};

/// A twin and a crowd of nine keys for the eight slots of two buckets.
class EngineHazards : public testing::Test {
protected:
    void insert(std::uint64_t key, std::uint32_t frame = 1) {
        m_twin.issue({.operation = Operation::kInsert, .key = key, .entry = entry_of(frame)});
    }
    void lookup(std::uint64_t key) { m_twin.issue({.operation = Operation::kLookup, .key = key}); }
    void update(std::uint64_t key, std::uint32_t frame) {
        m_twin.issue({.operation = Operation::kUpdate, .key = key, .entry = entry_of(frame)});
    }
    void erase(std::uint64_t key) { m_twin.issue({.operation = Operation::kDelete, .key = key}); }
    void evict(std::uint64_t key) { m_twin.issue({.operation = Operation::kEvict, .key = key}); }
    void wait(std::uint32_t cycles) {
        for (std::uint32_t i = 0; i < cycles; ++i) m_twin.bench().step();
    }
    /// Eight slots full, and quiet.
    void fill() {
        for (std::size_t i = 0; i < 8; ++i) insert(m_crowd[i], static_cast<std::uint32_t>(i));
        m_twin.settle_down();
    }
    /// All keys are where they should be, then gone.
    void check_and_clear() {
        m_twin.settle_down();
        for (std::size_t i = 0; i < m_crowd.size(); ++i) lookup(m_crowd[i]);
        for (std::size_t i = 0; i < m_crowd.size(); ++i) erase(m_crowd[i]);
        m_twin.settle_down();
        ASSERT_EQ(m_twin.table().size(), 0U);
        ASSERT_EQ(m_twin.bench().read(Register::kSize), 0U);
        ASSERT_EQ(m_twin.bench().read(Register::kStash), 0U);
    }
    std::uint32_t kicks() { return m_twin.bench().read(Register::kKicks); }

    static constexpr std::uint32_t kDistances = 40;  ///< cycles: a kick and what follows
    TwinBench m_twin{make_small_dut(), kSmallShape};
    Crowd m_crowd{m_twin.table(), 12};
};

TEST_F(EngineHazards, KeyInFlightBetweenBucketsIsAlwaysFound) {
    const std::uint32_t before = kicks();
    for (std::uint32_t distance = 0; distance < kDistances; ++distance) {
        fill();
        insert(m_crowd[8]);
        wait(distance);
        // One lookup a cycle over the whole walk: a key that is nowhere for a cycle is missed.
        for (std::uint32_t i = 0; i < 27; ++i) lookup(m_crowd[i % 9]);
        check_and_clear();
    }
    EXPECT_GE(kicks(), before + kDistances);
}

TEST_F(EngineHazards, ReadWriteGapIsClosedAtEveryDistance) {
    for (std::uint32_t distance = 0; distance < kDistances; ++distance) {
        insert(m_crowd[0], 1);
        wait(distance);
        lookup(m_crowd[0]);
        update(m_crowd[0], 2);
        wait(distance);
        lookup(m_crowd[0]);
        erase(m_crowd[0]);
        wait(distance);
        lookup(m_crowd[0]);
    }
    check_and_clear();
}

TEST_F(EngineHazards, TwoInsertsOfOneKeyInFlightMakeOneEntry) {
    for (std::uint32_t distance = 0; distance < 8; ++distance) {
        insert(m_crowd[0], 1);
        wait(distance);
        insert(m_crowd[0], 2);
        m_twin.settle_down();
        EXPECT_EQ(m_twin.count(Status::kExists), 3 * distance + 1);
        EXPECT_EQ(m_twin.bench().read(Register::kSize), 1U);
        // The same with full buckets: both would go to the stash.
        fill();
        insert(m_crowd[8], 1);
        wait(distance);
        insert(m_crowd[8], 2);
        check_and_clear();
        // The first of fill() was there already.
        EXPECT_EQ(m_twin.count(Status::kExists), 3 * distance + 3);
    }
}

TEST_F(EngineHazards, UpdateDuringAKickEditsTheEntryWhereverItIs) {
    for (std::uint32_t distance = 0; distance < kDistances; ++distance) {
        fill();
        insert(m_crowd[8]);
        wait(distance);
        for (std::uint32_t i = 0; i < 9; ++i) update(m_crowd[(i + 8) % 9], 100 + i);
        check_and_clear();
    }
}

TEST_F(EngineHazards, AKickThatWaitsToCommitMovesNothingWrittenSinceItsRead) {
    // A key alone in its buckets is in half 0; its updates, one a cycle, keep a kick of that half
    // from committing for longer than a write drains and lingers. Other banks: the drains go on.
    const index::CuckooTable& table = m_twin.table();
    constexpr std::uint64_t kBanks = kSmallShape.banks / 2 - 1;
    std::uint64_t n = 10'000;
    const auto same_bank = [&](std::uint32_t half) {
        const std::uint64_t apart =
            table.bucket_of(half, TwinBench::key_of(n)) ^ table.bucket_of(half, m_crowd[0]);
        return (apart & kBanks) == 0;
    };
    while (same_bank(0) || same_bank(1)) ++n;
    const std::uint64_t holds_up = TwinBench::key_of(n);
    for (std::uint32_t distance = 0; distance < kDistances; ++distance) {
        for (std::uint32_t victim = 0; victim < 8; ++victim) {
            insert(holds_up);
            fill();
            insert(m_crowd[8]);
            wait(distance);
            update(m_crowd[victim], 100 + victim);
            for (std::uint32_t i = 0; i < 24; ++i) update(holds_up, i);
            erase(holds_up);
            check_and_clear();
        }
    }
}

TEST_F(EngineHazards, DeleteDuringAKickEndsIt) {
    for (std::uint32_t distance = 0; distance < kDistances; ++distance) {
        for (std::size_t victim = 0; victim < 9; ++victim) {
            fill();
            insert(m_crowd[8]);
            wait(distance);
            erase(m_crowd[victim]);
            check_and_clear();
        }
    }
}

TEST_F(EngineHazards, EvictionDuringAKickTakesTheEntryWhereverItIs) {
    for (std::uint32_t distance = 0; distance < kDistances; ++distance) {
        for (std::size_t victim = 0; victim < 9; ++victim) {
            fill();
            insert(m_crowd[8]);
            wait(distance);
            evict(m_crowd[victim]);
            insert(m_crowd[victim], 77);
            check_and_clear();
        }
    }
}

TEST_F(EngineHazards, StashHitAgainstTableHitAreNeverBoth) {
    // The engine's own assertion stops the run where a key is in two places.
    for (std::uint32_t distance = 0; distance < kDistances; ++distance) {
        fill();
        for (std::size_t i = 8; i < 12; ++i) insert(m_crowd[i], 50);
        wait(distance);
        for (std::size_t i = 0; i < 12; ++i) lookup(m_crowd[i]);
        // A key of the same tag and another bucket is another key.
        for (std::size_t i = 0; i < 12; ++i) lookup(m_crowd[i] ^ 1U);
        m_twin.settle_down();
        check_and_clear();
    }
    EXPECT_GT(m_twin.bench().read(Register::kStashHigh), 1U);
}

TEST_F(EngineHazards, BackToBackForwardingFromEveryPlaceOfTheStoreBuffer) {
    insert(m_crowd[0]);
    for (std::uint32_t i = 0; i < 400; ++i) {
        update(m_crowd[0], i);
        if (i % 3 == 0) lookup(m_crowd[0]);
        if (i % 7 == 0) lookup(m_crowd[1]);
        if (i % 11 == 0) wait(i % 13);
    }
    check_and_clear();
}

void linger(std::unique_ptr<MetaLookupDut> dut, const DutShape& shape) {
    TwinBench twin(std::move(dut), shape);
    // Of two keys in different banks one is written, and read while its write drains; the other
    // holds up the drain for a while.
    for (std::uint32_t before = 0; before < 12; ++before) {
        for (std::uint32_t after = 0; after < 12; ++after) {
            const std::uint64_t key = TwinBench::key_of(before * 12 + after);
            twin.issue({.operation = Operation::kInsert, .key = key, .entry = entry_of(1)});
            for (std::uint32_t i = 0; i < before; ++i) {
                twin.issue({.operation = Operation::kLookup, .key = key});
            }
            for (std::uint32_t i = 0; i < after; ++i) twin.bench().step();
            for (std::uint32_t i = 0; i < 4; ++i) {
                twin.issue({.operation = Operation::kLookup, .key = key});
            }
            twin.issue({.operation = Operation::kDelete, .key = key});
        }
    }
    twin.settle_down();
}

TEST_F(EngineHazards, LingeringWritesServeReadsInFlight) {
    linger(make_small_dut(), kSmallShape);
    linger(make_latency3_dut(), kLatency3Shape);
}

TEST_F(EngineHazards, ResponseBackPressureLosesNothing) {
    fill();
    Bench& bench = m_twin.bench();
    for (std::uint32_t round = 0; round < 20; ++round) {
        bench.take_answers = false;
        // The queue of eight is all that may be in flight.
        for (std::uint32_t i = 0; i < 8; ++i) lookup(m_crowd[i]);
        EXPECT_TRUE(bench.refuses({.operation = Operation::kLookup, .key = m_crowd[8]}, 30));
        bench.take_answers = true;
        lookup(m_crowd[8]);
        m_twin.settle_down();
    }
    check_and_clear();
}

TEST_F(EngineHazards, AHotBankStarvesNoWriteAndNoKick) {
    Bench& bench = m_twin.bench();
    fill();
    insert(m_crowd[8], 3);
    // Each cycle reads both buckets of the crowd: no drain and no kick read finds its bank free.
    for (std::uint32_t i = 0; i < 16; ++i) update(m_crowd[i % 8], i);
    const std::uint32_t stolen = bench.read(Register::kStolen);
    for (std::uint32_t i = 0; i < 40 * 64; ++i) lookup(m_crowd[i % 9]);
    EXPECT_GT(bench.read(Register::kStolen), stolen + 8);
    const std::uint32_t conflicts = bench.read(Register::kConflicts);
    for (std::uint32_t i = 0; i < 64; ++i) lookup(m_crowd[i % 9]);
    EXPECT_EQ(bench.read(Register::kConflicts), conflicts) << "a write or a kick still waits";
    check_and_clear();
}

TEST_F(EngineHazards, ResetInMidKickLeavesAnEmptyEngine) {
    for (std::uint32_t distance = 0; distance < kDistances; ++distance) {
        Bench bench(make_small_dut(), kSmallShape);
        for (std::size_t i = 0; i < 9; ++i) {
            bench.issue({.operation = Operation::kInsert, .key = m_crowd[i], .entry = entry_of(1)});
        }
        for (std::uint32_t i = 0; i < distance; ++i) bench.step();
        bench.reset();
        EXPECT_EQ(bench.read(Register::kSize), 0U);
        for (std::size_t i = 0; i < 9; ++i) {
            EXPECT_EQ(bench.ask({.operation = Operation::kLookup, .key = m_crowd[i]}).status,
                      Status::kMiss);
        }
        for (std::size_t i = 0; i < 9; ++i) {
            bench.issue({.operation = Operation::kInsert, .key = m_crowd[i], .entry = entry_of(1)});
        }
        bench.settle_down();
        EXPECT_EQ(bench.read(Register::kSize), 9U);
    }
}

// Two halves of four buckets of two slots, a stash of two, two kicks.
TEST(EngineStash, FullIsAnsweredOnlyWhenNothingKicksAndChangesNothing) {
    TwinBench twin(make_tiny_dut(), kTinyShape);
    std::vector<std::uint64_t> refused;
    for (std::uint64_t n = 0; n < 60; ++n) {
        const std::uint64_t before = twin.refused();
        twin.issue({.operation = Operation::kInsert,
                    .key = TwinBench::key_of(n),
                    .entry = entry_of(static_cast<std::uint32_t>(n))});
        twin.settle_down();
        if (twin.refused() != before) refused.push_back(n);
    }
    ASSERT_FALSE(refused.empty());
    EXPECT_EQ(twin.bench().read(Register::kStash), 2U);
    EXPECT_EQ(twin.bench().read(Register::kKicksMax), kTinyShape.kick_limit);
    for (const std::uint64_t n : refused) {
        twin.issue({.operation = Operation::kLookup, .key = TwinBench::key_of(n)});
    }
    twin.check_all(60);
    EXPECT_EQ(twin.bench().read(Register::kSize), twin.table().size());
}

/// The four slots of two buckets full, and the stash full of two more keys of theirs, parked.
class FullStash {
public:
    FullStash() {
        for (std::size_t i = 0; i < kKeys; ++i) insert(i);
    }
    void insert(std::size_t i) {
        m_twin.issue({.operation = Operation::kInsert, .key = m_crowd[i], .entry = entry_of(1)});
        m_twin.settle_down();
    }
    [[nodiscard]] std::uint32_t stashed() { return m_twin.bench().read(Register::kStash); }
    TwinBench& twin() { return m_twin; }
    [[nodiscard]] std::uint64_t key(std::size_t i) const { return m_crowd[i]; }

    static constexpr std::size_t kKeys = 6;

private:
    TwinBench m_twin{make_tiny_dut(), kTinyShape};
    Crowd m_crowd{m_twin.table(), kKeys + 1};
};

TEST(EngineStash, ADeleteArmsAParkedEntryAndAnEvictDoesNot) {
    for (const Operation operation : {Operation::kDelete, Operation::kEvict}) {
        FullStash full;
        std::uint32_t from_slots = 0;
        for (std::size_t i = 0; i < 10 * FullStash::kKeys; ++i) {
            const std::size_t removed = i % FullStash::kKeys;
            ASSERT_EQ(full.stashed(), kTinyShape.stash);
            full.twin().issue({.operation = operation, .key = full.key(removed)});
            for (std::uint32_t cycle = 0; cycle < kTinyShape.latency(); ++cycle) {
                full.twin().bench().step();
            }
            // A kick has not come home yet: fewer only where the key was in the stash itself.
            const bool from_slot = full.stashed() == kTinyShape.stash;
            from_slots += from_slot ? 1 : 0;
            full.twin().settle_down();
            const bool stays = from_slot && operation == Operation::kEvict;
            EXPECT_EQ(full.stashed(), kTinyShape.stash - (stays ? 0 : 1));
            full.insert(removed);
        }
        EXPECT_GT(from_slots, FullStash::kKeys);
    }
}

TEST(EngineStash, AnInsertTakesTheSlotOfADeleteThatIsNotDrained) {
    for (std::uint32_t distance = 0; distance < 12; ++distance) {
        FullStash full;
        for (std::size_t removed = 0; removed < FullStash::kKeys; ++removed) {
            ASSERT_EQ(full.stashed(), kTinyShape.stash);
            full.twin().issue({.operation = Operation::kDelete, .key = full.key(removed)});
            for (std::uint32_t i = 0; i < distance; ++i) full.twin().bench().step();
            full.twin().issue({.operation = Operation::kInsert,
                               .key = full.key(FullStash::kKeys),
                               .entry = entry_of(1)});
            full.twin().settle_down();
            EXPECT_EQ(full.twin().refused(), 0U) << "distance " << distance;
            // As it was.
            full.twin().issue({.operation = Operation::kDelete, .key = full.key(FullStash::kKeys)});
            full.twin().settle_down();
            full.insert(removed);
        }
    }
}

TEST(EngineStash, AnInsertWaitsWhileAKickMayStillMakeRoom) {
    // Bursts of inserts into a nearly full engine, then deletes: FULL never comes while the engine
    // could still make room, which the table checks by its size.
    TwinBench twin(make_tiny_dut(), kTinyShape);
    for (const std::uint64_t seed : {1, 2, 3}) {
        twin.run({.seed = seed,
                  .requests = 100'000,
                  .mix = {.inserts = 45, .updates = 10, .deletes = 20, .evicts = 5, .scrubs = 2},
                  .keys = 40,
                  .recent_percent = 30});
        if (testing::Test::HasFatalFailure()) return;
    }
    twin.check_all(40);
    EXPECT_GT(twin.refused(), 100U);
}

}  // namespace
}  // namespace kvplane::rtl
