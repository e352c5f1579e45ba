// SPDX-License-Identifier: Apache-2.0
#include "model/index/policy_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <unordered_map>
#include <vector>

#include "fake_dram.h"
#include "model/common/errors.h"
#include "model/common/random.h"
#include "model/index/tlm_index.h"

namespace kvplane::index {
namespace {

class PolicyStoreTest : public testing::Test {
protected:
    PolicyStoreTest() { m_index.bind(m_dram); }

    static PolicyChange change(const block::BlockKey& key, std::uint32_t value) {
        return {.key = key,
                .reuse_score = value,
                .priority_class = static_cast<std::uint8_t>(value & 7U),
                .priority = static_cast<std::uint8_t>(value >> 3U),
                .intent = static_cast<std::uint8_t>(value >> 5U),
                .flags = static_cast<std::uint8_t>(value >> 7U)};
    }
    static void expect_value(const PolicyRecord& record, std::uint32_t value) {
        EXPECT_EQ(record.reuse_score, value);
        EXPECT_EQ(record.priority_class, value & 7U);
        EXPECT_EQ(record.priority, static_cast<std::uint8_t>(value >> 3U));
        EXPECT_EQ(record.intent, static_cast<std::uint8_t>(value >> 5U));
        EXPECT_EQ(record.flags, static_cast<std::uint8_t>(value >> 7U));
        EXPECT_TRUE(intact(record));
    }
    void make_resident(const block::BlockKey& key, std::uint32_t frame) {
        Entry entry;
        entry.state = 1;
        entry.frame = frame;
        m_dram.keys[frame] = key;
        (void)m_index.insert(key, entry, {});
    }

