// SPDX-License-Identifier: Apache-2.0
#include "jedec_checker.h"

#include <algorithm>

namespace kvplane::test {
namespace {

using memory::Cycle;
using memory::DramCommand;
using memory::DramPreset;
using memory::DramRefreshMode;
using Kind = memory::DramCommandKind;

/// Cycles of `ps` at a data rate, rounded up, and at least `least`.
Cycle up(std::int64_t ps, std::int64_t mega, Cycle least = 1) {
    return std::max(least, (ps * mega + 1'999'999) / 2'000'000);
}

bool is_column(Kind kind) { return kind == Kind::kRead || kind == Kind::kWrite; }
bool is_precharge(Kind kind) {
    return kind == Kind::kPrecharge || kind == Kind::kPrechargeAll || kind == Kind::kPrechargeSame;
}
bool is_refresh(Kind kind) { return kind == Kind::kRefreshAll || kind == Kind::kRefreshSame; }

const char* name(Kind kind) {
    constexpr const char* kNames[] = {"ACT", "RD", "WR", "PRE", "PREab", "PREsb", "REFab", "REFsb"};
    return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

JedecChecker::Rules JedecChecker::rules_of(DramPreset preset, DramRefreshMode mode) {
    const bool fine = mode == DramRefreshMode::kFineAllBank;
    const auto ddr5 = [&](std::int64_t mega, Cycle cl, std::int64_t rcd_ps) {
        const bool same = mode == DramRefreshMode::kSameBank;
        const Cycle refi = (fine || same ? 1'950'000 : 3'900'000) * mega / 2'000'000;
        return Rules{.cl = cl,
                     .cwl = cl - 2,
                     .rcd = up(rcd_ps, mega),
                     .rp = up(rcd_ps, mega),
                     .ras = up(32'000, mega),
                     .rc = up(32'000, mega) + up(rcd_ps, mega),
                     .burst = 8,
                     .ccd_s = 8,
                     .ccd_l = up(5'000, mega, 8),
                     .ccd_l_wr = up(20'000, mega, 32),
                     .rrd_s = 8,
                     .rrd_l = up(5'000, mega, 8),
                     .faw = 32,
                     .wtr_s = up(2'500, mega, 4),
                     .wtr_l = up(10'000, mega, 16),
                     .rtp = up(7'500, mega, 12),
                     .wr = up(30'000, mega),
                     .ppd = 2,
                     .rfc = up(fine ? 160'000 : 295'000, mega),
                     .rfc_sb = up(130'000, mega),
                     .refsb_rd = up(30'000, mega),
                     .refi = same ? refi / 4 : refi,
                     .long_command = 2,
                     .postponed = 4};
    };
    const auto ddr4 = [&](std::int64_t mega, Cycle cl, Cycle cwl, std::int64_t rcd_ps, Cycle rc,
                          std::int64_t ras_ps, std::int64_t rrd_l_ps, std::int64_t faw_ps) {
        return Rules{.cl = cl,
                     .cwl = cwl,
                     .rcd = up(rcd_ps, mega),
                     .rp = up(rcd_ps, mega),
                     .ras = up(ras_ps, mega),
                     .rc = rc,
                     .burst = 4,
                     .ccd_s = 4,
                     .ccd_l = up(mega < 2000 ? 5'355 : 5'000, mega, 4),
                     .ccd_l_wr = up(mega < 2000 ? 5'355 : 5'000, mega, 4),
                     .rrd_s = 4,
                     .rrd_l = up(rrd_l_ps, mega, 4),
                     .faw = up(faw_ps, mega, 20),
                     .wtr_s = up(2'500, mega, 2),
                     .wtr_l = up(7'500, mega, 4),
                     .rtp = up(7'500, mega, 4),
                     .wr = up(15'000, mega),
                     .ppd = 1,
                     .rfc = up(fine ? 260'000 : 350'000, mega),
                     .rfc_sb = 0,
                     .refsb_rd = 0,
                     .refi = (fine ? 3'900'000 : 7'800'000) * mega / 2'000'000,
                     .long_command = 1,
                     .postponed = 8};
    };
    switch (preset) {
        case DramPreset::kDdr5At4800B:
            return ddr5(4800, 40, 16'000);
        case DramPreset::kDdr5At5600B:
            return ddr5(5600, 46, 16'000);
        case DramPreset::kDdr5At6400B:
            return ddr5(6400, 52, 16'250);
        case DramPreset::kDdr4At3200AA:
            return ddr4(3200, 22, 16, 13'750, 74, 32'000, 4'900, 21'000);
        case DramPreset::kDdr4At1866M:
            return ddr4(1866, 13, 10, 13'920, 45, 34'000, 5'300, 23'000);
    }
    return {};
}

JedecChecker::JedecChecker(DramPreset preset, const memory::DramGeometry& geometry,
                           DramRefreshMode mode, bool double_refresh)
    : m_rules(rules_of(preset, mode)),
      m_geometry(geometry),
      m_open(geometry.all_banks(), -1),
      m_activates(geometry.ranks),
      m_refreshes(geometry.ranks),
      m_last_refresh(geometry.ranks) {
    if (double_refresh) m_rules.refi /= 2;
}

void JedecChecker::fail(const DramCommand& command, const std::string& why) {
    constexpr std::size_t kEnough = 20;
    if (m_violations.size() < kEnough) {
        m_violations.push_back(std::string(name(command.kind)) + " to bank " +
                               std::to_string(command.bank) + " at cycle " +
                               std::to_string(command.at) + ": " + why);
    }
}

bool JedecChecker::touches(const DramCommand& wide, std::uint32_t bank) const {
    switch (wide.kind) {
        case Kind::kPrechargeAll:
        case Kind::kRefreshAll:
            return rank(wide.bank) == rank(bank);
        case Kind::kPrechargeSame:
        case Kind::kRefreshSame:
            return rank(wide.bank) == rank(bank) &&
                   wide.bank % m_geometry.banks == bank % m_geometry.banks;
        default:
            return wide.bank == bank;
    }
}

bool JedecChecker::share_a_bank(const DramCommand& a, const DramCommand& b) const {
    for (std::uint32_t bank = 0; bank < m_geometry.all_banks(); ++bank) {
        if (touches(a, bank) && touches(b, bank)) return true;
    }
    return false;
}

JedecChecker::Distance JedecChecker::after_activate(const DramCommand& a,
                                                    const DramCommand& b) const {
    const Rules& r = m_rules;
    if (b.kind == Kind::kActivate) {
        if (a.bank == b.bank) return {r.rc, "tRC"};
        if (group(a.bank) == group(b.bank)) return {r.rrd_l, "tRRD_L"};
        return {r.rrd_s, "tRRD_S"};
    }
    if (is_column(b.kind) && a.bank == b.bank) return {r.rcd, "tRCD"};
    if (is_precharge(b.kind) && touches(b, a.bank)) return {r.ras, "tRAS"};
    if (b.kind == Kind::kRefreshSame) return {r.rrd_l, "tRRD_L to REFsb"};
    return {};
}

JedecChecker::Distance JedecChecker::after_column(const DramCommand& a,
                                                  const DramCommand& b) const {
    const Rules& r = m_rules;
    const bool wrote = a.kind == Kind::kWrite;
    const bool same_group = group(a.bank) == group(b.bank);
    if (is_precharge(b.kind) && touches(b, a.bank)) {
        if (wrote) return {r.cwl + r.burst + r.wr, "tWR"};
        return {r.rtp, "tRTP"};
    }
    if (b.kind == Kind::kRead) {
        if (!wrote) return same_group ? Distance{r.ccd_l, "tCCD_L"} : Distance{r.ccd_s, "tCCD_S"};
        if (same_group) return {r.cwl + r.burst + r.wtr_l, "tWTR_L"};
        return {r.cwl + r.burst + r.wtr_s, "tWTR_S"};
    }
    if (b.kind == Kind::kWrite) {
        if (!wrote) return {r.cl + r.burst + 2 - r.cwl, "RD to WR"};
        return same_group ? Distance{r.ccd_l_wr, "tCCD_L_WR"} : Distance{r.ccd_s, "tCCD_S"};
    }
    return {};
}

JedecChecker::Distance JedecChecker::after_refresh(const DramCommand& a,
                                                   const DramCommand& b) const {
    if (a.kind == Kind::kRefreshAll) return {m_rules.rfc, "tRFC"};
    if (is_refresh(b.kind)) return {m_rules.rfc_sb, "tRFCsb between REFsb"};
    if (b.kind != Kind::kActivate) return {};
    if (touches(a, b.bank)) return {m_rules.rfc_sb, "tRFCsb"};
    return {m_rules.refsb_rd, "tREFSBRD"};
}

/// Commands of other ranks meet on the buses only.
JedecChecker::Distance JedecChecker::distance(const DramCommand& a, const DramCommand& b) const {
    if (rank(a.bank) != rank(b.bank)) return {};
    if (a.kind == Kind::kActivate) return after_activate(a, b);
    if (is_column(a.kind)) return after_column(a, b);
    if (is_refresh(a.kind)) return after_refresh(a, b);
    if (is_precharge(b.kind)) return {m_rules.ppd, "tPPD"};
    const bool opens = b.kind == Kind::kActivate || is_refresh(b.kind);
    if (opens && share_a_bank(a, b)) return {m_rules.rp, "tRP"};
    return {};
}

void JedecChecker::check_pairs(const DramCommand& command) {
    for (const DramCommand& before : m_recent) {
        const Distance least = distance(before, command);
        if (command.at - before.at < least.cycles) {
            fail(command, std::to_string(command.at - before.at) + " cycles after " +
                              name(before.kind) + " to bank " + std::to_string(before.bank) +
                              ", but " + least.rule + " is " + std::to_string(least.cycles));
        }
    }
}

void JedecChecker::check_state(const DramCommand& command) {
    const std::int64_t open = m_open[command.bank];
    if (command.kind == Kind::kActivate && open != -1) fail(command, "the bank is open");
    if (is_column(command.kind) && open != static_cast<std::int64_t>(command.row)) {
        fail(command, "row " + std::to_string(command.row) + " is not open");
    }
    if (!is_refresh(command.kind)) return;
    for (std::uint32_t b = 0; b < m_open.size(); ++b) {
        if (touches(command, b) && m_open[b] != -1) fail(command, "a bank is open");
    }
}

void JedecChecker::check_four_activates(const DramCommand& command) {
    if (command.kind != Kind::kActivate) return;
    std::deque<Cycle>& last = m_activates[rank(command.bank)];
    if (last.size() == 4) {
        if (command.at - last.front() < m_rules.faw) fail(command, "tFAW");
        last.pop_front();
    }
    last.push_back(command.at);
}

void JedecChecker::check_buses(const DramCommand& command) {
    const bool two = command.kind == Kind::kActivate || is_column(command.kind);
    if (command.at < m_bus_free) fail(command, "the command bus is taken");
    m_bus_free = command.at + (two ? m_rules.long_command : 1);
    if (!is_column(command.kind)) return;
    const Cycle data = command.at + (command.kind == Kind::kRead ? m_rules.cl : m_rules.cwl);
    if (data < m_data_free) fail(command, "its data meet the data before on the pins");
    m_data_free = data + m_rules.burst;
}

void JedecChecker::apply(const DramCommand& command) {
    if (command.kind == Kind::kActivate) m_open[command.bank] = command.row;
    if (is_precharge(command.kind)) {
        for (std::uint32_t b = 0; b < m_open.size(); ++b) {
            if (touches(command, b)) m_open[b] = -1;
        }
    }
    if (is_refresh(command.kind)) {
        const std::uint32_t r = rank(command.bank);
        const Cycle first = command.at - static_cast<Cycle>(command.count - 1) * command.spacing;
        if (first - m_last_refresh[r] > (m_rules.postponed + 1) * m_rules.refi) {
            fail(command, "the refresh before is too long ago");
        }
        m_refreshes[r] += command.count;
        m_last_refresh[r] = command.at;
    }
}

void JedecChecker::command(const DramCommand& command) {
    constexpr Cycle kWindow = 2'000;  // longer than any distance
    m_commands += command.count;
    check_state(command);
    if (command.count > 1) {
        // What an idle rank did meanwhile; the ranks report in turn, so that order says nothing.
        if (command.spacing < m_rules.rfc_sb) fail(command, "refreshes too close");
        apply(command);
        return;
    }
    if (!m_recent.empty() && command.at < m_recent.back().at) fail(command, "out of order");
    check_pairs(command);
    check_four_activates(command);
    check_buses(command);
    apply(command);
    m_recent.push_back(command);
    while (m_recent.front().at < command.at - kWindow) m_recent.pop_front();
}

bool JedecChecker::refreshed_enough(Cycle now) const {
    return std::all_of(m_refreshes.begin(), m_refreshes.end(), [&](std::uint64_t done) {
        const auto owed = static_cast<std::uint64_t>(now / m_rules.refi);
        return done + static_cast<std::uint64_t>(m_rules.postponed) + 1 >= owed;
    });
}

}  // namespace kvplane::test
