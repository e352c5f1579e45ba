// SPDX-License-Identifier: Apache-2.0
#include "model/index/cuckoo_table.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "churn.h"
#include "cuckoo_twin.h"
#include "model/common/errors.h"

namespace kvplane::index {
namespace {

TEST(CuckooTableTest, EqualsUnorderedMapOverAMillionOperations) {
    struct Shape {
        CuckooConfig config;
        std::uint64_t operations;
    };
    for (const Shape& shape :
         {Shape{{.buckets_log2 = 8, .slots = 4}, 400'000},
          Shape{{.buckets_log2 = 9, .slots = 2, .stash = 4, .kick_limit = 8}, 300'000},
          Shape{{.buckets_log2 = 2, .slots = 2, .stash = 1, .kick_limit = 0}, 100'000},
          Shape{{.choices = 1, .buckets_log2 = 9, .slots = 8}, 200'000},
          Shape{{.choices = 4, .buckets_log2 = 8, .slots = 1, .kick_limit = 16}, 200'000},
          Shape{{.choices = 3, .buckets_log2 = 7, .slots = 2, .seed = 3}, 200'000},
          Shape{{.buckets_log2 = 7, .slots = 8}, 200'000},
          Shape{{.buckets_log2 = 7, .slots = 8, .fingerprint_bits = 8}, 200'000},
          Shape{{.buckets_log2 = 12, .slots = 4, .seed = 9}, 200'000}}) {
        CuckooTwin twin(shape.config, shape.config.buckets_log2);
        twin.play(shape.operations / 2, 50);
        twin.check_all();
        twin.play(shape.operations / 2, 25);
        twin.check_all();
        if (shape.config.buckets_log2 < 12) {
            EXPECT_GT(twin.refused(), 100U);
        }
    }
}

TEST(CuckooTableTest, TheNumberOfTagBitsNeverMakesTwoKeysOne) {
    // With 2^32 buckets a tag has 32 bits, with 4 it has 62: keys that differ in one bit stay
    // apart.
    for (const std::uint32_t log2 : {2U, 5U, 11U}) {
        CuckooTable table({.buckets_log2 = log2, .slots = 4, .stash = 64});
        const std::uint64_t key = 0x0123456789ABCDEF;
        ASSERT_EQ(table.insert(key, entry_of(1)).status, Status::kDone);
        for (std::uint32_t bit = 0; bit < 64; ++bit) {
            EXPECT_FALSE(table.lookup(key ^ std::uint64_t{1} << bit).found()) << bit;
        }
        EXPECT_TRUE(table.lookup(key).found());
    }
}

TEST(CuckooTableTest, ChurnAtALoadOf80PercentIsAsRecorded) {
    // 2 x 4, 2^18 slots, limit 32: mean 0.4737, p99 6, p999 10, max 24, nothing stashed or lost.
    const Churn result = churn({.buckets_log2 = 15}, 80, 400'000);
    EXPECT_NEAR(result.mean, 0.4737, 0.02);
    EXPECT_NEAR(static_cast<double>(result.p99), 6, 1);
    EXPECT_NEAR(static_cast<double>(result.p999), 10, 2);
    EXPECT_LE(result.max, 32U);
    EXPECT_LE(result.parked, 2U);
    EXPECT_EQ(result.failures, 0U);
}

TEST(CuckooTableTest, FillsTo80PercentWithoutAFailureWhateverTheSeed) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        EXPECT_EQ(churn({.buckets_log2 = 13, .seed = seed}, 80, 1).failures, 0U) << seed;
    }
}

TEST(CuckooTableTest, AShortWalkParksAndALongOneDoesNot) {
    const Churn short_walk = churn({.buckets_log2 = 13, .kick_limit = 8}, 80, 100'000);
    EXPECT_GT(short_walk.parked, 100U);
    EXPECT_EQ(churn({.buckets_log2 = 13, .kick_limit = 64}, 80, 100'000).parked, 0U);
    EXPECT_LE(short_walk.max, 8U);
}

TEST(CuckooTableTest, AKeyIsErasedFromTheStash) {
    CuckooTable table({.buckets_log2 = 2, .slots = 2, .stash = 8, .kick_limit = 2});
    RandomStream random(12, "stash");
    std::vector<std::uint64_t> keys;
    while (table.stashed() < 8) {
        const std::uint64_t key = random.bits();
        if (table.insert(key, entry_of(3)).done()) keys.push_back(key);
    }
    for (const std::uint64_t key : keys) ASSERT_TRUE(table.lookup(key).found());
    // Each erasure makes room that the stash drains into where it can.
    for (const std::uint64_t key : keys) ASSERT_TRUE(table.erase(key).done());
    EXPECT_EQ(table.size(), 0U);
    EXPECT_EQ(table.stashed(), 0U);
}

TEST(CuckooTableTest, AnErasureLetsAStashedKeyIn) {
    // A key waits in the stash only while all four slots of its two buckets are taken.
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CuckooTable table({.buckets_log2 = 2, .slots = 2, .stash = 8, .kick_limit = 2});
        RandomStream random(seed, "drain");
        std::vector<std::uint64_t> keys;
        while (table.stashed() < 8) {
            const std::uint64_t key = random.bits();
            if (table.insert(key, entry_of(3)).done()) keys.push_back(key);
        }
        while (keys.size() > 4) {
            ASSERT_TRUE(table.erase(keys.front()).done());
            keys.erase(keys.begin());
        }
        EXPECT_EQ(table.stashed(), 0U);
        for (const std::uint64_t key : keys) EXPECT_TRUE(table.lookup(key).found());
    }
}

TEST(CuckooTableTest, AKeyIsInOnePlaceAtEveryStepOfAKick) {
    // Steps kicks one by one: every key is found after each, and counted once.
    CuckooTable table({.buckets_log2 = 4, .slots = 2, .stash = 8, .kick_limit = 12});
    RandomStream random(15, "steps");
    std::vector<std::uint64_t> keys;
    std::uint64_t steps = 0;
    for (int i = 0; i < 4'000; ++i) {
        const std::uint64_t key = random.bits();
        if (table.commit({.operation = Operation::kInsert, .key = key, .entry = entry_of(7)})
                .done()) {
            keys.push_back(key);
        }
        while (table.kicking()) {
            const std::uint64_t moving = *table.kicking();
            EXPECT_TRUE(table.lookup(moving).found());
            table.kick();
            ++steps;
            for (const std::uint64_t k : keys) ASSERT_TRUE(table.lookup(k).found()) << steps;
        }
        if (keys.size() < 58) continue;
        const std::size_t victim = random.uniform(keys.size());
        ASSERT_TRUE(table.commit({.operation = Operation::kDelete, .key = keys[victim]}).done());
        keys[victim] = keys.back();
        keys.pop_back();
        ASSERT_EQ(table.size(), keys.size());
    }
    EXPECT_GT(steps, 4'000U);
}

TEST(CuckooTableTest, OperationsReachAKeyThatIsBeingKicked) {
    CuckooTable table({.buckets_log2 = 2, .slots = 1, .stash = 4, .kick_limit = 50});
    RandomStream random(16, "kicked");
    int updated = 0;
    int aborted = 0;
    for (int i = 0; i < 2'000; ++i) {
        (void)table.commit(
            {.operation = Operation::kInsert, .key = random.bits(), .entry = entry_of(1)});
        if (!table.kicking()) continue;
        table.kick();
        if (!table.kicking()) continue;
        const std::uint64_t moving = *table.kicking();
        if (i % 2 == 0) {
            ASSERT_TRUE(table.update(moving, entry_of(77)).done());
            table.kick();
            ASSERT_TRUE(same(table.lookup(moving).entry, entry_of(77)));
            ++updated;
        } else {
            const std::uint64_t stashed = table.stashed();
            ASSERT_TRUE(table.commit({.operation = Operation::kDelete, .key = moving}).done());
            ASSERT_FALSE(table.lookup(moving).found());
            ASSERT_EQ(table.stashed(), stashed - 1);
            ++aborted;
        }
    }
    EXPECT_GT(updated, 20);
    EXPECT_GT(aborted, 20);
}

TEST(CuckooTableTest, AVictimMakesRoomAndIsNeverPinnedOrMoving) {
    CuckooTable table({.buckets_log2 = 3, .slots = 2, .stash = 1, .kick_limit = 4});
    RandomStream random(17, "victim");
    Entry plain = entry_of(3);
    plain.state = 1;
    plain.flags = 0;
    Entry pinned = plain;
    pinned.flags = 4;
    Entry moving = plain;
    moving.state = static_cast<std::uint64_t>(EntryState::kMoving) & 7U;
    for (int i = 0; i < 3'000; ++i) {
        const std::uint64_t key = random.bits();
        const Entry& entry = i % 3 == 0 ? plain : (i % 3 == 1 ? pinned : moving);
        const std::optional<std::uint64_t> victim = table.victim_for(key);
        if (victim) {
            const Answer found = table.lookup(*victim);
            ASSERT_TRUE(found.found());
            ASSERT_EQ(found.entry.flags & 4U, 0U);
            ASSERT_NE(found.entry.state, moving.state);
            ASSERT_TRUE(table.commit({.operation = Operation::kEvict, .key = *victim}).done());
        }
        const std::uint64_t kicks = table.kicks();
        if (table.commit({.operation = Operation::kInsert, .key = key, .entry = entry}).done() &&
            victim && table.stashed() == 0) {
            ASSERT_EQ(table.kicks(), kicks);
        }
        while (table.kicking()) table.kick();
    }
}

TEST(CuckooTableTest, FingerprintsReadFewEntriesAndRarelyFalseOnes) {
    // A miss compares 16 fingerprints of 16 bits: 16 / 65,535 false reads each, 2.4e-4.
    CuckooTable table({.buckets_log2 = 12, .slots = 8, .fingerprint_bits = 16});
    RandomStream random(18, "fingerprints");
    while (table.size() < table.capacity()) {
        if (!table.insert(random.bits(), entry_of(1)).done()) break;
    }
    const double load = static_cast<double>(table.size()) / static_cast<double>(table.capacity());
    const std::uint64_t before = table.counters().false_matches;
    constexpr int kMisses = 2'000'000;
    for (int i = 0; i < kMisses; ++i) ASSERT_FALSE(table.lookup(random.bits()).found());
    const double expected = 16.0 / 65'535 * kMisses * load;
    EXPECT_NEAR(static_cast<double>(table.counters().false_matches - before), expected,
                5 * std::sqrt(expected));
}

TEST(CuckooTableTest, BucketsAreThoseOfTheToeplitzHash) {
    // Bit j of the hash is the parity of the tag and the seed shifted by j; the table's first
    // seeds are the first draws of mt19937_64.
    std::mt19937_64 seeds(5);
    const CuckooTable table({.buckets_log2 = 11, .seed = 5});
    RandomStream random(19, "toeplitz");
    for (const std::uint32_t choice : {0U, 1U}) {
        const std::uint64_t seed = seeds() & ~(std::uint64_t{1} << 63);
        for (int i = 0; i < 1'000; ++i) {
            const std::uint64_t key = random.bits();
            std::uint64_t bucket = key & 0x7FF;
            for (std::uint32_t j = 0; j < 11; ++j) {
                bucket ^= static_cast<std::uint64_t>(std::popcount((key >> 11) & (seed >> j)) & 1)
                          << j;
            }
            ASSERT_EQ(table.bucket_of(choice, key), bucket);
        }
    }
}

TEST(CuckooTableTest, RefusesShapesItCannotHold) {
    EXPECT_THROW(CuckooTable({.choices = 0}), InvariantError);
    EXPECT_THROW(CuckooTable({.choices = 5}), InvariantError);
    EXPECT_THROW(CuckooTable({.buckets_log2 = 1}), InvariantError);
    EXPECT_THROW(CuckooTable({.buckets_log2 = 4, .slots = 0}), InvariantError);
    EXPECT_THROW(CuckooTable({.buckets_log2 = 4, .slots = 17}), InvariantError);
    EXPECT_THROW(CuckooTable({.buckets_log2 = 4, .stash = 0}), InvariantError);
    EXPECT_THROW(CuckooTable({.buckets_log2 = 4, .fingerprint_bits = 7}), InvariantError);
    CuckooTable table({.buckets_log2 = 4});
    EXPECT_THROW((void)table.insert(1, Entry{}), InvariantError);
    EXPECT_THROW(table.kick(), InvariantError);
}

TEST(EntryTest, LayoutIsTwoWordsOfFields) {
    Entry entry{};
    const auto words = [&] {
        std::array<std::uint64_t, 2> w{};
        std::memcpy(w.data(), &entry, sizeof(entry));
        return w;
    };
    entry.tag = 1;
    entry.tier = 1;
    EXPECT_EQ(words()[0], std::uint64_t{1} << 62 | 1U);
    entry.frame = 0xDEADBEEF;
    entry.size = 0x12;
    entry.version = 0x34;
    entry.state = 7;
    entry.decoder = 0;
    entry.priority_class = 7;
    entry.flags = 0;
    entry.spare = 0xF;
    EXPECT_EQ(words()[1] & 0xFFFFFFFFU, 0xDEADBEEFU);
    EXPECT_EQ(words()[1] >> 32 & 0xFFFFU, 0x3412U);
    EXPECT_EQ(words()[1] >> 48 & 7U, 7U);
    EXPECT_EQ(words()[1] >> 54 & 7U, 7U);
    EXPECT_EQ(words()[1] >> 60, 0xFU);
}

}  // namespace
}  // namespace kvplane::index
