// SPDX-License-Identifier: Apache-2.0
#include "model/management/device_registers.h"

#include <algorithm>
#include <array>
#include <bit>

#include "model/management/bytes.h"

namespace kvplane::management {
namespace {

struct Capability {
    std::uint16_t id;
    std::uint32_t offset;
    std::uint32_t length;
};

constexpr std::uint64_t kEntry = 16;
// Memory-device status.
constexpr std::uint32_t kFatal = 1U << 0;
constexpr std::uint32_t kHotResetNeeded = 3U << 5;
constexpr std::uint32_t kLengthShift = 16;
constexpr std::uint64_t kLengthMask = 0x1F'FFFF;
constexpr std::uint64_t kCommandMask = 0xFFFF | kLengthMask << kLengthShift;

std::array<Capability, 3> capabilities(std::uint32_t payload) {
    return {{{1, DeviceRegisters::kStatus, 8},
             {2, DeviceRegisters::kMailbox, 0x20 + payload},
             {0x4000, DeviceRegisters::kMemdev, 8}}};
}

}  // namespace

DeviceRegisters::DeviceRegisters(const DeviceRegistersConfig& config, Mailbox& mailbox,
                                 EventLog& events)
    : m_config(config),
      m_mailbox(mailbox),
      m_events(events),
      m_payload(mailbox.config().payload),
      m_ready_at(config.media_ready) {}

void DeviceRegisters::reset() {
    std::fill(m_payload.begin(), m_payload.end(), std::uint8_t{0});
    m_command = 0;
    m_return_code = 0;
    m_doorbell = false;
    m_mailbox.restart();
    set_viral(false);
}

void DeviceRegisters::set_viral(bool viral) { m_mailbox.set_viral(viral); }

void DeviceRegisters::power_on(Time now) {
    reset();
    m_ready_at = now + m_config.media_ready;
}

/// Four bytes at an aligned offset.
std::uint64_t DeviceRegisters::word(std::uint64_t offset, Time now) {
    finish(now);
    const auto half = [&](std::uint64_t whole, std::uint64_t base) {
        return offset == base ? whole & UINT32_MAX : whole >> 32U;
    };
    const auto caps = capabilities(m_mailbox.config().payload);
    if (offset == 0) return 1U << 16U;                   // array, version 1
    if (offset == 4) return std::uint64_t{caps.size()};  // count
    if (offset >= kEntry && offset < kEntry * (1 + caps.size())) {
        const Capability& cap = caps[offset / kEntry - 1];
        const std::array<std::uint64_t, 4> words{cap.id | 1U << 16U, cap.offset, cap.length, 0};
        return words[offset % kEntry / 4];
    }
    if (offset == kStatus) return m_events.status();
    if (offset == kMailbox) {
        return static_cast<std::uint64_t>(std::bit_width(m_mailbox.config().payload) - 1);
    }
    if (offset == kMailbox + 0x04) return m_doorbell ? 1 : 0;
    if (offset == kMailbox + 0x08 || offset == kMailbox + 0x0C) {
        return half(m_command, kMailbox + 0x08);
    }
    if (offset == kMailbox + 0x14) return m_return_code;
    if (offset >= kPayload && offset + 4 <= kPayload + m_payload.size()) {
        return get_le(m_payload, offset - kPayload, 4);
    }
    if (offset == kMemdev) {
        m_mailbox.set_media_ready(media_ready(now));
        return (media_ready(now) ? 1U << 2U : 0U) | 1U << 4U |
               (m_mailbox.viral() ? kFatal | kHotResetNeeded : 0U);
    }
    return 0;
}

void DeviceRegisters::write_word(std::uint64_t offset, std::uint32_t value, Time now) {
    finish(now);
    // The mailbox belongs to the card while the doorbell is set.
    if (m_doorbell) return;
    if (offset == kMailbox + 0x04) {
        if ((value & 1U) != 0) ring(now);
    } else if (offset == kMailbox + 0x08) {
        m_command = (m_command & ~std::uint64_t{UINT32_MAX}) | value;
    } else if (offset == kMailbox + 0x0C) {
        m_command = (m_command & UINT32_MAX) | std::uint64_t{value} << 32U;
    } else if (offset >= kPayload && offset + 4 <= kPayload + m_payload.size()) {
        put_le(m_payload, offset - kPayload, 4, value);
    }
    m_command &= kCommandMask;
}

void DeviceRegisters::ring(Time now) {
    const std::uint64_t length = m_command >> kLengthShift & kLengthMask;
    m_mailbox.set_media_ready(media_ready(now));
    if (length > m_payload.size()) {
        m_answer = {ReturnCode::kInvalidPayloadLength, {}};
    } else {
        m_answer = m_mailbox.execute(static_cast<std::uint16_t>(m_command),
                                     {m_payload.data(), static_cast<std::size_t>(length)}, now);
    }
    m_doorbell = true;
    m_done_at = now + m_config.command;
}

/// Shows the answer once its time has come.
void DeviceRegisters::finish(Time now) {
    if (!m_doorbell || now < m_done_at) return;
    m_doorbell = false;
    m_return_code = static_cast<std::uint16_t>(m_answer.code);
    std::copy(m_answer.payload.begin(), m_answer.payload.end(), m_payload.begin());
    m_command = (m_command & 0xFFFF) | std::uint64_t{m_answer.payload.size()} << kLengthShift;
}

bool DeviceRegisters::takes(std::uint64_t offset, std::uint32_t size) const {
    const bool small = size == 1 || size == 2;
    if ((!small && size != 4 && size != 8) || offset % size != 0) return false;
    if (small) return offset >= kPayload && offset + size <= kPayload + m_payload.size();
    return offset + size <= kSize;
}

bool DeviceRegisters::read(std::uint64_t offset, std::uint32_t size, Time now,
                           std::uint64_t& value) {
    if (!takes(offset, size)) return false;
    if (size < 4) {
        finish(now);
        value = get_le(m_payload, offset - kPayload, size);
        return true;
    }
    value = word(offset, now);
    if (size == 8) value |= word(offset + 4, now) << 32U;
    return true;
}

bool DeviceRegisters::write(std::uint64_t offset, std::uint32_t size, Time now,
                            std::uint64_t value) {
    if (!takes(offset, size)) return false;
    if (size < 4) {
        finish(now);
        if (!m_doorbell) put_le(m_payload, offset - kPayload, size, value);
        return true;
    }
    write_word(offset, static_cast<std::uint32_t>(value), now);
    if (size == 8) write_word(offset + 4, static_cast<std::uint32_t>(value >> 32U), now);
    return true;
}

}  // namespace kvplane::management
