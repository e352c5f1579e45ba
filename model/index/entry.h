// SPDX-License-Identifier: Apache-2.0
/// The 16-byte entry of the resident index and the 64-byte record of a block in DRAM.
#pragma once

#include <array>
#include <cstdint>

#include "model/block/key.h"

namespace kvplane::index {

enum class EntryState : std::uint8_t { kFree = 0, kResident = 1, kMoving = 2 };

/// Mechanism only: where a block is and in what form. 128 bits, written at once.
struct Entry {
    std::uint64_t tag : 62 = 0;     ///< the key's upper bits
    std::uint64_t tier : 2 = 0;     ///< 0: DRAM
    std::uint64_t frame : 32 = 0;   ///< 4 KiB frame of the first extent
    std::uint64_t size : 8 = 0;     ///< coded length, in 1/256 of a block less one
    std::uint64_t version : 8 = 0;  ///< bumped by each move
    std::uint64_t state : 3 = 0;    ///< EntryState
    std::uint64_t decoder : 3 = 0;  ///< decoder class; 0: raw
    std::uint64_t priority_class : 3 = 0;
    std::uint64_t flags : 3 = 0;  ///< stale, shadow-valid, pinned
    std::uint64_t spare : 4 = 0;

    [[nodiscard]] bool free() const { return state == 0; }
};
static_assert(sizeof(Entry) == 16);

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
