// SPDX-License-Identifier: Apache-2.0
/// The card's DRAM as bandwidth and latency: what flows share, and what one line waits.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/units.h"
#include "model/memory/ddr5_config.h"

namespace kvplane::memory {

struct DramConfig {
    std::uint32_t channels = 4;           ///< 64-bit channels, two subchannels each
    TransferRate speed{5'600'000'000};    ///< per data pin
    DramEcc ecc = DramEcc::kSideband;     ///< sideband ECC costs no bandwidth
    Ratio service{910'000};               ///< share of the pins that reads in a row reach
    Time turnaround = Time::from_ns(20);  ///< one change of direction (assumed)
    std::uint32_t write_batch = 24;       ///< lines written between two changes of direction
    Time closed_row{36'600};              ///< activate to first data of a closed row
    Time controller = Time::from_ns(20);  ///< controller and PHY (assumed)
};

/// All channels of a card. Lines interleave over subchannels.
class Dram {
public:
    explicit Dram(const DramConfig& config);

    /// Payload bytes per second of all channels, reads in a row.
    [[nodiscard]] Rate bandwidth() const;
    /// The time one subchannel gives to a line (s0 of the transfer model).
    [[nodiscard]] Time line_service() const { return m_line_service; }
    /// What a written line costs beyond line_service() where reads are mixed in: two changes of
    /// direction a batch.
    [[nodiscard]] Time mixed_write_extra() const;
    /// First data of an idle closed row, controller and PHY included, as a record read sees it.
    [[nodiscard]] Time idle_latency() const { return m_config.closed_row + m_config.controller; }

    /// Reads or writes one line at `now`: returns when its data is there. Lines of one subchannel
    /// queue; `flow_share` is the part of the DRAM that transfers hold, which stretches each line's
    /// service. At most 95 % of it counts, since single lines go before transfers.
    [[nodiscard]] Time access_line(Time now, Dpa line, Ratio flow_share);

private:
    DramConfig m_config;
    Time m_line_service;
    std::vector<Time> m_free_at;  ///< by subchannel
};

}  // namespace kvplane::memory
