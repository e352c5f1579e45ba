// SPDX-License-Identifier: Apache-2.0
/// What a DRAM device is: clock, timing parameters and geometry, by preset. Line and burst fidelity
/// both derive from it.
#pragma once

#include <array>
#include <cstdint>

#include "model/common/units.h"

namespace kvplane::memory {

/// A point in time or a span, in clock cycles of the DRAM. Two transfers a cycle.
using Cycle = std::int64_t;

/// Timing in clock cycles, named as JEDEC names it without the n or t. Between two commands the
/// first cycles of both count. Every value must be 1 or more unless it says otherwise, and at most
/// 4,096; of refreshes, rfc and refi, 1,000,000; command_long 16.
struct DramTiming {
    TransferRate speed;      ///< a data pin; 800 to 12,800 MT/s
    Cycle cl = 0;            ///< RD to first data
    Cycle cwl = 0;           ///< WR to first data
    Cycle rcd = 0;           ///< ACT to RD or WR
    Cycle rp = 0;            ///< PRE to ACT or REF
    Cycle ras = 0;           ///< ACT to PRE
    Cycle rc = 0;            ///< ACT to ACT of a bank; ras + rp or more
    Cycle burst = 0;         ///< data of one line: BL / 2
    Cycle ccd_s = 0;         ///< RD to RD, WR to WR, other bank group; burst or more
    Cycle ccd_l = 0;         ///< RD to RD, same bank group
    Cycle ccd_l_wr = 0;      ///< WR to WR, same bank group, the second reads and modifies
    Cycle ccd_l_wr2 = 0;     ///< WR to WR, same bank group, the second does not
    Cycle rrd_s = 0;         ///< ACT to ACT, other bank group
    Cycle rrd_l = 0;         ///< ACT to ACT, same bank group
    Cycle faw = 0;           ///< at most four ACT to a rank within it
    Cycle wtr_s = 0;         ///< end of write data to RD, other bank group
    Cycle wtr_l = 0;         ///< end of write data to RD, same bank group
    Cycle rtw_gap = 0;       ///< idle data bus between read data and write data; 0 or more
    Cycle rank_gap = 0;      ///< idle data bus between data of two ranks; 0 or more
    Cycle rtp = 0;           ///< RD to PRE
    Cycle wr = 0;            ///< end of write data to PRE
    Cycle ppd = 0;           ///< PRE to PRE of a rank
    Cycle rfc1 = 0;          ///< REF of all banks
    Cycle rfc2 = 0;          ///< REF of all banks, fine granularity
    Cycle rfc_sb = 0;        ///< REF of a bank in every bank group; 0: the device has none
    Cycle refsb_rd = 0;      ///< such a REF to ACT of another bank; 0: the device has none
    Cycle refi1 = 0;         ///< between REF of all banks
    Cycle refi2 = 0;         ///< between REF of all banks, fine granularity
    Cycle command_long = 0;  ///< cycles of ACT, RD and WR on the command bus; the others take one

