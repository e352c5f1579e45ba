// SPDX-License-Identifier: Apache-2.0
#include "model/index/query.h"

#include <gtest/gtest.h>

#include <vector>

#include "fake_dram.h"
#include "model/common/random.h"
#include "model/index/tlm_index.h"

namespace kvplane::index {
namespace {

class QueryTest : public testing::Test {
protected:
    std::vector<block::BlockKey> chain(std::size_t length) {
        std::vector<block::BlockKey> keys(length);
        for (block::BlockKey& key : keys) key = {m_random.bits(), m_random.bits()};
        return keys;
    }
    void insert(TlmIndex& index, std::span<const block::BlockKey> keys) {
        for (const block::BlockKey& key : keys) {
            Entry entry;
            entry.state = 1;
            entry.frame = m_frame & 0xFFFFFFFFU;
            m_dram.keys[m_frame++] = key;
            (void)index.insert(key, entry, {});
        }
    }

    FakeDram m_dram;
    RandomStream m_random{51, "query"};
    std::uint32_t m_frame = 1;
};

TEST_F(QueryTest, AChainOfThousandsCostsACycleAKey) {
    TlmIndex index(IndexConfig{});
    index.bind(m_dram);
    const auto keys = chain(8'192);
    insert(index, keys);
    const Time at = Time::from_ms(1);
    const QueryResult all = longest_present_prefix(index, keys, at);
    EXPECT_EQ(all.present, 8'192U);
    EXPECT_EQ(all.looked_up, 8'192U);
    EXPECT_EQ(all.done - at, Time::from_ns(8'191 + 6));
    EXPECT_EQ(m_dram.reads, 0);
    std::vector<LookupResult> results(keys.size());
    EXPECT_EQ(lookup_batch(index, keys, Time::from_ms(2), results) - Time::from_ms(2),
              Time::from_ns(8'191 + 6));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(results[i].entry->frame, i + 1);
        ASSERT_EQ(results[i].issued, Time::from_ms(2) + Time::from_ns(static_cast<int>(i)));
    }
}

TEST_F(QueryTest, TheFirstMissingKeyEndsItWhateverComesAfter) {
    const auto keys = chain(1'000);
    for (const std::size_t gap : {0U, 1U, 500U, 999U}) {
        TlmIndex holed(IndexConfig{});
        holed.bind(m_dram);
        insert(holed, std::span(keys).first(gap));
        insert(holed, std::span(keys).subspan(gap + 1));
        const Time at = Time::from_ms(1);
        const QueryResult result = longest_present_prefix(holed, keys, at);
        EXPECT_EQ(result.present, gap);
        EXPECT_EQ(result.done - at, Time::from_ns(static_cast<int>(gap) + 6));
        // Those behind it that entered before its answer was there.
        EXPECT_EQ(result.looked_up, std::min<std::size_t>(1'000, gap + 7));
    }
}

TEST_F(QueryTest, AnEmptyChainIsKnownAtOnce) {
    TlmIndex index(IndexConfig{});
    index.bind(m_dram);
    const QueryResult result = longest_present_prefix(index, {}, Time::from_ns(5));
    EXPECT_EQ(result.present, 0U);
    EXPECT_EQ(result.done, Time::from_ns(5));
}

TEST_F(QueryTest, KeysInDramAreProbedBesideEachOther) {
    TlmIndex index({.sram = Bytes::from_kib(4), .fill = false, .dram_probes = 4'096});
    index.bind(m_dram);
    const auto keys = chain(2'000);
    insert(index, keys);
    ASSERT_GT(index.overflow_entries(), 1'500U);
    const Time at = Time::from_ms(1);
    const QueryResult result = longest_present_prefix(index, keys, at);
    EXPECT_EQ(result.present, 2'000U);
    // 2,000 one by one would take 100 us; together they take their cycles and a few lines.
    EXPECT_LT(result.done - at, Time::from_ns(2'000 + 6) + FakeDram::kLineTime * 10);
    EXPECT_GT(result.done - at, Time::from_ns(1'500) + FakeDram::kLineTime);
}

}  // namespace
}  // namespace kvplane::index
