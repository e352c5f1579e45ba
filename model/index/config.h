// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "model/common/units.h"
#include "model/memory/sram_macro.h"

namespace kvplane::index {

/// Which model of the lookup engine is plugged in.
enum class Implementation {
    kTlm,       ///< TimedTable
    kRtl,       ///< the verilated RTL (tb/plugin)
    kLockstep,  ///< the RTL, with a TimedTable beside it that every answer is held against
};
/// Where entries go that the SRAM does not hold.
enum class Overflow {
    kDram,  ///< into a table in the card's DRAM: no insert is refused
    kNone,  ///< nowhere: an insert that finds no room is refused
};

/// The resident index: organisation, SRAM and clock, and the part in DRAM behind it.
struct IndexConfig {
    Implementation implementation = Implementation::kTlm;
    Bytes sram = Bytes::from_mib(8);  ///< 16 B an entry; a power of two
    memory::SramNode node = memory::SramNode::k7nm;
    memory::SramPorts ports = memory::SramPorts::k1rw;  ///< of each bank
    Frequency clock{1'000'000'000};
    std::uint32_t choices = 2;  ///< buckets a key may be in: 1, 2 or 4
    std::uint32_t slots = 4;    ///< entries of a bucket; 1, 2, 4 or 8
    /// SRAM banks, equally many for each choice; each is a macro of its own.
    std::uint32_t banks = 8;
    std::uint32_t stash = 16;            ///< entries that found no slot yet
    std::uint32_t kick_limit = 32;       ///< kicks before an entry parks in the stash
    std::uint32_t store_buffer = 16;     ///< slot writes that may wait, of each choice
    std::uint32_t fingerprint_bits = 0;  ///< 0: whole buckets are read; see CuckooConfig
    Overflow overflow = Overflow::kDram;
    bool fill = true;  ///< entries found in DRAM move into the SRAM
    std::optional<Bytes> filter = Bytes::from_kib(256);  ///< on-chip, of keys in DRAM
    std::uint32_t dram_probes = 64;  ///< probes of the part in DRAM under way at once
};

}  // namespace kvplane::index
