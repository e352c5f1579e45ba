// SPDX-License-Identifier: Apache-2.0
/// The registers of the engine's own PCI function: what the engine is, and a page with doorbells
/// for each pair of queues. 8-byte accesses, aligned; a portal takes 64 bytes at once. Anything
/// else is refused.
///
///     0x0000  ID "KVPLANE1"     RO      0x0010  tier capacity, bytes    RO
///     0x0008  boot generation   RO      0x0018  number of queue pairs   RO
///     0x0020  command: bit 2, bus master enable, as in PCI              RW
///     0x0028  memory for rings: first DPA, behind the tier RO  0x0030  its bytes  RO
///     0x1000 + 0x1000 q, of queue pair q:
///       +0x00 submission ring, HPA or DPA RW  +0x30 place of submissions (QueuePlace)    RW
///       +0x08 completion ring, HPA     RW     +0x38 tenant, bits 15:0; PASID, bits 51:32 RW
///       +0x10 entries of each ring     RW     +0x40 host region for gather lists: base   RW
///       +0x18 enable (bit 0)           RW     +0x48 the same: bytes                      RW
///       +0x20 submission tail doorbell WO     +0x50 drop translations of this HPA's page WO
///       +0x28 completion head doorbell WO     +0x58 drops done, since set-up             RO
///       +0x100 + 0x80 w, of window w: +0x00 slots, 0: not registered; +0x08 stride, bytes;
///                    +0x10 shards, 1 to 8; +0x18 flags, HPA; +0x40 + 8 s base of shard s RW
///       +0x800 portal                                                                    WO
///
/// Nothing moves before bus master enable is set. A queue pair is set up, then enabled, and stays
/// as it is until the card is reset. Windows may be added while it is enabled, their slots last;
/// from then on they stay as they are, too: transfers go on without asking again.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/common/units.h"

namespace kvplane::management {

inline constexpr std::uint32_t kWindows = 4;  ///< of a queue pair
inline constexpr std::uint32_t kMostShards = 8;
inline constexpr std::uint64_t kRegisterId = 0x31454E414C50564BULL;
inline constexpr std::uint64_t kBootGenerationRegister = 0x08;
inline constexpr std::uint64_t kCommandRegister = 0x20;
inline constexpr std::uint64_t kRingMemoryRegister = 0x28;
inline constexpr std::uint64_t kBusMasterEnable = 1U << 2U;
inline constexpr std::uint64_t kQueuePage = 0x1000;
inline constexpr std::uint64_t kWindowRegisters = 0x100;
inline constexpr std::uint64_t kWindowStride = 0x80;
inline constexpr std::uint64_t kPortalOffset = 0x800;

/// A queue pair with this tenant belongs to a trusted driver: its intents may name any tenant.
inline constexpr std::uint16_t kAnyTenant = 0xFFFF;

enum class QueueRegister : std::uint64_t {
    kSubmissionBase = 0x00,
    kCompletionBase = 0x08,
    kEntries = 0x10,
    kEnable = 0x18,
    kSubmissionTail = 0x20,
    kCompletionHead = 0x28,
    kPlace = 0x30,
    kTenant = 0x38,
    kRegionBase = 0x40,
    kRegionSize = 0x48,
    kInvalidate = 0x50,
    kInvalidated = 0x58,
};
enum class WindowRegister : std::uint64_t {
    kSlots = 0x00,
    kStride = 0x08,
    kShards = 0x10,
    kFlags = 0x18,
    kBase = 0x40,  ///< of shard 0; eight bytes a shard
};

/// The offset of a register of queue pair `queue`.
[[nodiscard]] constexpr std::uint64_t queue_register(std::uint32_t queue, QueueRegister which) {
    return kQueuePage * (queue + 1) + static_cast<std::uint64_t>(which);
}
/// The offset of a register of window `window` of queue pair `queue`.
[[nodiscard]] constexpr std::uint64_t window_register(std::uint32_t queue, std::uint32_t window,
                                                      WindowRegister which,
                                                      std::uint32_t shard = 0) {
    return kQueuePage * (queue + 1) + kWindowRegisters + kWindowStride * window +
           static_cast<std::uint64_t>(which) + 8 * shard;
}
[[nodiscard]] constexpr std::uint64_t portal_of(std::uint32_t queue) {
    return kQueuePage * (queue + 1) + kPortalOffset;
}

/// Where submissions lie. Completions are always in host memory.
enum class QueuePlace : std::uint8_t {
    kHostMemory = 0,
    kHdm = 1,     ///< a ring in the card's own memory, which the host writes over CXL.mem
    kPortal = 2,  ///< no ring: each descriptor is one posted write of 64 bytes to the portal
};

/// Slots for blocks in device memory. A block is cut into as many equal parts as there are shards;
/// part s of slot k goes to base[s] + k x stride.
struct Window {
    std::uint64_t slots = 0;
    std::uint64_t stride = 0;
    std::uint32_t shards = 1;
    Hpa flags;  ///< in-band flags, 8 bytes a slot, in shard 0's memory; 0: none
    std::array<Hpa, kMostShards> base{};

