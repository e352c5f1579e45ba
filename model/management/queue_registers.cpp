// SPDX-License-Identifier: Apache-2.0
#include "model/management/queue_registers.h"

#include <bit>

namespace kvplane::management {
namespace {

constexpr std::uint64_t kMostEntries = 65'536;
constexpr std::uint64_t kPlaces = 3;
constexpr std::uint64_t kDescriptor = 64;  ///< bytes
constexpr std::uint32_t kPasidShift = 32;
constexpr std::uint64_t kPasidMask = 0xFFFFF;
constexpr std::uint64_t kTenantMask = 0xFFFF;

bool is_window(std::uint64_t offset) {
    return offset >= kWindowRegisters && offset < kWindowRegisters + kWindowStride * kWindows;
}

/// The shard whose base lies at `offset` of a window's registers; kMostShards where there is none.
std::uint64_t shard_at(std::uint64_t offset) {
    const auto first = static_cast<std::uint64_t>(WindowRegister::kBase);
    return offset < first ? kMostShards : (offset - first) / 8;
}

constexpr std::uint64_t kCompletion = 16;  ///< bytes
constexpr std::uint64_t kFlag = 8;         ///< bytes

/// Whether `bytes` bytes, the first at `base` + `count` x `stride`, have addresses.
bool has_addresses(std::uint64_t base, std::uint64_t count, std::uint64_t stride,
                   std::uint64_t bytes) {
    const Uint128 end = base + static_cast<Uint128>(count) * stride + bytes;
    return (end - 1) >> 64U == 0;
}

}  // namespace

bool Window::holds(std::uint64_t slot, Bytes size) const {
    const std::uint64_t part = size.count / shards;
    if (slot >= slots || size.count % shards != 0 || part > stride) return false;
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
        if (!has_addresses(base[shard].value, slot, stride, part)) return false;
    }
    return flags.value == 0 || has_addresses(flags.value, slot, kFlag, kFlag);
}

QueueRegisters::QueueRegisters(std::uint32_t queues, Bytes tier_capacity, Bytes ring_memory,
                               DoorbellListener& listener)
    : m_queues(queues),
      m_invalidated(queues),
      m_tier_capacity(tier_capacity),
      m_ring_memory(ring_memory),
      m_listener(listener) {}

void QueueRegisters::reset(bool new_generation) {
    m_queues.assign(m_queues.size(), {});
    m_invalidated.assign(m_queues.size(), 0);
    m_bus_master = false;
    if (new_generation) ++m_boot_generation;
}

bool QueueRegisters::write(std::uint64_t offset, std::uint64_t value) {
    if (offset % 8 != 0) return false;
    if (offset == kCommandRegister) {
        m_bus_master = (value & kBusMasterEnable) != 0;
        m_listener.bus_master(m_bus_master);
        return true;
    }
    const std::uint64_t page = offset / kQueuePage;
    if (page == 0 || page > m_queues.size()) return false;
    const auto queue = static_cast<std::uint32_t>(page - 1);
    const std::uint64_t within = offset % kQueuePage;
    if (is_window(within)) return write_window(queue, within - kWindowRegisters, value);
    return write_queue(queue, static_cast<QueueRegister>(within), value);
}

/// A ring in the card's memory lies where there is memory for rings, others where there are
/// addresses.
bool QueueRegisters::can_enable(const QueueSetup& setup) const {
    if (setup.entries == 0) return false;
    if (!has_addresses(setup.completion_base.value, setup.entries, kCompletion, 0)) return false;
    if (setup.place != QueuePlace::kHdm) {
        return has_addresses(setup.submission_base.value, setup.entries, kDescriptor, 0);
    }
    const Bytes ring = Bytes{kDescriptor} * setup.entries;
    return ring <= m_ring_memory && setup.submission_base.value >= m_tier_capacity.count &&
           setup.submission_base.value - m_tier_capacity.count <= (m_ring_memory - ring).count;
}

bool QueueRegisters::write_window(std::uint32_t queue, std::uint64_t offset, std::uint64_t value) {
    Window& window = m_queues[queue].windows[offset / kWindowStride];
    const std::uint64_t which = offset % kWindowStride;
    if (m_queues[queue].enabled && window.slots != 0) return false;
    switch (static_cast<WindowRegister>(which)) {
        case WindowRegister::kSlots:
            window.slots = value;
            return true;
        case WindowRegister::kStride:
            window.stride = value;
            return true;
        case WindowRegister::kShards:
            if (value == 0 || value > kMostShards) return false;
            window.shards = static_cast<std::uint32_t>(value);
            return true;
        case WindowRegister::kFlags:
            window.flags = {value};
            return true;
        case WindowRegister::kBase:
            break;
    }
    if (shard_at(which) >= kMostShards) return false;
    window.base[shard_at(which)] = {value};
    return true;
}

