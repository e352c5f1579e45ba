// SPDX-License-Identifier: Apache-2.0
/// The records of a block in the card's DRAM, one 64 B line each, little-endian.
#pragma once

#include <array>
#include <cstdint>

#include "model/block/key.h"

namespace kvplane::index {

/// The hot record of a block, one DRAM line. Extents are 4 KiB frame numbers; every extent but the
/// last has the block's size class, the last the remainder.
struct HotRecord {
    block::BlockKey key;
    std::array<std::uint32_t, 6> extents{};
    std::uint8_t extent_count = 0;
    std::uint8_t codec = 0;
    std::uint16_t owner = 0;
    std::uint32_t references = 0;
    std::uint64_t size = 0;  ///< coded bytes
    std::uint32_t crc = 0;   ///< CRC32C of the bytes before it
    std::uint32_t spare = 0;
};
static_assert(sizeof(HotRecord) == 64);

}  // namespace kvplane::index
