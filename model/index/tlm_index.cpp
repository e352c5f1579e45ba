// SPDX-License-Identifier: Apache-2.0
#include "model/index/tlm_index.h"

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::index {

TlmIndex::TlmIndex(const IndexConfig& config)
    : TlmIndex(config, std::make_unique<TimedTable>(config)) {
    m_timed = static_cast<TimedTable*>(m_engine.get());
}

TlmIndex::TlmIndex(const IndexConfig& config, std::unique_ptr<TableEngine> engine)
    : m_config(config),
      m_engine(std::move(engine)),
      m_filter(config.filter.value_or(Bytes{})),
      m_commit_time(config.clock.cycles(m_engine->latency_cycles())),
      m_queue_time(config.clock.cycles(lookup_cycles()) - m_commit_time),
      m_probe_done(std::max<std::uint32_t>(config.dram_probes, 1)) {
    m_due.reserve(m_probe_done.size());
}

TimedTable& TlmIndex::timed() const {
    if (m_timed == nullptr) throw InvariantError("index: the engine is no TimedTable");
    return *m_timed;
}

void TlmIndex::clear() {
    m_engine->clear();
    m_dram.clear();
    m_filter.clear();
    m_due.clear();
    m_losses.clear();
}

TimedAnswer TlmIndex::submit(const Request& request, Time at) {
    const TimedAnswer timed = m_engine->submit(request, at);
    if (timed.answer.status != Status::kUncorrectable || m_timed == nullptr) return timed;
    CuckooTable& table = m_timed->table();
    for (const CuckooTable::Place& place : table.bad_places()) m_losses.push_back(place);
    m_counters.lost += table.drop_bad();
    return timed;
}

bool TlmIndex::may_have_lost(const block::BlockKey& key) const { return is_open(key.fold()); }

bool TlmIndex::is_open(std::uint64_t fold) const {
    return std::any_of(m_losses.begin(), m_losses.end(), [&](const CuckooTable::Place& place) {
        return timed().table().bucket_of(place.choice, fold) == place.bucket;
    });
}

EccCounts TlmIndex::ecc() const {
    if (m_timed == nullptr) return {};  // only a TimedTable's bits are ever wrong
    const CuckooCounters& counters = m_timed->table().counters();
    return {counters.corrected, counters.uncorrectable, m_counters.lost};
}

LookupResult TlmIndex::lookup(const block::BlockKey& key, Time at) {
    fill_due(at);
    ++m_counters.lookups;
    const std::uint64_t fold = key.fold();
    const TimedAnswer timed = submit({.operation = Operation::kLookup, .key = fold}, at);
    const Time done = timed.done + m_queue_time;
    if (timed.answer.found()) {
        ++m_counters.sram_hits;
        return {timed.answer.entry, timed.issued, done};
    }
    if (is_open(fold)) return {std::nullopt, timed.issued, done, true};
    if (m_dram.size() == 0) return {std::nullopt, timed.issued, done};
    if (!m_filter.may_hold(fold)) {
        ++m_counters.filtered;
        return {std::nullopt, timed.issued, done};
    }
    return probe(key, timed.issued, done);
}

LookupResult TlmIndex::lookup_behind(const block::BlockKey& key, Time at) {
    if (!may_be_behind(key.fold())) return {std::nullopt, at, at};
    return probe(key, at, at);
}

LookupResult TlmIndex::probe(const block::BlockKey& key, Time issued, Time at) {
    const DramTable::Probe found = m_dram.find(key);
    Time& place = m_probe_done[m_next_probe];
    m_next_probe = (m_next_probe + 1) % m_probe_done.size();
    const Time done = read_lines(found, std::max(at, place));
    place = done;
    if (found.entry == nullptr) {
        ++m_counters.false_passes;
        return {std::nullopt, issued, done, false, true};
    }
    ++m_counters.dram_hits;
    if (m_config.fill && m_due.size() < m_probe_done.size()) fill_later(key, done);
    return {*found.entry, issued, done, false, true};
}

Time TlmIndex::read_lines(const DramTable::Probe& probe, Time at) {
    const std::uint64_t mask = m_dram.lines() - 1;
    for (std::uint32_t i = 0; i < probe.lines; ++i) {
        at = m_records->read_record_line(at, (probe.first_line + i) & mask);
    }
    m_counters.dram_lines += probe.lines;
    return at;
}

void TlmIndex::write_line(std::uint64_t line, Time at) {
    (void)m_records->read_record_line(at, line);
    ++m_counters.dram_lines;
}

InsertResult TlmIndex::insert(const block::BlockKey& key, const Entry& entry, Time at) {
    fill_due(at);
    const std::uint64_t fold = key.fold();
    Time asked = at;
    if (may_be_behind(fold)) {
        const DramTable::Probe found = m_dram.find(key);
        asked = read_lines(found, at);
        if (found.entry != nullptr) return {Status::kExists, *found.entry, at, asked};
        ++m_counters.false_passes;
    }
    if (is_open(fold)) {
        const TimedAnswer open = submit({.operation = Operation::kLookup, .key = fold}, asked);
        return {Status::kUncorrectable, {}, open.issued, open.done + m_queue_time};
    }
    const TimedAnswer timed =
        submit({.operation = Operation::kInsert, .key = fold, .entry = entry}, asked);
    if (!timed.answer.done()) return insert_refused(key, entry, timed);
    return {Status::kDone, timed.answer.entry, timed.issued, timed.done + m_queue_time};
}

InsertResult TlmIndex::insert_refused(const block::BlockKey& key, const Entry& entry,
                                      const TimedAnswer& timed) {
    Time done = timed.done + m_queue_time;
    const Answer& answer = timed.answer;
    if (answer.status == Status::kUncorrectable) return {answer.status, {}, timed.issued, done};
    if (answer.status == Status::kExists) {
        // One fold: the record tells whether it is the same block.
        const auto frame = static_cast<std::uint32_t>(answer.entry.frame);
        done = m_records->read_record_line(done, frame);
        const std::optional<block::BlockKey> there = m_records->key_of(frame);
        if (!there || *there == key) {
            return {Status::kExists, answer.entry, timed.issued, done};
        }
    }
    if (m_config.overflow == Overflow::kNone) {
        ++m_counters.full;
        return {Status::kFull, {}, timed.issued, done};
    }
    return {Status::kDone, entry, timed.issued, insert_behind(key, entry, done)};
}

void TlmIndex::load_dram(const block::BlockKey& key, const Entry& entry) {
    (void)m_dram.insert(key, entry);
    m_filter.add(key.fold());
}

Time TlmIndex::insert_behind(const block::BlockKey& key, const Entry& entry, Time at) {
    const DramTable::Probe probe = m_dram.insert(key, entry);
    m_filter.add(key.fold());
    const Time read = read_lines(probe, at);
    write_line(probe.first_line + probe.lines - 1, at);
    return read;
}

UpdateResult TlmIndex::update(const block::BlockKey& key, const Entry& entry, FieldMask mask,
                              std::optional<std::uint8_t> expect, Time at) {
    fill_due(at);
    const std::uint64_t fold = key.fold();
    if (may_be_behind(fold)) {
        const DramTable::Probe found = m_dram.find(key);
        if (found.entry != nullptr) {
            at += m_commit_time;
            const Time read = read_lines(found, at);
            if (expect && *expect != found.entry->version) {
                return {Status::kVersionMismatch, *found.entry, read};
            }
            *found.entry = merge(*found.entry, entry, mask);
            write_line(found.first_line + found.lines - 1, at);
            return {Status::kDone, *found.entry, read};
        }
    }
    const TimedAnswer timed = submit({.operation = Operation::kUpdate,
                                      .key = fold,
                                      .entry = entry,
                                      .mask = mask,
                                      .expect_version = expect.value_or(0),
                                      .expect_valid = expect.has_value()},
                                     at);
    return {outcome(timed.answer, fold), timed.answer.entry, timed.done};
}

UpdateResult TlmIndex::erase(const block::BlockKey& key, Time at) {
    fill_due(at);
    const std::uint64_t fold = key.fold();
    if (may_be_behind(fold)) {
        const DramTable::Probe found = m_dram.find(key);
        if (found.entry != nullptr) {
            const Entry removed = *found.entry;
            m_dram.erase(found);
            m_filter.remove(fold);
            at += m_commit_time;
            const Time read = read_lines(found, at);
            write_line(found.first_line + found.lines - 1, at);
            return {Status::kDone, removed, read};
        }
    }
    const TimedAnswer timed = submit({.operation = Operation::kDelete, .key = fold}, at);
    return {outcome(timed.answer, fold), timed.answer.entry, timed.done};
}

Status TlmIndex::outcome(const Answer& answer, std::uint64_t fold) const {
    if (answer.status != Status::kMiss) return answer.status;
    if (is_open(fold)) return Status::kUncorrectable;
    if (m_counters.lost == 0) throw InvariantError("index: no entry to update or erase");
    return Status::kMiss;
}

void TlmIndex::fill_later(const block::BlockKey& key, Time at) {
    // A probe of more lines than the one after it ends later.
    const auto place = std::upper_bound(m_due.begin(), m_due.end(), at,
                                        [](Time t, const Fill& fill) { return t < fill.at; });
    m_due.insert(place, {at, key});
}

void TlmIndex::leave_behind(const block::BlockKey& key, Time done) {
    const auto due = std::find_if(m_due.rbegin(), m_due.rend(), [&](const Fill& fill) {
        return fill.at == done && fill.key == key;
    });
    if (due != m_due.rend()) m_due.erase(std::next(due).base());
}

void TlmIndex::fill_due(Time at) {
    std::size_t done = 0;
    while (done < m_due.size() && m_due[done].at <= at) {
        const Fill due = m_due[done++];
        fill(due.key, due.at);
    }
    m_due.erase(m_due.begin(), m_due.begin() + static_cast<std::ptrdiff_t>(done));
}

void TlmIndex::fill(const block::BlockKey& key, Time at) {
    const DramTable::Probe found = m_dram.find(key);
    if (found.entry == nullptr) return;  // erased or filled in the meantime
    const Entry entry = *found.entry;
    const std::uint64_t fold = key.fold();
    // Another block with this fold is there: it stays, and so does this one. And a fill that meets
    // a slot beyond correction leaves that for those who wait for an answer.
    if (m_engine->peek(fold).status != Status::kMiss) return;
    if (const std::optional<std::uint64_t> victim = m_engine->victim_for(fold)) {
        evict(*victim, at);
    }
    const TimedAnswer timed =
        m_engine->submit({.operation = Operation::kInsert, .key = fold, .entry = entry}, at);
    if (!timed.answer.done()) return;
    const DramTable::Probe removed = m_dram.find(key);  // anew: the victim may have moved lines
    m_dram.erase(removed);
    m_filter.remove(fold);
    write_line(removed.first_line + removed.lines - 1, at);
    ++m_counters.fills;
}

void TlmIndex::evict(std::uint64_t fold, Time at) {
    const Answer victim = m_engine->peek(fold);
    const auto frame = static_cast<std::uint32_t>(victim.entry.frame);
    (void)m_records->read_record_line(at, frame);
    const std::optional<block::BlockKey> key = m_records->key_of(frame);
    if (!key) return;  // what is wrong with its record is for a lookup to find
    // The victim is in DRAM before it leaves the SRAM: it is never in neither.
    const TimedAnswer timed = m_engine->submit({.operation = Operation::kEvict, .key = fold}, at);
    if (!timed.answer.done()) return;
    (void)insert_behind(*key, timed.answer.entry, at);
    ++m_counters.victims;
}

}  // namespace kvplane::index
