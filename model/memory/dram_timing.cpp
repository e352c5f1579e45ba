// SPDX-License-Identifier: Apache-2.0
#include "model/memory/dram_timing.h"

#include <array>
#include <bit>
#include <numeric>
#include <string>

#include "model/common/errors.h"

namespace kvplane::memory {
namespace {

// DDR5: gem5's ddr5.py (citing Micron's core data sheet), a public Synopsys controller's
// initialisation and a public JESD79-5B unit test agree on these, as cycles of ns rules: RAS 32 ns,
// CCD_L 5, CCD_L_WR 20, CCD_L_WR2 10, RRD_L 5, WTR 2.5 and 10, RTP 7.5, WR 30, RFC 295, 160 and
// 130 (same bank), REFSBRD 30, REFI 3900 and 1950.
constexpr DramTiming kBin4800{.speed = {4'800'000'000},
                              .cl = 40,
                              .cwl = 38,
                              .rcd = 39,
                              .rp = 39,
                              .ras = 77,
                              .rc = 116,
                              .burst = 8,
                              .ccd_s = 8,
                              .ccd_l = 12,
                              .ccd_l_wr = 48,
                              .ccd_l_wr2 = 24,
                              .rrd_s = 8,
                              .rrd_l = 12,
                              .faw = 32,
                              .wtr_s = 6,
                              .wtr_l = 24,
                              .rtw_gap = 2,
                              .rank_gap = 2,
                              .rtp = 18,
                              .wr = 72,
                              .ppd = 2,
                              .rfc1 = 708,
                              .rfc2 = 384,
                              .rfc_sb = 312,
                              .refsb_rd = 72,
                              .refi1 = 9360,
                              .refi2 = 4680,
                              .command_long = 2};

constexpr DramTiming kBin5600{.speed = {5'600'000'000},
                              .cl = 46,
                              .cwl = 44,
                              .rcd = 45,
                              .rp = 45,
                              .ras = 90,
                              .rc = 135,
                              .burst = 8,
                              .ccd_s = 8,
                              .ccd_l = 14,
                              .ccd_l_wr = 56,
                              .ccd_l_wr2 = 28,
                              .rrd_s = 8,
                              .rrd_l = 14,
                              .faw = 32,
                              .wtr_s = 7,
                              .wtr_l = 28,
                              .rtw_gap = 2,
                              .rank_gap = 2,
                              .rtp = 21,
                              .wr = 84,
                              .ppd = 2,
                              .rfc1 = 826,
                              .rfc2 = 448,
                              .rfc_sb = 364,
                              .refsb_rd = 84,
                              .refi1 = 10920,
                              .refi2 = 5460,
                              .command_long = 2};

constexpr DramTiming kBin6400{.speed = {6'400'000'000},
                              .cl = 52,
                              .cwl = 50,
                              .rcd = 52,
                              .rp = 52,
                              .ras = 103,
                              .rc = 155,
                              .burst = 8,
                              .ccd_s = 8,
                              .ccd_l = 16,
                              .ccd_l_wr = 64,
                              .ccd_l_wr2 = 32,
                              .rrd_s = 8,
                              .rrd_l = 16,
                              .faw = 32,
                              .wtr_s = 8,
                              .wtr_l = 32,
                              .rtw_gap = 2,
                              .rank_gap = 2,
                              .rtp = 24,
                              .wr = 96,
                              .ppd = 2,
                              .rfc1 = 944,
                              .rfc2 = 512,
                              .rfc_sb = 416,
                              .refsb_rd = 96,
                              .refi1 = 12480,
                              .refi2 = 6240,
                              .command_long = 2};

// DDR4, 8 Gb x8, 1 KiB page: RAS 32 (34) ns, RRD_L 4.9 (5.3), FAW 21 (23), WTR 2.5 and 7.5,
// RTP 7.5, WR 15, RFC 350 and 260, REFI 7800. Writes of a bank group follow as closely as reads. As
// Ramulator, DRAMSys and DRAMsim3 have it at 3200; at 1866 from the same rules.
constexpr DramTiming kBin3200{.speed = {3'200'000'000},
                              .cl = 22,
                              .cwl = 16,
                              .rcd = 22,
                              .rp = 22,
                              .ras = 52,
                              .rc = 74,
                              .burst = 4,
                              .ccd_s = 4,
                              .ccd_l = 8,
                              .ccd_l_wr = 8,
                              .ccd_l_wr2 = 8,
                              .rrd_s = 4,
                              .rrd_l = 8,
                              .faw = 34,
                              .wtr_s = 4,
                              .wtr_l = 12,
                              .rtw_gap = 2,
                              .rank_gap = 2,
                              .rtp = 12,
                              .wr = 24,
                              .ppd = 1,
                              .rfc1 = 560,
                              .rfc2 = 416,
                              .refi1 = 12480,
                              .refi2 = 6240,
                              .command_long = 1};

constexpr DramTiming kBin1866{.speed = {1'866'000'000},
                              .cl = 13,
                              .cwl = 10,
                              .rcd = 13,
                              .rp = 13,
                              .ras = 32,
                              .rc = 45,
                              .burst = 4,
                              .ccd_s = 4,
                              .ccd_l = 5,
                              .ccd_l_wr = 5,
                              .ccd_l_wr2 = 5,
                              .rrd_s = 4,
                              .rrd_l = 5,
                              .faw = 22,
                              .wtr_s = 3,
                              .wtr_l = 7,
                              .rtw_gap = 2,
                              .rank_gap = 2,
                              .rtp = 7,
                              .wr = 14,
                              .ppd = 1,
                              .rfc1 = 327,
                              .rfc2 = 243,
                              .refi1 = 7277,
                              .refi2 = 3638,
                              .command_long = 1};

constexpr DramGeometry kDdr4{.ranks = 1,
                             .groups = 4,
                             .banks = 4,
                             .rows = 65536,
                             .lines_per_row = 128,
                             .bus_bytes = 8,
                             .subchannels = 1};

constexpr std::uint64_t kSlowest = 800'000'000;
constexpr std::uint64_t kFastest = 12'800'000'000;
constexpr Cycle kLongest = 1'000'000;  ///< of what refreshes ask
constexpr Cycle kLong = 4'096;         ///< of any other parameter: 20 times any device's
constexpr Cycle kLongCommand = 16;     ///< of a command on its bus; no device has more than 4
constexpr std::uint32_t kMostBanks = 128;

void require(bool holds, const std::string& message) {
    if (!holds) throw UserError("dram: " + message);
}

struct Bound {
    const char* name;
    Cycle DramTiming::*value;
    Cycle least;
    Cycle most = kLong;
};

constexpr std::array kBounds{
    Bound{"cl", &DramTiming::cl, 1},
    Bound{"cwl", &DramTiming::cwl, 1},
    Bound{"rcd", &DramTiming::rcd, 1},
    Bound{"rp", &DramTiming::rp, 1},
    Bound{"ras", &DramTiming::ras, 1},
    Bound{"rc", &DramTiming::rc, 1},
    Bound{"burst", &DramTiming::burst, 1},
    Bound{"ccd_s", &DramTiming::ccd_s, 1},
    Bound{"ccd_l", &DramTiming::ccd_l, 1},
    Bound{"ccd_l_wr", &DramTiming::ccd_l_wr, 1},
    Bound{"ccd_l_wr2", &DramTiming::ccd_l_wr2, 1},
    Bound{"rrd_s", &DramTiming::rrd_s, 1},
    Bound{"rrd_l", &DramTiming::rrd_l, 1},
    Bound{"faw", &DramTiming::faw, 1},
    Bound{"wtr_s", &DramTiming::wtr_s, 1},
    Bound{"wtr_l", &DramTiming::wtr_l, 1},
    Bound{"rtw_gap", &DramTiming::rtw_gap, 0},
    Bound{"rank_gap", &DramTiming::rank_gap, 0},
    Bound{"rtp", &DramTiming::rtp, 1},
    Bound{"wr", &DramTiming::wr, 1},
    Bound{"ppd", &DramTiming::ppd, 1},
    Bound{"rfc1", &DramTiming::rfc1, 1, kLongest},
    Bound{"rfc2", &DramTiming::rfc2, 1, kLongest},
    Bound{"rfc_sb", &DramTiming::rfc_sb, 0, kLongest},
    Bound{"refsb_rd", &DramTiming::refsb_rd, 0, kLongest},
    Bound{"refi1", &DramTiming::refi1, 1, kLongest},
    Bound{"refi2", &DramTiming::refi2, 1, kLongest},
    Bound{"command_long", &DramTiming::command_long, 1, kLongCommand},
};

}  // namespace

DramTiming timing_of(DramPreset preset) {
    switch (preset) {
        case DramPreset::kDdr5At4800B:
            return kBin4800;
        case DramPreset::kDdr5At5600B:
            return kBin5600;
        case DramPreset::kDdr5At6400B:
            return kBin6400;
        case DramPreset::kDdr4At3200AA:
            return kBin3200;
        case DramPreset::kDdr4At1866M:
            return kBin1866;
    }
    throw InvariantError("timing_of: no such preset");
}

DramGeometry geometry_of(DramPreset preset) {
    const bool ddr4 = preset == DramPreset::kDdr4At3200AA || preset == DramPreset::kDdr4At1866M;
    return ddr4 ? kDdr4 : DramGeometry{};
}

const char* to_string(DramPreset preset) {
    switch (preset) {
        case DramPreset::kDdr5At4800B:
            return "ddr5-4800b";
        case DramPreset::kDdr5At5600B:
            return "ddr5-5600b";
        case DramPreset::kDdr5At6400B:
            return "ddr5-6400b";
        case DramPreset::kDdr4At3200AA:
            return "ddr4-3200aa";
        case DramPreset::kDdr4At1866M:
            return "ddr4-1866m";
    }
    throw InvariantError("to_string: no such DRAM preset");
}

void check(const DramTiming& timing) {
    require(timing.speed.per_second >= kSlowest && timing.speed.per_second <= kFastest,
            "speed must be 800 to 12800 MT/s, not " + to_string(timing.speed));
    require(timing.speed.per_second % 1'000'000 == 0, "speed must be a whole number of MT/s");
    for (const Bound& bound : kBounds) {
        const Cycle value = timing.*bound.value;
        require(value >= bound.least && value <= bound.most,
                std::string(bound.name) + " must be " + std::to_string(bound.least) + " to " +
                    std::to_string(bound.most) + " cycles, not " + std::to_string(value));
    }
    require(timing.ccd_s >= timing.burst,
            "ccd_s must be burst or more, or data would pass the pins two at a time");
    require(timing.rc >= timing.ras + timing.rp, "rc must be ras + rp or more");
    require(timing.ras >= timing.rcd, "ras must be rcd or more");
    require(timing.ccd_l >= timing.ccd_s && timing.rrd_l >= timing.rrd_s &&
                timing.wtr_l >= timing.wtr_s && timing.ccd_l_wr2 >= timing.ccd_l &&
                timing.ccd_l_wr >= timing.ccd_l_wr2,
            "within a bank group (ccd_l, rrd_l, wtr_l, ccd_l_wr) must be as long as between two, "
            "and ccd_l_wr as long as ccd_l_wr2");
    require(timing.faw >= timing.rrd_s, "faw must be rrd_s or more");
    require(timing.refi1 > timing.rfc1 + timing.rp && timing.refi2 > timing.rfc2 + timing.rp,
            "refi must be longer than rfc + rp, or refreshes leave no time");
    require((timing.rfc_sb == 0) == (timing.refsb_rd == 0),
            "rfc_sb and refsb_rd go together: a device has refreshes of a bank, or has not");
}

void check(const DramGeometry& geometry, const DramTiming& timing) {
    require(geometry.ranks == 1 || geometry.ranks == 2 || geometry.ranks == 4,
            "ranks must be 1, 2 or 4");
    require(geometry.groups == 2 || geometry.groups == 4 || geometry.groups == 8,
            "bank groups must be 2, 4 or 8");
    require(geometry.banks == 2 || geometry.banks == 4, "banks of a group must be 2 or 4");
    require(geometry.all_banks() <= kMostBanks, "ranks x groups x banks must be 128 or less");
    require(geometry.rows >= 2 && geometry.rows <= 1U << 26U && std::has_single_bit(geometry.rows),
            "rows must be a power of two, 2 to 67108864");
    require(geometry.lines_per_row >= 4 && geometry.lines_per_row <= 1024 &&
                std::has_single_bit(geometry.lines_per_row),
            "lines of a row must be a power of two, 4 to 1024");
    require(geometry.subchannels == 1 || geometry.subchannels == 2, "subchannels must be 1 or 2");
    require(2 * static_cast<std::uint64_t>(timing.burst) * geometry.bus_bytes == kLine.count,
            "burst x 2 x bus_bytes must be a line of 64 B");
}

DramClock::DramClock(TransferRate speed) {
    constexpr std::int64_t kPsPerCycle = 2'000'000;  // divided by MT/s
    const auto mega = static_cast<std::int64_t>(speed.per_second / 1'000'000);
    const std::int64_t common = std::gcd(kPsPerCycle, mega);
    m_cycles = mega / common;
    m_ps = kPsPerCycle / common;
}

}  // namespace kvplane::memory
