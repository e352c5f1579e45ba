// SPDX-License-Identifier: Apache-2.0
#include "model/index/policy_store.h"

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::index {

PolicyStore::PolicyStore(const PolicyStoreConfig& config, ResidentIndex& index,
                         RecordReader& records)
    : m_index(index),
      m_records(records),
      m_cycle(config.clock.cycles(1)),
      m_under_way(config.in_flight) {
    if (config.lines_log2 < 2 || config.lines_log2 > 32 || config.in_flight == 0) {
        throw InvariantError("a policy store has 4 to 2^32 lines and an update under way at least");
    }
    m_lines.resize(std::size_t{1} << config.lines_log2);
}

std::uint64_t PolicyStore::home_of(const block::BlockKey& key) const {
    return (key.low ^ key.high * 0x9E3779B97F4A7C15ULL) * 0xC2B2AE3D27D4EB4FULL >> 20U &
           (m_lines.size() - 1);
}

PolicyStore::Place PolicyStore::place_of(const block::BlockKey& key) const {
    Place place{.line = home_of(key)};
    while (m_lines[place.line].epoch != 0 && m_lines[place.line].key != key) {
        place.line = (place.line + 1) & (m_lines.size() - 1);
        ++place.probes;
    }
    return place;
}

Time PolicyStore::line_read(const block::BlockKey& key, const Place& place, Time at) {
    const Time slot = std::max(at, m_next_slot);
    m_next_slot = slot + m_cycle;
    for (const UnderWay& other : m_under_way) {
        // The line of an update under way is forwarded when that is done.
        if (other.done > slot && other.key == key) return other.done + m_cycle;
    }
    Time read = std::max(slot, m_under_way[m_next].done);
    std::uint64_t line = home_of(key);
    for (std::uint32_t i = 0; i < place.probes; ++i, line = (line + 1) & (m_lines.size() - 1)) {
        read = m_records.read_record_line(read, line);
    }
    return read;
}

void PolicyStore::write_back(std::uint64_t line, Time at) {
    PolicyRecord& record = m_lines[line];
    seal(record);
    // Asked for now: DRAM serves lines in order, and nobody waits for this one.
    (void)m_records.read_record_line(m_next_slot, line);
    // A later update of a key supersedes what is remembered of an earlier one.
    for (UnderWay& other : m_under_way) {
        if (other.key == record.key) other.done = at;
    }
    m_under_way[m_next] = {record.key, at};
    m_next = (m_next + 1) % m_under_way.size();
}

PolicyAnswer PolicyStore::read(const block::BlockKey& key, Time at) {
    const Place place = place_of(key);
    const Time done = line_read(key, place, at);
    const PolicyRecord& record = m_lines[place.line];
    if (record.epoch == 0) return {Status::kMiss, {}, done};
    return {Status::kDone, record, done};
}

PolicyAnswer PolicyStore::update(const PolicyChange& change, std::optional<std::uint32_t> expect,
                                 Time at, std::uint16_t tenant) {
    const Place place = place_of(change.key);
    const Time done = line_read(change.key, place, at);
    PolicyRecord& record = m_lines[place.line];
    if (record.epoch == 0) {
        if (expect) return {Status::kMiss, {}, done};
        if ((m_size + 1) * 4 > m_lines.size() * 3) return {Status::kFull, {}, done};
        ++m_size;
        record.key = change.key;
        record.tenant = tenant;
    } else if (record.tenant != tenant) {
        return {Status::kExists, record, done};
    } else if (expect && *expect != record.epoch) {
        return {Status::kVersionMismatch, record, done};
    }
    const bool other_class = record.priority_class != change.priority_class;
    record.reuse_score = change.reuse_score;
    record.priority_class = change.priority_class;
    record.priority = change.priority;
    record.intent = change.intent;
    record.flags = change.flags;
    // 0 means that there is no record, so the count goes round past it.
    record.epoch = record.epoch == UINT32_MAX ? 1 : record.epoch + 1;
    write_back(place.line, done);
    // The record rules: it is written before the copy in the index entry.
    if (other_class) cache_class(record, done);
    return {Status::kDone, record, done};
}

void PolicyStore::cache_class(const PolicyRecord& record, Time at) {
    const LookupResult found = m_index.lookup(record.key, at);
    if (!found.entry) return;  // no copy in the tier
    Entry entry;
    entry.priority_class = record.priority_class & 7U;
    (void)m_index.update(record.key, entry, field::kPolicy, std::nullopt, found.done);
}

Time PolicyStore::update_run(std::span<const PolicyChange> changes,
                             std::span<const std::uint32_t> expects, Time at,
                             std::span<PolicyAnswer> answers) {
    Time done = at;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const auto expect = expects.empty() ? std::nullopt : std::optional(expects[i]);
        answers[i] = update(changes[i], expect, at);
        done = std::max(done, answers[i].done);
    }
    return done;
}

PolicyAnswer PolicyStore::touch(const block::BlockKey& key, Time at) {
    const Place place = place_of(key);
    const Time done = line_read(key, place, at);
    PolicyRecord& record = m_lines[place.line];
    if (record.epoch == 0) return {Status::kMiss, {}, done};
    record.last_use = static_cast<std::uint64_t>(at.ps / 1'000);
    ++record.accesses;
    write_back(place.line, done);
    return {Status::kDone, record, done};
}

PolicyAnswer PolicyStore::forget(const block::BlockKey& key, Time at) {
    const Place place = place_of(key);
    Time done = line_read(key, place, at);
    const PolicyRecord removed = m_lines[place.line];
    if (removed.epoch == 0) return {Status::kMiss, {}, done};
    // Records behind it move up, so that each stays reachable from its home.
    const std::uint64_t mask = m_lines.size() - 1;
    std::uint64_t hole = place.line;
    for (std::uint64_t i = (hole + 1) & mask; m_lines[i].epoch != 0; i = (i + 1) & mask) {
        done = m_records.read_record_line(done, i);
        if (((i - home_of(m_lines[i].key)) & mask) < ((i - hole) & mask)) continue;
        m_lines[hole] = m_lines[i];
        (void)m_records.read_record_line(done, hole);
        hole = i;
    }
    m_lines[hole] = {};
    (void)m_records.read_record_line(done, hole);
    --m_size;
    return {Status::kDone, removed, done};
}

}  // namespace kvplane::index
