// SPDX-License-Identifier: Apache-2.0
/// Rows, banks and refreshes of one subchannel in closed form: when a line's column command could
/// be given if nothing but its bank mattered. Burst fidelity; requests are served in the order of
/// the calls, without queues or command bus.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/memory/address_map.h"
#include "model/memory/ddr5_config.h"

namespace kvplane::memory {

class DramRows {
public:
    explicit DramRows(const Ddr5Config& config);

    /// Whether a refresh stops the whole subchannel: one rank, all of its banks.
    [[nodiscard]] bool stops() const { return m_stops; }
    /// Share of the time that no refresh stops it.
    [[nodiscard]] Ratio running() const;
    /// The last refresh up to `at` that stopped, or stops, the subchannel. Empty where there was
    /// none.
    struct Stop {
        Time from;
        Time until;
    };
    [[nodiscard]] Stop last_stop(Time at);
    /// `at`, or the end of the refresh that stops the subchannel then.
    [[nodiscard]] Time after_refresh(Time at) { return std::max(at, last_stop(at).until); }
    /// A line that is asked for at `at` and whose data bus is free from `bus`: when the last of its
    /// data is over, both without the controller. The line's row is open afterwards.
    [[nodiscard]] Time access(Time at, Time bus, std::uint64_t line, bool write);

private:
    static constexpr std::uint32_t kClosed = UINT32_MAX;
    struct Bank {
        std::uint32_t row = kClosed;
        Cycle opened = 0;
        Cycle activate = 0;   ///< not before
        Cycle precharge = 0;  ///< not before
        Cycle column = 0;     ///< not before
    };

    [[nodiscard]] Cycle last_refresh(std::uint32_t bank, Cycle at) const;
    [[nodiscard]] Cycle end_of_refresh(std::uint32_t bank, Cycle due);

    DramTiming m_timing;
    DramGeometry m_geometry;
    bool m_same_bank;
    bool m_stops;
    Cycle m_interval;
    Cycle m_refresh;
    DramClock m_clock;
    AddressMap m_map;
    std::vector<Bank> m_banks;
    /// Of each rank: when the refresh that fell due last is over, and when all rows that were
    /// opened may be closed. Refreshes of all banks only.
    struct Rank {
        Cycle due = 0;
        Cycle end = 0;
        Cycle closable = 0;
    };
    std::vector<Rank> m_ranks;
};

}  // namespace kvplane::memory
