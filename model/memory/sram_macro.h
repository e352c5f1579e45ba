// SPDX-License-Identifier: Apache-2.0
/// An on-chip SRAM macro (1RW, SECDED): how long a read takes, by capacity, port width and process
/// node. A fit of 42 one-bank CACTI 7 points at 22 nm, low-standby-power cells with
/// high-performance periphery, 32 KiB to 64 MiB, 64 to 512 bits: mean error 6.9 %, largest 16 %.
#pragma once

#include <cstdint>

#include "model/common/units.h"

namespace kvplane::memory {

enum class SramNode { k22nm, k7nm, k5nm };

struct SramMacroConfig {
    Bytes capacity;
    std::uint32_t port_bits = 64;  ///< 64 to 512
    SramNode node = SramNode::k7nm;
};

/// Address in to data out. Delay scales by 0.65 at 7 nm (range 0.5 to 1.0) and 0.60 at 5 nm (0.45
/// to 1.0) from 22 nm; both factors are assumed.
[[nodiscard]] Time sram_access_time(const SramMacroConfig& config);

}  // namespace kvplane::memory
