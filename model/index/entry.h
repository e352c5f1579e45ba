// SPDX-License-Identifier: Apache-2.0
/// The 16-byte entry of the resident index.
#pragma once

#include <cstdint>

namespace kvplane::index {

enum class EntryState : std::uint8_t { kFree = 0, kResident = 1, kMoving = 2 };

/// Mechanism only: where a block is and in what form. 128 bits, written at once.
struct Entry {
    std::uint64_t tag : 62 = 0;            ///< the key's upper bits; set by the table
    std::uint64_t tier : 2 = 0;            ///< 0: DRAM
    std::uint64_t frame : 32 = 0;          ///< number of the hot record, which names the extents
    std::uint64_t size : 8 = 0;            ///< coded length, in 1/256 of a block less one
    std::uint64_t version : 8 = 0;         ///< bumped by moves alone
    std::uint64_t state : 3 = 0;           ///< EntryState; 3 to 7 are spare states in use
    std::uint64_t decoder : 3 = 0;         ///< decoder class; 0: raw
    std::uint64_t priority_class : 3 = 0;  ///< a cached copy; the policy record rules
    std::uint64_t flags : 3 = 0;           ///< stale, shadow-valid, pinned
    std::uint64_t spare : 4 = 0;

    [[nodiscard]] bool free() const { return state == 0; }
};
static_assert(sizeof(Entry) == 16);

/// Which fields an update replaces, one bit each. The tag is never replaced.
using FieldMask = std::uint16_t;
namespace field {
inline constexpr FieldMask kState = 1U << 0U;
inline constexpr FieldMask kFrame = 1U << 1U;
inline constexpr FieldMask kSize = 1U << 2U;
inline constexpr FieldMask kDecoder = 1U << 3U;
inline constexpr FieldMask kTier = 1U << 4U;
inline constexpr FieldMask kVersion = 1U << 5U;
inline constexpr FieldMask kClass = 1U << 6U;
inline constexpr FieldMask kFlags = 1U << 7U;
inline constexpr FieldMask kSpare = 1U << 8U;
inline constexpr FieldMask kAll = 0x1FF;
/// What a move writes: all but the class, which belongs to policy.
inline constexpr FieldMask kMove = kAll & ~kClass;
/// What a policy update writes.
inline constexpr FieldMask kPolicy = kClass;
}  // namespace field

/// `old` with the fields of `mask` from `fresh`.
[[nodiscard]] inline Entry merge(Entry old, const Entry& fresh, FieldMask mask) {
    if ((mask & field::kState) != 0) old.state = fresh.state;
    if ((mask & field::kFrame) != 0) old.frame = fresh.frame;
    if ((mask & field::kSize) != 0) old.size = fresh.size;
    if ((mask & field::kDecoder) != 0) old.decoder = fresh.decoder;
    if ((mask & field::kTier) != 0) old.tier = fresh.tier;
    if ((mask & field::kVersion) != 0) old.version = fresh.version;
    if ((mask & field::kClass) != 0) old.priority_class = fresh.priority_class;
    if ((mask & field::kFlags) != 0) old.flags = fresh.flags;
    if ((mask & field::kSpare) != 0) old.spare = fresh.spare;
    return old;
}

}  // namespace kvplane::index
