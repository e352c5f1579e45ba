// SPDX-License-Identifier: Apache-2.0
/// The wire between host and card: what it carries per second, and what each kind of traffic costs
/// on it. Closed forms of the slot and TLP rules; no efficiency constant.
#pragma once

#include <cstdint>
#include <optional>

#include "model/common/units.h"

namespace kvplane::cxl {

enum class FlitSize { k68B };

struct LinkConfig {
    TransferRate rate{32'000'000'000};  ///< per lane
    std::uint32_t width = 16;           ///< lanes: 1, 2, 4, 8, 16
    FlitSize flit = FlitSize::k68B;
    bool sync_header_bypass = false;  ///< no 128b/130b sync headers
    bool multi_data_header = true;    ///< two DRS headers in one slot
    bool skp = false;                 ///< SKP ordered sets: 0.9973 of the wire
    Bytes mps{256};                   ///< largest TLP payload of a write or a completion
    Bytes mrrs{512};                  ///< largest DMA read request
    std::optional<Rate> push_rate_limit;  ///< experimental: payload of card writes to the host
    std::optional<Rate> pull_rate_limit;  ///< experimental: payload of host reads from the card
};

}  // namespace kvplane::cxl
