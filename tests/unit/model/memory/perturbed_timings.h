// SPDX-License-Identifier: Apache-2.0
/// Every timing parameter of a device, and a config in which it has something to say.
#pragma once

#include <cstdint>
#include <iterator>

#include "model/memory/ddr5_config.h"
#include "model/memory/dram_timing.h"

namespace kvplane::memory {

enum class On : std::uint8_t { kOneRank, kTwoRanks, kSameBank, kFine, kNoModify };

struct Perturbed {
    const char* name;
    Cycle DramTiming::*parameter;
    On on = On::kOneRank;
    Cycle by = 1;             ///< enough for the line model ...
    bool bank_cycle = false;  ///< rc follows, as it must not be less than ras + rp
    Cycle coarse = 4;         ///< ... and for the closed form, which moves less
};

inline constexpr Perturbed kParameters[] = {
    {"cl", &DramTiming::cl},
    {"cwl", &DramTiming::cwl},
    {"rcd", &DramTiming::rcd},
    {"rp", &DramTiming::rp, On::kOneRank, 1, true},
    {"ras", &DramTiming::ras, On::kOneRank, 1, true},
    {"rc", &DramTiming::rc, On::kOneRank, 8},
    {"ccd_s", &DramTiming::ccd_s},
    {"ccd_l", &DramTiming::ccd_l},
    {"ccd_l_wr", &DramTiming::ccd_l_wr},
    {"ccd_l_wr2", &DramTiming::ccd_l_wr2, On::kNoModify, 1, false, 16},
    {"rrd_s", &DramTiming::rrd_s},
    {"rrd_l", &DramTiming::rrd_l},
    {"faw", &DramTiming::faw},
    {"wtr_s", &DramTiming::wtr_s},
    {"wtr_l", &DramTiming::wtr_l},
    {"rtw_gap", &DramTiming::rtw_gap},
    {"rank_gap", &DramTiming::rank_gap, On::kTwoRanks},
    {"rtp", &DramTiming::rtp, On::kOneRank, 1, false, 40},
    {"wr", &DramTiming::wr},
    {"ppd", &DramTiming::ppd},
    {"rfc1", &DramTiming::rfc1},
    {"rfc2", &DramTiming::rfc2, On::kFine},
    {"rfc_sb", &DramTiming::rfc_sb, On::kSameBank},
    {"refsb_rd", &DramTiming::refsb_rd, On::kSameBank},
    {"refi1", &DramTiming::refi1},
    {"refi2", &DramTiming::refi2, On::kFine},
    {"command_long", &DramTiming::command_long},
};
static_assert(std::size(kParameters) + 1 == kDramTimingFields.size(), "all but burst");

inline Ddr5Config config_on(On on) {
    Ddr5Config config;
    if (on == On::kTwoRanks) config.geometry.ranks = 2;
    if (on == On::kSameBank) config.refresh = DramRefreshMode::kSameBank;
    if (on == On::kFine) config.refresh = DramRefreshMode::kFineAllBank;
    config.writes_modify = on != On::kNoModify;
    return config;
}

}  // namespace kvplane::memory
