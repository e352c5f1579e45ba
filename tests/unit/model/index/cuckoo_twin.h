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
                const Answer answer = m_table.insert(key, entry_of(1));
                ASSERT_EQ(answer.status, Status::kExists);
                ASSERT_TRUE(same(answer.entry, m_twin.at(key)));
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
        const Answer answer = m_table.lookup(key);
        const auto twin = m_twin.find(key);
        ASSERT_EQ(answer.status, twin != m_twin.end() ? Status::kHit : Status::kMiss) << key;
        ASSERT_FALSE(answer.corrected || answer.uncorrectable);
        if (answer.found()) {
            ASSERT_TRUE(same(answer.entry, twin->second)) << key;
        }
    }

    void insert(std::uint64_t key, std::uint32_t value) {
        const std::uint64_t kicks = m_table.kicks();
        const std::uint64_t stashed = m_table.stashed();
        const Answer answer = m_table.insert(key, entry_of(value));
        if (answer.status == Status::kFull) {
            ++m_refused;
            ASSERT_EQ(m_table.kicks(), kicks);
            ASSERT_EQ(m_table.stashed(), stashed);
            if (m_refused % 1'000 == 1) check_all();
        } else {
            ASSERT_EQ(answer.status, Status::kDone);
            m_twin.emplace(key, entry_of(value));
            m_keys.push_back(key);
        }
        check(key);
    }

    void erase() {
        if (m_keys.empty()) return;
        ASSERT_EQ(m_table.erase(m_random.bits()).status, Status::kMiss);
        const std::size_t victim = m_random.uniform(m_keys.size());
        const std::uint64_t key = m_keys[victim];
        const Entry before = m_twin.at(key);
        const auto wrong = static_cast<std::uint8_t>(before.version + 1);
        ASSERT_EQ(m_table.erase(key, wrong).status, Status::kVersionMismatch);
        check(key);
        m_keys[victim] = m_keys.back();
        m_keys.pop_back();
        const Answer removed = m_table.erase(key, static_cast<std::uint8_t>(before.version));
        ASSERT_EQ(removed.status, Status::kDone);
        ASSERT_TRUE(same(removed.entry, before));
        m_twin.erase(key);
        check(key);
    }

    void update(std::uint32_t value) {
        ASSERT_EQ(m_table.update(m_random.bits(), entry_of(value)).status, Status::kMiss);
        if (m_keys.empty()) return;
        const std::uint64_t key = m_keys[m_random.uniform(m_keys.size())];
        const auto mask = static_cast<FieldMask>(m_random.uniform(field::kAll + 1));
        const Entry before = m_twin.at(key);
        const auto wrong = static_cast<std::uint8_t>(before.version + 1);
        const Answer refused = m_table.update(key, entry_of(value), mask, wrong);
        ASSERT_EQ(refused.status, Status::kVersionMismatch);
        ASSERT_TRUE(same(refused.entry, before));
        check(key);
        const Answer updated =
            m_table.update(key, entry_of(value), mask, static_cast<std::uint8_t>(before.version));
        ASSERT_EQ(updated.status, Status::kDone);
        m_twin[key] = masked(before, entry_of(value), mask);
        ASSERT_TRUE(same(updated.entry, m_twin[key]));
        check(key);
    }

    /// Apart from the model's own merge(), field by field.
    static Entry masked(const Entry& old, const Entry& fresh, FieldMask mask) {
        const auto has = [&](FieldMask one) { return (mask & one) != 0; };
        Entry out = old;
        out.state = has(1) ? fresh.state : old.state;
        out.frame = has(2) ? fresh.frame : old.frame;
        out.size = has(4) ? fresh.size : old.size;
        out.decoder = has(8) ? fresh.decoder : old.decoder;
        out.tier = has(16) ? fresh.tier : old.tier;
        out.version = has(32) ? fresh.version : old.version;
        out.priority_class = has(64) ? fresh.priority_class : old.priority_class;
        out.flags = has(128) ? fresh.flags : old.flags;
        out.spare = has(256) ? fresh.spare : old.spare;
        return out;
    }

    CuckooTable m_table;
    std::unordered_map<std::uint64_t, Entry> m_twin;
    std::vector<std::uint64_t> m_keys;
    RandomStream m_random;
    std::uint64_t m_refused = 0;
};

}  // namespace kvplane::index
