// SPDX-License-Identifier: Apache-2.0
#include "model/management/mailbox.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "model/management/bytes.h"

namespace kvplane::management {
namespace {

constexpr std::uint64_t kCapacityUnit = 256ULL << 20;
constexpr std::uint64_t kLineBytes = kLine.count;
/// QoS telemetry: egress-port congestion and temporary throughput reduction are not reported.
constexpr std::uint8_t kQosCapabilities = 0;
constexpr std::uint8_t kMaintenanceNeeded = 1U << 0;  // bit of the health status
constexpr std::string_view kRevision = "kvplane";

using Uuid = std::array<std::uint8_t, 16>;
/// Command Effects Log.
constexpr Uuid kEffectsLog{0x0d, 0xa9, 0xc0, 0xb5, 0xbf, 0x41, 0x4b, 0x78,
                           0x8f, 0x79, 0x96, 0xb1, 0x62, 0x3b, 0x3f, 0x17};
/// Memory Module Event Record; as Linux has it, from memory.
constexpr Uuid kModuleRecord{0xfe, 0x92, 0x74, 0x75, 0xdd, 0x59, 0x43, 0x39,
                             0xa5, 0x86, 0x79, 0xba, 0xb1, 0x13, 0xb7, 0x74};
/// General Media Event Record.
constexpr Uuid kMediaRecord{0xfb, 0xcd, 0x0a, 0x77, 0xc2, 0x60, 0x41, 0x7f,
                            0x85, 0xa9, 0x08, 0x8b, 0x16, 0x21, 0xeb, 0xa6};

/// Effects: immediate data change bit 2, immediate policy change bit 3.
constexpr std::uint16_t kNone = 0;
constexpr std::uint16_t kDataChange = 1U << 2;
constexpr std::uint16_t kPolicyChange = 1U << 3;
constexpr std::uint32_t kAnyLength = UINT32_MAX;

/// A command, the length of its input, and its effects: the table behind the log of effects.
struct Known {
    Command command;
    std::uint32_t input;
    std::uint16_t effects;
    bool media;  ///< needs media that are ready
};
constexpr std::array kCommands{
    Known{Command::kGetEventRecords, 1, kNone, false},
    Known{Command::kClearEventRecords, kAnyLength, kPolicyChange, false},
    Known{Command::kGetTimestamp, 0, kNone, false},
    Known{Command::kSetTimestamp, 8, kPolicyChange, false},
    Known{Command::kGetSupportedLogs, 0, kNone, false},
    Known{Command::kGetLog, 24, kNone, false},
    Known{Command::kIdentify, 0, kNone, false},
    Known{Command::kGetPartition, 0, kNone, false},
    Known{Command::kSetPartition, 9, kDataChange, true},
    Known{Command::kGetHealth, 0, kNone, false},
    Known{Command::kGetPoisonList, 16, kNone, true},
    Known{Command::kInjectPoison, 8, kDataChange, true},
    Known{Command::kClearPoison, 8 + 64, kDataChange, true},
};

Mailbox::Answer refused(ReturnCode code) { return {code, {}}; }

void append(std::vector<std::uint8_t>& bytes, const Uuid& uuid) {
    bytes.insert(bytes.end(), uuid.begin(), uuid.end());
}

/// Byte 58 of a General Media Event Record.
std::uint8_t transaction_type(MediaEvent event) {
    constexpr std::uint8_t kUnknown = 0;
    constexpr std::uint8_t kHostRead = 1;
    constexpr std::uint8_t kHostInject = 4;
    if (event == MediaEvent::kPoisonInjected) return kHostInject;
    return event == MediaEvent::kPoisonRead ? kHostRead : kUnknown;
}

}  // namespace

Mailbox::Answer Mailbox::execute(std::uint16_t opcode, Input input, Time now) {
    const auto* known = std::find_if(kCommands.begin(), kCommands.end(), [&](const Known& row) {
        return static_cast<std::uint16_t>(row.command) == opcode;
    });
    if (known == kCommands.end()) return refused(ReturnCode::kUnsupported);
    if (known->input != kAnyLength && input.size() != known->input) {
        return refused(ReturnCode::kInvalidPayloadLength);
    }
    if (known->media && !m_ready) return refused(ReturnCode::kMediaDisabled);
    switch (known->command) {
        case Command::kGetEventRecords:
            return get_events(input);
        case Command::kClearEventRecords:
            return clear_events(input);
        case Command::kGetTimestamp:
            return get_timestamp(now);
        case Command::kSetTimestamp:
            return set_timestamp(input, now);
        case Command::kGetSupportedLogs:
            return supported_logs();
        case Command::kGetLog:
            return get_log(input);
        case Command::kIdentify:
            return identify();
        case Command::kGetPartition:
            return get_partition();
        case Command::kSetPartition:
            return set_partition(input);
        case Command::kGetHealth:
            return get_health();
        case Command::kGetPoisonList:
            return get_poison(input);
        case Command::kInjectPoison:
            return inject_poison(input, now);
        case Command::kClearPoison:
            return clear_poison(input);
    }
    return refused(ReturnCode::kUnsupported);
}

/// Nanoseconds of the host's clock, or of the simulation's where the host has set none.
std::uint64_t Mailbox::clock(Time at) const {
    return static_cast<std::uint64_t>(at.ps / 1000) + m_clock_offset;
}

void Mailbox::append_record(std::vector<std::uint8_t>& bytes, const EventRecord& record) const {
    constexpr std::uint64_t kVolatile = 1;  // bit 0 of the address
    const std::size_t begin = bytes.size();
    const bool of_module = record.event == MediaEvent::kHot || record.event == MediaEvent::kCooled;
    append(bytes, of_module ? kModuleRecord : kMediaRecord);
    append_le(bytes, 1, kEventBytes);
    append_le(bytes, 3, 0);  // flags
    append_le(bytes, 2, record.handle);
    append_le(bytes, 2, 0);  // related handle
    append_le(bytes, 8, clock(record.timestamp));
    append_le(bytes, 16, 0);  // maintenance operation class, reserved
    if (of_module) {
        constexpr std::uint8_t kTemperatureChange = 3;
        append_le(bytes, 1, kTemperatureChange);
        append_health(bytes);  // as it is when the record is read
        bytes.resize(begin + kEventBytes);
        return;
    }
    append_le(bytes, 8, record.address.value | kVolatile);
    append_le(bytes, 1, record.event == MediaEvent::kCorrected ? 0 : 1);  // uncorrectable
    append_le(bytes, 1, 0);                                               // media ECC error
    append_le(bytes, 1, transaction_type(record.event));
    bytes.resize(begin + kEventBytes);
}

Mailbox::Answer Mailbox::get_events(Input input) const {
    if (input[0] > 3) return refused(ReturnCode::kInvalidInput);
    const auto severity = static_cast<Severity>(input[0]);
    const auto records = m_events.oldest(severity, (m_config.payload - kListHeader) / kEventBytes);
    const EventLog::Overflow& overflow = m_events.overflow(severity);
    Answer answer;
    const bool more = records.size() < m_events.size(severity);
    append_le(answer.payload, 1, (overflow.lost != 0 ? 1U : 0U) | (more ? 2U : 0U));
    append_le(answer.payload, 1, 0);
    append_le(answer.payload, 2, overflow.lost);
    append_le(answer.payload, 8, overflow.lost != 0 ? clock(overflow.first) : 0);
    append_le(answer.payload, 8, overflow.lost != 0 ? clock(overflow.last) : 0);
    append_le(answer.payload, 2, records.size());
    answer.payload.resize(kListHeader);
    for (const EventRecord& record : records) append_record(answer.payload, record);
    return answer;
}

Mailbox::Answer Mailbox::clear_events(Input input) {
    constexpr std::size_t kHeader = 6;
    if (input.size() < kHeader) return refused(ReturnCode::kInvalidPayloadLength);
    if (input[0] > 3) return refused(ReturnCode::kInvalidInput);
    const auto severity = static_cast<Severity>(input[0]);
    const std::size_t count = input[2];
    if ((input[1] & 1U) != 0) {
        m_events.clear_all(severity);
        return {};
    }
    if (count == 0) return refused(ReturnCode::kInvalidInput);
    if (input.size() != kHeader + 2 * count) return refused(ReturnCode::kInvalidPayloadLength);
    std::vector<std::uint16_t> handles(count);
    for (std::size_t i = 0; i < count; ++i) {
        handles[i] = static_cast<std::uint16_t>(get_le(input, kHeader + 2 * i, 2));
    }
    return m_events.clear(severity, handles) ? Answer{} : refused(ReturnCode::kInvalidHandle);
}

Mailbox::Answer Mailbox::get_timestamp(Time now) const {
    Answer answer;
    append_le(answer.payload, 8, m_clock_set ? clock(now) : 0);
    return answer;
}

Mailbox::Answer Mailbox::set_timestamp(Input input, Time now) {
    m_clock_offset = get_le(input, 0, 8) - static_cast<std::uint64_t>(now.ps / 1000);
    m_clock_set = true;
    return {};
}

Mailbox::Answer Mailbox::supported_logs() const {
    Answer answer;
    append_le(answer.payload, 2, 1);
    append_le(answer.payload, 6, 0);
    append(answer.payload, kEffectsLog);
    append_le(answer.payload, 4, 4 * kCommands.size());
    return answer;
}

Mailbox::Answer Mailbox::get_log(Input input) const {
    if (!std::equal(kEffectsLog.begin(), kEffectsLog.end(), input.begin())) {
        return refused(ReturnCode::kInvalidLog);
    }
    std::vector<std::uint8_t> log;
    for (const Known& row : kCommands) {
        append_le(log, 2, static_cast<std::uint16_t>(row.command));
        append_le(log, 2, row.effects);
    }
    const std::uint64_t offset = get_le(input, 16, 4);
    const std::uint64_t length = get_le(input, 20, 4);
    if (offset + length > log.size() || length > m_config.payload) {
        return refused(ReturnCode::kInvalidInput);
    }
    const auto begin = log.begin() + static_cast<std::ptrdiff_t>(offset);
    return {ReturnCode::kSuccess, {begin, begin + static_cast<std::ptrdiff_t>(length)}};
}

Mailbox::Answer Mailbox::identify() const {
    Answer answer;
    answer.payload.assign(kRevision.begin(), kRevision.end());
    answer.payload.resize(16);
    const std::uint64_t units = m_config.capacity.count / kCapacityUnit;
    append_le(answer.payload, 8, units);  // total
    append_le(answer.payload, 8, units);  // volatile
    append_le(answer.payload, 8, 0);      // persistent
    append_le(answer.payload, 8, 0);      // alignment of the partition: it is fixed
    for (int log = 0; log < 4; ++log) append_le(answer.payload, 2, m_config.event_records);
    append_le(answer.payload, 4, 0);  // label storage
    append_le(answer.payload, 3, m_config.poison_records);
    append_le(answer.payload, 2, m_config.inject_limit);
    append_le(answer.payload, 1, 0);  // poison capabilities
    append_le(answer.payload, 1, kQosCapabilities);
    return answer;
}

Mailbox::Answer Mailbox::get_partition() const {
    Answer answer;
    append_le(answer.payload, 8, m_config.capacity.count / kCapacityUnit);
    append_le(answer.payload, 8, 0);
    append_le(answer.payload, 8, 0);  // no change is pending
    append_le(answer.payload, 8, 0);
    return answer;
}

Mailbox::Answer Mailbox::set_partition(Input input) const {
    // All of it is volatile, and stays so.
    const bool same = get_le(input, 0, 8) == m_config.capacity.count / kCapacityUnit;
    return same ? Answer{} : refused(ReturnCode::kInvalidInput);
}

void Mailbox::append_health(std::vector<std::uint8_t>& bytes) const {
    append_le(bytes, 1, m_health.status | (m_viral ? kMaintenanceNeeded : 0));
    append_le(bytes, 1, m_health.media);
    append_le(bytes, 1, m_health.additional);
    append_le(bytes, 1, m_health.life_used);
    append_le(bytes, 2, static_cast<std::uint16_t>(m_health.temperature));
    append_le(bytes, 4, 0);  // dirty shutdowns
    append_le(bytes, 4, m_health.corrected);
    append_le(bytes, 4, 0);  // of persistent memory
}

Mailbox::Answer Mailbox::get_health() const {
    Answer answer;
    append_health(answer.payload);
    return answer;
}

ReturnCode Mailbox::check_line(std::uint64_t address) const {
    if (address % kLineBytes != 0) return ReturnCode::kInvalidInput;
    if (address >= m_config.capacity.count) return ReturnCode::kInvalidPhysicalAddress;
    return ReturnCode::kSuccess;
}

Mailbox::Answer Mailbox::get_poison(Input input) {
    const std::uint64_t from = get_le(input, 0, 8);
    const std::uint64_t lines = get_le(input, 8, 8);
    const ReturnCode code = check_line(from);
    if (code != ReturnCode::kSuccess) return refused(code);
    if (lines > (m_config.capacity.count - from) / kLineBytes) {
        return refused(ReturnCode::kInvalidPhysicalAddress);
    }
    const bool goes_on = m_cursor && m_cursor->from == from && m_cursor->lines == lines;
    const std::uint64_t begin = goes_on ? m_cursor->next : from;
    m_cursor.reset();
    const std::size_t most = (m_config.payload - kListHeader) / kPoisonBytes;
    std::size_t count = 0;
    Answer answer;
    answer.payload.resize(kListHeader);
    for (const PoisonList::Record& record :
         m_poison.within({begin}, {from + lines * kLineBytes - begin})) {
        if (!record.listed) continue;
        if (count == most) {
            m_cursor = Cursor{from, lines, record.line.value};
            break;
        }
        append_le(answer.payload, 8, record.line.value | static_cast<std::uint64_t>(record.source));
        append_le(answer.payload, 4, 1);  // lines
        append_le(answer.payload, 4, 0);
        ++count;
    }
    const auto overflow = m_poison.overflow();
    put_le(answer.payload, 0, 1, (m_cursor ? 1U : 0U) | (overflow ? 2U : 0U));
    put_le(answer.payload, 2, 8, overflow ? clock(*overflow) : 0);
    put_le(answer.payload, 10, 2, count);
    return answer;
}

Mailbox::Answer Mailbox::inject_poison(Input input, Time now) {
    const Dpa line{get_le(input, 0, 8)};
    const ReturnCode code = check_line(line.value);
    if (code != ReturnCode::kSuccess) return refused(code);
    if (m_poison.contains(line)) return {};
    if (m_poison.injected() >= m_config.inject_limit || m_poison.full()) {
        return refused(ReturnCode::kInjectPoisonLimit);
    }
    m_poison.add(line, PoisonSource::kInjected, now);
    m_events.add(Severity::kInformational, MediaEvent::kPoisonInjected, line, now);
    return {};
}

Mailbox::Answer Mailbox::clear_poison(Input input) {
    const Dpa line{get_le(input, 0, 8)};
    const ReturnCode code = check_line(line.value);
    if (code != ReturnCode::kSuccess) return refused(code);
    m_memory.write(line, input.subspan(8, kLineBytes));
    m_poison.remove(line);
    return {};
}

}  // namespace kvplane::management