    /// Whether a block of `size` in `slot` lies within it, in whole parts, and no address of it, of
    /// its flag's neither, behind the last that there is.
    [[nodiscard]] bool holds(std::uint64_t slot, Bytes size) const;
    [[nodiscard]] Hpa address(std::uint64_t slot, std::uint32_t shard) const {
        return {base[shard].value + slot * stride};
    }
};

/// What the host set up for one queue pair.
struct QueueSetup {
    Hpa submission_base{};  ///< of a ring in the card's memory: its DPA
    Hpa completion_base{};
    std::uint32_t entries = 0;  ///< a power of two, 2 to 65,536
    bool enabled = false;
    QueuePlace place = QueuePlace::kHostMemory;
    std::uint16_t tenant = 0;
    std::uint32_t pasid = 0;
    Hpa region_base{};  ///< of host memory for gather lists
    Bytes region_size{};
    std::array<Window, kWindows> windows{};

    /// Whether `size` bytes of host memory at `address` were registered.
    [[nodiscard]] bool in_region(Hpa address, Bytes size) const {
        return address.value >= region_base.value && size <= region_size &&
               address.value - region_base.value <= region_size.count - size.count;
    }
};

/// Hears the doorbells of enabled queues, and what else the data plane must know at once.
class DoorbellListener {
public:
    virtual ~DoorbellListener() = default;
    virtual void submission_tail(std::uint32_t queue, std::uint32_t tail) = 0;
    virtual void completion_head(std::uint32_t queue, std::uint32_t head) = 0;
    virtual void bus_master(bool enabled) = 0;
    /// Translations of the page of `address` are to be dropped.
    virtual void invalidate(std::uint32_t queue, Hpa address) = 0;
};

class QueueRegisters {
public:
    /// `ring_memory`: bytes behind the tier, for rings of QueuePlace::kHdm.
    QueueRegisters(std::uint32_t queues, Bytes tier_capacity, Bytes ring_memory,
                   DoorbellListener& listener);

    /// False where there is no such register, it cannot be written, or the value is not allowed.
    [[nodiscard]] bool write(std::uint64_t offset, std::uint64_t value);
    /// False where there is no such register or it cannot be read.
    [[nodiscard]] bool read(std::uint64_t offset, std::uint64_t& value) const;

    /// The data plane has dropped what invalidate() named.
    void invalidated(std::uint32_t queue) { ++m_invalidated[queue]; }

    /// Queues and windows as after power-on; the boot generation goes on where handles of before
    /// are stale.
    void reset(bool new_generation);

    [[nodiscard]] const QueueSetup& queue(std::uint32_t index) const { return m_queues[index]; }
    [[nodiscard]] std::uint32_t queues() const {
        return static_cast<std::uint32_t>(m_queues.size());
    }
    [[nodiscard]] bool bus_master() const { return m_bus_master; }
    [[nodiscard]] std::uint8_t boot_generation() const { return m_boot_generation; }

private:
    [[nodiscard]] bool write_queue(std::uint32_t queue, QueueRegister which, std::uint64_t value);
    [[nodiscard]] bool write_window(std::uint32_t queue, std::uint64_t offset, std::uint64_t value);
    [[nodiscard]] bool can_enable(const QueueSetup& setup) const;
    [[nodiscard]] bool read_global(std::uint64_t offset, std::uint64_t& value) const;
    [[nodiscard]] bool read_queue(std::uint32_t queue, QueueRegister which,
                                  std::uint64_t& value) const;
    [[nodiscard]] bool read_window(std::uint32_t queue, std::uint64_t offset,
                                   std::uint64_t& value) const;

    std::vector<QueueSetup> m_queues;
    std::vector<std::uint64_t> m_invalidated;  ///< by queue
    Bytes m_tier_capacity;
    Bytes m_ring_memory;
    bool m_bus_master = false;
    std::uint8_t m_boot_generation = 0;
    DoorbellListener& m_listener;
};

}  // namespace kvplane::management
