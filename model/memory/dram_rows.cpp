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

DramRows::DramRows(const Ddr5Config& config, Cycle refresh_offset)
    : m_timing(config.timing),
      m_geometry(config.geometry),
      m_same_bank(config.refresh == DramRefreshMode::kSameBank),
      m_stops(!m_same_bank && config.refresh_interval() != 0 && config.geometry.ranks == 1),
      m_interval(config.refresh_interval()),
      m_refresh(config.refresh_time()),
      m_offset(refresh_offset),
      m_clock(config.timing.speed),
      m_map(config.mapping, config.geometry),
      m_banks(config.geometry.all_banks()),
      m_write_to_write(config.writes_modify ? config.timing.ccd_l_wr : config.timing.ccd_l_wr2),
      m_ranks(config.geometry.ranks) {}

Ratio DramRows::running() const {
    constexpr Cycle kMillion = 1'000'000;
    if (!m_stops) return {kMillion};
    return {
        static_cast<std::uint32_t>((m_interval - m_refresh - m_timing.rp) * kMillion / m_interval)};
}

Time DramRows::after_refresh(Time at) { return std::max(at, refresh_ended(at)); }

Time DramRows::next_refresh(Time at) const {
    if (!m_stops) return Time::never();
    const Cycle last = last_refresh(0, m_clock.first_at(at));
    return m_clock.at(last == kNone ? m_offset + m_interval : last + m_interval);
}

Time DramRows::refresh_ended(Time at) {
    const Cycle due = m_stops ? last_refresh(0, m_clock.first_at(at)) : kNone;
    return due == kNone ? Time{INT64_MIN / 2} : m_clock.at(end_of_refresh(0, due));
}

void DramRows::streamed(std::uint64_t line, Time at, Time pass) {
    const std::uint32_t number = bank_of(line);
    Bank& bank = m_banks[number];
    const Cycle cycle = m_clock.first_at(at);
    // What came during a refresh opens its rows when that ends.
    const Cycle refresh = last_refresh(number, cycle);
    const Cycle since = std::max(refresh, bank.row == kClosed ? 0 : bank.opened);
    const auto banks = static_cast<Cycle>(m_banks.size());
    const Cycle reached = since + m_clock.first_at(pass) * (2 * number + 1) / (2 * banks);
    if (reached > cycle) return;
    bank.row = kOfAStream;
    bank.opened = std::max(reached, refresh + 1);
}

Time DramRows::least_batch(std::uint32_t writes) const {
    std::array<std::uint32_t, kMostGroups> of_group{};
    std::uint32_t groups = 0;
    std::uint32_t most = 0;
    for (std::uint32_t line = 0; line < writes; ++line) {
        std::uint32_t& count = of_group[group_of(bank_of(line))];
        if (count++ == 0) ++groups;
        most = std::max(most, count);
    }
    return m_clock.at(m_write_to_write * (most - 1) + m_timing.burst * groups);
}

std::uint64_t DramRows::pass() const {
    constexpr std::uint64_t kMost = 1U << 16U;  // streams may stay in one bank
    std::vector<bool> seen(m_banks.size());
    std::size_t left = m_banks.size();
    std::uint64_t line = 0;
    for (; left != 0 && line < kMost; ++line) {
        const std::uint32_t bank = bank_of(line);
        if (!seen[bank]) --left;
        seen[bank] = true;
    }
    return line;
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
        rank.due = due;
        rank.closable = std::max(rank.closable, rank.later);
        rank.later = 0;
    }
    const bool open = rank.closable > due - m_interval;
    return (open ? std::max(due, rank.closable) + m_timing.rp : due) + m_refresh;
}

/// The last refresh of the bank that fell due up to `at`; ranks take turns, and sets of banks.
Cycle DramRows::last_refresh(std::uint32_t bank, Cycle at) const {
    if (m_interval == 0) return kNone;
    const Cycle rank = bank / m_geometry.rank_banks();
    Cycle first = m_offset + m_interval + m_interval * rank / m_geometry.ranks;
    Cycle period = m_interval;
    if (m_same_bank) {
        first += m_interval * (bank % m_geometry.banks);
        period *= m_geometry.banks;
    }
    return at < first ? kNone : first + (at - first) / period * period;
}

/// The turn that the next activate has from `ready` on.
Cycle DramRows::turn(const Pace& pace, Cycle ready) const {
    const Cycle last = pace.turns[(pace.next + 3) % 4];
    return std::max({ready, last + m_timing.rrd_s, pace.turns[pace.next] + m_timing.faw});
}

