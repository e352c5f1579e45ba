// SPDX-License-Identifier: Apache-2.0
#include "model/memory/dram_refresh.h"

#include <algorithm>

namespace kvplane::memory {
namespace {

constexpr Cycle kLongAgo = -1'000'000'000;

}  // namespace

DramRefresh::DramRefresh(const Ddr5Config& config, Cycle offset)
    : m_geometry(config.geometry),
      m_same_bank(config.refresh == DramRefreshMode::kSameBank),
      m_interval(config.refresh_interval()),
      m_time(config.refresh_time()),
      m_others(m_same_bank ? config.timing.refsb_rd : 0),
      m_activate_gap(m_same_bank ? config.timing.rrd_l : 0) {
    for (std::uint32_t r = 0; r < m_geometry.ranks; ++r) {
        Rank& rank = m_ranks[r];
        rank.last_refresh = kLongAgo;
        rank.last_activate = kLongAgo;
        // Ranks take turns.
        if (m_interval != 0) rank.due = offset + m_interval + m_interval * r / m_geometry.ranks;
    }
    find_soonest();
}

std::uint32_t DramRefresh::first_bank(std::uint32_t rank) const {
    return rank * m_geometry.rank_banks() + (m_same_bank ? m_ranks[rank].set : 0);
}

BankMask DramRefresh::banks_of(std::uint32_t rank) const {
    BankMask banks;
    const std::uint32_t end = (rank + 1) * m_geometry.rank_banks();
    const std::uint32_t step = m_same_bank ? m_geometry.banks : 1;
    for (std::uint32_t b = first_bank(rank); b < end; b += step) banks.set(b);
    return banks;
}

void DramRefresh::find_soonest() {
    m_soonest = kNever;
    for (std::uint32_t r = 0; r < m_geometry.ranks; ++r) {
        // A pending refresh may have a step at any time.
        m_soonest = std::min(m_soonest, m_ranks[r].pending ? kLongAgo : m_ranks[r].due);
    }
}

DramRefresh::Next DramRefresh::next(const DramBanks& banks, Cycle floor) const {
    Next best;
    for (std::uint32_t r = 0; r < m_geometry.ranks; ++r) {
        const Next next = step_of(r, banks, floor);
        if (next.at < best.at) best = next;
    }
    return best;
}

DramRefresh::Next DramRefresh::step_of(std::uint32_t rank, const DramBanks& banks,
                                       Cycle floor) const {
    const Rank& r = m_ranks[rank];
    if (!r.pending) return {std::max(r.due, r.due == kNever ? kNever : floor), Step::kDue, rank};
    bool open = false;
    Cycle close = floor;
    Cycle refresh = std::max({floor, r.last_refresh + m_time, r.last_activate + m_activate_gap});
    const BankMask mine = banks_of(rank);
    const std::uint32_t end = (rank + 1) * m_geometry.rank_banks();
    for (std::uint32_t b = first_bank(rank); b < end; ++b) {
        if (!mine.test(b)) continue;
        if (banks.open_row(b) != DramBanks::kClosed) {
            open = true;
            close = std::max(close, banks.bank_ready(DramCommandKind::kPrecharge, b));
        }
        refresh = std::max(refresh, banks.bank_ready(DramCommandKind::kActivate, b));
    }
    if (!open) return {refresh, Step::kRefresh, rank};
    close = std::max(close, banks.group_ready(DramCommandKind::kPrecharge,
                                              banks.group_of(rank * m_geometry.rank_banks())));
    return {close, Step::kPrecharge, rank};
}

void DramRefresh::due(std::uint32_t rank) {
    m_ranks[rank].pending = true;
    const BankMask mine = banks_of(rank);
    for (std::size_t w = 0; w < m_held.word.size(); ++w) m_held.word[w] |= mine.word[w];
    find_soonest();
}

DramCommand DramRefresh::precharge(const Next& next, DramBanks& banks) {
    banks.precharge(next.at, next.rank, banks_of(next.rank));
    const auto kind =
        m_same_bank ? DramCommandKind::kPrechargeSame : DramCommandKind::kPrechargeAll;
    return {.at = next.at, .kind = kind, .bank = first_bank(next.rank)};
}

DramCommand DramRefresh::refresh(const Next& next, DramBanks& banks) {
    Rank& r = m_ranks[next.rank];
    const BankMask mine = banks_of(next.rank);
    banks.refresh(next.at, next.rank, mine, m_time, m_others);
    for (std::size_t w = 0; w < m_held.word.size(); ++w) m_held.word[w] &= ~mine.word[w];
    const auto kind = m_same_bank ? DramCommandKind::kRefreshSame : DramCommandKind::kRefreshAll;
    const DramCommand command{.at = next.at, .kind = kind, .bank = first_bank(next.rank)};
    r.pending = false;
    r.due += m_interval;
    r.last_refresh = next.at;
    if (m_same_bank) r.set = (r.set + 1) % m_geometry.banks;
    find_soonest();
    return command;
}

DramCommand DramRefresh::skip(std::uint32_t rank, Cycle to, DramBanks& banks) {
    Rank& r = m_ranks[rank];
    if (r.pending || r.due >= to - m_interval) return {.count = 0};
    const std::uint32_t end = (rank + 1) * m_geometry.rank_banks();
    for (std::uint32_t b = rank * m_geometry.rank_banks(); b < end; ++b) {
        const bool closed = banks.open_row(b) == DramBanks::kClosed;
        if (!closed || banks.bank_ready(DramCommandKind::kActivate, b) > r.due) return {.count = 0};
    }
    const auto count = static_cast<std::uint64_t>((to - r.due) / m_interval);
    const Cycle last = r.due + static_cast<Cycle>(count - 1) * m_interval;
    const auto kind = m_same_bank ? DramCommandKind::kRefreshSame : DramCommandKind::kRefreshAll;
    const DramCommand command{
        .at = last, .kind = kind, .bank = first_bank(rank), .count = count, .spacing = m_interval};
    if (m_same_bank) r.set = static_cast<std::uint32_t>((r.set + count) % m_geometry.banks);
    BankMask none;
    // The last of them is over before the next falls due; only its distance to that matters.
    banks.refresh(last, rank, none, m_time, m_time);
    r.last_refresh = last;
    r.due = last + m_interval;
    find_soonest();
    return command;
}

}  // namespace kvplane::memory
