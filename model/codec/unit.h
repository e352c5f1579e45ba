// SPDX-License-Identifier: Apache-2.0
/// The timed compression unit: lanes that blocks pass on their way in and out.
#pragma once

#include <cstdint>

#include "model/common/units.h"

namespace kvplane::codec {

enum class Codec { kRaw };
enum class DecodeAt { kCard };

struct UnitConfig {
    Codec codec = Codec::kRaw;
    std::uint32_t lanes = 8;
    DecodeAt decode_at = DecodeAt::kCard;
    Frequency clock{1'000'000'000};
    Bytes bytes_per_cycle{64};     ///< of one lane, raw
    Time fill = Time::from_ns(4);  ///< first byte in to first byte out, raw (assumed)
};

/// Raw bytes per second of all lanes, both directions together.
[[nodiscard]] constexpr Rate lanes_rate(const UnitConfig& config) {
    return {config.clock.hz * config.bytes_per_cycle.count * config.lanes};
}

}  // namespace kvplane::codec
