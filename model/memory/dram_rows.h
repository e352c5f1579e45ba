// SPDX-License-Identifier: Apache-2.0
/// Rows, banks and refreshes of one subchannel in closed form: when a line's column command could
/// be given by its bank, the rate of activates (rrd, faw) and writes of its group (ccd_l_wr,
/// wtr_l). Burst fidelity; requests are served in the order of the calls, without queues or command
/// bus.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "model/memory/address_map.h"
#include "model/memory/ddr5_config.h"

namespace kvplane::memory {

class DramRows {
public:
    /// `refresh_offset` as of Ddr5Subchannel.
    explicit DramRows(const Ddr5Config& config, Cycle refresh_offset = 0);

    /// Whether a refresh stops the whole subchannel: one rank, all of its banks.
    [[nodiscard]] bool stops() const { return m_stops; }
    /// Share of the time that no refresh stops it.
    [[nodiscard]] Ratio running() const;
    /// `at`, or the end of the refresh that stops the subchannel then.
    [[nodiscard]] Time after_refresh(Time at);
    /// When the next refresh falls due that stops the subchannel; Time::never() where none does.
    [[nodiscard]] Time next_refresh(Time at) const;
    /// How long one stops it, its rows closed first.
    [[nodiscard]] Time refresh_time() const { return m_clock.at(m_timing.rp + m_refresh); }
    /// The end of the last refresh that stopped the subchannel and began by `at`; before time began
    /// where there was none.
    [[nodiscard]] Time refresh_ended(Time at);
    /// Streams that come by every bank within `pass` have opened rows of their own by `at`: in the
    /// bank of `line` too, unless it was refreshed or opened too short a while ago. When they reach
    /// which bank is fixed, and spread over the pass.
    void streamed(std::uint64_t line, Time at, Time pass);
    /// What so many writes in a row take at least, where each bank group takes one every ccd_l_wr
    /// and the data bus one at a time: of those to the first group that has all of its own.
    [[nodiscard]] Time least_batch(std::uint32_t writes) const;
    /// Lines of a stream until it has come by every bank; 65,536 where it has not by then.
    [[nodiscard]] std::uint64_t pass() const;
    [[nodiscard]] std::uint32_t bank_of(std::uint64_t line) const { return m_map.place(line).bank; }
    struct Access {
        Time data;            ///< its last data
        Time turn;            ///< its column command, if its bank had been ready
        bool opened = false;  ///< a row had to be opened for it
    };
    /// A line that is asked for at `at` and whose data bus is free from `bus_free`, both without
    /// the controller. The line's row is open afterwards.
    [[nodiscard]] Access access(Time at, Time bus_free, std::uint64_t line, bool write);

private:
    static constexpr std::uint32_t kClosed = UINT32_MAX;
    static constexpr std::uint32_t kOfAStream = UINT32_MAX - 1;  ///< a row, whichever
    static constexpr Cycle kLongAgo = -1'000'000'000;
    static constexpr Cycle kNever = INT64_MAX;
    static constexpr std::size_t kMostGroups = 8;
    struct Bank {
        std::uint32_t row = kClosed;
        Cycle opened = 0;
        Cycle activate = 0;   ///< not before
        Cycle precharge = 0;  ///< not before
        Cycle column = 0;     ///< not before
    };

    struct Group {
        Cycle turn = kLongAgo;  ///< of the last activate
        Cycle write = 0;        ///< not before
        Cycle read = 0;         ///< not before
    };
    /// What commands of a rank keep to, whatever their banks.
    struct Pace {
        std::array<Cycle, 4> turns{kLongAgo, kLongAgo, kLongAgo,
                                   kLongAgo};  ///< of activates, a ring
        std::uint32_t next = 0;
        std::array<Group, kMostGroups> groups{};
    };
    struct Rank {
        Cycle due = 0;  ///< the latest refresh that was asked for, of all banks
        /// When the rows may be closed that are used before it falls due, and those used later.
        Cycle closable = 0;
        Cycle later = 0;
        Pace pace;
        Pace late;              ///< after the next refresh, of what it has overtaken
        Cycle parted = kNever;  ///< the end of that refresh
    };
    /// Of an access: its activate, or its column command where the row is open.
    struct Start {
        Cycle at = 0;
        Cycle turn = 0;        ///< of an activate, in its rank
        Cycle group_turn = 0;  ///< and in its bank group
        bool opens = false;
    };

    [[nodiscard]] Cycle turn(const Pace& pace, Cycle ready) const;
    [[nodiscard]] Pace& pace_at(Rank& rank, Cycle ready) const;
    [[nodiscard]] std::uint32_t group_of(std::uint32_t bank) const {
        return bank / m_geometry.banks % m_geometry.groups;
    }
    [[nodiscard]] Start start(const DramPlace& place, Cycle ready, Cycle bus);
    [[nodiscard]] Cycle take_write_turn(Group& group, Cycle turn) const;
    [[nodiscard]] Cycle last_refresh(std::uint32_t bank, Cycle at) const;
    [[nodiscard]] Cycle end_of_refresh(std::uint32_t bank, Cycle due);

    DramTiming m_timing;
    DramGeometry m_geometry;
    bool m_same_bank;
    bool m_stops;
    Cycle m_interval;
    Cycle m_refresh;
    Cycle m_offset;
    DramClock m_clock;
    AddressMap m_map;
    std::vector<Bank> m_banks;
    Cycle m_write_to_write;
    std::vector<Rank> m_ranks;
};

}  // namespace kvplane::memory