    bool operator==(const DramTiming&) const = default;
};

/// A parameter by its name.
struct DramTimingField {
    const char* name;
    Cycle DramTiming::*field;
};
/// All of them but the speed.
inline constexpr std::array kDramTimingFields{
    DramTimingField{"cl", &DramTiming::cl},
    DramTimingField{"cwl", &DramTiming::cwl},
    DramTimingField{"rcd", &DramTiming::rcd},
    DramTimingField{"rp", &DramTiming::rp},
    DramTimingField{"ras", &DramTiming::ras},
    DramTimingField{"rc", &DramTiming::rc},
    DramTimingField{"burst", &DramTiming::burst},
    DramTimingField{"ccd_s", &DramTiming::ccd_s},
    DramTimingField{"ccd_l", &DramTiming::ccd_l},
    DramTimingField{"ccd_l_wr", &DramTiming::ccd_l_wr},
    DramTimingField{"ccd_l_wr2", &DramTiming::ccd_l_wr2},
    DramTimingField{"rrd_s", &DramTiming::rrd_s},
    DramTimingField{"rrd_l", &DramTiming::rrd_l},
    DramTimingField{"faw", &DramTiming::faw},
    DramTimingField{"wtr_s", &DramTiming::wtr_s},
    DramTimingField{"wtr_l", &DramTiming::wtr_l},
    DramTimingField{"rtw_gap", &DramTiming::rtw_gap},
    DramTimingField{"rank_gap", &DramTiming::rank_gap},
    DramTimingField{"rtp", &DramTiming::rtp},
    DramTimingField{"wr", &DramTiming::wr},
    DramTimingField{"ppd", &DramTiming::ppd},
    DramTimingField{"rfc1", &DramTiming::rfc1},
    DramTimingField{"rfc2", &DramTiming::rfc2},
    DramTimingField{"rfc_sb", &DramTiming::rfc_sb},
    DramTimingField{"refsb_rd", &DramTiming::refsb_rd},
    DramTimingField{"refi1", &DramTiming::refi1},
    DramTimingField{"refi2", &DramTiming::refi2},
    DramTimingField{"command_long", &DramTiming::command_long},
};

/// One subchannel: an independent command bus with its data bus. A DDR5 channel has two, a DDR4
/// channel is one.
struct DramGeometry {
    std::uint32_t ranks = 1;           ///< 1, 2 or 4
    std::uint32_t groups = 8;          ///< bank groups of a rank: 2, 4 or 8
    std::uint32_t banks = 4;           ///< banks of a group: 2 or 4
    std::uint32_t rows = 65536;        ///< of a bank; a power of two up to 2^26
    std::uint32_t lines_per_row = 64;  ///< 64 B lines of a row over all devices; a power of two
    std::uint32_t bus_bytes = 4;       ///< data pins / 8: 4 or 8
    std::uint32_t subchannels = 2;     ///< of a channel

    [[nodiscard]] std::uint32_t rank_banks() const { return groups * banks; }
    [[nodiscard]] std::uint32_t all_banks() const { return ranks * rank_banks(); }
    /// Lines of one subchannel.
    [[nodiscard]] std::uint64_t lines() const {
        return std::uint64_t{all_banks()} * rows * lines_per_row;
    }
    bool operator==(const DramGeometry&) const = default;
};

/// Speed bins. DDR5: 16 Gb x8, 32-bit subchannel. DDR4: 8 Gb x8, 64-bit channel.
enum class DramPreset : std::uint8_t {
    kDdr5At4800B,   ///< 40-39-39
    kDdr5At5600B,   ///< 46-45-45
    kDdr5At6400B,   ///< 52-52-52 (from memory of the JEDEC bin, unconfirmed)
    kDdr4At3200AA,  ///< 22-22-22
    kDdr4At1866M,   ///< 13-13-13
};

[[nodiscard]] DramTiming timing_of(DramPreset preset);
[[nodiscard]] DramGeometry geometry_of(DramPreset preset);
[[nodiscard]] const char* to_string(DramPreset preset);

/// Throws UserError where a timing or geometry contradicts itself, or would make the memory faster
/// than its pins.
void check(const DramTiming& timing);
void check(const DramGeometry& geometry, const DramTiming& timing);

/// Bytes per second of the data pins of one subchannel.
[[nodiscard]] constexpr Rate pin_rate(const DramTiming& timing, const DramGeometry& geometry) {
    return {timing.speed.per_second * geometry.bus_bytes};
}

/// Between cycles and picoseconds, without drift: a cycle is 2 / speed, whatever fraction that is.
class DramClock {
public:
    explicit DramClock(TransferRate speed);

    /// When a cycle begins, rounded down to a picosecond.
    [[nodiscard]] Time at(Cycle cycle) const {
        return {cycle / m_cycles * m_ps + cycle % m_cycles * m_ps / m_cycles};
    }
    /// The first cycle with at(cycle) >= time. `time` must not be negative.
    [[nodiscard]] Cycle first_at(Time time) const {
        return time.ps / m_ps * m_cycles + (time.ps % m_ps * m_cycles + m_ps - 1) / m_ps;
    }
    /// The last cycle with at(cycle) <= time. `time` must not be negative.
    [[nodiscard]] Cycle last_at(Time time) const { return first_at(time + Time{1}) - 1; }

private:
    std::int64_t m_cycles;  ///< so many cycles ...
    std::int64_t m_ps;      ///< ... take so many picoseconds
};

}  // namespace kvplane::memory
