// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/common/units.h"
#include "model/memory/sram_macro.h"

namespace kvplane::index {

enum class Implementation { kTlm };
enum class Overflow { kDram };

/// The resident index: organisation, SRAM and clock.
struct IndexConfig {
    Implementation implementation = Implementation::kTlm;
    Bytes sram = Bytes::from_mib(8);  ///< 16 B an entry; a power of two
    memory::SramNode node = memory::SramNode::k7nm;
    Frequency clock{1'000'000'000};
    std::uint32_t slots = 4;        ///< entries of a bucket
    std::uint32_t banks = 8;        ///< SRAM banks, half of them for each choice
    std::uint32_t stash = 16;       ///< entries that found no slot yet
    std::uint32_t kick_limit = 32;  ///< displacements before an insert parks in the stash
    Overflow overflow = Overflow::kDram;
};

}  // namespace kvplane::index
