// SPDX-License-Identifier: Apache-2.0
/// The part of the index that lives in the card's DRAM: a hash table of 64 B lines, two entries
/// with their full keys each, so that a probe is one line read and never a false match. A line that
/// is full passes keys on to the next and counts them (in spare bits of its entries), so that a
/// lookup stops at the first line that has passed none.
///
/// Sized for a load of one half at most. The model doubles it when that is reached; on a card it is
/// laid out for the tier when that is configured, so growing takes no time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/block/key.h"
#include "model/index/entry.h"

namespace kvplane::index {

class DramTable {
public:
    static constexpr std::uint32_t kLineEntries = 2;

    DramTable();

    /// Lays the table out for so many keys. Only while it is empty.
    void reserve(std::uint64_t keys);

    /// Forgets every entry; the lines stay.
    void clear();

    /// What an operation found, and the lines it read on the way: `lines` from `first_line` on.
    struct Probe {
        Entry* entry = nullptr;  ///< valid until the next insert or erase
        std::uint64_t first_line = 0;
        std::uint32_t lines = 1;
    };
    [[nodiscard]] Probe find(const block::BlockKey& key);
    /// Adds `key`, which must not be there.
    Probe insert(const block::BlockKey& key, const Entry& entry);
    /// Has the simulating machine fetch what insert() or find() will read.
    void prefetch(const block::BlockKey& key) const { __builtin_prefetch(&m_lines[home_of(key)]); }
    /// Removes what find() has found.
    void erase(const Probe& found);

    [[nodiscard]] std::uint64_t size() const { return m_size; }
    [[nodiscard]] std::uint64_t lines() const { return m_lines.size(); }

private:
    struct Slot {
        block::BlockKey key;
        Entry entry;
    };
    struct Line {
        std::array<Slot, kLineEntries> slots;
    };
    static_assert(sizeof(Line) == 64);

    [[nodiscard]] std::uint64_t home_of(const block::BlockKey& key) const;
    [[nodiscard]] std::uint64_t next(std::uint64_t line) const {
        return (line + 1) & (m_lines.size() - 1);
    }
    void grow();

    std::vector<Line> m_lines;
    std::vector<std::uint32_t> m_passed;  ///< keys that each line has passed on
    std::uint64_t m_size = 0;
};

}  // namespace kvplane::index
