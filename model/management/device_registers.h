// SPDX-License-Identifier: Apache-2.0
/// The memory-device register block: the array of capabilities, device status, the primary mailbox
/// and the memory-device status. Accesses of 4 or 8 bytes, aligned to their size; of the payload
/// also 1 or 2.
///
///     0x0000  capability array: header, then one entry of 16 B each
///     0x0080  device status (capability 1): event status, bits 0 to 3
///     0x0100  primary mailbox (2): 0x00 capabilities, 0x04 control, 0x08 command, 0x10 status,
///             0x18 background status, 0x20 payload
///     0x4000  memory-device status (4000h): fatal 0, media status [3:2], mailbox ready 4, reset
///             needed [7:5]
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/units.h"
#include "model/management/mailbox.h"

namespace kvplane::management {

struct DeviceRegistersConfig {
    Time media_ready = Time::from_ms(1);  ///< from power-on (assumed)
    Time command = Time::from_us(10);     ///< of a mailbox command (assumed)
};

class DeviceRegisters {
public:
    DeviceRegisters(const DeviceRegistersConfig& config, Mailbox& mailbox, EventLog& events);

    /// False where the access is not one that the block takes. `value` holds `size` bytes.
    [[nodiscard]] bool read(std::uint64_t offset, std::uint32_t size, Time now,
                            std::uint64_t& value);
    [[nodiscard]] bool write(std::uint64_t offset, std::uint32_t size, Time now,
                             std::uint64_t value);

    /// Power-on at `now`: registers as at the start, media ready after the delay.
    void power_on(Time now);
    /// Registers as at the start; media stay as they are.
    void reset();
    /// The card is viral until a reset: fatal, a hot reset is needed.
    void set_viral(bool viral);
    /// No delay is left.
    void media_are_ready() { m_ready_at = {}; }
    [[nodiscard]] bool media_ready(Time now) const { return now >= m_ready_at; }
    [[nodiscard]] Time ready_at() const { return m_ready_at; }

    static constexpr std::uint64_t kStatus = 0x80;
    static constexpr std::uint64_t kMailbox = 0x100;
    static constexpr std::uint64_t kMemdev = 0x4000;
    static constexpr std::uint64_t kPayload = kMailbox + 0x20;
    static constexpr std::uint64_t kSize = 0x4008;

private:
    [[nodiscard]] std::uint64_t word(std::uint64_t offset, Time now);
    void write_word(std::uint64_t offset, std::uint32_t value, Time now);
    [[nodiscard]] bool takes(std::uint64_t offset, std::uint32_t size) const;
    void ring(Time now);
    void finish(Time now);

    DeviceRegistersConfig m_config;
    Mailbox& m_mailbox;
    EventLog& m_events;
    std::vector<std::uint8_t> m_payload;
    std::uint64_t m_command = 0;
    std::uint16_t m_return_code = 0;
    bool m_doorbell = false;
    Time m_done_at;
    Mailbox::Answer m_answer;
    Time m_ready_at;
};

}  // namespace kvplane::management
