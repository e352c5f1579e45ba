// SPDX-License-Identifier: Apache-2.0
/// The part of the index in DRAM, and the filter before it.
#include "model/index/dram_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <unordered_map>
#include <vector>

#include "cuckoo_twin.h"
#include "model/common/errors.h"
#include "model/common/random.h"
#include "model/index/key_filter.h"

namespace kvplane::index {
namespace {

struct KeyHash {
    std::size_t operator()(const block::BlockKey& key) const { return key.low ^ key.high; }
};

TEST(DramTableTest, EqualsAMapAndStopsAtTheFirstLineThatPassedNone) {
    DramTable table;
    std::unordered_map<block::BlockKey, std::uint32_t, KeyHash> twin;
    std::vector<block::BlockKey> keys;
    RandomStream random(41, "dram table");
    std::uint64_t hits = 0;
    std::uint64_t hit_lines = 0;
    std::uint64_t miss_lines = 0;
    for (std::uint32_t i = 1; i < 200'000; ++i) {
        if (keys.empty() || (keys.size() < 20'000 && random.uniform(5) < 3)) {
            keys.push_back({random.bits(), random.bits()});
            const DramTable::Probe probe = table.insert(keys.back(), entry_of(i));
            ASSERT_TRUE(same(*probe.entry, entry_of(i)));
            twin[keys.back()] = i;
        } else {
            const std::size_t victim = random.uniform(keys.size());
            const std::uint32_t lines = table.find(keys[victim]).lines;
            const DramTable::Probe found = table.find(keys[victim]);
            ASSERT_EQ(found.lines, lines);
            table.erase(found);
            ASSERT_EQ(table.find(keys[victim]).entry, nullptr);
            twin.erase(keys[victim]);
            keys[victim] = keys.back();
            keys.pop_back();
        }
        ASSERT_EQ(table.size(), twin.size());
        ASSERT_LE(table.size(), table.lines());  // half of the places
        if (keys.empty()) continue;
        const block::BlockKey& key = keys[random.uniform(keys.size())];
        const DramTable::Probe found = table.find(key);
        ASSERT_NE(found.entry, nullptr);
        ASSERT_TRUE(same(*found.entry, entry_of(twin.at(key))));
        ++hits;
        hit_lines += found.lines;
        miss_lines += table.find({random.bits(), random.bits()}).lines;
    }
    EXPECT_GT(keys.size(), 10'000U);
    // Never over half full: few keys are passed on.
    EXPECT_LT(static_cast<double>(hit_lines) / static_cast<double>(hits), 1.25);
    EXPECT_LT(static_cast<double>(miss_lines) / static_cast<double>(hits), 1.6);
    EXPECT_GT(hit_lines, hits);
}

TEST(DramTableTest, KeepsKeysOfOneHomeApart) {
    DramTable table;
    RandomStream random(42, "one home");
    const std::uint64_t home = table.find({1, 1}).first_line;
    std::vector<block::BlockKey> keys;
    while (keys.size() < 9) {
        const block::BlockKey key{random.bits(), random.bits()};
        if (table.find(key).first_line == home) keys.push_back(key);
    }
    for (std::uint32_t i = 0; i < 9; ++i) {
        EXPECT_EQ(table.insert(keys[i], entry_of(i + 1)).lines, i / 2 + 1);
    }
    for (std::uint32_t i = 0; i < 9; ++i) {
        EXPECT_EQ(table.find(keys[i]).lines, i / 2 + 1);
        EXPECT_TRUE(same(*table.find(keys[i]).entry, entry_of(i + 1)));
    }
    // Without those that came after, a search is short again.
    for (std::uint32_t i = 8; i >= 2; --i) table.erase(table.find(keys[i]));
    EXPECT_EQ(table.find(keys[8]).lines, 1U);
}

TEST(DramTableTest, LaidOutForItsKeysItNeverGrows) {
    DramTable table;
    table.reserve(5'000);
    const std::uint64_t lines = table.lines();
    EXPECT_EQ(lines, 8'192U);
    RandomStream random(44, "laid out");
    for (std::uint32_t i = 1; i <= 5'000; ++i) {
        (void)table.insert({random.bits(), random.bits()}, entry_of(i));
    }
    EXPECT_EQ(table.lines(), lines);
    EXPECT_THROW(table.reserve(1), InvariantError);
}

TEST(DramTableTest, ErasingWhatIsNotThereIsABrokenInvariant) {
    DramTable table;
    EXPECT_THROW(table.erase(table.find({1, 2})), InvariantError);
    EXPECT_THROW((void)table.insert({1, 2}, Entry{}), InvariantError);
}

TEST(KeyFilterTest, NeverDeniesAKeyThatIsThereAndRarelyPassesOneThatIsNot) {
    // 16 Ki counters in four arrays, 2,000 keys: (1 - (1 - 1 / 4096)^2000)^4 = 2.2 % pass.
    KeyFilter filter(Bytes::from_kib(8));
    ASSERT_EQ(filter.counters(), 16'384U);
    RandomStream random(43, "filter");
    std::vector<std::uint64_t> keys;
    for (int i = 0; i < 2'000; ++i) {
        keys.push_back(random.bits());
        filter.add(keys.back());
    }
    for (int round = 0; round < 20'000; ++round) {
        const std::size_t i = random.uniform(keys.size());
        filter.remove(keys[i]);
        keys[i] = random.bits();
        filter.add(keys[i]);
    }
    for (const std::uint64_t key : keys) ASSERT_TRUE(filter.may_hold(key));
    constexpr int kAbsent = 200'000;
    int passed = 0;
    for (int i = 0; i < kAbsent; ++i) passed += filter.may_hold(random.bits()) ? 1 : 0;
    const double expected = std::pow(1 - std::pow(1 - 1.0 / 4096, 2000), 4) * kAbsent;
    EXPECT_NEAR(passed, expected, 0.1 * expected);
    for (const std::uint64_t key : keys) filter.remove(key);
    for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(filter.may_hold(random.bits()));
}

TEST(KeyFilterTest, ACounterThatIsFullStaysSo) {
    KeyFilter filter({64});
    for (int i = 0; i < 40; ++i) filter.add(7);
    for (int i = 0; i < 40; ++i) filter.remove(7);
    EXPECT_TRUE(filter.may_hold(7));  // it forgot how many: never a false no
}

TEST(KeyFilterTest, WithoutCountersEveryKeyMayBeThere) {
    KeyFilter none({});
    none.add(1);
    none.remove(1);
    EXPECT_TRUE(none.may_hold(2));
    EXPECT_THROW(KeyFilter({100}), InvariantError);
    EXPECT_THROW(KeyFilter({32}), InvariantError);
    KeyFilter some({64});
    EXPECT_THROW(some.remove(1), InvariantError);
}

}  // namespace
}  // namespace kvplane::index
