// SPDX-License-Identifier: Apache-2.0
/// The event logs of the card: four of them, by severity, each bounded. A full log keeps what it
/// has and counts what it loses.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/common/units.h"

namespace kvplane::management {

enum class Severity : std::uint8_t { kInformational, kWarning, kFailure, kFatal };

/// What an event says about media, or the device.
enum class MediaEvent : std::uint8_t {
    kPoisonInjected,
    kPoisonRead,   ///< by a line of the host
    kPoisonMoved,  ///< by the card's engine
    kCorrected,
    kUncorrected,
    kHot,     ///< the DRAM is throttled for its temperature; no address
    kCooled,  ///< it is not any more; no address
};

struct EventRecord {
    std::uint16_t handle = 0;  ///< 1 to 65,535, in order
    Time timestamp;            ///< of the simulation; Mailbox tells it in the host's time
    MediaEvent event = MediaEvent::kCorrected;
    Dpa address;
};

class EventLog {
public:
    /// capacity: records of each log, 1 to 1024.
    explicit EventLog(std::uint32_t capacity) : m_capacity(capacity) {}

    void add(Severity severity, MediaEvent event, Dpa address, Time now);

    /// The oldest records of a log, at most `most`.
    [[nodiscard]] std::span<const EventRecord> oldest(Severity severity, std::size_t most) const;
    [[nodiscard]] std::size_t size(Severity severity) const { return log(severity).records.size(); }

    /// Clears records by handle. They must be the oldest ones, in order; otherwise nothing is
    /// cleared and the answer is false.
    [[nodiscard]] bool clear(Severity severity, std::span<const std::uint16_t> handles);
    void clear_all(Severity severity);

    struct Overflow {
        std::uint16_t lost = 0;  ///< stops at 65,535
        Time first;
        Time last;
    };
    [[nodiscard]] const Overflow& overflow(Severity severity) const {
        return log(severity).overflow;
    }
    /// Bit 0 informational to bit 3 fatal: that log is not empty.
    [[nodiscard]] std::uint8_t status() const;

    void reset() { m_logs = {}; }

private:
    struct Log {
        std::vector<EventRecord> records;
        std::uint16_t last_handle = 0;
        Overflow overflow;
    };
    [[nodiscard]] const Log& log(Severity severity) const {
        return m_logs[static_cast<std::size_t>(severity)];
    }
    [[nodiscard]] Log& log(Severity severity) { return m_logs[static_cast<std::size_t>(severity)]; }

    std::uint32_t m_capacity;
    std::array<Log, 4> m_logs;
};

}  // namespace kvplane::management
