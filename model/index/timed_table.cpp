// SPDX-License-Identifier: Apache-2.0
#include "model/index/timed_table.h"

#include <algorithm>
#include <bit>

namespace kvplane::index {
CuckooConfig cuckoo_config(const IndexConfig& config) {
    const std::uint64_t buckets = config.sram.count / sizeof(Entry) / config.slots / config.choices;
    return {.choices = config.choices,
            .buckets_log2 = static_cast<std::uint32_t>(std::bit_width(buckets) - 1),
            .slots = config.slots,
            .stash = config.stash,
            .kick_limit = config.kick_limit,
            .fingerprint_bits = config.fingerprint_bits};
}

TimedTable::TimedTable(const IndexConfig& config)
    : m_figures(engine_figures(config)),
      m_table(cuckoo_config(config)),
      m_period(config.clock.cycles(1)),
      m_choice_banks(config.banks / config.choices),
      m_store_buffer(config.store_buffer),
      m_write_port(config.ports == memory::SramPorts::k1r1w),
      m_read_free(config.banks),
      m_write_free(config.banks),
      m_buffers(config.choices),
      m_commits(std::bit_ceil(std::size_t{m_figures.latency_cycles()} + 2)) {
    for (StoreBuffer& buffer : m_buffers) {
        buffer.places.reserve(m_store_buffer + 1);
    }
}

void TimedTable::clear() {
    m_table.clear();
    for (StoreBuffer& buffer : m_buffers) {
        buffer.places.clear();
        buffer.out = 0;
        buffer.starved = 0;
    }
    m_writes = 0;
    m_kick_pending = false;
    m_kick = {};
    m_kick_push = {};
    m_commits.assign(m_commits.size(), {});
}

TimedTable::Cycle TimedTable::cycle_at_or_after(Time at) const {
    const std::int64_t since = at.ps - m_origin.ps;
    return since <= 0 ? 0 : static_cast<Cycle>((since + m_period.ps - 1) / m_period.ps);
}

std::uint32_t TimedTable::bank_of(std::uint32_t choice, std::uint64_t bucket) const {
    return choice * m_choice_banks + static_cast<std::uint32_t>(bucket & (m_choice_banks - 1));
}

TimedAnswer TimedTable::submit(const Request& request, Time at) {
    run_until(std::max(cycle_at_or_after(at), m_next_slot));
    if (!busy() && at >= time_of(m_quiet)) {
        // Idle: the clock starts anew with this request.
        m_origin = at;
        m_cycle = m_next_slot = m_quiet = m_armed = 0;
        std::fill(m_read_free.begin(), m_read_free.end(), 0);
        std::fill(m_write_free.begin(), m_write_free.end(), 0);
        m_commits.assign(m_commits.size(), {});
        m_kick = {};
    }
    const CuckooTable::Buckets buckets = m_table.buckets_of(request.key);
    const Cycle cycle = admit(request, buckets, std::max(cycle_at_or_after(at), m_next_slot));
    read_banks(buckets, cycle);
    const std::uint64_t stashed = m_table.stashed();
    const std::uint64_t entries_read = m_table.counters().entries_read;
    const Answer answer = m_table.commit(request);
    m_counters.dynamic_fj +=
        m_figures.request_read_fj +
        (m_table.counters().entries_read - entries_read) * m_figures.entry_read_fj;
    record_commit(request, answer, stashed, cycle);
    count(request, answer);
    m_next_slot = cycle + 1;
    return {answer, time_of(cycle), time_of(cycle + latency_cycles())};
}

TimedTable::Cycle TimedTable::admit(const Request& request, const CuckooTable::Buckets& buckets,
                                    Cycle cycle) {
    for (;; ++cycle) {
        run_until(cycle);
        if (m_next_slot > cycle) {  // a stolen slot
            ++m_counters.stalls;
            continue;
        }
        if (!has_credit(request, cycle)) {
            ++m_counters.stalls;
            continue;
        }
        if (banks_free(buckets, cycle)) return cycle;
        ++m_counters.stalls;
        ++m_counters.conflicts;
    }
}

bool TimedTable::banks_free(const CuckooTable::Buckets& buckets, Cycle cycle) const {
    if (m_figures.bank_busy == 1) return true;  // requests come first in every cycle
    for (std::uint32_t choice = 0; choice < m_buffers.size(); ++choice) {
        if (m_read_free[bank_of(choice, buckets[choice])] > cycle) return false;
    }
    return true;
}

bool TimedTable::has_credit(const Request& request, Cycle cycle) const {
    if (request.operation == Operation::kLookup) return true;
    const std::size_t kept = m_kick.busy ? 1 : 0;
    for (std::uint32_t choice = 0; choice < m_buffers.size(); ++choice) {
        if (places_held(choice, cycle) + kept >= m_store_buffer) return false;
    }
    return request.operation != Operation::kInsert || stash_has_credit(cycle);
}

bool TimedTable::stash_has_credit(Cycle cycle) const {
    const std::uint64_t stash = m_table.config().stash;
    if (stash == 0) return true;  // nor is anything kicked
    std::uint64_t may_stash = m_table.stashed();
    bool inserting = false;
    for (const Commit& commit : m_commits) {
        if (commit.edge < cycle || !commit.inserts) continue;
        inserting = true;
        may_stash += commit.stashes ? 0 : 1;
    }
    return may_stash < stash || (!m_kick_pending && !inserting);
}

std::size_t TimedTable::places_held(std::uint32_t choice, Cycle edge) const {
    std::size_t held = m_buffers[choice].places.size();
    for (const Commit& commit : m_commits) held += commit.mutates && commit.edge >= edge ? 1 : 0;
    return held;
}

void TimedTable::read_banks(const CuckooTable::Buckets& buckets, Cycle cycle) {
    for (std::uint32_t choice = 0; choice < m_buffers.size(); ++choice) {
        m_read_free[bank_of(choice, buckets[choice])] = cycle + m_figures.bank_busy;
    }
    m_quiet = std::max(m_quiet, cycle + std::max(latency_cycles(), m_figures.bank_busy));
}

void TimedTable::record_commit(const Request& request, const Answer& answer, std::uint64_t stashed,
                               Cycle cycle) {
    const Cycle edge = cycle + latency_cycles();
    Commit commit{.edge = edge,
                  .mutates = request.operation != Operation::kLookup,
                  .inserts = request.operation == Operation::kInsert,
                  .push = {}};
    if (m_table.written()) {
        commit.writes = 1U << m_table.written()->choice;
        commit.push = push_at(edge);
    }
    // A DELETE from a slot looks for an entry to arm.
    const bool in_stash = answer.done() && !m_table.written();
    if (in_stash || (answer.done() && request.operation == Operation::kDelete)) {
        commit.writes |= kStashBit;
    }
    commit.stashes = commit.inserts && m_table.stashed() != stashed;
    m_commits[edge & (m_commits.size() - 1)] = commit;
    if (commit.stashes || (!m_kick_pending && m_table.kicking())) {
        m_kick_pending = true;
        m_armed = edge;
    }
}

void TimedTable::count(const Request& request, const Answer& answer) {
    ++m_counters.requests;
    m_counters.lookups += request.operation == Operation::kLookup ? 1 : 0;
    m_counters.hits += answer.found() ? 1 : 0;
    m_counters.inserts += request.operation == Operation::kInsert && answer.done() ? 1 : 0;
}

TimedTable::Push TimedTable::push_at(Cycle edge) {
    const CuckooTable::Place& place = *m_table.written();
    ++m_writes;
    return {.edge = edge,
            .choice = place.choice,
            .write = {.location = place.bucket * m_table.config().slots + place.slot,
                      .bank = bank_of(place.choice, place.bucket)},
            .valid = true};
}

void TimedTable::push(const Push& push) {
    StoreBuffer& buffer = m_buffers[push.choice];
    for (std::size_t i = buffer.out; i < buffer.places.size(); ++i) {
        SlotWrite& write = buffer.places[i];
        if (write.location != push.write.location || write.dead) continue;
        write.dead = true;
        ++m_counters.dead_writes;
    }
    buffer.places.push_back(push.write);
}

void TimedTable::run_until(Cycle cycle) {
    while (m_cycle < cycle && busy()) step(m_cycle++);
    m_cycle = std::max(m_cycle, cycle);
}

void TimedTable::step(Cycle cycle) {
    Push& request_push = commit_of(cycle).push;
    for (Push* due : {&request_push, &m_kick_push}) {
        if (!due->valid || due->edge != cycle) continue;
        push(*due);
        due->valid = false;
    }
    for (std::uint32_t choice = 0; choice < m_buffers.size(); ++choice) drain(choice, cycle);
    step_kick(cycle);
    for (StoreBuffer& buffer : m_buffers) give_back(buffer, cycle);
}

void TimedTable::drain(std::uint32_t choice, Cycle cycle) {
    StoreBuffer& buffer = m_buffers[choice];
    if (buffer.out == buffer.places.size()) return;
    const bool skips = buffer.places[buffer.out].dead;
    if (skips) {
        // A dead write need not linger: the newer one holds its location.
        buffer.places[buffer.out++].over = cycle + 2;
        buffer.starved = 0;
        if (buffer.out == buffer.places.size() || buffer.places[buffer.out].dead) return;
    }
    SlotWrite& first = buffer.places[buffer.out];
    Cycle& free = m_write_port ? m_write_free[first.bank] : m_read_free[first.bank];
    if (free > cycle) {
        if (!skips) wait_for_bank(buffer.starved, cycle);
        return;
    }
    free = cycle + m_figures.bank_busy;
    first.over = cycle + m_figures.sram_cycles + 2;
    ++buffer.out;
    buffer.starved = 0;
    ++m_counters.drains;
    m_counters.dynamic_fj += m_figures.slot_write_fj;
    m_quiet = std::max(m_quiet, cycle + m_figures.bank_busy);
}

void TimedTable::give_back(StoreBuffer& buffer, Cycle cycle) {
    constexpr std::size_t kMost = 2;
    std::size_t over = 0;
    while (over < kMost && over < buffer.out && buffer.places[over].over <= cycle + 1) ++over;
    if (over == 0) return;
    buffer.places.erase(buffer.places.begin(),
                        buffer.places.begin() + static_cast<std::ptrdiff_t>(over));
    buffer.out -= over;
    m_writes -= static_cast<std::uint32_t>(over);
}

void TimedTable::wait_for_bank(Cycle& starved, Cycle cycle) {
    ++m_counters.conflicts;
    starve(starved, cycle);
}

void TimedTable::starve(Cycle& starved, Cycle cycle) {
    if (++starved < kPatience) return;
    starved = 0;
    if (m_next_slot <= cycle + 1) ++m_counters.stolen;
    m_next_slot = std::max(m_next_slot, cycle + 1 + m_figures.bank_busy);
}

void TimedTable::step_kick(Cycle cycle) {
    m_kick.busy = m_kick.state != KickState::kIdle;
    if (cycle < m_kick.ready) return;
    switch (m_kick.state) {
        case KickState::kIdle:
            if (m_kick_pending && m_armed <= cycle) m_kick.state = KickState::kPick;
            break;
        case KickState::kPick:
            pick_kick();
            break;
        case KickState::kRead:
            read_for_kick(cycle);
            break;
        case KickState::kCommit:
            commit_kick(cycle);
            break;
    }
}

void TimedTable::pick_kick() {
    const std::optional<std::uint64_t> key = m_table.kicking();
    m_kick_pending = key.has_value();
    m_kick.state = key ? KickState::kRead : KickState::kIdle;
    m_kick.key = key.value_or(0);
    m_kick.reads_left = m_table.kick_reads();
    m_kick.starved = 0;
}

void TimedTable::read_for_kick(Cycle cycle) {
    for (std::uint32_t choice = 0; choice < m_buffers.size(); ++choice) {
        if ((m_kick.reads_left >> choice & 1U) == 0) continue;
        const std::uint32_t bank = bank_of(choice, m_table.bucket_of(choice, m_kick.key));
        if (m_read_free[bank] > cycle) continue;
        m_read_free[bank] = cycle + m_figures.bank_busy;
        m_kick.reads_left &= ~(1U << choice);
        m_counters.dynamic_fj += m_figures.bucket_read_fj;
    }
    if (m_kick.reads_left != 0) {
        wait_for_bank(m_kick.starved, cycle);
        return;
    }
    // The SRAM, then the error correction.
    m_kick.state = KickState::kCommit;
    m_kick.ready = cycle + m_figures.sram_cycles + 2;
    m_kick.starved = 0;
    m_quiet = std::max(m_quiet, cycle + m_figures.bank_busy);
}

void TimedTable::commit_kick(Cycle cycle) {
    // A removal in the meantime aborts the kick.
    if (m_table.kicking() != std::optional(m_kick.key)) {
        m_kick.state = KickState::kIdle;
        return;
    }
    // A request's commit goes first where both would write the stash or one choice. Of an entry
    // that may go to any choice the one is known only then, so that a write of either holds it up.
    const std::uint32_t choices = m_table.kick_reads();
    const Commit& commit = commit_of(cycle + 1);
    bool waits = commit.edge == cycle + 1 && (commit.writes & (choices | kStashBit)) != 0;
    for (std::uint32_t choice = 0; choice < m_buffers.size(); ++choice) {
        if ((choices >> choice & 1U) == 0) continue;
        waits |= places_held(choice, cycle + 1) >= m_store_buffer;
    }
    if (waits) {
        starve(m_kick.starved, cycle);
        return;
    }
    const std::uint64_t stashed = m_table.stashed();
    m_table.kick();
    m_kick_pending = m_table.kicking().has_value();
    if (m_table.written()) m_kick_push = push_at(cycle + 1);
    // After a swap the walk goes on with the victim.
    const bool ends = m_table.stashed() != stashed || !m_table.written();
    m_kick.state = ends ? KickState::kIdle : KickState::kPick;
}

}  // namespace kvplane::index
