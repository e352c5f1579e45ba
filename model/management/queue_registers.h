// SPDX-License-Identifier: Apache-2.0
/// The registers of the card's own PCI function: what the engine is, and a pair of queues with
/// doorbells per page. 8-byte accesses, aligned; anything else is refused.
///
///     0x0000  ID "KVPLANE1"     RO      0x0010  tier capacity, bytes    RO
///     0x0008  boot generation   RO      0x0018  number of queue pairs   RO
///     0x0100 + 8 w  slots of window w, 0: not registered                RW
///     0x1000 + 0x1000 q, of queue pair q:
///       +0x00 submission ring, HPA  RW  +0x18 enable (bit 0)            RW
///       +0x08 completion ring, HPA  RW  +0x20 submission tail doorbell  WO
///       +0x10 entries of each ring  RW  +0x28 completion head doorbell  WO
///
/// A queue pair is set up, then enabled, and stays as it is until the card is reset.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/units.h"

namespace kvplane::management {

inline constexpr std::uint32_t kWindows = 4;
inline constexpr std::uint64_t kRegisterId = 0x31454E414C50564BULL;
inline constexpr std::uint64_t kWindowRegisters = 0x100;
inline constexpr std::uint64_t kQueuePage = 0x1000;

enum class QueueRegister : std::uint64_t {
    kSubmissionBase = 0x00,
    kCompletionBase = 0x08,
    kEntries = 0x10,
    kEnable = 0x18,
    kSubmissionTail = 0x20,
    kCompletionHead = 0x28,
};

/// The offset of a register of queue pair `queue`.
[[nodiscard]] constexpr std::uint64_t queue_register(std::uint32_t queue, QueueRegister which) {
    return kQueuePage * (queue + 1) + static_cast<std::uint64_t>(which);
}

/// What the host set up for one queue pair.
struct QueueSetup {
    Hpa submission_base;
    Hpa completion_base;
    std::uint32_t entries = 0;  ///< a power of two, 2 to 65,536
    bool enabled = false;
};

/// Hears the doorbells of enabled queues.
class DoorbellListener {
public:
    virtual ~DoorbellListener() = default;
    virtual void submission_tail(std::uint32_t queue, std::uint32_t tail) = 0;
    virtual void completion_head(std::uint32_t queue, std::uint32_t head) = 0;
};

class QueueRegisters {
public:
    QueueRegisters(std::uint32_t queues, Bytes tier_capacity, DoorbellListener& listener);

    /// False where there is no such register, it cannot be written, or the value is not allowed.
    [[nodiscard]] bool write(std::uint64_t offset, std::uint64_t value);
    /// False where there is no such register or it cannot be read.
    [[nodiscard]] bool read(std::uint64_t offset, std::uint64_t& value) const;

    /// Queues and windows as after power-on; the boot generation goes on where handles of before
    /// are stale.
    void reset(bool new_generation);

    [[nodiscard]] const QueueSetup& queue(std::uint32_t index) const { return m_queues[index]; }
    [[nodiscard]] std::uint32_t queues() const {
        return static_cast<std::uint32_t>(m_queues.size());
    }
    /// Whether `slot` lies in a registered window.
    [[nodiscard]] bool in_window(std::uint64_t window, std::uint64_t slot) const {
        return window < kWindows && slot < m_window_slots[window];
    }
    [[nodiscard]] std::uint8_t boot_generation() const { return m_boot_generation; }

private:
    [[nodiscard]] bool write_queue(std::uint32_t queue, QueueRegister which, std::uint64_t value);

    std::vector<QueueSetup> m_queues;
    std::vector<std::uint64_t> m_window_slots;
    Bytes m_tier_capacity;
    std::uint8_t m_boot_generation = 0;
    DoorbellListener& m_listener;
};

}  // namespace kvplane::management
