// SPDX-License-Identifier: Apache-2.0
#include "model/memory/dram_banks.h"

#include <algorithm>

namespace kvplane::memory {
namespace {

constexpr auto kAct = static_cast<std::size_t>(DramCommandKind::kActivate);
constexpr auto kRd = static_cast<std::size_t>(DramCommandKind::kRead);
constexpr auto kWr = static_cast<std::size_t>(DramCommandKind::kWrite);
constexpr auto kPre = static_cast<std::size_t>(DramCommandKind::kPrecharge);
constexpr Cycle kLongAgo = -1'000'000'000;

void later(Cycle& time, Cycle at) { time = std::max(time, at); }

}  // namespace

DramBanks::DramBanks(const DramTiming& timing, const DramGeometry& geometry, bool writes_modify)
    : m_timing(timing),
      m_geometry(geometry),
      m_write_to_write(writes_modify ? timing.ccd_l_wr : timing.ccd_l_wr2) {
    for (Rank& rank : m_ranks) rank.activated.fill(kLongAgo);
}

void DramBanks::activate(Cycle at, std::uint32_t bank, std::uint32_t row) {
    Bank& b = m_banks[bank];
    b.row = static_cast<std::int32_t>(row);
    b.activate = at + m_timing.rc;
    b.column = at + m_timing.rcd;
    b.precharge = at + m_timing.ras;

    const std::uint32_t rank = rank_of(bank);
    Rank& r = m_ranks[rank];
    r.activated[r.next] = at;
    r.next = (r.next + 1) % 4;
    // The fifth ACT waits for the first to be faw ago.
    const Cycle others = std::max(at + m_timing.rrd_s, r.activated[r.next] + m_timing.faw);
    Group* groups = &m_groups[std::size_t{rank} * m_geometry.groups];
    for (std::uint32_t g = 0; g < m_geometry.groups; ++g) later(groups[g].ready[kAct], others);
    later(m_groups[group_of(bank)].ready[kAct], at + m_timing.rrd_l);
}

void DramBanks::read(Cycle at, std::uint32_t bank) {
    later(m_banks[bank].precharge, at + m_timing.rtp);
    after_column(at, bank, false);
}

void DramBanks::write(Cycle at, std::uint32_t bank) {
    later(m_banks[bank].precharge, at + m_timing.cwl + m_timing.burst + m_timing.wr);
    after_column(at, bank, true);
}

/// Same rank: column spacing and turnarounds. Other ranks: the data bus, with a gap between ranks.
void DramBanks::after_column(Cycle at, std::uint32_t bank, bool is_write) {
    const DramTiming& t = m_timing;
    const Cycle data = at + (is_write ? t.cwl : t.cl);
    const Cycle data_end = data + t.burst;
    const Cycle same = at + std::max(t.ccd_s, m_column_gap);
    const Cycle to_read = is_write ? std::max(same, data_end + t.wtr_s) : same;
    const Cycle to_write = is_write ? same : std::max(same, data_end + t.rtw_gap - t.cwl);
    const Cycle other_read = std::max(at + m_column_gap, data_end + t.rank_gap - t.cl);
    const Cycle other_write = std::max(at + m_column_gap, data_end + t.rank_gap - t.cwl);

    const std::uint32_t rank = rank_of(bank);
    for (std::uint32_t r = 0; r < m_geometry.ranks; ++r) {
        Group* groups = &m_groups[std::size_t{r} * m_geometry.groups];
        const Cycle next_read = r == rank ? to_read : other_read;
        const Cycle next_write = r == rank ? to_write : other_write;
        for (std::uint32_t g = 0; g < m_geometry.groups; ++g) {
            later(groups[g].ready[kRd], next_read);
            later(groups[g].ready[kWr], next_write);
        }
    }
    Group& own = m_groups[group_of(bank)];
    if (is_write) {
        later(own.ready[kRd], data_end + t.wtr_l);
        later(own.ready[kWr], at + m_write_to_write);
    } else {
        later(own.ready[kRd], at + t.ccd_l);
    }
}

void DramBanks::precharge(Cycle at, std::uint32_t bank) {
    Bank& b = m_banks[bank];
    b.row = kClosed;
    later(b.activate, at + m_timing.rp);
    Group* groups = &m_groups[std::size_t{rank_of(bank)} * m_geometry.groups];
    for (std::uint32_t g = 0; g < m_geometry.groups; ++g) {
        later(groups[g].ready[kPre], at + m_timing.ppd);
    }
}

void DramBanks::precharge(Cycle at, std::uint32_t rank, const BankMask& banks) {
    const std::uint32_t first = rank * m_geometry.rank_banks();
    for (std::uint32_t b = first; b < first + m_geometry.rank_banks(); ++b) {
        if (banks.test(b)) precharge(at, b);
    }
}

void DramBanks::refresh(Cycle at, std::uint32_t rank, const BankMask& banks, Cycle time,
                        Cycle others) {
    const std::uint32_t first = rank * m_geometry.rank_banks();
    for (std::uint32_t b = first; b < first + m_geometry.rank_banks(); ++b) {
        later(m_banks[b].activate, at + (banks.test(b) ? time : others));
    }
}

}  // namespace kvplane::memory
