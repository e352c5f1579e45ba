// SPDX-License-Identifier: Apache-2.0
/// What each kind of reset leaves of the card.
#pragma once

#include <array>
#include <cstdint>

namespace kvplane::management {

enum class Reset : std::uint8_t {
    kFunction,     ///< FLR of the engine's function
    kHot,          ///< link down and up
    kWarm,         ///< fundamental, power stays
    kCold,         ///< power went
    kCxl,          ///< CXL reset without memory clear
    kCxlMemClear,  ///< CXL reset with memory clear
};

/// What survives.
struct ResetEffect {
    bool index = false;     ///< entries in SRAM
    bool dram = false;      ///< contents
    bool queues = false;    ///< rings, windows, intents under way
    bool decoders = false;  ///< HDM decoders and their locks

    bool operator==(const ResetEffect&) const = default;
};

/// An FLR must leave CXL.mem alone. Everything else takes the link down, so queues and decoders go.
/// The index is logic: it goes with a fundamental reset, and blocks in DRAM that stayed are then
/// out of reach. It also goes wherever DRAM is cleared.
[[nodiscard]] constexpr ResetEffect effect_of(Reset reset) {
    switch (reset) {
        case Reset::kFunction:
            return {true, true, false, true};
        case Reset::kHot:
        case Reset::kCxl:
            return {true, true, false, false};
        case Reset::kWarm:
            return {false, true, false, false};
        case Reset::kCold:
        case Reset::kCxlMemClear:
            return {false, false, false, false};
    }
    return {};
}

/// Whether handles of before are stale afterwards: blocks are no longer found.
[[nodiscard]] constexpr bool new_boot_generation(Reset reset) { return !effect_of(reset).index; }

}  // namespace kvplane::management
