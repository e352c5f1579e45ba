// SPDX-License-Identifier: Apache-2.0
/// The component command interface: what a mailbox command does. Payload layouts and return codes
/// are those that Linux's drivers/cxl speaks.
///
/// Timestamps are ns of the clock that the host set, also those of events before it did; where it
/// never set one, ns of the simulation (Get Timestamp: zero). Get Poison List answers a page; while
/// that says that there is more, the same input asks for the next one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/common/units.h"
#include "model/cxl/line_memory_if.h"
#include "model/management/event_log.h"
#include "model/management/poison_list.h"

namespace kvplane::management {

enum class Command : std::uint16_t {
    kGetEventRecords = 0x0100,
    kClearEventRecords = 0x0101,
    kGetTimestamp = 0x0300,
    kSetTimestamp = 0x0301,
    kGetSupportedLogs = 0x0400,
    kGetLog = 0x0401,
    kIdentify = 0x4000,
    kGetPartition = 0x4100,
    kSetPartition = 0x4101,
    kGetHealth = 0x4200,
    kGetPoisonList = 0x4300,
    kInjectPoison = 0x4301,
    kClearPoison = 0x4302,
};

enum class ReturnCode : std::uint16_t {
    kSuccess = 0x00,
    kInvalidInput = 0x02,
    kUnsupported = 0x03,
    kBusy = 0x06,
    kMediaDisabled = 0x07,
    kInvalidHandle = 0x0E,
    kInvalidPhysicalAddress = 0x0F,
    kInjectPoisonLimit = 0x10,
    kInvalidPayloadLength = 0x16,
    kInvalidLog = 0x17,
};

struct MailboxConfig {
    Bytes capacity;                      ///< volatile; a multiple of 256 MiB
    std::uint32_t payload = 2048;        ///< bytes of the payload registers: 256 to 1 MiB
    std::uint32_t event_records = 64;    ///< of each log
    std::uint32_t poison_records = 256;  ///< in the poison list; as many as PoisonList shows
    std::uint32_t inject_limit = 64;     ///< lines with injected poison, at most 65,535
};

/// Health as the card reports it.
struct Health {
    std::uint8_t status = 0;
    std::uint8_t media = 0;
    std::uint8_t additional = 0;
    std::uint8_t life_used = 0;     ///< percent
    std::int16_t temperature = 40;  ///< degrees Celsius
    std::uint32_t corrected = 0;    ///< correctable errors of volatile memory
};

class Mailbox {
public:
    /// Commands act on `poison`, `events` and, to clear poison, the bytes of `memory`.
    Mailbox(const MailboxConfig& config, cxl::LineMemoryIf& memory, PoisonList& poison,
            EventLog& events)
        : m_config(config), m_memory(memory), m_poison(poison), m_events(events) {}

    struct Answer {
        ReturnCode code = ReturnCode::kSuccess;
        std::vector<std::uint8_t> payload;
    };
    /// Carries out a command at `now`. A command that fails changes nothing.
    [[nodiscard]] Answer execute(std::uint16_t opcode, std::span<const std::uint8_t> input,
                                 Time now);

    void set_media_ready(bool ready) { m_ready = ready; }
    /// Viral shows as `maintenance needed` in the health status.
    void set_viral(bool viral) { m_viral = viral; }
    [[nodiscard]] bool viral() const { return m_viral; }
    [[nodiscard]] Health& health() { return m_health; }
    /// The registers are new: lists are read from their beginning. The clock goes on.
    void restart() { m_cursor.reset(); }
    /// As after power-on.
    void reset() {
        restart();
        m_clock_offset = 0;
        m_clock_set = false;
    }
    [[nodiscard]] const MailboxConfig& config() const { return m_config; }

    /// Bytes of an event record, of the header before them, and of a poison record.
    static constexpr std::size_t kEventBytes = 128;
    static constexpr std::size_t kListHeader = 32;
    static constexpr std::size_t kPoisonBytes = 16;

private:
    using Input = std::span<const std::uint8_t>;

    [[nodiscard]] Answer get_events(Input input) const;
    [[nodiscard]] Answer clear_events(Input input);
    [[nodiscard]] Answer get_timestamp(Time now) const;
    [[nodiscard]] Answer set_timestamp(Input input, Time now);
    [[nodiscard]] Answer supported_logs() const;
    [[nodiscard]] Answer get_log(Input input) const;
    [[nodiscard]] Answer identify() const;
    [[nodiscard]] Answer get_partition() const;
    [[nodiscard]] Answer set_partition(Input input) const;
    [[nodiscard]] Answer get_health() const;
    void append_health(std::vector<std::uint8_t>& bytes) const;
    [[nodiscard]] Answer get_poison(Input input);
    [[nodiscard]] Answer inject_poison(Input input, Time now);
    [[nodiscard]] Answer clear_poison(Input input);
    [[nodiscard]] ReturnCode check_line(std::uint64_t address) const;
    [[nodiscard]] std::uint64_t clock(Time at) const;
    void append_record(std::vector<std::uint8_t>& bytes, const EventRecord& record) const;

    /// Where a poison list that a host reads page by page goes on.
    struct Cursor {
        std::uint64_t from = 0;  ///< input that it belongs to
        std::uint64_t lines = 0;
        std::uint64_t next = 0;  ///< address of the next record
    };

    MailboxConfig m_config;
    cxl::LineMemoryIf& m_memory;
    PoisonList& m_poison;
    EventLog& m_events;
    Health m_health;
    std::uint64_t m_clock_offset = 0;  ///< ns from the simulation's time to the host's, modulo 2^64
    bool m_clock_set = false;
    bool m_ready = true;
    bool m_viral = false;
    std::optional<Cursor> m_cursor;
};

}  // namespace kvplane::management