    FakeDram m_dram;
    TlmIndex m_index{{.sram = Bytes::from_kib(64)}};
    PolicyStore m_store{{}, m_index, m_dram};
    const block::BlockKey m_key{11, 12};
};

TEST_F(PolicyStoreTest, AnUpdateIsReadBackWithTheNextEpoch) {
    EXPECT_EQ(m_store.read(m_key, {}).status, Status::kMiss);
    const PolicyAnswer made = m_store.update(change(m_key, 1'234), std::nullopt, Time::from_us(1));
    EXPECT_EQ(made.status, Status::kDone);
    EXPECT_EQ(made.done, Time::from_us(1) + FakeDram::kLineTime);
    EXPECT_EQ(made.record.epoch, 1U);
    expect_value(made.record, 1'234);
    const PolicyAnswer next = m_store.update(change(m_key, 99), 1, Time::from_us(2));
    EXPECT_EQ(next.status, Status::kDone);
    EXPECT_EQ(next.record.epoch, 2U);
    const PolicyAnswer read = m_store.read(m_key, Time::from_us(3));
    expect_value(read.record, 99);
    EXPECT_EQ(read.record.epoch, 2U);
    EXPECT_EQ(m_store.size(), 1U);
}

TEST_F(PolicyStoreTest, ALostRaceIsAVersionMismatchWithTheWinnersRecord) {
    (void)m_store.update(change(m_key, 1), std::nullopt, {});
    const std::uint32_t seen_by_both = m_store.read(m_key, Time::from_us(1)).record.epoch;
    EXPECT_EQ(m_store.update(change(m_key, 2), seen_by_both, Time::from_us(2)).status,
              Status::kDone);
    const PolicyAnswer late = m_store.update(change(m_key, 3), seen_by_both, Time::from_us(2));
    EXPECT_EQ(late.status, Status::kVersionMismatch);
    expect_value(late.record, 2);
    expect_value(m_store.read(m_key, Time::from_us(3)).record, 2);
    EXPECT_EQ(m_store.update(change(m_key, 3), late.record.epoch, Time::from_us(4)).status,
              Status::kDone);
    EXPECT_EQ(m_store.update(change({1, 2}, 3), 1, {}).status, Status::kMiss);
}

TEST_F(PolicyStoreTest, ExactlyAsManyUpdatesAsAShortCounterHoldsStillFailACompareAndSet) {
    for (const std::uint32_t updates : {255U, 256U, 257U, 65'535U, 65'536U, 65'537U}) {
        const std::uint32_t before =
            m_store.update(change(m_key, 5), std::nullopt, {}).record.epoch;
        for (std::uint32_t i = 0; i < updates; ++i) {
            // All fields come round to what they were.
            (void)m_store.update(change(m_key, i + 1 == updates ? 5 : i), std::nullopt, {});
        }
        const PolicyAnswer answer = m_store.update(change(m_key, 6), before, {});
        EXPECT_EQ(answer.status, Status::kVersionMismatch) << updates;
        EXPECT_EQ(answer.record.epoch, before + updates);
        expect_value(answer.record, 5);
    }
}

TEST_F(PolicyStoreTest, UpdatesOfOneKeyFollowEachOtherAndOthersOverlap) {
    std::vector<PolicyChange> hot;
    std::vector<PolicyChange> spread;
    for (std::uint32_t i = 0; i < 16; ++i) {
        hot.push_back(change(m_key, i));
        spread.push_back(change({i, 77}, i));
    }
    std::vector<PolicyAnswer> answers(16);
    const Time at = Time::from_us(1);
    EXPECT_EQ(m_store.update_run(hot, {}, at, answers),
              at + FakeDram::kLineTime + Time::from_ns(15));
    for (std::uint32_t i = 0; i < 16; ++i) {
        EXPECT_EQ(answers[i].record.epoch, i + 1);
        expect_value(answers[i].record, i);
    }
    const Time later = Time::from_us(5);
    const Time done = m_store.update_run(spread, {}, later, answers);
    EXPECT_LE(done, later + FakeDram::kLineTime * 2 + Time::from_ns(16));
    // A second update at once waits for the first to be written.
    const Time apart = Time::from_us(9);
    const Time first = m_store.update(change(m_key, 1), std::nullopt, apart).done;
    EXPECT_GT(m_store.update(change(m_key, 2), std::nullopt, apart).done, first);
}

TEST_F(PolicyStoreTest, FewUpdatesUnderWayMakeARunWait) {
    PolicyStore narrow({.in_flight = 2}, m_index, m_dram);
    std::vector<PolicyChange> run;
    for (std::uint32_t i = 0; i < 64; ++i) run.push_back(change({i, 78}, i));
    std::vector<PolicyAnswer> answers(64);
    const Time wide = m_store.update_run(run, {}, {}, answers);
    const Time slow = narrow.update_run(run, {}, {}, answers);
    EXPECT_GE(slow, FakeDram::kLineTime * 32);
    EXPECT_LT(wide, FakeDram::kLineTime * 8);
}

TEST_F(PolicyStoreTest, ARunComparesEachEpochByItself) {
    std::vector<PolicyChange> run;
    for (std::uint32_t i = 0; i < 8; ++i) {
        run.push_back(change({i, 79}, i));
        (void)m_store.update(run.back(), std::nullopt, {});
        if (i % 2 == 1) (void)m_store.update(run.back(), std::nullopt, {});
    }
    const std::vector<std::uint32_t> expects(8, 1);
    std::vector<PolicyAnswer> answers(8);
    (void)m_store.update_run(run, expects, Time::from_us(9), answers);
    for (std::uint32_t i = 0; i < 8; ++i) {
        EXPECT_EQ(answers[i].status, i % 2 == 1 ? Status::kVersionMismatch : Status::kDone);
        EXPECT_EQ(answers[i].record.epoch, 2U);
    }
}

TEST_F(PolicyStoreTest, TheClassInTheIndexEntryFollowsTheRecordAndNothingElseDoes) {
    make_resident(m_key, 41);
    (void)m_store.update(change(m_key, 0xFFFF'FFFD), std::nullopt, Time::from_us(1));
    const Entry entry = *m_index.lookup(m_key, Time::from_us(2)).entry;
    EXPECT_EQ(entry.priority_class, 5U);
    EXPECT_EQ(entry.frame, 41U);
    EXPECT_EQ(entry.version, 0U);
    EXPECT_EQ(entry.state, 1U);
    // Policy outlives the copy, and reaches the next one with its next update.
    (void)m_index.erase(m_key, Time::from_us(3));
    expect_value(m_store.read(m_key, Time::from_us(4)).record, 0xFFFF'FFFD);
    EXPECT_EQ(m_store.update(change(m_key, 2), std::nullopt, Time::from_us(5)).status,
              Status::kDone);
}

TEST_F(PolicyStoreTest, UpdatesMovesAndLookupsNeverTearAnEntry) {
    // Moves change frame and version, compared; updates change the class; both at will. A lookup
    // sees what the last of each wrote.
    struct Twin {
        std::uint32_t frame;
        std::uint32_t version = 0;
        std::uint32_t priority_class = 0;
    };
    std::vector<block::BlockKey> keys;
    std::vector<Twin> twins;
    for (std::uint32_t i = 0; i < 50; ++i) {
        keys.push_back({i, 1'000 + i});
        twins.push_back({.frame = i + 1});
        make_resident(keys.back(), i + 1);
    }
    RandomStream random(61, "tear");
    Time at{};
    int stale_moves = 0;
    for (std::uint32_t i = 0; i < 50'000; ++i) {
        at += Time{static_cast<std::int64_t>(random.uniform(3'000))};
        const std::size_t k = random.uniform(keys.size());
        Twin& twin = twins[k];
        const std::uint64_t draw = random.uniform(3);
        if (draw == 0) {
            const auto value = static_cast<std::uint32_t>(random.bits());
            (void)m_store.update(change(keys[k], value), std::nullopt, at);
            twin.priority_class = value & 7U;
        } else if (draw == 1) {
            Entry entry;
            entry.state = 1;
            entry.frame = 100 + i;
            entry.version = (twin.version + 1) & 0xFFU;
            const bool stale = random.uniform(4) == 0;
            const auto expect = static_cast<std::uint8_t>(twin.version + (stale ? 3 : 0));
            const UpdateResult moved = m_index.update(keys[k], entry, field::kMove, expect, at);
            ASSERT_EQ(moved.status, stale ? Status::kVersionMismatch : Status::kDone);
            stale_moves += stale ? 1 : 0;
            if (!stale) {
                twin.frame = 100 + i;
                twin.version = (twin.version + 1) & 0xFFU;
            }
        }
        const Entry seen = *m_index.lookup(keys[k], at).entry;
        ASSERT_EQ(seen.frame, twin.frame);
        ASSERT_EQ(seen.version, twin.version);
        ASSERT_EQ(seen.priority_class, twin.priority_class);
        ASSERT_EQ(seen.state, 1U);
    }
    EXPECT_GT(stale_moves, 1'000);
}

TEST_F(PolicyStoreTest, AnAccessIsNotAnUpdate) {
    EXPECT_EQ(m_store.touch(m_key, {}).status, Status::kMiss);
    (void)m_store.update(change(m_key, 7), std::nullopt, {});
    for (int i = 1; i <= 3; ++i) (void)m_store.touch(m_key, Time::from_us(i));
    const PolicyRecord record = m_store.read(m_key, Time::from_us(9)).record;
    EXPECT_EQ(record.accesses, 3U);
    EXPECT_EQ(record.last_use, 3'000U);
    EXPECT_EQ(record.epoch, 1U);
    expect_value(record, 7);
    EXPECT_EQ(m_store.update(change(m_key, 8), 1, Time::from_us(10)).status, Status::kDone);
}

TEST_F(PolicyStoreTest, EqualsAMapAndRefusesWhatItCannotHold) {
    PolicyStore store({.lines_log2 = 6}, m_index, m_dram);
    std::unordered_map<std::uint64_t, std::uint32_t> twin;
    RandomStream random(62, "policy twin");
    int full = 0;
    for (std::uint32_t i = 0; i < 40'000; ++i) {
        const std::uint64_t n = random.uniform(90);
        const block::BlockKey key{n, ~n};
        if (random.uniform(2) == 0) {
            const PolicyAnswer answer = store.update(change(key, i), std::nullopt, {});
            if (answer.status == Status::kFull) {
                ++full;
                ASSERT_EQ(twin.size(), 48U);
            } else {
                ASSERT_EQ(answer.status, Status::kDone);
                twin[n] = i;
            }
        } else {
            ASSERT_EQ(store.forget(key, {}).status,
                      twin.erase(n) != 0 ? Status::kDone : Status::kMiss);
        }
        ASSERT_EQ(store.size(), twin.size());
        const std::uint64_t probe = random.uniform(90);
        const PolicyAnswer read = store.read({probe, ~probe}, {});
        const auto known = twin.find(probe);
        ASSERT_EQ(read.status, known != twin.end() ? Status::kDone : Status::kMiss);
        if (known != twin.end()) {
            ASSERT_EQ(read.record.reuse_score, known->second);
        }
    }
    EXPECT_GT(full, 100);
}

TEST_F(PolicyStoreTest, RefusesShapesItCannotHave) {
    EXPECT_THROW(PolicyStore({.lines_log2 = 1}, m_index, m_dram), InvariantError);
    EXPECT_THROW(PolicyStore({.in_flight = 0}, m_index, m_dram), InvariantError);
}

TEST(RecordTest, LayoutsAreThoseOfTheCard) {
    PolicyRecord policy;
    policy.tenant = 0x1122;
    policy.priority_class = 0x33;
    policy.priority = 0x44;
    policy.reuse_score = 0x55667788;
    policy.epoch = 0xCAFEBABE;
    std::array<std::uint8_t, 64> bytes{};
    std::memcpy(bytes.data(), &policy, 64);
    EXPECT_EQ(bytes[16], 0x22U);
    EXPECT_EQ(bytes[18], 0x33U);
    EXPECT_EQ(bytes[19], 0x44U);
    EXPECT_EQ(bytes[20], 0x88U);
    EXPECT_EQ(bytes[48], 0xBEU);
}

TEST(RecordTest, AnyChangedByteBreaksTheCrc) {
    HotRecord hot{.key = {1, 2}, .extent_count = 1, .size = 5};
    hot.crc = record_crc(hot);
    ASSERT_TRUE(intact(hot));
    for (std::size_t i = 0; i < 60; ++i) {
        HotRecord changed = hot;
        reinterpret_cast<std::uint8_t*>(&changed)[i] ^= 1U;
        EXPECT_FALSE(intact(changed)) << i;
    }
}

TEST(RecordTest, AnEntryFollowsFromARecord) {
    const Bytes block = Bytes::from_kib(64);
    const auto size = [&](std::uint64_t coded) {
        return entry_of(HotRecord{.key = {}, .extent_count = 1, .size = coded}, 7, block).size;
    };
    EXPECT_EQ(entry_of(HotRecord{.key = {}}, 7, block).frame, 7U);
    EXPECT_EQ(size(65'536), 255U);
    EXPECT_EQ(size(256), 0U);
    EXPECT_EQ(size(257), 1U);
    EXPECT_EQ(size(32'768), 127U);
}

}  // namespace
}  // namespace kvplane::index
