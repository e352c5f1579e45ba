// SPDX-License-Identifier: Apache-2.0
/// SECDED, and what bit errors do to the table.
#include <gtest/gtest.h>

#include "cuckoo_twin.h"
#include "model/common/errors.h"
#include "model/index/secded.h"

namespace kvplane::index {
namespace {

TEST(SecdedTest, CorrectsEveryOneBitAndDetectsEveryTwo) {
    RandomStream random(20, "secded");
    for (int i = 0; i < 20; ++i) {
        const std::uint64_t word = random.bits();
        const std::uint8_t check = check_bits(word);
        const auto read = [&](std::uint32_t a, std::uint32_t b) {
            std::uint64_t w = word;
            std::uint8_t c = check;
            for (const std::uint32_t bit : {a, b}) {
                if (bit < 64) w ^= std::uint64_t{1} << bit;
                if (bit >= 64 && bit < 72) c ^= static_cast<std::uint8_t>(1U << (bit - 64));
            }
            return decode(w, c);
        };
        EXPECT_EQ(read(99, 99).state, WordState::kGood);
        for (std::uint32_t a = 0; a < 72; ++a) {
            ASSERT_EQ(read(a, 99).state, WordState::kCorrected) << a;
            ASSERT_EQ(read(a, 99).word, word) << a;
            for (std::uint32_t b = 0; b < a; ++b) {
                ASSERT_EQ(read(a, b).state, WordState::kUncorrectable) << a << " " << b;
            }
        }
    }
}

class CuckooFaultsTest : public testing::Test {
protected:
    CuckooTable m_table{{.buckets_log2 = 3, .slots = 4, .kick_limit = 16}};
};

TEST_F(CuckooFaultsTest, OneBitIsCorrectedAndCountedWhicheverItIs) {
    ASSERT_TRUE(m_table.insert(42, entry_of(99)).done());
    for (std::uint32_t bit = 0; bit < kProtectedBits; ++bit) {
        ASSERT_TRUE(m_table.flip(42, bit));
        const std::uint64_t before = m_table.counters().corrected;
        const Answer answer = m_table.lookup(42);
        ASSERT_EQ(answer.status, Status::kHit) << bit;
        EXPECT_TRUE(answer.corrected);
        EXPECT_FALSE(answer.uncorrectable);
        EXPECT_TRUE(same(answer.entry, entry_of(99)));
        EXPECT_EQ(m_table.counters().corrected, before + 1);
        ASSERT_TRUE(m_table.flip(42, bit));  // back
    }
    EXPECT_EQ(m_table.counters().uncorrectable, 0U);
    EXPECT_FALSE(m_table.lookup(42).corrected);
}

TEST_F(CuckooFaultsTest, OneBitInEachWordIsCorrected) {
    ASSERT_TRUE(m_table.insert(42, entry_of(99)).done());
    ASSERT_TRUE(m_table.flip(42, 3));
    ASSERT_TRUE(m_table.flip(42, 64 + 11));
    EXPECT_TRUE(same(m_table.lookup(42).entry, entry_of(99)));
    EXPECT_EQ(m_table.counters().corrected, 2U);
}

TEST_F(CuckooFaultsTest, AWriteClearsWhatWasWrong) {
    ASSERT_TRUE(m_table.insert(42, entry_of(99)).done());
    ASSERT_TRUE(m_table.flip(42, 3));
    ASSERT_TRUE(m_table.update(42, entry_of(5)).corrected);
    EXPECT_FALSE(m_table.lookup(42).corrected);
    EXPECT_TRUE(same(m_table.lookup(42).entry, entry_of(5)));
}

TEST_F(CuckooFaultsTest, TwoBitsOfAWordLoseTheEntryAndNothingElse) {
    ASSERT_TRUE(m_table.insert(42, entry_of(99)).done());
    ASSERT_TRUE(m_table.flip(42, 3));
    ASSERT_TRUE(m_table.flip(42, 20));
    // Any operation on a key that the slot could hold says so, and changes nothing.
    EXPECT_EQ(m_table.lookup(42).status, Status::kUncorrectable);
    EXPECT_EQ(m_table.insert(42, entry_of(1)).status, Status::kUncorrectable);
    EXPECT_EQ(m_table.update(42, entry_of(1)).status, Status::kUncorrectable);
    EXPECT_EQ(m_table.erase(42).status, Status::kUncorrectable);
    EXPECT_EQ(m_table.bad_slots(), 1U);
    // A key elsewhere is a plain miss; one in the same bucket is a hit that tells of the bad slot.
    std::uint64_t far = 0;
    std::uint64_t near = 0;
    for (std::uint64_t key = 1; far == 0 || near == 0; key = key * 0x9E3779B97F4A7C15ULL + 1) {
        const bool shares = m_table.bucket_of(0, key) == m_table.bucket_of(0, 42);
        const bool other = m_table.bucket_of(1, key) == m_table.bucket_of(1, 42);
        if (!shares && !other) far = key;
        if (shares && other) near = key;
    }
    EXPECT_EQ(m_table.lookup(far).status, Status::kMiss);
    EXPECT_EQ(m_table.lookup(near).status, Status::kUncorrectable);
    EXPECT_EQ(m_table.drop_bad(), 1U);
    EXPECT_EQ(m_table.lookup(42).status, Status::kMiss);
    EXPECT_EQ(m_table.size(), 0U);
    EXPECT_TRUE(m_table.insert(42, entry_of(7)).done());
    EXPECT_TRUE(same(m_table.lookup(42).entry, entry_of(7)));
}

TEST_F(CuckooFaultsTest, ABadSlotIsNeitherAllocatedNorMoved) {
    RandomStream random(21, "bad slots");
    std::uint32_t bad = 0;
    for (std::uint32_t choice = 0; choice < 2; ++choice) {
        for (std::uint64_t bucket = 0; bucket < 8; ++bucket) {
            const CuckooTable::Place place{choice, bucket, static_cast<std::uint32_t>(bucket % 4)};
            m_table.flip(place, 100);
            m_table.flip(place, 101);
            ++bad;
        }
    }
    ASSERT_EQ(m_table.bad_slots(), bad);
    // Every bucket has a bad slot now, so no insert is safe.
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(m_table.insert(random.bits(), entry_of(1)).status, Status::kUncorrectable);
    }
    EXPECT_EQ(m_table.size(), 0U);
    EXPECT_EQ(m_table.bad_slots(), bad);
    EXPECT_EQ(m_table.drop_bad(), 0U);  // they held nothing
    EXPECT_TRUE(m_table.insert(1, entry_of(1)).done());
}

TEST_F(CuckooFaultsTest, AScrubOfEveryRowCorrectsAllSingleBits) {
    RandomStream random(22, "scrub");
    std::vector<std::uint64_t> keys;
    for (int i = 0; i < 40; ++i) {
        const std::uint64_t key = random.bits();
        if (m_table.insert(key, entry_of(static_cast<std::uint32_t>(i + 1))).done()) {
            keys.push_back(key);
        }
    }
    std::uint32_t flipped = 0;
    for (const std::uint64_t key : keys) {
        flipped += m_table.flip(key, static_cast<std::uint32_t>(random.uniform(144))) ? 1 : 0;
    }
    ASSERT_GT(flipped, 30U);
    std::uint32_t corrected = 0;
    for (int row = 0; row < 16; ++row) corrected += m_table.scrub();
    EXPECT_EQ(corrected, flipped);
    for (int row = 0; row < 16; ++row) EXPECT_EQ(m_table.scrub(), 0U);
    // A second error in a word that was scrubbed in between is a first one again.
    for (const std::uint64_t key : keys) (void)m_table.flip(key, 0);
    for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_TRUE(m_table.lookup(keys[i]).found());
}

TEST_F(CuckooFaultsTest, NeverReturnsAWrongEntryWhileErrorsAndOperationsMix) {
    // Up to two bits of a word are wrong at a time. Whatever is answered is right, or says that it
    // cannot know; a key that is answered MISS was never lost without a word.
    CuckooTable table({.buckets_log2 = 5, .slots = 4, .stash = 8, .kick_limit = 16});
    std::unordered_map<std::uint64_t, Entry> twin;
    std::vector<std::uint64_t> keys;
    RandomStream random(23, "fault mix");
    std::uint64_t corrected = 0;
    std::uint64_t lost = 0;
    for (std::uint32_t i = 1; i < 60'000; ++i) {
        const std::uint64_t draw = random.uniform(100);
        if (draw < 30 && keys.size() < 200) {
            const std::uint64_t key = random.bits();
            if (table.insert(key, entry_of(i)).done()) {
                keys.push_back(key);
                twin[key] = entry_of(i);
            }
        } else if (draw < 50 && !keys.empty()) {
            const std::size_t at = random.uniform(keys.size());
            if (table.erase(keys[at]).done()) {
                twin.erase(keys[at]);
                keys[at] = keys.back();
                keys.pop_back();
            }
        } else if (draw < 53 && !keys.empty()) {
            // One bit, and rarely its neighbour too. Scrubbing keeps third errors away.
            const std::uint64_t key = keys[random.uniform(keys.size())];
            const auto bit = static_cast<std::uint32_t>(random.uniform(127));
            for (int row = 0; row < 64; ++row) table.scrub();
            if (table.flip(key, bit) && random.uniform(8) == 0 && bit % 64 != 63) {
                (void)table.flip(key, bit + 1);
            }
        } else if (draw < 54) {
            lost += table.drop_bad();
            // What was lost is missing from now on.
            std::erase_if(keys, [&](std::uint64_t key) {
                if (table.lookup(key).found()) return false;
                twin.erase(key);
                return true;
            });
        }
        if (keys.empty()) continue;
        const std::uint64_t probe = keys[random.uniform(keys.size())];
        const Answer answer = table.lookup(probe);
        if (answer.found()) {
            ASSERT_TRUE(same(answer.entry, twin.at(probe)));
            corrected += answer.corrected ? 1 : 0;
        } else {
            ASSERT_EQ(answer.status, Status::kUncorrectable);
        }
    }
    EXPECT_GT(corrected, 100U);
    EXPECT_GT(lost, 20U);
}

TEST_F(CuckooFaultsTest, BitsOutsideTheTableAreABrokenInvariant) {
    EXPECT_FALSE(m_table.flip(42, 0));
    EXPECT_THROW(m_table.flip(CuckooTable::Place{2, 0, 0}, 0), InvariantError);
    EXPECT_THROW(m_table.flip(CuckooTable::Place{0, 8, 0}, 0), InvariantError);
    EXPECT_THROW(m_table.flip(CuckooTable::Place{0, 0, 4}, 0), InvariantError);
    EXPECT_THROW(m_table.flip(CuckooTable::Place{0, 0, 0}, 144), InvariantError);
}

}  // namespace
}  // namespace kvplane::index
