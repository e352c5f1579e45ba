// SPDX-License-Identifier: Apache-2.0
// Requests, queues and answers; ddr5_schedule.cpp has the commands.
#include "model/memory/ddr5_subchannel.h"

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::memory {
namespace {

constexpr std::uint64_t kLinesPerCheckLine = 8;
constexpr Cycle kTaken = 1;  ///< cycles until a write is answered

/// The least gap between columns that keeps to a share of the pins.
Cycle column_gap(const Ddr5Config& config) {
    const auto cap = static_cast<Cycle>(config.thermal.bandwidth_cap.ppm);
    return (config.timing.burst * 1'000'000 + cap - 1) / cap;
}

}  // namespace

Ddr5Counters& Ddr5Counters::operator+=(const Ddr5Counters& other) {
    requests += other.requests;
    answers += other.answers;
    reads += other.reads;
    writes += other.writes;
    activates += other.activates;
    precharges += other.precharges;
    refreshes += other.refreshes;
    forwards += other.forwards;
    joined += other.joined;
    scrubs += other.scrubs;
    ecc_reads += other.ecc_reads;
    ecc_writes += other.ecc_writes;
    modifies += other.modifies;
    turnarounds += other.turnarounds;
    corrected += other.corrected;
    scrubbed += other.scrubbed;
    return *this;
}

Ddr5Subchannel::Ddr5Subchannel(const Ddr5Config& config, DramObserver* observer,
                               Cycle refresh_offset)
    : m_config(checked(config)),
      m_observer(observer),
      m_clock(config.timing.speed),
      m_map(config.mapping, config.geometry),
      m_banks(config.timing, config.geometry, config.writes_modify),
      m_refresh(config, refresh_offset),
      m_ecc(config.ecc == DramEcc::kInline ? config.ecc_buffer : 0),
      m_entries(std::size_t{config.read_queue} + config.write_queue + 2 + kMostRewrites),
      m_waits(config.read_queue),
      m_starvation(m_clock.first_at(config.starvation)),
      m_data_delay(config.timing.cl + config.timing.burst) {
    for (std::size_t i = m_entries.size(); i-- != 0;) {
        m_entries[i].next = m_free;
        m_free = static_cast<Index>(i);
    }
    for (std::size_t i = m_waits.size(); i-- != 0;) {
        m_waits[i].next = m_free_wait;
        m_free_wait = static_cast<Index>(i);
    }
    m_opened.fill(kNone);
    m_banks.set_column_gap(column_gap(config));
    if (config.scrub_interval != Time{}) {
        m_scrub_interval = m_clock.first_at(config.scrub_interval);
        m_scrub_due = m_scrub_interval;
    }
}

bool Ddr5Subchannel::can_accept(LineOp op) const {
    const bool check_bits = m_config.ecc == DramEcc::kInline;
    std::uint32_t reads = op == LineOp::kRead ? 1 : 0;
    std::uint32_t writes = op == LineOp::kRead ? 0 : 1;
    if (op == LineOp::kPartialWrite && m_config.ecc != DramEcc::kNone) ++reads;
    if (check_bits) {  // may be fetched, and others written back for them
        ++reads;
        ++writes;
    }
    // A read that waits for its check bits keeps its place; the patrol scrub's has one of its own.
    if (op == LineOp::kRead && m_host_reads == m_config.read_queue) return false;
    return queued_reads() + reads <= m_config.read_queue &&
           queued_writes() + m_reserved_writes + writes <= m_config.write_queue;
}

Ratio Ddr5Subchannel::queued() const {
    constexpr std::uint32_t kMillion = 1'000'000;
    const std::uint32_t reads = queued_reads() * kMillion / m_config.read_queue;
    if (queued_writes() <= m_config.write_high) return {std::min(reads, kMillion)};
    const std::uint32_t writes = (queued_writes() - m_config.write_high) * kMillion /
                                 std::max(1U, m_config.write_queue - m_config.write_high);
    return {std::min(std::max(reads, writes), kMillion)};
}

void Ddr5Subchannel::submit(Time at, const LineRequest& request) {
    const Cycle cycle = m_clock.first_at(at);
    run(cycle);
    if (!can_accept(request.op) || request.line >= m_config.data_lines()) {
        throw InvariantError("ddr5: submit without room, or line " + std::to_string(request.line) +
                             " beyond the end");
    }
    ++m_counters.requests;
    if (request.op == LineOp::kRead) {
        submit_read(cycle, request);
    } else {
        submit_write(cycle, request);
    }
    update_mode(cycle);
}

void Ddr5Subchannel::submit_read(Cycle at, const LineRequest& request) {
    const DramPlace place = m_map.place(request.line);
    if (find_write(request.line, place) != kNone) {
        ++m_counters.forwards;
        m_forwarded.push(
            {m_clock.at(at + kTaken + m_config.timing.burst) + m_config.controller, request.tag});
        return;
    }
    ++m_host_reads;
    const Index entry = push(kReads, request.line, place, at, Origin::kHost, request.tag);
    if (m_config.ecc != DramEcc::kInline) return;
    const Index fetch = fetch_check_bits(request.line, at, false);
    if (fetch == kNone) return;
    const Index wait = m_free_wait;
    m_free_wait = m_waits[wait].next;
    m_waits[wait] = {request.tag, 2, m_entries[fetch].dependents};
    m_entries[fetch].dependents = wait;
    m_entries[entry].wait = wait;
}

void Ddr5Subchannel::submit_write(Cycle at, const LineRequest& request) {
    if (!m_faults.empty() && request.op == LineOp::kWrite) {
        const auto fault = std::lower_bound(m_faults.begin(), m_faults.end(), request.line);
        if (fault != m_faults.end() && *fault == request.line) m_faults.erase(fault);
    }
    m_quick.push({m_clock.at(at + kTaken) + m_config.controller, request.tag});
    const bool reads_first = request.op == LineOp::kPartialWrite && m_config.ecc != DramEcc::kNone;
    const DramPlace place = m_map.place(request.line);
    if (find_write(request.line, place) != kNone) {
        ++m_counters.joined;
    } else if (reads_first) {
        ++m_reserved_writes;
        static_cast<void>(push(kReads, request.line, place, at, Origin::kModify, 0));
    } else {
        static_cast<void>(push(kWrites, request.line, place, at, Origin::kHost, 0));
    }
    if (m_config.ecc == DramEcc::kInline) {
        static_cast<void>(fetch_check_bits(request.line, at, true));
    }
}

void Ddr5Subchannel::queue_write(std::uint64_t line, Cycle at, Origin origin) {
    const DramPlace place = m_map.place(line);
    if (find_write(line, place) != kNone) {
        ++m_counters.joined;
        return;
    }
    static_cast<void>(push(kWrites, line, place, at, origin, 0));
}

/// Has the check bits of a line in the buffer, or on their way: returns the read that brings them.
Ddr5Subchannel::Index Ddr5Subchannel::fetch_check_bits(std::uint64_t line, Cycle at, bool dirty) {
    const std::uint64_t check_line = m_config.data_lines() + line / kLinesPerCheckLine;
    std::uint32_t slot = m_ecc.find(check_line);
    if (slot == EccBuffer::kNone) {
        slot = m_ecc.victim();
        EccBuffer::Line& held = m_ecc[slot];
        if (held.dirty) queue_write(held.line, at, Origin::kEcc);
        held = {.line = check_line};
        const DramPlace place = m_map.place(check_line);
        if (find_write(check_line, place) == kNone) {
            held.fetch = push(kReads, check_line, place, at, Origin::kEcc, 0);
        }
    }
    m_ecc.touch(slot);
    m_ecc[slot].dirty = m_ecc[slot].dirty || dirty;
    const std::uint32_t fetch = m_ecc[slot].fetch;
    return fetch == EccBuffer::kNone ? kNone : static_cast<Index>(fetch);
}

Ddr5Subchannel::Index Ddr5Subchannel::push(std::uint32_t direction, std::uint64_t line,
                                           const DramPlace& place, Cycle at, Origin origin,
                                           std::uint32_t tag) {
    if (m_free == kNone) throw InvariantError("ddr5: a queue overflows its entries");
    const Index index = m_free;
    Entry& entry = m_entries[index];
    m_free = entry.next;
    entry = {.arrival = at,
             .available = at + 1,
             .line = line,
             .tag = tag,
             .age = m_next_age++,
             .row = static_cast<std::int32_t>(place.row),
             .bank = static_cast<std::uint8_t>(place.bank),
             .origin = origin};
    List& list = m_lists[direction][place.bank];
    const bool first = list.head == kNone;
    (first ? list.head : m_entries[list.tail].next) = index;
    list.tail = index;
    m_pending[direction].set(place.bank);
    if (direction == kReads && m_live[kReads] == 0) m_reads_wait_since = at;
    ++m_live[direction];
    if (direction == m_mode) {
        // Behind others, it matters only where it hits the row that would else be closed.
        const bool hit = m_banks.open_row(place.bank) == entry.row;
        if (first || (hit && m_candidates[place.bank].kind == DramCommandKind::kPrecharge)) {
            choose(place.bank);
            consider(place.bank);
        }
    }
    return index;
}

void Ddr5Subchannel::unlink(std::uint32_t direction, Index index) {
    const std::uint32_t bank = m_entries[index].bank;
    List& list = m_lists[direction][bank];
    Index before = kNone;
    for (Index i = list.head; i != index; i = m_entries[i].next) before = i;
    const Index after = m_entries[index].next;
    (before == kNone ? list.head : m_entries[before].next) = after;
    if (after == kNone) list.tail = before;
    if (list.head == kNone) m_pending[direction].clear(bank);
    --m_live[direction];
}

Ddr5Subchannel::Index Ddr5Subchannel::find_write(std::uint64_t line, const DramPlace& place) const {
    if (!m_pending[kWrites].test(place.bank)) return kNone;
    Index i = m_lists[kWrites][place.bank].head;
    while (i != kNone && m_entries[i].line != line) i = m_entries[i].next;
    return i;
}

/// A read has left the queue; its data follow.
void Ddr5Subchannel::read_done(Index index, Cycle at) {
    Entry& entry = m_entries[index];
    if (!m_faults.empty()) correct(entry.line, at, entry.origin == Origin::kScrub);
    switch (entry.origin) {
        case Origin::kHost:
            if (entry.wait == kNone) {
                answer_data(entry.tag, at);
            } else {
                end_wait(entry.wait, at);
            }
            break;
        case Origin::kModify:
            ++m_counters.modifies;
            --m_reserved_writes;
            queue_write(entry.line, at + m_data_delay, Origin::kHost);
            break;
        case Origin::kEcc: {
            ++m_counters.ecc_reads;
            m_ecc[m_ecc.find(entry.line)].fetch = EccBuffer::kNone;
            for (Index w = entry.dependents; w != kNone;) {
                const Index next = m_waits[w].next;
                end_wait(w, at);
                w = next;
            }
            break;
        }
        case Origin::kScrub:
            ++m_counters.scrubs;
            m_scrubbing = false;
            break;
    }
}

void Ddr5Subchannel::inject_correctable(std::uint64_t line) {
    if (m_config.ecc == DramEcc::kNone) {
        throw UserError("dram: without ECC no error is corrected, nor seen");
    }
    if (line >= m_config.data_lines()) throw InvariantError("ddr5: an error beyond the end");
    const auto fault = std::lower_bound(m_faults.begin(), m_faults.end(), line);
    if (fault == m_faults.end() || *fault != line) m_faults.insert(fault, line);
}

/// A line was read. One that had an error is written anew, where scrubs have a place left for it;
/// else the error stays for the next read.
void Ddr5Subchannel::correct(std::uint64_t line, Cycle at, bool patrol) {
    const auto fault = std::lower_bound(m_faults.begin(), m_faults.end(), line);
    if (fault == m_faults.end() || *fault != line) return;
    ++m_counters.corrected;
    m_corrections.push_back({m_clock.at(at + m_data_delay), line, patrol});
    if (m_rewrites == kMostRewrites) return;
    ++m_counters.scrubbed;
    m_faults.erase(fault);
    const DramPlace place = m_map.place(line);
    if (find_write(line, place) != kNone) return;  // which makes it whole
    ++m_rewrites;
    static_cast<void>(push(kWrites, line, place, at + m_data_delay, Origin::kScrub, 0));
}

/// The same for the next lines of a patrol scrub that nothing else kept busy.
void Ddr5Subchannel::correct_idle(Cycle lines) {
    const std::uint64_t all = m_config.data_lines();
    std::erase_if(m_faults, [&](std::uint64_t line) {
        const std::uint64_t after = (line + all - m_scrub_line % all) % all;
        if (after >= static_cast<std::uint64_t>(lines)) return false;
        const Cycle at = m_scrub_due + static_cast<Cycle>(after) * m_scrub_interval;
        m_corrections.push_back({m_clock.at(at + m_data_delay), line, true});
        ++m_counters.corrected;
        ++m_counters.scrubbed;
        return true;
    });
}

void Ddr5Subchannel::end_wait(Index index, Cycle column_at) {
    Wait& wait = m_waits[index];
    if (--wait.parts != 0) return;
    answer_data(wait.tag, column_at);
    wait.next = m_free_wait;
    m_free_wait = index;
}

void Ddr5Subchannel::answer_data(std::uint32_t tag, Cycle column_at) {
    --m_host_reads;
    m_data.push({m_clock.at(column_at + m_data_delay) + m_config.controller, tag});
}

std::optional<LineAnswer> Ddr5Subchannel::pop_answer(Time now) {
    GrowingRing<LineAnswer>* earliest = nullptr;
    for (GrowingRing<LineAnswer>* ring : {&m_data, &m_quick, &m_forwarded}) {
        if (ring->empty() || ring->front().at > now) continue;
        if (earliest == nullptr || ring->front().at < earliest->front().at) earliest = ring;
    }
    if (earliest == nullptr) return std::nullopt;
    ++m_counters.answers;
    return earliest->pop();
}

Time Ddr5Subchannel::take_answer(std::uint32_t tag) {
    while (true) {
        for (GrowingRing<LineAnswer>* ring : {&m_data, &m_quick, &m_forwarded}) {
            if (ring->empty() || ring->back().tag != tag) continue;
            const Time at = ring->back().at;
            ring->pop_back();
            ++m_counters.answers;
            return at;
        }
        if (idle()) throw InvariantError("ddr5: no answer to tag " + std::to_string(tag));
        if (m_pick_stale) find_pick();
        perform();
    }
}

Time Ddr5Subchannel::next_event(bool blocked) {
    Time next = Time::never();
    for (const GrowingRing<LineAnswer>* ring : {&m_data, &m_quick, &m_forwarded}) {
        if (!ring->empty()) next = std::min(next, ring->front().at);
    }
    if (idle() || (m_host_reads == 0 && !blocked)) return next;
    // Room appears with a column command; data of a read that still waits follow one.
    const Cycle column = next_column();
    const Time work =
        blocked ? m_clock.at(column) : m_clock.at(column + m_data_delay) + m_config.controller;
    return std::min(next, work);
}

void Ddr5Subchannel::set_thermal(Time at, const DramThermal& thermal) {
    Ddr5Config changed = m_config;
    changed.thermal = thermal;
    check(changed);
    run(m_clock.first_at(at));
    m_config.thermal = thermal;
    m_refresh.set_interval(m_config.refresh_interval());
    m_banks.set_column_gap(column_gap(m_config));
    m_pick_stale = true;
}

}  // namespace kvplane::memory
