// SPDX-License-Identifier: Apache-2.0
/// The index in time: its pipeline, its SRAM, and its part in DRAM.
#include "model/index/tlm_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"
#include "tlm_index_bench.h"

namespace kvplane::index {
namespace {

TEST_F(TlmIndexTest, AnIdleAnswerTakesSixCyclesAndACommitFour) {
    const auto index = make();
    EXPECT_EQ(index->commit_time(), Time::from_ns(4));
    EXPECT_EQ(insert(*index, {1, 1}, 9, {}), Time::from_ns(6));
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
    EXPECT_EQ(insert(*index, {7, 7}, 1, {}), Time::from_ns(1'006));  // in the same queue
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
    const auto index = make({.sram = Bytes::from_kib(4), .stash = 1, .fill = false});
    RandomStream random(13, "overflow");
    std::vector<block::BlockKey> keys;
    int in_dram = 0;
    int slow_inserts = 0;
    Time at{};
    for (std::uint32_t i = 0; i < 400; ++i) {
        at += Time::from_us(1);
        keys.push_back({random.bits(), random.bits()});
        const int reads = m_reads.reads;
        const Time done = insert(*index, keys.back(), i, at);
        const bool behind = m_reads.reads > reads;
        in_dram += behind ? 1 : 0;
        // Read, then written; nobody waits for the write.
        const int lines = m_reads.reads - reads - (behind ? 1 : 0);
        slow_inserts += lines > 1 ? 1 : 0;
        EXPECT_EQ(done, at + Time::from_ns(6) + kLineTime * lines);
    }
    EXPECT_GE(in_dram, 400 - 257);
    EXPECT_LE(in_dram, 200);
    EXPECT_LE(slow_inserts, 50);  // a line that was full sends them to the next
    EXPECT_EQ(index->overflow_entries(), static_cast<std::uint64_t>(in_dram));
    EXPECT_EQ(index->sram_entries() + index->overflow_entries(), 400U);
    int slow = 0;
    int reads = m_reads.reads;
    for (std::uint32_t i = 0; i < 400; ++i) {
        at += Time::from_us(1);
        const LookupResult result = index->lookup(keys[i], at);
        ASSERT_TRUE(result.entry);
        EXPECT_EQ(result.entry->frame, i);
        EXPECT_EQ(result.issued, at);
        EXPECT_EQ(result.done, at + Time::from_ns(6) + kLineTime * (m_reads.reads - reads));
        slow += m_reads.reads > reads ? 1 : 0;
        reads = m_reads.reads;
    }
    EXPECT_EQ(slow, in_dram);
    // A key that is nowhere is known to the filter, and costs no read.
    for (std::uint64_t i = 1; i <= 100; ++i) {
        at += Time::from_us(1);
        EXPECT_EQ(index->lookup({1, i}, at).done, at + Time::from_ns(6));
    }
    EXPECT_EQ(index->counters().filtered, 100U);
}

TEST_F(TlmIndexTest, WithoutAFilterAnAbsentKeyIsLookedForInDram) {
    const auto index = make({.sram = Bytes::from_kib(4), .stash = 1, .filter = std::nullopt});
    RandomStream random(14, "no filter");
    for (std::uint32_t i = 0; i < 300; ++i) {
        (void)insert(*index, {random.bits(), random.bits()}, i, {});
    }
    ASSERT_GT(index->overflow_entries(), 0U);
    const int reads = m_reads.reads;
    const std::uint64_t passes = index->counters().false_passes;  // of the inserts
    const LookupResult absent = index->lookup({1, 1}, Time::from_ms(1));
    EXPECT_FALSE(absent.entry);
    EXPECT_GE(m_reads.reads - reads, 1);
    EXPECT_EQ(absent.done,
              Time::from_ms(1) + Time::from_ns(6) + kLineTime * (m_reads.reads - reads));
    EXPECT_EQ(index->counters().false_passes, passes + 1);
}

TEST_F(TlmIndexTest, AnEntryFoundInDramMovesIntoTheSramForAVictim) {
    const auto index = make({.sram = Bytes::from_kib(4), .stash = 1});
    RandomStream random(15, "fill");
    std::vector<block::BlockKey> keys;
    for (std::uint32_t i = 0; i < 500; ++i) {
        keys.push_back({random.bits(), random.bits()});
        (void)insert(*index, keys.back(), i, {});
    }
    Time at = Time::from_ms(1);
    int fast_again = 0;
    int slow = 0;
    for (std::uint32_t i = 0; i < 500; ++i) {
        at += Time::from_us(10);
        const LookupResult first = index->lookup(keys[i], at);
        ASSERT_TRUE(first.entry);
        ASSERT_EQ(first.entry->frame, i);
        if (first.done == at + Time::from_ns(6)) continue;
        ++slow;
        at += Time::from_us(10);
        const LookupResult second = index->lookup(keys[i], at);
        ASSERT_TRUE(second.entry);
        ASSERT_EQ(second.entry->frame, i);
        fast_again += second.done == at + Time::from_ns(6) ? 1 : 0;
    }
    ASSERT_GT(slow, 100);
    EXPECT_EQ(fast_again, slow);
    EXPECT_EQ(index->counters().fills, static_cast<std::uint64_t>(slow));
    EXPECT_GT(index->counters().victims, 100U);
    EXPECT_EQ(index->sram_entries() + index->overflow_entries(), 500U);
    for (std::uint32_t i = 0; i < 500; ++i) {
        at += Time::from_us(10);
        ASSERT_EQ(index->lookup(keys[i], at).entry->frame, i);
    }
}

TEST_F(TlmIndexTest, AFillDoesNotWaitForOneWhoseProbeTakesLonger) {
    const auto index = make({.sram = Bytes::from_kib(4), .stash = 1});
    RandomStream random(23, "order of fills");
    std::optional<block::BlockKey> slow;  // two lines
    std::optional<block::BlockKey> fast;  // one
    for (std::uint32_t i = 0; i < 500; ++i) {
        const block::BlockKey key{random.bits(), random.bits()};
        const std::uint64_t behind = index->overflow_entries();
        const int reads = m_reads.reads;
        (void)insert(*index, key, i, Time::from_us(i));
        if (index->overflow_entries() == behind) continue;
        // Those read, and the one written.
        (m_reads.reads - reads == 3 ? slow : fast) = key;
    }
    ASSERT_TRUE(slow && fast);
    const Time at = Time::from_ms(1);
    ASSERT_EQ(index->lookup(*slow, at).done, at + Time::from_ns(6) + kLineTime * 2);
    const LookupResult first = index->lookup(*fast, at);
    ASSERT_EQ(first.done, at + Time::from_ns(7) + kLineTime);
    const Time between = first.done + Time::from_ns(10);
    EXPECT_EQ(index->lookup(*fast, between).done - between, Time::from_ns(6)) << "in the SRAM";
    EXPECT_EQ(index->counters().fills, 1U);
}

TEST_F(TlmIndexTest, FewProbesAtOnceMakeABurstWait) {
    const auto burst = [&](std::uint32_t probes) {
        const auto index = make({.sram = Bytes::from_kib(4), .fill = false, .dram_probes = probes});
        RandomStream random(16, "burst");
        std::vector<block::BlockKey> keys;
        for (std::uint32_t i = 0; i < 600; ++i) {
            keys.push_back({random.bits(), random.bits()});
            (void)insert(*index, keys.back(), i, {});
        }
        Time last{};
        for (const block::BlockKey& key : keys) {
            last = std::max(last, index->lookup(key, Time::from_ms(1)).done);
        }
        return last - Time::from_ms(1);
    };
    // One at a time every line is waited for in turn; 600 at once hide all but the last.
    EXPECT_GT(burst(1), kLineTime * 300);
    EXPECT_LT(burst(4), burst(1));
    EXPECT_LT(burst(600), Time::from_ns(600 + 6) + kLineTime * 3);
}

TEST_F(TlmIndexTest, TwoKeysOfOneFoldAreBothFound) {
    for (const std::uint64_t sum : {0x123456789ABCDEFULL, 42ULL}) {
        const auto index = make();
        const auto [first, second] = keys_of_one_fold(sum);
        ASSERT_EQ(first.fold(), second.fold());
        ASSERT_NE(first, second);
        m_reads.reads = 0;
        EXPECT_EQ(insert(*index, first, 1, Time::from_us(1)), Time::from_ns(1'006));
        EXPECT_EQ(m_reads.reads, 0);
        // What a false match costs the second: the record with another key, and a line of DRAM.
        EXPECT_EQ(insert(*index, second, 2, Time::from_us(2)),
                  Time::from_ns(2'006) + kLineTime * 2);
        EXPECT_EQ(m_reads.reads, 3);  // and a write
        // The SRAM answers with the first key's entry to both: its record tells.
        EXPECT_EQ(index->lookup(first, {}).entry->frame, 1U);
        EXPECT_EQ(index->lookup(second, {}).entry->frame, 1U);
        const LookupResult behind = index->lookup_behind(second, Time::from_us(3));
        ASSERT_TRUE(behind.entry);
        EXPECT_EQ(behind.entry->frame, 2U);
        EXPECT_EQ(behind.done, Time::from_us(3) + kLineTime);
        EXPECT_FALSE(index->lookup_behind(first, {}).entry);

        replace(*index, second, 22);
        EXPECT_EQ(index->lookup_behind(second, {}).entry->frame, 22U);
        EXPECT_EQ(index->lookup(first, Time::from_ms(1)).entry->frame, 1U);
        // Without the first the second is found where it is.
        index->erase(first, Time::from_ms(1));
        EXPECT_EQ(index->lookup(second, Time::from_ms(1)).entry->frame, 22U);
        EXPECT_FALSE(index->lookup_behind(first, Time::from_ms(1)).entry);
        index->erase(second, Time::from_ms(1));
        EXPECT_FALSE(index->lookup(second, Time::from_ms(1)).entry);
        EXPECT_EQ(index->sram_entries(), 0U);
        EXPECT_EQ(index->overflow_entries(), 0U);
    }
}

TEST_F(TlmIndexTest, AKeyInsertedTwiceExistsWhereverItIs) {
    const auto index = make({.sram = Bytes::from_kib(4), .stash = 1});
    RandomStream random(17, "twice");
    Time at{};
    for (std::uint32_t i = 0; i < 400; ++i) {
        at += Time::from_us(1);
        const block::BlockKey key{random.bits(), random.bits()};
        (void)insert(*index, key, i, at);
        at += Time::from_us(1);
        const int reads = m_reads.reads;
        const InsertResult again = index->insert(key, entry_with(7'000 + i), at);
        ASSERT_EQ(again.status, Status::kExists);
        ASSERT_EQ(again.entry.frame, i);
        ASSERT_EQ(again.issued, at);
        // Told by the record, or by the full key in the part in DRAM.
        ASSERT_GE(m_reads.reads - reads, 1);
        ASSERT_GE(again.done, at + kLineTime);
        ASSERT_EQ(index->lookup(key, at).entry->frame, i);
    }
    EXPECT_GT(index->overflow_entries(), 0U);
    EXPECT_EQ(index->sram_entries() + index->overflow_entries(), 400U);
}

TEST_F(TlmIndexTest, EqualsAMapWhileEntriesSpillAndReturn) {
    for (const bool fill : {false, true}) {
        const auto index =
            make({.sram = Bytes::from_kib(4), .stash = 2, .kick_limit = 8, .fill = fill});
        std::unordered_map<block::BlockKey, std::uint32_t, KeyHash> twin;
        std::vector<block::BlockKey> keys;
        RandomStream random(14, "index twin");
        Time at{};
        for (std::uint32_t i = 0; i < 60'000; ++i) {
            at += Time::from_ns(static_cast<std::int64_t>(random.uniform(60)));
            const bool grow = keys.size() < 100 || (keys.size() < 500 && random.uniform(2) == 0);
            if (grow) {
                keys.push_back({random.bits(), random.bits()});
                (void)insert(*index, keys.back(), i, at);
                twin[keys.back()] = i;
            } else {
                const std::size_t victim = random.uniform(keys.size());
                if (random.uniform(2) == 0) {
                    m_reads.keys[i] = keys[victim];
                    const UpdateResult done =
                        index->update(keys[victim], entry_with(i), field::kAll, std::nullopt, at);
                    ASSERT_EQ(done.status, Status::kDone);
                    ASSERT_EQ(done.entry.frame, i);
                    twin[keys[victim]] = i;
                } else {
                    index->erase(keys[victim], at);
                    ASSERT_FALSE(index->lookup(keys[victim], at).entry);
                    twin.erase(keys[victim]);
                    keys[victim] = keys.back();
                    keys.pop_back();
                }
            }
            const block::BlockKey& probe = keys[random.uniform(keys.size())];
            const LookupResult result = index->lookup(probe, at);
            ASSERT_TRUE(result.entry);
            ASSERT_EQ(result.entry->frame, twin.at(probe));
            ASSERT_EQ(index->sram_entries() + index->overflow_entries(), twin.size());
        }
        EXPECT_EQ(index->counters().fills > 1'000, fill);
        EXPECT_GT(index->counters().dram_hits, 1'000U);
    }
}

TEST_F(TlmIndexTest, AnUpdateComparesTheMoveVersionWhereverTheEntryIs) {
    const auto index = make({.sram = Bytes::from_kib(4), .stash = 1, .fill = false});
    RandomStream random(18, "versions");
    for (std::uint32_t i = 0; i < 400; ++i) {
        const block::BlockKey key{random.bits(), random.bits()};
        (void)insert(*index, key, i, {});
        Entry next = entry_with(1'000 + i);
        next.version = 1;
        const UpdateResult wrong = index->update(key, next, field::kMove, std::uint8_t{1}, {});
        ASSERT_EQ(wrong.status, Status::kVersionMismatch);
        ASSERT_EQ(wrong.entry.frame, i);
        ASSERT_EQ(index->lookup(key, {}).entry->frame, i);
        ASSERT_EQ(index->update(key, next, field::kMove, std::uint8_t{0}, {}).status,
                  Status::kDone);
        ASSERT_EQ(index->lookup(key, {}).entry->frame, 1'000 + i);
        ASSERT_EQ(index->lookup(key, {}).entry->version, 1U);
    }
    EXPECT_GT(index->overflow_entries(), 100U);
}

TEST_F(TlmIndexTest, UpdatingOrErasingWhatIsNotThereIsABrokenInvariant) {
    const auto index = make();
    EXPECT_THROW(replace(*index, {1, 2}, 1), InvariantError);
    EXPECT_THROW(index->erase({1, 2}, {}), InvariantError);
}

}  // namespace
}  // namespace kvplane::index
