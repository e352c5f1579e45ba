// SPDX-License-Identifier: Apache-2.0
/// The records of a block in the card's DRAM, little-endian. Hot and policy records are read on
/// their own, so each is one line; apart from each other, because policy outlives the block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/block/key.h"
#include "model/common/crc32c.h"
#include "model/common/units.h"
#include "model/index/entry.h"

namespace kvplane::index {

/// Mechanism: read by each promotion, for its key above all. Extents are 4 KiB frame numbers; every
/// extent but the last has the block's size class, the last the remainder.
struct HotRecord {
    block::BlockKey key;
    std::array<std::uint32_t, 6> extents{};
    std::uint8_t extent_count = 0;  ///< 0: no block
    std::uint8_t codec = 0;         ///< codec and layout; 0: raw
    std::uint16_t owner = 0;        ///< tenant; 0xFFFF: nobody any more
    std::uint32_t references = 0;   ///< owner and grants; 0 while the block is on its way in
    std::uint64_t size = 0;         ///< coded bytes
    std::uint32_t crc = 0;          ///< CRC32C of the bytes before it; so in the other records
    std::uint32_t spare = 0;
};
static_assert(sizeof(HotRecord) == 64 && offsetof(HotRecord, extents) == 16 &&
              offsetof(HotRecord, extent_count) == 40 && offsetof(HotRecord, references) == 44 &&
              offsetof(HotRecord, size) == 48 && offsetof(HotRecord, crc) == 56);

/// Identity: fixed at birth, never read on the way of a promotion.
struct ColdRecord {
    std::uint64_t sequence = 0;  ///< id of the sequence it was made for
    std::uint32_t first_token = 0;
    std::uint32_t tokens = 0;
    block::PrefixHash prefix;
    block::BlockKey parent;
    block::Slice slice;
    std::uint8_t made_by = 0;  ///< 0: prefill; 1: decode
    std::uint8_t spare = 0;
    std::uint32_t decode_step = 0;
    std::uint32_t crc = 0;
};
static_assert(sizeof(ColdRecord) == 64 && offsetof(ColdRecord, prefix) == 16 &&
              offsetof(ColdRecord, parent) == 32 && offsetof(ColdRecord, slice) == 48 &&
              offsetof(ColdRecord, made_by) == 54 && offsetof(ColdRecord, decode_step) == 56 &&
              offsetof(ColdRecord, crc) == 60);

/// One chunk of a block's coded bytes; eight to a line.
struct ChunkRecord {
    std::uint32_t offset = 0;  ///< in the coded block
    std::uint32_t crc = 0;     ///< CRC32C of the chunk's bytes before coding
};
static_assert(sizeof(ChunkRecord) == 8);

/// Policy: bound to the key, changed in place, and able to outlive every copy of the block. Last
/// use and count are written by the plane that saw the access, the rest by the host alone.
struct PolicyRecord {
    block::BlockKey key;
    std::uint16_t tenant = 0;
    std::uint8_t priority_class = 0;
    std::uint8_t priority = 0;
    std::uint32_t reuse_score = 0;
    std::uint64_t last_use = 0;  ///< device clock, ns
    std::uint32_t accesses = 0;
    std::uint8_t intent = 0;
    std::uint8_t flags = 0;
    std::uint16_t spare = 0;
    std::uint64_t expiry = 0;  ///< device clock, ns
    std::uint32_t epoch = 0;   ///< counts the host's updates; 0: no record
    std::array<std::uint8_t, 8> spare_bytes{};
    std::uint32_t crc = 0;
};
static_assert(sizeof(PolicyRecord) == 64 && offsetof(PolicyRecord, tenant) == 16 &&
              offsetof(PolicyRecord, priority_class) == 18 &&
              offsetof(PolicyRecord, reuse_score) == 20 && offsetof(PolicyRecord, last_use) == 24 &&
              offsetof(PolicyRecord, accesses) == 32 && offsetof(PolicyRecord, intent) == 36 &&
              offsetof(PolicyRecord, expiry) == 40 && offsetof(PolicyRecord, epoch) == 48 &&
              offsetof(PolicyRecord, crc) == 60);

/// The CRC that a record should carry.
template <class Record>
[[nodiscard]] std::uint32_t record_crc(const Record& record) {
    return crc32c({reinterpret_cast<const std::uint8_t*>(&record), offsetof(Record, crc)});
}
template <class Record>
[[nodiscard]] bool intact(const Record& record) {
    return record.crc == record_crc(record);
}

template <class Record>
void seal(Record& record) {
    record.crc = record_crc(record);
}

/// The index entry that hot record number `number` implies; `block`: its size before coding.
[[nodiscard]] inline Entry entry_of(const HotRecord& record, std::uint32_t number, Bytes block) {
    const std::uint64_t parts = (record.size * 256 + block.count - 1) / block.count;
    const EntryState state = record.references == 0 ? EntryState::kMoving : EntryState::kResident;
    Entry entry;
    entry.frame = number;
    entry.size = (parts == 0 ? 0 : parts - 1) & 0xFFU;
    entry.state = static_cast<std::uint64_t>(state) & 7U;
    entry.decoder = record.codec & 7U;
    return entry;
}

}  // namespace kvplane::index