bool QueueRegisters::write_queue(std::uint32_t queue, QueueRegister which, std::uint64_t value) {
    QueueSetup& setup = m_queues[queue];
    const bool rung = which == QueueRegister::kSubmissionTail ||
                      which == QueueRegister::kCompletionHead ||
                      which == QueueRegister::kInvalidate;
    if (which != QueueRegister::kEnable && setup.enabled != rung) return false;
    switch (which) {
        case QueueRegister::kSubmissionBase:
            setup.submission_base = {value};
            return true;
        case QueueRegister::kCompletionBase:
            setup.completion_base = {value};
            return true;
        case QueueRegister::kEntries:
            if (value < 2 || value > kMostEntries || !std::has_single_bit(value)) return false;
            setup.entries = static_cast<std::uint32_t>(value);
            return true;
        case QueueRegister::kPlace:
            if (value >= kPlaces) return false;
            setup.place = static_cast<QueuePlace>(value);
            return true;
        case QueueRegister::kTenant:
            setup.tenant = static_cast<std::uint16_t>(value & kTenantMask);
            setup.pasid = static_cast<std::uint32_t>(value >> kPasidShift & kPasidMask);
            return true;
        case QueueRegister::kRegionBase:
            setup.region_base = {value};
            return true;
        case QueueRegister::kRegionSize:
            setup.region_size = {value};
            return true;
        case QueueRegister::kEnable:
            if (!can_enable(setup) || (setup.enabled && (value & 1U) == 0)) return false;
            setup.enabled = (value & 1U) != 0;
            return true;
        case QueueRegister::kSubmissionTail:
            if (value >= setup.entries || setup.place == QueuePlace::kPortal) return false;
            m_listener.submission_tail(queue, static_cast<std::uint32_t>(value));
            return true;
        case QueueRegister::kCompletionHead:
            if (value >= setup.entries) return false;
            m_listener.completion_head(queue, static_cast<std::uint32_t>(value));
            return true;
        case QueueRegister::kInvalidate:
            m_listener.invalidate(queue, {value});
            return true;
        case QueueRegister::kInvalidated:
            return false;
    }
    return false;
}

bool QueueRegisters::read(std::uint64_t offset, std::uint64_t& value) const {
    if (offset % 8 != 0) return false;
    const std::uint64_t page = offset / kQueuePage;
    if (page == 0) return read_global(offset, value);
    if (page > m_queues.size()) return false;
    const auto queue = static_cast<std::uint32_t>(page - 1);
    const std::uint64_t within = offset % kQueuePage;
    if (is_window(within)) return read_window(queue, within - kWindowRegisters, value);
    return read_queue(queue, static_cast<QueueRegister>(within), value);
}

bool QueueRegisters::read_global(std::uint64_t offset, std::uint64_t& value) const {
    switch (offset) {
        case 0x00:
            value = kRegisterId;
            return true;
        case kBootGenerationRegister:
            value = m_boot_generation;
            return true;
        case 0x10:
            value = m_tier_capacity.count;
            return true;
        case 0x18:
            value = m_queues.size();
            return true;
        case kRingMemoryRegister:
            value = m_tier_capacity.count;
            return true;
        case 0x30:
            value = m_ring_memory.count;
            return true;
        case kCommandRegister:
            value = m_bus_master ? kBusMasterEnable : 0;
            return true;
        default:
            return false;
    }
}

bool QueueRegisters::read_window(std::uint32_t queue, std::uint64_t offset,
                                 std::uint64_t& value) const {
    const Window& window = m_queues[queue].windows[offset / kWindowStride];
    const std::uint64_t which = offset % kWindowStride;
    switch (static_cast<WindowRegister>(which)) {
        case WindowRegister::kSlots:
            value = window.slots;
            return true;
        case WindowRegister::kStride:
            value = window.stride;
            return true;
        case WindowRegister::kShards:
            value = window.shards;
            return true;
        case WindowRegister::kFlags:
            value = window.flags.value;
            return true;
        case WindowRegister::kBase:
            break;
    }
    if (shard_at(which) >= kMostShards) return false;
    value = window.base[shard_at(which)].value;
    return true;
}

bool QueueRegisters::read_queue(std::uint32_t queue, QueueRegister which,
                                std::uint64_t& value) const {
    const QueueSetup& setup = m_queues[queue];
    switch (which) {
        case QueueRegister::kSubmissionBase:
            value = setup.submission_base.value;
            return true;
        case QueueRegister::kCompletionBase:
            value = setup.completion_base.value;
            return true;
        case QueueRegister::kEntries:
            value = setup.entries;
            return true;
        case QueueRegister::kEnable:
            value = setup.enabled ? 1 : 0;
            return true;
        case QueueRegister::kPlace:
            value = static_cast<std::uint64_t>(setup.place);
            return true;
        case QueueRegister::kTenant:
            value = setup.tenant | std::uint64_t{setup.pasid} << kPasidShift;
            return true;
        case QueueRegister::kRegionBase:
            value = setup.region_base.value;
            return true;
        case QueueRegister::kRegionSize:
            value = setup.region_size.count;
            return true;
        case QueueRegister::kInvalidated:
            value = m_invalidated[queue];
            return true;
        case QueueRegister::kSubmissionTail:
        case QueueRegister::kCompletionHead:
        case QueueRegister::kInvalidate:
            return false;
    }
    return false;
}

}  // namespace kvplane::management
