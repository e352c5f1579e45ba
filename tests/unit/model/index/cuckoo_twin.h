// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/common/random.h"
#include "model/index/cuckoo_table.h"

namespace kvplane::index {

/// An entry of which every field follows from `value`.
inline Entry entry_of(std::uint32_t value) {
    Entry entry;
    entry.frame = value;
    entry.size = value & 0xFFU;
    entry.version = value >> 8 & 0xFFU;
    entry.state = (value % 3 + 1) & 7U;
    entry.decoder = value >> 3 & 7U;
    entry.priority_class = value >> 5 & 7U;
    entry.flags = value >> 7 & 7U;
    entry.tier = value & 3U;
    entry.spare = value >> 11 & 15U;
    return entry;
}

inline bool same(const Entry& a, const Entry& b) {
    return a.frame == b.frame && a.size == b.size && a.version == b.version && a.state == b.state &&
           a.decoder == b.decoder && a.flags == b.flags && a.priority_class == b.priority_class &&
           a.tier == b.tier && a.spare == b.spare;
}

/// Plays `operations` random ones on a table and on std::unordered_map. The table is filled to its
/// limit, so that refusals occur; keys come again, so that hits and erasures do.
class CuckooTwin {
public:
    CuckooTwin(const CuckooConfig& config, std::uint64_t seed)
        : m_table(config), m_random(seed, "cuckoo twin") {}

    void play(std::uint64_t operations, std::uint32_t insert_percent) {
        for (std::uint64_t i = 0; i < operations && !testing::Test::HasFatalFailure(); ++i) {
            const std::uint64_t draw = m_random.uniform(100);
            if (draw < insert_percent) {
                insert(m_random.bits(), static_cast<std::uint32_t>(i));
            } else if (draw < 60) {
                erase();
            } else if (draw < 75) {
                update(static_cast<std::uint32_t>(i));
            } else if (draw < 80 && !m_keys.empty()) {
                const std::uint64_t key = m_keys[m_random.uniform(m_keys.size())];
                ASSERT_EQ(m_table.insert(key, entry_of(1)), InsertStatus::kExists);
                check(key);
            } else {
                check(m_random.uniform(2) == 0 || m_keys.empty()
                          ? m_random.bits()
                          : m_keys[m_random.uniform(m_keys.size())]);
            }
            ASSERT_EQ(m_table.size(), m_twin.size());
        }
    }

    void check_all() {
        for (const std::uint64_t key : m_keys) check(key);
    }

    [[nodiscard]] std::uint64_t refused() const { return m_refused; }
    [[nodiscard]] const CuckooTable& table() const { return m_table; }

private:
    void check(std::uint64_t key) {
        const std::optional<Entry> found = m_table.lookup(key);
        const auto twin = m_twin.find(key);
        ASSERT_EQ(found.has_value(), twin != m_twin.end()) << key;
        if (found) {
            ASSERT_TRUE(same(*found, twin->second)) << key;
        }
    }

    void insert(std::uint64_t key, std::uint32_t value) {
        const std::uint64_t kicks = m_table.kicks();
        const std::uint64_t stashed = m_table.stashed();
        const InsertStatus status = m_table.insert(key, entry_of(value));
        ASSERT_NE(status, InsertStatus::kExists);
        if (status == InsertStatus::kFull) {
            ++m_refused;
            ASSERT_EQ(m_table.kicks(), kicks);
            ASSERT_EQ(m_table.stashed(), stashed);
            if (m_refused % 1'000 == 1) check_all();
        } else {
            m_twin.emplace(key, entry_of(value));
            m_keys.push_back(key);
        }
        check(key);
    }

    void erase() {
        if (m_keys.empty()) return;
        ASSERT_EQ(m_table.erase(m_random.bits()), std::nullopt);
        const std::size_t victim = m_random.uniform(m_keys.size());
        const std::uint64_t key = m_keys[victim];
        m_keys[victim] = m_keys.back();
        m_keys.pop_back();
        const std::optional<Entry> removed = m_table.erase(key);
        ASSERT_TRUE(removed);
        ASSERT_TRUE(same(*removed, m_twin.at(key)));
        m_twin.erase(key);
        check(key);
    }

    void update(std::uint32_t value) {
        ASSERT_FALSE(m_table.update(m_random.bits(), entry_of(value)));
        if (m_keys.empty()) return;
        const std::uint64_t key = m_keys[m_random.uniform(m_keys.size())];
        ASSERT_TRUE(m_table.update(key, entry_of(value)));
        m_twin[key] = entry_of(value);
        check(key);
    }

    CuckooTable m_table;
    std::unordered_map<std::uint64_t, Entry> m_twin;
    std::vector<std::uint64_t> m_keys;
    RandomStream m_random;
    std::uint64_t m_refused = 0;
};

}  // namespace kvplane::index
