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
        buffer.waiting.reserve(m_store_buffer + 1);
        buffer.lingering.reserve(m_store_buffer + 1);
    }
}

void TimedTable::clear() {
    m_table.clear();
    for (StoreBuffer& buffer : m_buffers) {
        buffer.waiting.clear();
        buffer.lingering.clear();
        buffer.starved = 0;
    }
    m_pending = 0;
    m_kick_pending = false;
    m_kick = {};
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
        m_cycle = m_next_slot = m_quiet = 0;
        std::fill(m_read_free.begin(), m_read_free.end(), 0);
        std::fill(m_write_free.begin(), m_write_free.end(), 0);
        for (StoreBuffer& buffer : m_buffers) buffer.lingering.clear();
        m_commits.assign(m_commits.size(), {});
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
    for (std::uint32_t choice = 0; choice < m_buffers.size(); ++choice) {
        if (places_held(choice, cycle) >= m_store_buffer) return false;
    }
    if (request.operation != Operation::kInsert || !m_kick_pending) return true;
    std::uint64_t may_stash = m_table.stashed();
    for (const Commit& commit : m_commits) may_stash += commit.inserts && commit.cycle > cycle;
    return may_stash < m_table.config().stash;
}

std::size_t TimedTable::places_held(std::uint32_t choice, Cycle cycle) const {
    const StoreBuffer& buffer = m_buffers[choice];
    std::size_t held = buffer.waiting.size();
    for (const Cycle until : buffer.lingering) held += until > cycle ? 1 : 0;
    // Until it commits, a request holds a place of each choice.
    for (const Commit& commit : m_commits) {
        const bool wrote = (commit.writes >> choice & 1U) != 0;
        held += commit.cycle > cycle && commit.mutates && !wrote ? 1 : 0;
    }
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
    const Cycle commits = cycle + latency_cycles();
    Commit commit{.cycle = commits, .mutates = request.operation != Operation::kLookup};
    if (m_table.written()) {
        commit.writes = 1U << m_table.written()->choice;
        push_write(commits - 1);
    }
    const bool to_stash = m_table.stashed() != stashed;
    if (to_stash) commit.writes |= kStashBit;
    commit.inserts = request.operation == Operation::kInsert && answer.done() && !to_stash;
    m_commits[commits & (m_commits.size() - 1)] = commit;
    if (!m_kick_pending && m_table.kicking()) {
        m_kick_pending = true;
        m_kick.ready = commits;
    }
}

void TimedTable::count(const Request& request, const Answer& answer) {
    ++m_counters.requests;
    m_counters.lookups += request.operation == Operation::kLookup ? 1 : 0;
    m_counters.hits += answer.found() ? 1 : 0;
    m_counters.inserts += request.operation == Operation::kInsert && answer.done() ? 1 : 0;
}

void TimedTable::push_write(Cycle ready) {
    const CuckooTable::Place& place = *m_table.written();
    StoreBuffer& buffer = m_buffers[place.choice];
    const std::uint64_t location = place.bucket * m_table.config().slots + place.slot;
    for (SlotWrite& write : buffer.waiting) {
        if (write.location != location || write.dead) continue;
        write.dead = true;
        ++m_counters.dead_writes;
    }
    buffer.waiting.push_back(
        {.location = location, .bank = bank_of(place.choice, place.bucket), .ready = ready});
    ++m_pending;
}

void TimedTable::run_until(Cycle cycle) {
    while (m_cycle < cycle && busy()) step(m_cycle++);
    m_cycle = std::max(m_cycle, cycle);
}

void TimedTable::step(Cycle cycle) {
    for (std::uint32_t choice = 0; choice < m_buffers.size(); ++choice) {
        if (!m_buffers[choice].waiting.empty()) drain(choice, cycle);
    }
    if (m_kick_pending) step_kick(cycle);
}

void TimedTable::drain(std::uint32_t choice, Cycle cycle) {
    StoreBuffer& buffer = m_buffers[choice];
    std::erase_if(buffer.lingering, [&](Cycle until) { return until <= cycle; });
    while (!buffer.waiting.empty() && buffer.waiting.front().dead &&
           buffer.waiting.front().ready <= cycle) {
        buffer.waiting.erase(buffer.waiting.begin());
        --m_pending;
    }
    if (buffer.waiting.empty() || buffer.waiting.front().ready > cycle) return;
    const std::uint32_t bank = buffer.waiting.front().bank;
    Cycle& free = m_write_port ? m_write_free[bank] : m_read_free[bank];
    if (free > cycle) {
        wait_for_bank(buffer.starved, cycle);
        return;
    }
    free = cycle + m_figures.bank_busy;
    buffer.starved = 0;
    buffer.lingering.push_back(cycle + m_figures.sram_cycles + 2);
    buffer.waiting.erase(buffer.waiting.begin());
    --m_pending;
    ++m_counters.drains;
    m_counters.dynamic_fj += m_figures.slot_write_fj;
    m_quiet = std::max(m_quiet, cycle + m_figures.sram_cycles + 2 + m_figures.bank_busy);
}

void TimedTable::wait_for_bank(Cycle& starved, Cycle cycle) {
    ++m_counters.conflicts;
    if (++starved < kPatience) return;
    starved = 0;
    if (m_next_slot <= cycle + 1) ++m_counters.stolen;
    m_next_slot = std::max(m_next_slot, cycle + 1 + m_figures.bank_busy);
}

void TimedTable::step_kick(Cycle cycle) {
    if (cycle < m_kick.ready) return;
    if (m_kick.committing) {
        commit_kick(cycle);
    } else if (m_kick.reading) {
        read_for_kick(cycle);
    } else {
        pick_kick(cycle);
    }
}

void TimedTable::pick_kick(Cycle cycle) {
    const std::optional<std::uint64_t> key = m_table.kicking();
    if (!key) {
        m_kick_pending = false;
        return;
    }
    m_kick = {.reading = true, .key = *key, .reads_left = m_table.kick_reads(), .ready = cycle + 1};
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
    m_kick.reading = false;
    m_kick.committing = true;
    m_kick.ready = cycle + m_figures.sram_cycles + 1;
    m_quiet = std::max(m_quiet, m_kick.ready + 1);
}

void TimedTable::commit_kick(Cycle cycle) {
    // A request's commit goes first where both would write the stash or one choice. Of an entry
    // that may go to any choice the one is known only then, so that a write of either holds it up.
    const Commit& commit = m_commits[(cycle + 1) & (m_commits.size() - 1)];
    const std::uint32_t may_write = m_table.kick_reads() | kStashBit;
    if (commit.cycle == cycle + 1 && (commit.writes & may_write) != 0) return;
    const bool full = std::any_of(m_buffers.begin(), m_buffers.end(), [&](const StoreBuffer& b) {
        return b.waiting.size() >= m_store_buffer;
    });
    if (full) return;
    m_kick.committing = false;
    m_kick.ready = cycle + 1;
    // A removal in the meantime aborts the kick.
    if (m_table.kicking() != std::optional(m_kick.key)) return;
    m_table.kick();
    if (m_table.written()) push_write(cycle + 1);
}

}  // namespace kvplane::index
