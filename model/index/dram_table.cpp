// SPDX-License-Identifier: Apache-2.0
#include "model/index/dram_table.h"

#include <algorithm>
#include <bit>

#include "model/common/errors.h"

namespace kvplane::index {
namespace {

constexpr std::size_t kFewestLines = 64;

}  // namespace

DramTable::DramTable() : m_lines(kFewestLines), m_passed(kFewestLines) {}

void DramTable::reserve(std::uint64_t keys) {
    if (m_size != 0) throw InvariantError("index: a part in DRAM laid out anew while in use");
    m_lines.resize(std::max<std::uint64_t>(kFewestLines, std::bit_ceil(keys + 1)));
    m_passed.assign(m_lines.size(), 0);
}

void DramTable::clear() {
    m_lines.assign(m_lines.size(), {});
    m_passed.assign(m_lines.size(), 0);
    m_size = 0;
}

std::uint64_t DramTable::home_of(const block::BlockKey& key) const {
    // Apart from the SRAM's hash, whose crowded buckets send keys here.
    return (key.high ^ key.low * 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL >> 20U &
           (m_lines.size() - 1);
}

DramTable::Probe DramTable::find(const block::BlockKey& key) {
    Probe probe{.first_line = home_of(key)};
    for (std::uint64_t line = probe.first_line;; line = next(line), ++probe.lines) {
        for (Slot& slot : m_lines[line].slots) {
            if (slot.entry.free() || slot.key != key) continue;
            probe.entry = &slot.entry;
            return probe;
        }
        if (m_passed[line] == 0) return probe;
    }
}

DramTable::Probe DramTable::insert(const block::BlockKey& key, const Entry& entry) {
    if (entry.free()) throw InvariantError("index: an entry inserted as free");
    if ((m_size + 1) * 2 > m_lines.size() * kLineEntries) grow();
    Probe probe{.first_line = home_of(key)};
    for (std::uint64_t line = probe.first_line;; line = next(line), ++probe.lines) {
        for (Slot& slot : m_lines[line].slots) {
            if (!slot.entry.free()) continue;
            slot = {key, entry};
            probe.entry = &slot.entry;
            ++m_size;
            return probe;
        }
        ++m_passed[line];
    }
}

void DramTable::erase(const Probe& found) {
    if (found.entry == nullptr) throw InvariantError("index: no entry in DRAM to erase");
    *found.entry = Entry{};
    std::uint64_t line = found.first_line;
    for (std::uint32_t i = 1; i < found.lines; ++i, line = next(line)) --m_passed[line];
    --m_size;
}

void DramTable::grow() {
    std::vector<Line> old(m_lines.size() * 2);
    old.swap(m_lines);
    m_passed.assign(m_lines.size(), 0);
    m_size = 0;
    for (const Line& line : old) {
        for (const Slot& slot : line.slots) {
            if (!slot.entry.free()) insert(slot.key, slot.entry);
        }
    }
}

}  // namespace kvplane::index
