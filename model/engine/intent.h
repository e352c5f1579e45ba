// SPDX-License-Identifier: Apache-2.0
/// What the host asks of the card and what it hears back, byte by byte. Little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/block/key.h"
#include "model/common/units.h"

namespace kvplane::engine {

/// A run names blocks root first, by a gather list; what it did ends at its first block that could
/// not be done.
enum class Opcode : std::uint8_t {
    kPromote = 1,   ///< tier to device memory
    kPrefetch = 2,  ///< the same, on a hint: dropped where it can no longer meet its deadline
    kDemote = 3,    ///< device memory to tier; the asker owns the block from then on
    kDiscard = 4,   ///< drop the block now, or answer busy
    /// Keep the block for `argument` milliseconds, whatever is asked by others; within a budget of
    /// the tenant's. With kMapped, of one block and not by a list, `ok` has for argument the DPA of
    /// its first byte: it is raw, in one piece, and its lines can be read over CXL.mem.
    kPin = 5,
    kUnpin = 6,
    kRetain = 7,        ///< a bias: writes `argument` as reuse score to the policy record
    kShare = 8,         ///< lets tenant `argument` read the block; kEveryTenant: all
    kUpdatePolicy = 9,  ///< writes policy records; a single one only at `epoch`, unless that is 0
    kCancel = 10,       ///< ends intent `argument` of this queue pair early, at any stage
    /// Gives up the asker's right to the block and his pin. With the last right the block goes, its
    /// room when the last transfer that reads it is over. What the owner has granted to all ends
    /// with him: busy while somebody pins the block on that alone.
    kRelease = 11,
    kReEncode = 12,  ///< rewrites the block in new room of the tier; `argument`: codec, 0: raw
    kQuery = 13,     ///< how many blocks of the run are present, from its first on
};
inline constexpr std::uint8_t kLastOpcode = 13;

/// Names as in `kvplane trace intents`, by opcode.
inline constexpr std::array<std::string_view, kLastOpcode + 1> kOpcodeNames{
    "?",      "promote", "prefetch",      "demote", "discard", "pin",       "unpin",
    "retain", "share",   "update-policy", "cancel", "release", "re-encode", "query"};

/// Of a run the first `argument` blocks were done, whatever the status, and the status is that of
/// the next. A pin that tells an address is no run.
enum class Status : std::uint8_t {
    kOk = 0,
    /// Ended early, by a cancel or for want of room: in the tier, its index, its policy records.
    /// Those not done stay where they were.
    kClipped = 1,
    /// It cannot be done: it is in the tier already, moves there already, has another epoch, the
    /// budget for pins is used up, the codec is not known, or a prefetch came too late.
    kRejected = 2,
    kMissing = 3,    ///< it is not in the tier, or not for this tenant; or the handle is stale
    kNotOwner = 4,   ///< the tenant may read it, not change it
    kPoisoned = 5,   ///< its bytes are not as they were written
    kBusy = 6,       ///< it is being read, pinned, or shared; or it is too late to cancel
    kMalformed = 7,  ///< nothing was done
    kUnknown = 8,    ///< the device refused some of the payload
};
inline constexpr std::array<std::string_view, 9> kStatusNames{"ok",      "clipped",   "rejected",
                                                              "missing", "not-owner", "poisoned",
                                                              "busy",    "malformed", "unknown"};

/// Transfer classes, most urgent first.
enum class TransferClass : std::uint8_t { kDemand = 1, kPrefetch = 2, kDemotion = 3, kScrub = 4 };
/// Names as in `kvplane trace intents`, by class.
inline constexpr std::array<std::string_view, 5> kClassNames{"?", "demand", "prefetch", "demotion",
                                                             "scrub"};
inline constexpr auto kMostUrgentClass = TransferClass::kDemand;
inline constexpr auto kLeastUrgentClass = TransferClass::kScrub;

inline constexpr std::uint8_t kFormatVersion = 1;
/// Intent::flags: the low part of `target` is the address of a gather list of `count` entries.
inline constexpr std::uint8_t kGatherList = 1;
/// Intent::flags: toggled on each pass of a submission ring, 0 on the first. It tells a descriptor
/// from the one that lay there before, should a doorbell overtake the descriptor's write.
inline constexpr std::uint8_t kOddPass = 2;
/// Intent::flags of kPin.
inline constexpr std::uint8_t kMapped = 4;

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
    std::uint32_t length_4k = 0;    ///< bytes of a block in 4 KiB, rounded up; of moves only
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

/// One block of a gather list, 24 bytes. Lists of kUpdatePolicy hold index::PolicyChange.
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