/// A refresh parts turns: what it overtakes leaves those before it to others.
DramRows::Pace& DramRows::pace_at(Rank& rank, Cycle ready) const {
    return ready < rank.parted ? rank.pace : rank.late;
}

/// When a row could be opened, or an open one accessed, from `ready` on and after the bank's last
/// refresh.
DramRows::Start DramRows::start(const DramPlace& place, Cycle ready, Cycle bus) {
    const DramTiming& t = m_timing;
    const Bank& bank = m_banks[place.bank];
    Rank& rank = m_ranks[place.bank / m_geometry.rank_banks()];
    Cycle refresh = last_refresh(place.bank, ready);
    if (refresh != kNone) ready = std::max(ready, end_of_refresh(place.bank, refresh));
    if (ready >= rank.parted) {
        rank.pace = rank.late;
        rank.parted = kNever;
    }
    while (true) {
        const bool open = bank.row != kClosed && bank.opened > refresh;
        Start start{.opens = !open || bank.row != place.row};
        if (start.opens) {
            const Cycle closed = open ? std::max(ready, bank.precharge) + t.rp : ready;
            const Pace& pace = pace_at(rank, ready);
            start.turn = turn(pace, ready);
            start.group_turn =
                std::max(start.turn, pace.groups[group_of(place.bank)].turn + t.rrd_l);
            start.at = std::max({closed, bank.activate, start.group_turn});
        } else {
            start.at = std::max({ready, bank.column, bus});
        }
        // What has not begun when the next refresh falls due waits for its end.
        const Cycle next = last_refresh(place.bank, start.at);
        if (next == refresh) return start;
        refresh = next;
        ready = std::max(ready, end_of_refresh(place.bank, refresh));
        if (!m_same_bank && rank.parted == kNever) {
            rank.late = {};
            rank.parted = ready;
        }
    }
}

/// As with activates: a write that waits for its bank lets others of its group pass.
Cycle DramRows::take_write_turn(Group& group, Cycle turn) const {
    const Cycle slot = std::max(group.write, turn);
    group.write = slot + m_write_to_write;
    group.read = slot + m_timing.cwl + m_timing.burst + m_timing.wtr_l;
    return slot;
}

DramRows::Access DramRows::access(Time at, Time bus_free, std::uint64_t line, bool write) {
    const DramTiming& t = m_timing;
    const DramPlace place = m_map.place(line);
    Bank& bank = m_banks[place.bank];
    Rank& rank = m_ranks[place.bank / m_geometry.rank_banks()];
    // The bus is busy with data of others until `bus_free`; commands come before their data.
    const Cycle bus = m_clock.first_at(bus_free) + kSchedule;
    const Start start = this->start(place, m_clock.first_at(at) + kSchedule, bus);
    Pace& pace = pace_at(rank, start.opens ? start.turn : start.at);
    Group& group = pace.groups[group_of(place.bank)];
    Cycle column = start.at;
    if (start.opens) {
        // One that waits for its bank or group lets the turns of others pass it.
        pace.turns[pace.next] = start.turn;
        pace.next = (pace.next + 1) % 4;
        group.turn = start.group_turn;
        bank.opened = start.at;
        bank.row = place.row;
        bank.activate = bank.opened + t.rc;
        bank.precharge = bank.opened + t.ras;
        column = std::max(bank.opened + t.rcd, bus);
    }
    const Cycle turn = std::max(bus, start.opens ? start.turn + t.rcd : m_clock.first_at(at));
    column = std::max(column, write ? take_write_turn(group, turn) : group.read);
    bank.column = column + t.ccd_l;
    const Cycle recovery = write ? t.cwl + t.burst + t.wr : t.rtp;
    bank.precharge = std::max(bank.precharge, column + recovery);
    Cycle& closable = start.at <= rank.due ? rank.closable : rank.later;
    // Before a refresh, open rows serve what they were opened for, and nothing else takes the bus.
    const Cycle served = start.opens ? std::max(t.rcd + recovery, t.ras) : recovery;
    closable = std::max(closable, start.at + served);
    const Cycle to_data = (write ? t.cwl : t.cl) + t.burst;
    return {m_clock.at(column + to_data), m_clock.at(turn), start.opens};
}

}  // namespace kvplane::memory
