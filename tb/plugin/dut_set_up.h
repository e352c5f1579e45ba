// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tb/plugin/lookup_dut.h"

namespace kvplane::rtl {

/// Resets `dut`, lets its sweep end, seeds its hashes as a CuckooTable of `seed` and enables it.
/// Throws InvariantError where it does not come to rest.
void set_up(MetaLookupDut& dut, std::uint64_t seed);

/// Writes a register of an engine without a request at its pins. False where it is refused.
bool write_register(MetaLookupDut& dut, std::uint8_t address, std::uint32_t data);

}  // namespace kvplane::rtl
