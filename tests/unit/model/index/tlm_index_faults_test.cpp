// SPDX-License-Identifier: Apache-2.0
/// The index without room, with entries that bit errors destroyed, and cleared.
#include <gtest/gtest.h>

#include <functional>
#include <unordered_map>
#include <vector>

#include "model/common/random.h"
#include "tlm_index_bench.h"

namespace kvplane::index {
namespace {

TEST_F(TlmIndexTest, WithoutAPartInDramAFullIndexRefusesAndLosesNothing) {
    const auto index = make({.sram = Bytes::from_kib(4), .stash = 2, .overflow = Overflow::kNone});
    RandomStream random(21, "full");
    std::unordered_map<block::BlockKey, std::uint32_t, KeyHash> twin;
    std::vector<block::BlockKey> keys;
    std::uint64_t refused = 0;
    Time at{};
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        at += Time::from_us(1);
        if (keys.size() > 240 && random.uniform(3) == 0) {
            const std::size_t victim = random.uniform(keys.size());
            ASSERT_EQ(index->erase(keys[victim], at).status, Status::kDone);
            twin.erase(keys[victim]);
            keys[victim] = keys.back();
            keys.pop_back();
            continue;
        }
        const block::BlockKey key{random.bits(), random.bits()};
        m_reads.keys[i] = key;
        const InsertResult result = index->insert(key, entry_with(i), at);
        ASSERT_EQ(result.done, at + Time::from_ns(6));
        if (result.status == Status::kFull) {
            ASSERT_FALSE(index->lookup(key, at + Time::from_ns(10)).entry) << "nothing changed";
            ++refused;
        } else {
            ASSERT_EQ(result.status, Status::kDone);
            keys.push_back(key);
            twin[key] = i;
        }
        ASSERT_EQ(index->sram_entries(), twin.size());
    }
    EXPECT_GT(refused, 3'000U);
    EXPECT_EQ(index->counters().full, refused);
    EXPECT_GT(twin.size(), 240U);
    EXPECT_EQ(index->overflow_entries(), 0U);
    EXPECT_EQ(m_reads.reads, 0);
    for (const auto& [key, frame] : twin) {
        at += Time::from_us(1);
        ASSERT_EQ(index->lookup(key, at).entry->frame, frame);
    }
}

TEST_F(TlmIndexTest, WithoutAPartInDramTheSecondKeyOfOneFoldIsRefused) {
    const auto index = make({.overflow = Overflow::kNone});
    const auto [first, second] = keys_of_one_fold(42);
    (void)insert(*index, first, 1, {});
    m_reads.keys[2] = second;
    EXPECT_EQ(index->insert(second, entry_with(2), {}).status, Status::kFull);
    EXPECT_EQ(index->insert(first, entry_with(3), {}).status, Status::kExists);
    EXPECT_EQ(index->sram_entries(), 1U);
}

TEST_F(TlmIndexTest, AnEntryBeyondCorrectionIsLostAndItsBlockMissing) {
    const auto index = make({.sram = Bytes::from_kib(64)});
    RandomStream random(19, "lost");
    std::vector<block::BlockKey> keys;
    for (std::uint32_t i = 0; i < 1'000; ++i) {
        keys.push_back({random.bits(), random.bits()});
        (void)insert(*index, keys.back(), i, {});
    }
    int lost = 0;
    for (std::uint32_t i = 0; i < 1'000; i += 10) {
        // One bit is corrected.
        ASSERT_TRUE(index->table().flip(keys[i].fold(), i % 64));
        ASSERT_EQ(index->lookup(keys[i], {}).entry->frame, i);
        if (i % 20 != 0) continue;
        ASSERT_TRUE(index->table().flip(keys[i].fold(), (i + 1) % 64));
        const LookupResult open = index->lookup(keys[i], {});
        ASSERT_FALSE(open.entry);
        ASSERT_TRUE(open.uncertain);
        ASSERT_TRUE(index->may_have_lost(keys[i]));
        ASSERT_TRUE(index->lookup(keys[i], {}).uncertain) << "until it is restored or given up";
        ASSERT_EQ(index->insert(keys[i], entry_with(5), {}).status, Status::kUncorrectable);
        ASSERT_EQ(index->erase(keys[i], {}).status, Status::kUncorrectable);
        index->forget_losses();
        ASSERT_FALSE(index->lookup(keys[i], {}).uncertain);
        ++lost;
        ASSERT_EQ(index->ecc().lost, static_cast<std::uint64_t>(lost));
        // Its user's operations find nothing and break nothing; the block can come again.
        ASSERT_EQ(index->update(keys[i], entry_with(5), field::kMove, std::nullopt, {}).status,
                  Status::kMiss);
        (void)index->erase(keys[i], {});
        if (i % 40 == 0) (void)insert(*index, keys[i], i, {});
    }
    EXPECT_EQ(index->ecc().corrected, index->table().counters().corrected);
    EXPECT_GT(index->ecc().corrected, 90U);
    EXPECT_GE(index->ecc().uncorrectable, 50U);
    for (std::uint32_t i = 0; i < 1'000; ++i) {
        const bool gone = i % 20 == 0 && i % 40 != 0;
        const LookupResult result = index->lookup(keys[i], {});
        ASSERT_EQ(result.entry.has_value(), !gone) << i;
        if (!gone) {
            ASSERT_EQ(result.entry->frame, i);
        }
    }
}

TEST_F(TlmIndexTest, NoOperationTakesALostEntryForAnAbsentOne) {
    using Ask = std::function<bool(TlmIndex&, const block::BlockKey&)>;
    const std::vector<Ask> asks{
        [](TlmIndex& index, const auto& key) { return index.lookup(key, {}).uncertain; },
        [](TlmIndex& index, const auto& key) {
            return index.insert(key, entry_with(9), {}).status == Status::kUncorrectable;
        },
        [](TlmIndex& index, const auto& key) {
            return index.update(key, entry_with(9), field::kAll, std::nullopt, {}).status ==
                   Status::kUncorrectable;
        },
        [](TlmIndex& index, const auto& key) {
            return index.erase(key, {}).status == Status::kUncorrectable;
        }};
    for (const Ask& ask : asks) {
        const auto index = make({.sram = Bytes::from_kib(64)});
        for (std::uint32_t i = 0; i < 100; ++i) {
            (void)insert(*index, {i, i}, i, {});
        }
        ASSERT_TRUE(index->table().flip(block::BlockKey{50, 50}.fold(), 5));
        ASSERT_TRUE(index->table().flip(block::BlockKey{50, 50}.fold(), 6));
        EXPECT_FALSE(index->may_have_lost({50, 50})) << "nobody has met it yet";
        EXPECT_TRUE(ask(*index, {50, 50}));
        EXPECT_TRUE(index->may_have_lost({50, 50}));
        EXPECT_EQ(index->sram_entries(), 99U);
        // Few others could have been in that slot.
        int others = 0;
        for (std::uint32_t i = 0; i < 100; ++i) others += index->may_have_lost({i, i}) ? 1 : 0;
        EXPECT_LE(others, 5);
        index->forget_losses();
        EXPECT_EQ(index->insert({50, 50}, entry_with(50), {}).status, Status::kDone);
        EXPECT_FALSE(index->may_have_lost({50, 50}));
        for (std::uint32_t i = 0; i < 100; ++i) {
            ASSERT_EQ(index->lookup({i, i}, {}).entry->frame, i);
        }
    }
}

TEST_F(TlmIndexTest, ClearForgetsEntriesAndNothingElse) {
    const auto index = make({.sram = Bytes::from_kib(4), .stash = 1});
    index->lay_out(5'000);
    RandomStream random(22, "clear");
    std::vector<block::BlockKey> keys;
    Time at{};
    for (std::uint32_t i = 0; i < 400; ++i) {
        at += Time::from_us(1);
        keys.push_back({random.bits(), random.bits()});
        (void)insert(*index, keys.back(), i, at);
        (void)index->lookup(keys.back(), at);
    }
    ASSERT_GT(index->overflow_entries(), 100U);
    const IndexCounters counters = index->counters();
    const TimedCounters timed = index->sram().counters();
    const std::uint64_t kicks = index->table().kicks();
    ASSERT_GT(kicks, 0U);
    index->clear();
    EXPECT_EQ(index->sram_entries() + index->overflow_entries(), 0U);
    EXPECT_EQ(index->counters().lookups, counters.lookups);
    EXPECT_EQ(index->sram().counters().dynamic_fj, timed.dynamic_fj);
    EXPECT_EQ(index->table().kicks(), kicks);
    const int reads = m_reads.reads;
    for (const block::BlockKey& key : keys) {
        at += Time::from_us(1);
        ASSERT_FALSE(index->lookup(key, at).entry);
    }
    EXPECT_EQ(m_reads.reads, reads) << "the filter knows none of them";
    for (std::uint32_t i = 0; i < 400; ++i) {
        at += Time::from_us(1);
        (void)insert(*index, keys[i], 1'000 + i, at);
    }
    for (std::uint32_t i = 0; i < 400; ++i) {
        at += Time::from_us(1);
        ASSERT_EQ(index->lookup(keys[i], at).entry->frame, 1'000 + i);
    }
}

}  // namespace
}  // namespace kvplane::index
