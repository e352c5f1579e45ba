// SPDX-License-Identifier: Apache-2.0
// Which command is given next, and what it changes; ddr5_subchannel.cpp has the queues.
#include <algorithm>
#include <bit>

#include "model/memory/ddr5_subchannel.h"

namespace kvplane::memory {
namespace {

constexpr std::uint32_t kNoRank = UINT32_MAX;

bool is_column(DramCommandKind kind) {
    return kind == DramCommandKind::kRead || kind == DramCommandKind::kWrite;
}

}  // namespace

void Ddr5Subchannel::run(Cycle to) {
    while (true) {
        if (idle()) {
            catch_up_idle(to);
            break;
        }
        if (m_pick_stale) find_pick();
        if (m_pick.at > to) break;
        perform();
    }
    m_floor = std::max(m_floor, to + 1);
}

/// What happens where nobody asks for anything: refreshes and scrubs, the long stretches at once.
void Ddr5Subchannel::catch_up_idle(Cycle to) {
    while (m_refresh.soonest() <= to) {
        const DramRefresh::Next next = m_refresh.next(m_banks, m_floor);
        if (next.at > to) break;
        if (next.step == DramRefresh::Step::kDue) {
            const DramCommand skipped = m_refresh.skip(next.rank, to, m_banks);
            if (skipped.count != 0) {
                m_counters.refreshes += skipped.count;
                report(skipped);
                continue;
            }
        }
        refresh_step(next);
    }
    if (m_scrub_due <= to) {
        const Cycle lines = (to - m_scrub_due) / m_scrub_interval + 1;
        if (!m_faults.empty()) correct_idle(lines);
        m_scrub_due += lines * m_scrub_interval;
        m_scrub_line += static_cast<std::uint64_t>(lines);
        m_counters.scrubs += static_cast<std::uint64_t>(lines);
    }
    m_pick_stale = true;
}

/// The older goes first; smaller is older, also where the count of requests has wrapped.
std::uint32_t Ddr5Subchannel::order_of(const Candidate& candidate) const {
    return candidate.age - m_next_age;
}

Ddr5Subchannel::Pick Ddr5Subchannel::scan(std::uint32_t no_activate_rank) {
    std::uint64_t best = UINT64_MAX;
    std::uint32_t best_bank = 0;
    Cycle column = DramRefresh::kNever;
    const Cycle floor = m_floor;
    for (std::uint32_t w = 0; w < 2; ++w) {
        // A bank that waits for its refresh still serves the request it was opened for.
        const std::uint64_t opened = m_opened_for[kReads].word[w] | m_opened_for[kWrites].word[w];
        std::uint64_t banks = eligible(w) & (~m_refresh.held().word[w] | opened);
        for (; banks != 0; banks &= banks - 1) {
            const std::uint32_t bank = w * 64 + static_cast<std::uint32_t>(std::countr_zero(banks));
            const Candidate& c = m_candidates[bank];
            const Cycle ready = ready_at(c, floor);
            if (is_column(c.kind)) column = std::min(column, ready);
            const std::uint64_t key =
                static_cast<std::uint64_t>(ready - floor) << 32U | order_of(c);
            if (key >= best) continue;
            if (c.kind == DramCommandKind::kActivate && m_banks.rank_of(bank) == no_activate_rank) {
                continue;
            }
            best = key;
            best_bank = bank;
        }
    }
    m_column_soonest = column;
    if (best == UINT64_MAX) return {};
    return {.at = floor + static_cast<Cycle>(best >> 32U), .bank = best_bank, .act = Act::kCommand};
}

void Ddr5Subchannel::find_pick() {
    m_pick = scan(kNoRank);
    if (m_refresh.soonest() <= m_pick.at) consider_refresh();
    if (m_scrub_due < m_pick.at) {
        m_pick = {.at = std::max(m_scrub_due, m_floor), .act = Act::kScrub};
    }
    m_pick_stale = false;
}

void Ddr5Subchannel::consider_refresh() {
    const DramRefresh::Next next = m_refresh.next(m_banks, m_floor);
    // An ACT just before a refresh of other banks would put it off, again and again.
    if (next.step == DramRefresh::Step::kRefresh && m_pick.act == Act::kCommand &&
        m_candidates[m_pick.bank].kind == DramCommandKind::kActivate &&
        m_banks.rank_of(m_pick.bank) == next.rank &&
        m_pick.at > next.at - m_refresh.activate_gap()) {
        m_pick = scan(next.rank);
    }
    // A row that was opened for a request serves it before it is closed for the refresh; else,
    // where rcd is ras, the request would open it again after each refresh and never get its data.
    const bool serves = next.step == DramRefresh::Step::kPrecharge && m_pick.act == Act::kCommand &&
                        m_refresh.held().test(m_pick.bank) &&
                        is_column(m_candidates[m_pick.bank].kind);
    if (next.at < m_pick.at || (next.at == m_pick.at && !serves)) {
        m_pick = {.at = next.at, .act = Act::kRefresh, .refresh = next};
    }
}

/// The soonest that a request may leave its queue: by a column command that is ready, or by one for
/// which a row is still to be opened.
Cycle Ddr5Subchannel::next_column() {
    if (m_pick_stale) find_pick();
    if (m_pick.act == Act::kScrub) return m_pick.at;
    if (m_pick.at == DramRefresh::kNever) return m_column_soonest;
    return std::min(m_column_soonest, m_pick.at + m_config.timing.rcd);
}

/// The candidate of a bank has changed: is it sooner than the pick?
void Ddr5Subchannel::consider(std::uint32_t bank) {
    if (m_pick_stale) return;
    const Candidate& c = m_candidates[bank];
    const bool picked = m_pick.act == Act::kCommand && m_pick.bank == bank;
    if (picked || m_refresh.soonest() < m_floor) {
        m_pick_stale = true;
        return;
    }
    if (m_refresh.held().test(bank)) return;
    const Cycle ready = ready_at(c, m_floor);
    if (is_column(c.kind)) m_column_soonest = std::min(m_column_soonest, ready);
    const bool sooner = ready < m_pick.at || (ready == m_pick.at && m_pick.act == Act::kCommand &&
                                              order_of(c) < order_of(m_candidates[m_pick.bank]));
    if (sooner) m_pick = {.at = ready, .bank = bank, .act = Act::kCommand};
}

void Ddr5Subchannel::perform() {
    const Pick pick = m_pick;
    m_pick_stale = true;
    switch (pick.act) {
        case Act::kCommand:
            command(pick.bank, pick.at);
            break;
        case Act::kRefresh:
            refresh_step(pick.refresh);
            break;
        case Act::kScrub:
            scrub();
            break;
    }
}

void Ddr5Subchannel::command(std::uint32_t bank, Cycle at) {
    const Candidate& c = m_candidates[bank];
    if (is_column(c.kind)) {
        column(bank, at);
        return;
    }
    const auto row = static_cast<std::uint32_t>(m_entries[c.entry].row);
    report({.at = at, .kind = c.kind, .bank = bank, .row = row});
    if (c.kind == DramCommandKind::kActivate) {
        ++m_counters.activates;
        m_banks.activate(at, bank, row);
        m_refresh.activated(at, m_banks.rank_of(bank));
        m_opened[bank] = c.entry;
        m_opened_for[m_mode].set(bank);
        m_floor = at + m_config.timing.command_long;
    } else {
        ++m_counters.precharges;
        m_banks.precharge(at, bank);
        forget_opened(bank);
        m_floor = at + 1;
    }
    choose(bank);
}

void Ddr5Subchannel::column(std::uint32_t bank, Cycle at) {
    const Candidate c = m_candidates[bank];
    const Index index = c.entry;
    const std::uint32_t direction = c.kind == DramCommandKind::kRead ? kReads : kWrites;
    report({.at = at,
            .kind = c.kind,
            .bank = bank,
            .row = static_cast<std::uint32_t>(m_entries[index].row)});
    m_floor = at + m_config.timing.command_long;
    unlink(direction, index);
    if (m_opened[bank] == index) forget_opened(bank);
    if (direction == kReads) {
        ++m_counters.reads;
        m_banks.read(at, bank);
        if (m_owed_reads != 0) --m_owed_reads;
        read_done(index, at);
    } else {
        ++m_counters.writes;
        if (m_live[kReads] != 0) ++m_batch;
        if (m_entries[index].origin == Origin::kEcc) ++m_counters.ecc_writes;
        if (m_entries[index].origin == Origin::kScrub) --m_rewrites;
        m_banks.write(at, bank);
    }
    m_entries[index].next = m_free;
    m_free = index;
    if (is_eligible(bank)) choose(bank);
    update_mode(at);
}

void Ddr5Subchannel::refresh_step(const DramRefresh::Next& next) {
    if (next.step == DramRefresh::Step::kDue) {
        m_floor = std::max(m_floor, next.at);
        m_refresh.due(next.rank);
        return;
    }
    m_floor = next.at + 1;
    if (next.step == DramRefresh::Step::kPrecharge) {
        ++m_counters.precharges;
        report(m_refresh.precharge(next, m_banks));
    } else {
        ++m_counters.refreshes;
        report(m_refresh.refresh(next, m_banks));
    }
    // Rows were closed, or may not be opened for a while.
    const std::uint32_t first = next.rank * m_config.geometry.rank_banks();
    for (std::uint32_t b = first; b < first + m_config.geometry.rank_banks(); ++b) {
        if (m_banks.open_row(b) == DramBanks::kClosed) forget_opened(b);
        if (is_eligible(b)) choose(b);
    }
}

/// The patrol scrub reads its next line like any other read, in a place of its own beside the read
/// queue's. Where the last one still waits, its turn passes.
void Ddr5Subchannel::scrub() {
    const Cycle at = m_scrub_due;
    m_scrub_due += m_scrub_interval;
    if (m_scrubbing) return;
    m_scrubbing = true;
    const std::uint64_t line = m_scrub_line++ % m_config.data_lines();
    static_cast<void>(push(kReads, line, m_map.place(line), at, Origin::kScrub, 0));
}

/// What a bank with requests in the current direction would do next.
void Ddr5Subchannel::choose(std::uint32_t bank) {
    Candidate& c = m_candidates[bank];
    const std::int32_t row = m_banks.open_row(bank);
    const std::uint32_t other = 1 - m_mode;
    const bool finishing = m_opened_for[other].test(bank);
    const std::uint32_t direction = finishing ? other : m_mode;
    Index entry = finishing ? m_opened[bank] : m_lists[m_mode][bank].head;
    c.kind = DramCommandKind::kActivate;
    if (row != DramBanks::kClosed) {
        const Entry& oldest = m_entries[entry];
        Index hit = entry;
        while (hit != kNone && m_entries[hit].row != row) hit = m_entries[hit].next;
        const bool starved = hit != entry && m_floor - oldest.arrival > m_starvation;
        if (hit == kNone || starved) {
            c.kind = DramCommandKind::kPrecharge;
        } else {
            c.kind = direction == kReads ? DramCommandKind::kRead : DramCommandKind::kWrite;
            entry = hit;
        }
    }
    c.entry = entry;
    c.age = m_entries[entry].age;
    c.group = static_cast<std::uint8_t>(m_banks.group_of(bank));
    c.ready = std::max(m_entries[entry].available, m_banks.bank_ready(c.kind, bank));
}

void Ddr5Subchannel::set_mode(std::uint32_t mode, Cycle at) {
    m_mode = mode;
    if (mode == kWrites) m_reads_wait_since = at;
    m_batch = 0;
    ++m_counters.turnarounds;
    m_pick_stale = true;
    for (std::uint32_t w = 0; w < 2; ++w) {
        for (std::uint64_t banks = eligible(w); banks != 0; banks &= banks - 1) {
            choose(w * 64 + static_cast<std::uint32_t>(std::countr_zero(banks)));
        }
    }
}

void Ddr5Subchannel::update_mode(Cycle at) {
    const std::uint32_t reads = m_live[kReads];
    const std::uint32_t writes = m_live[kWrites];
    if (m_mode == kReads) {
        if (m_owed_reads != 0 && reads != 0) return;
        if (writes > m_config.write_high || (reads == 0 && writes != 0)) set_mode(kWrites, at);
        return;
    }
    if (writes == 0 || (writes < m_config.write_low && reads != 0)) return set_mode(kReads, at);
    // Writes that come meanwhile wait for the next batch, and that for the reads.
    const bool starved = reads != 0 && at - m_reads_wait_since > m_starvation;
    if (!starved && m_batch < m_config.write_batch()) return;
    m_owed_reads = reads;
    set_mode(kReads, at);
}

void Ddr5Subchannel::forget_opened(std::uint32_t bank) {
    m_opened[bank] = kNone;
    m_opened_for[kReads].clear(bank);
    m_opened_for[kWrites].clear(bank);
}

void Ddr5Subchannel::report(const DramCommand& command) {
    if (m_observer != nullptr) m_observer->command(command);
}

}  // namespace kvplane::memory
