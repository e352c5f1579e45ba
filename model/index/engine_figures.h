// SPDX-License-Identifier: Apache-2.0
/// What the lookup engine's SRAM makes of a configuration: cycles, energy, leakage, area.
#pragma once

#include <cstdint>

#include "model/index/config.h"

namespace kvplane::index {

struct EngineFigures {
    std::uint32_t sram_cycles = 1;  ///< address to data, the register behind it included
    std::uint32_t bank_busy = 1;    ///< cycles between two accesses of a bank
    std::uint64_t bucket_read_fj = 0;
    std::uint64_t request_read_fj = 0;  ///< all that a request reads in any case
    std::uint64_t entry_read_fj = 0;    ///< an entry whose fingerprint matched
    std::uint64_t slot_write_fj = 0;
    std::uint64_t leakage_uw = 0;  ///< of all banks
    std::uint64_t area_um2 = 0;    ///< of all banks, without wires between them
    bool in_fit = false;           ///< the fit of the SRAM macro covers every array

    /// From the accepting edge to the answer: hash, SRAM, error correction, compare.
    [[nodiscard]] std::uint32_t latency_cycles() const { return 3 + sram_cycles; }
};

/// Each bank is a macro of its own as wide as a bucket; with fingerprints a narrow array of them
/// stands beside one as wide as an entry, and is read first. Throws InvariantError on a config
/// outside its ranges.
[[nodiscard]] EngineFigures engine_figures(const IndexConfig& config,
                                           memory::Corner corner = memory::Corner::kTypical);

}  // namespace kvplane::index
