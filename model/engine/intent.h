// SPDX-License-Identifier: Apache-2.0
/// What the host asks of the card and what it hears back, byte by byte. Little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/block/key.h"
#include "model/common/units.h"

namespace kvplane::engine {

enum class Opcode : std::uint8_t { kPromote = 1, kPrefetch = 2, kDemote = 3, kDiscard = 4 };

enum class Status : std::uint8_t {
    kOk = 0,
    /// The first `argument` blocks were done; for the next the tier has no frame, or its index no
    /// room. Those not done stay where they were.
    kClipped = 1,
    kRejected = 2,  ///< the first `argument` blocks were done; the next is in the tier already
    kMissing = 3,   ///< the first `argument` blocks were done; the next is not in the tier
    kNotOwner = 4,
    kPoisoned =
        5,      ///< the first `argument` blocks arrived; the next one's bytes are not as written
    kBusy = 6,  ///< the first `argument` blocks were done; the next is being read
    kMalformed = 7,  ///< nothing was done
    kUnknown = 8,
};

/// Transfer classes, most urgent first.
enum class TransferClass : std::uint8_t { kDemand = 1, kPrefetch = 2, kDemotion = 3 };

inline constexpr std::uint8_t kFormatVersion = 1;
/// Intent::flags: the low part of `target` is the address of a gather list of `count` entries.
inline constexpr std::uint8_t kGatherList = 1;

/// The 64-byte descriptor of a submission queue.
struct Intent {
    std::uint8_t opcode = 0;
    std::uint8_t flags = 0;
    std::uint8_t transfer_class = 0;
    std::uint8_t priority = 0;
    std::uint16_t tenant = 0;
    std::uint16_t count = 1;  ///< blocks: 1, or the entries of the gather list
    std::uint32_t id = 0;
    std::uint32_t epoch = 0;
    std::uint64_t key_low = 0;  ///< of the one block
    std::uint64_t key_high = 0;
    std::uint64_t deadline_ns = 0;  ///< device clock
    std::uint64_t target = 0;       ///< make_target(window, slot or address of the gather list)
    std::uint32_t length_4k = 0;    ///< bytes of a block in 4 KiB, rounded up
    std::uint32_t argument = 0;
    std::uint8_t format_version = kFormatVersion;
    std::uint8_t boot_generation = 0;
    std::uint16_t reserved = 0;
    std::uint32_t crc = 0;  ///< CRC32C of the 60 bytes before it
};
static_assert(sizeof(Intent) == 64);
static_assert(offsetof(Intent, tenant) == 4 && offsetof(Intent, count) == 6);
static_assert(offsetof(Intent, id) == 8 && offsetof(Intent, epoch) == 12);
static_assert(offsetof(Intent, key_low) == 16 && offsetof(Intent, deadline_ns) == 32);
static_assert(offsetof(Intent, target) == 40 && offsetof(Intent, length_4k) == 48);
static_assert(offsetof(Intent, argument) == 52 && offsetof(Intent, format_version) == 56);
static_assert(offsetof(Intent, boot_generation) == 57 && offsetof(Intent, crc) == 60);

/// One move of a gather list, 24 bytes.
struct GatherEntry {
    std::uint64_t key_low = 0;
    std::uint64_t key_high = 0;
    std::uint32_t slot = 0;
    std::array<std::uint8_t, 3> length_4k{};
    std::uint8_t flags = 0;

    [[nodiscard]] block::BlockKey key() const { return {key_high, key_low}; }
    /// Bytes of the block in 4 KiB, rounded up.
    [[nodiscard]] std::uint32_t length() const {
        return std::uint32_t{length_4k[0]} | std::uint32_t{length_4k[1]} << 8 |
               std::uint32_t{length_4k[2]} << 16;
    }
};
static_assert(sizeof(GatherEntry) == 24);

/// CompletionEntry::phase_and_flags: the phase bit, toggled on each pass of the ring.
inline constexpr std::uint8_t kPhase = 1;

/// The 16-byte entry of a completion queue.
struct CompletionEntry {
    std::uint32_t id = 0;
    std::uint8_t status = 0;
    std::uint8_t phase_and_flags = 0;
    std::uint16_t queue = 0;
    std::uint64_t argument = 0;
};
static_assert(sizeof(CompletionEntry) == 16);

/// The CRC that `intent` should carry.
[[nodiscard]] std::uint32_t intent_crc(const Intent& intent);

/// A window in the high 16 bits; in the low 48 a slot of it, or the host address of a gather list.
[[nodiscard]] constexpr std::uint64_t make_target(std::uint16_t window, std::uint64_t low) {
    return std::uint64_t{window} << 48 | low;
}
[[nodiscard]] GatherEntry make_gather_entry(const block::BlockKey& key, std::uint32_t slot,
                                            std::uint32_t length_4k);

}  // namespace kvplane::engine
