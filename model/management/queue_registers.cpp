// SPDX-License-Identifier: Apache-2.0
#include "model/management/queue_registers.h"

#include <bit>

namespace kvplane::management {
namespace {

constexpr std::uint64_t kMostEntries = 65'536;

bool in_windows(std::uint64_t offset) {
    return offset >= kWindowRegisters && offset < kWindowRegisters + 8 * kWindows;
}

}  // namespace

QueueRegisters::QueueRegisters(std::uint32_t queues, Bytes tier_capacity,
                               DoorbellListener& listener)
    : m_queues(queues),
      m_window_slots(kWindows),
      m_tier_capacity(tier_capacity),
      m_listener(listener) {}

void QueueRegisters::reset(bool new_generation) {
    m_queues.assign(m_queues.size(), {});
    m_window_slots.assign(kWindows, 0);
    if (new_generation) ++m_boot_generation;
}

bool QueueRegisters::write(std::uint64_t offset, std::uint64_t value) {
    if (offset % 8 != 0) return false;
    if (in_windows(offset)) {
        m_window_slots[(offset - kWindowRegisters) / 8] = value;
        return true;
    }
    const std::uint64_t page = offset / kQueuePage;
    if (page == 0 || page > m_queues.size()) return false;
    return write_queue(static_cast<std::uint32_t>(page - 1),
                       static_cast<QueueRegister>(offset % kQueuePage), value);
}

bool QueueRegisters::write_queue(std::uint32_t queue, QueueRegister which, std::uint64_t value) {
    QueueSetup& setup = m_queues[queue];
    switch (which) {
        case QueueRegister::kSubmissionBase:
            if (setup.enabled) return false;
            setup.submission_base = {value};
            return true;
        case QueueRegister::kCompletionBase:
            if (setup.enabled) return false;
            setup.completion_base = {value};
            return true;
        case QueueRegister::kEntries:
            if (setup.enabled || value < 2 || value > kMostEntries || !std::has_single_bit(value)) {
                return false;
            }
            setup.entries = static_cast<std::uint32_t>(value);
            return true;
        case QueueRegister::kEnable:
            if (setup.entries == 0 || (setup.enabled && (value & 1U) == 0)) return false;
            setup.enabled = (value & 1U) != 0;
            return true;
        case QueueRegister::kSubmissionTail:
            if (!setup.enabled || value >= setup.entries) return false;
            m_listener.submission_tail(queue, static_cast<std::uint32_t>(value));
            return true;
        case QueueRegister::kCompletionHead:
            if (!setup.enabled || value >= setup.entries) return false;
            m_listener.completion_head(queue, static_cast<std::uint32_t>(value));
            return true;
    }
    return false;
}

bool QueueRegisters::read(std::uint64_t offset, std::uint64_t& value) const {
    if (offset % 8 != 0) return false;
    if (in_windows(offset)) {
        value = m_window_slots[(offset - kWindowRegisters) / 8];
        return true;
    }
    switch (offset) {
        case 0x00:
            value = kRegisterId;
            return true;
        case 0x08:
            value = m_boot_generation;
            return true;
        case 0x10:
            value = m_tier_capacity.count;
            return true;
        case 0x18:
            value = m_queues.size();
            return true;
        default:
            break;
    }
    const std::uint64_t page = offset / kQueuePage;
    if (page == 0 || page > m_queues.size()) return false;
    const QueueSetup& setup = m_queues[page - 1];
    switch (static_cast<QueueRegister>(offset % kQueuePage)) {
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
        default:
            return false;
    }
}

}  // namespace kvplane::management
