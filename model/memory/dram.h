// SPDX-License-Identifier: Apache-2.0
/// The card's DRAM as a bandwidth and a latency.
#pragma once

#include <cstdint>

#include "model/common/units.h"

namespace kvplane::memory {

enum class DramEcc { kSideband };

struct DramConfig {
    std::uint32_t channels = 4;               ///< 64-bit channels, two subchannels each
    TransferRate speed{5'600'000'000};        ///< per data pin
    DramEcc ecc = DramEcc::kSideband;         ///< sideband ECC costs no bandwidth
    Ratio service{910'000};                   ///< share of the pins that reads in a row reach
    Time turnaround = Time::from_ns(20);      ///< one change of direction (assumed)
    std::uint32_t write_batch = 24;           ///< lines written between two changes of direction
    Time closed_row{36'600};                  ///< first data of a closed row, at the pins
    Time controller = Time::from_ns(20);      ///< controller and PHY (assumed)
};

}  // namespace kvplane::memory
