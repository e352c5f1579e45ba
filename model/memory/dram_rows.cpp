// SPDX-License-Identifier: Apache-2.0
#include "model/memory/dram_rows.h"

#include <algorithm>
#include <limits>

namespace kvplane::memory {
namespace {

/// Before any refresh.
constexpr Cycle kNone = std::numeric_limits<Cycle>::min() / 2;
/// A request taken in one cycle is scheduled in the next.
constexpr Cycle kSchedule = 1;

}  // namespace

DramRows::DramRows(const Ddr5Config& config)
    : m_timing(config.timing),
      m_geometry(config.geometry),
      m_same_bank(config.refresh == DramRefreshMode::kSameBank),
      m_stops(!m_same_bank && config.refresh_interval() != 0 && config.geometry.ranks == 1),
      m_interval(config.refresh_interval()),
      m_refresh(config.refresh_time()),
      m_clock(config.timing.speed),
      m_map(config.mapping, config.geometry),
      m_banks(config.geometry.all_banks()),
      m_ranks(config.geometry.ranks) {}

Ratio DramRows::running() const {
    constexpr Cycle kMillion = 1'000'000;
    if (!m_stops) return {kMillion};
    return {
        static_cast<std::uint32_t>((m_interval - m_refresh - m_timing.rp) * kMillion / m_interval)};
}

DramRows::Stop DramRows::last_stop(Time at) {
    if (!m_stops) return {};
    const Cycle due = last_refresh(0, m_clock.first_at(at));
    if (due == kNone) return {};
    return {m_clock.at(due), m_clock.at(end_of_refresh(0, due))};
}

/// A refresh waits until all rows may be closed, closes them, and takes its time.
Cycle DramRows::end_of_refresh(std::uint32_t bank, Cycle due) {
    if (m_same_bank) {
        const bool open = m_banks[bank].row != kClosed && m_banks[bank].opened <= due;
        return due + (open ? m_timing.rp : 0) + m_refresh;
    }
    Rank& rank = m_ranks[bank / m_geometry.rank_banks()];
    // Of a refresh before the last only its length is known.
    if (due < rank.due) return due + m_refresh;
    if (due > rank.due) {
        const bool open = rank.closable > due - m_interval;
        rank.due = due;
        rank.end = (open ? std::max(due, rank.closable) + m_timing.rp : due) + m_refresh;
    }
    return rank.end;
}

/// The last refresh of the bank that fell due up to `at`; ranks take turns, and sets of banks.
Cycle DramRows::last_refresh(std::uint32_t bank, Cycle at) const {
    if (m_interval == 0) return kNone;
    const Cycle rank = bank / m_geometry.rank_banks();
    Cycle first = m_interval + m_interval * rank / m_geometry.ranks;
    Cycle period = m_interval;
    if (m_same_bank) {
        first += m_interval * (bank % m_geometry.banks);
        period *= m_geometry.banks;
    }
    return at < first ? kNone : first + (at - first) / period * period;
}

Time DramRows::access(Time at, Time bus, std::uint64_t line, bool write) {
    const DramTiming& t = m_timing;
    const DramPlace place = m_map.place(line);
    Bank& bank = m_banks[place.bank];
    Cycle ready = m_clock.first_at(at) + kSchedule;
    const Cycle refresh = last_refresh(place.bank, ready);
    const bool open = bank.row != kClosed && bank.opened > refresh;
    if (refresh != kNone) ready = std::max(ready, end_of_refresh(place.bank, refresh));
    Cycle column = std::max(ready, bank.column);
    if (!open || bank.row != place.row) {
        const Cycle closed = open ? std::max(ready, bank.precharge) + t.rp : ready;
        bank.opened = std::max(closed, bank.activate);
        bank.row = place.row;
        bank.activate = bank.opened + t.rc;
        bank.precharge = bank.opened + t.ras;
        column = bank.opened + t.rcd;
    }
    // The bus is busy with data of others until `bus`; commands come before their data.
    column = std::max(column, m_clock.first_at(bus) + kSchedule);
    bank.column = column + t.ccd_l;
    bank.precharge = std::max(bank.precharge, column + (write ? t.cwl + t.burst + t.wr : t.rtp));
    Rank& rank = m_ranks[place.bank / m_geometry.rank_banks()];
    rank.closable = std::max(rank.closable, bank.precharge);
    return m_clock.at(column + t.cl + t.burst);
}

}  // namespace kvplane::memory
