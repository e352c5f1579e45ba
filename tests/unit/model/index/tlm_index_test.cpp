// SPDX-License-Identifier: Apache-2.0
/// The index in time: its pipeline, its SRAM, and its part in DRAM.
#include "model/index/tlm_index.h"

#include <gtest/gtest.h>

#include <unordered_map>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"

namespace kvplane::index {
namespace {

constexpr Time kLineTime = Time::from_ns(57);

class CountedReads final : public RecordReader {
public:
    Time read_record_line(Time at, std::uint64_t /*line*/) override {
        ++reads;
        return at + kLineTime;
    }
    int reads = 0;
};

struct KeyHash {
    std::size_t operator()(const block::BlockKey& key) const {
        return static_cast<std::size_t>(key.low ^ key.high);
    }
};

Entry entry_with(std::uint32_t frame) {
    Entry entry;
    entry.frame = frame;
    entry.state = 1;
    return entry;
}

/// Two keys with one fold. XXH3 of 16 bytes mixes them into swap(a) + b + fold(a x b) of two
/// masked halves: where one is zero the product is, and either half alone can give the same sum.
std::pair<block::BlockKey, block::BlockKey> keys_of_one_fold(std::uint64_t sum) {
    constexpr std::uint64_t kMaskHigh = 0x6782737bea4239b9;
    constexpr std::uint64_t kMaskLow = 0xaf56bc3b0996523a;
    return {{.high = kMaskHigh, .low = sum ^ kMaskLow},
            {.high = __builtin_bswap64(sum) ^ kMaskHigh, .low = kMaskLow}};
}

class TlmIndexTest : public testing::Test {
protected:
    CountedReads m_reads;
    std::unique_ptr<TlmIndex> make(const IndexConfig& config = {}) {
        auto made = std::make_unique<TlmIndex>(config);
        made->bind(m_reads);
        return made;
    }
};

TEST_F(TlmIndexTest, AnIdleLookupTakesSixCyclesAndACommitFour) {
    const auto index = make();
    EXPECT_EQ(index->commit_time(), Time::from_ns(4));
    EXPECT_EQ(index->insert({1, 1}, entry_with(9), {}), Time::from_ns(4));
    const LookupResult hit = index->lookup({1, 1}, Time::from_us(1));
    EXPECT_EQ(hit.issued, Time::from_us(1));
    EXPECT_EQ(hit.done, Time::from_ns(1'006));
    ASSERT_TRUE(hit.entry);
    EXPECT_EQ(hit.entry->frame, 9U);
    const LookupResult miss = index->lookup({1, 2}, Time::from_us(2));
    EXPECT_EQ(miss.done, Time::from_ns(2'006));
    EXPECT_FALSE(miss.entry);
    EXPECT_EQ(m_reads.reads, 0);
}

TEST_F(TlmIndexTest, UnderLoadItAnswersOneACycle) {
    const auto index = make();
    for (std::int64_t i = 0; i < 1'000; ++i) {
        const LookupResult result = index->lookup({1, static_cast<std::uint64_t>(i)}, {});
        EXPECT_EQ(result.issued, Time::from_ns(i));
        EXPECT_EQ(result.done, Time::from_ns(i + 6));
    }
    EXPECT_EQ(index->insert({7, 7}, entry_with(1), {}), Time::from_ns(1'004));  // in the same queue
    EXPECT_EQ(index->lookup({7, 7}, Time::from_us(5)).issued, Time::from_us(5));
}

TEST_F(TlmIndexTest, BiggerSlowerAndFewerBanksAddCycles) {
    const auto cycles = [&](std::uint64_t mib, memory::SramNode node, std::uint32_t banks = 8) {
        return TlmIndex({.sram = Bytes::from_mib(mib), .node = node, .banks = banks})
            .lookup_cycles();
    };
    using enum memory::SramNode;
    EXPECT_EQ(cycles(1, k7nm), 6U);
    EXPECT_EQ(cycles(4, k7nm), 6U);
    EXPECT_EQ(cycles(16, k7nm), 7U);   // 1.04 ns + margin
    EXPECT_EQ(cycles(128, k7nm), 8U);  // 2.61 ns + margin
    EXPECT_EQ(cycles(8, k22nm), 7U);   // 1.21 ns
    EXPECT_EQ(cycles(8, k5nm), 6U);
    EXPECT_EQ(cycles(8, k7nm, 2), 7U);
    EXPECT_EQ(cycles(128, k7nm, 32), 7U);
    // A faster clock needs more of its cycles, and still less time.
    const TlmIndex fast({.clock = {2'000'000'000}});
    EXPECT_EQ(fast.lookup_cycles(), 7U);
    EXPECT_EQ(fast.commit_time(), Time{2'500});
}

TEST_F(TlmIndexTest, WhatDoesNotFitTheSramLivesBehindOneLineOfDram) {
    // 256 entries of SRAM and a stash of one.
    const auto index = make({.sram = Bytes::from_kib(4), .stash = 1});
    RandomStream random(13, "overflow");
    std::vector<block::BlockKey> keys;
    int in_dram = 0;
    Time at{};
    for (std::uint32_t i = 0; i < 400; ++i) {
        at += Time::from_us(1);
        keys.push_back({random.bits(), random.bits()});
        const int reads = m_reads.reads;
        const Time done = index->insert(keys.back(), entry_with(i), at);
        const bool behind = m_reads.reads == reads + 1;
        in_dram += behind ? 1 : 0;
        EXPECT_EQ(done, at + Time::from_ns(4) + (behind ? kLineTime : Time{}));
    }
    EXPECT_GE(in_dram, 400 - 257);
    EXPECT_LE(in_dram, 200);
    EXPECT_EQ(index->overflow_entries(), static_cast<std::uint64_t>(in_dram));
    EXPECT_EQ(index->sram_entries() + index->overflow_entries(), 400U);
    int slow = 0;
    for (std::uint32_t i = 0; i < 400; ++i) {
        at += Time::from_us(1);
        const LookupResult result = index->lookup(keys[i], at);
        ASSERT_TRUE(result.entry);
        EXPECT_EQ(result.entry->frame, i);
        EXPECT_EQ(result.issued, at);
        if (result.done != at + Time::from_ns(6)) {
            EXPECT_EQ(result.done, at + Time::from_ns(6) + kLineTime);
            ++slow;
        }
    }
    EXPECT_EQ(slow, in_dram);
    // A key that is nowhere must be looked for behind the SRAM too.
    EXPECT_EQ(index->lookup({1, 1}, at + Time::from_us(1)).done,
              at + Time::from_us(1) + Time::from_ns(6) + kLineTime);
}

TEST_F(TlmIndexTest, TwoKeysOfOneFoldAreBothFound) {
    const auto index = make();
    for (const std::uint64_t sum : {0x123456789ABCDEFULL, 42ULL}) {
        const auto [first, second] = keys_of_one_fold(sum);
        ASSERT_EQ(first.fold(), second.fold());
        ASSERT_NE(first, second);
        index->insert(first, entry_with(1), {});
        index->insert(second, entry_with(2), {});
        // The SRAM answers with the first key's entry to both: its record tells.
        EXPECT_EQ(index->lookup(first, {}).entry->frame, 1U);
        EXPECT_EQ(index->lookup(second, {}).entry->frame, 1U);
        const LookupResult behind = index->lookup_behind(second, Time::from_us(1));
        ASSERT_TRUE(behind.entry);
        EXPECT_EQ(behind.entry->frame, 2U);
        EXPECT_EQ(behind.done, Time::from_us(1) + kLineTime);
        EXPECT_FALSE(index->lookup_behind(first, {}).entry);

        index->update(second, entry_with(22), {});
        EXPECT_EQ(index->lookup_behind(second, {}).entry->frame, 22U);
        EXPECT_EQ(index->lookup(first, {}).entry->frame, 1U);
        // Without the first the second is found where it is.
        index->erase(first, {});
        EXPECT_EQ(index->lookup(second, {}).entry->frame, 22U);
        EXPECT_FALSE(index->lookup_behind(first, {}).entry);
        index->erase(second, {});
        EXPECT_FALSE(index->lookup(second, {}).entry);
    }
    EXPECT_EQ(index->sram_entries(), 0U);
    EXPECT_EQ(index->overflow_entries(), 0U);
}

TEST_F(TlmIndexTest, EqualsAMapWhileEntriesSpillAndReturn) {
    const auto index = make({.sram = Bytes::from_kib(4), .stash = 2, .kick_limit = 8});
    std::unordered_map<block::BlockKey, std::uint32_t, KeyHash> twin;
    std::vector<block::BlockKey> keys;
    RandomStream random(14, "index twin");
    for (std::uint32_t i = 0; i < 60'000; ++i) {
        const bool grow = keys.size() < 100 || (keys.size() < 500 && random.uniform(2) == 0);
        if (grow) {
            keys.push_back({random.bits(), random.bits()});
            index->insert(keys.back(), entry_with(i), {});
            twin[keys.back()] = i;
        } else {
            const std::size_t victim = random.uniform(keys.size());
            if (random.uniform(2) == 0) {
                index->update(keys[victim], entry_with(i), {});
                twin[keys[victim]] = i;
            } else {
                index->erase(keys[victim], {});
                ASSERT_FALSE(index->lookup(keys[victim], {}).entry);
                twin.erase(keys[victim]);
                keys[victim] = keys.back();
                keys.pop_back();
            }
        }
        const block::BlockKey& probe = keys[random.uniform(keys.size())];
        const LookupResult result = index->lookup(probe, {});
        ASSERT_TRUE(result.entry);
        ASSERT_EQ(result.entry->frame, twin.at(probe));
        ASSERT_EQ(index->sram_entries() + index->overflow_entries(), twin.size());
    }
}

TEST_F(TlmIndexTest, UpdatingOrErasingWhatIsNotThereIsABrokenInvariant) {
    const auto index = make();
    EXPECT_THROW(index->update({1, 2}, entry_with(1), {}), InvariantError);
    EXPECT_THROW(index->erase({1, 2}, {}), InvariantError);
}

}  // namespace
}  // namespace kvplane::index
