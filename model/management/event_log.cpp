// SPDX-License-Identifier: Apache-2.0
#include "model/management/event_log.h"

#include <algorithm>

namespace kvplane::management {

void EventLog::add(Severity severity, MediaEvent event, Dpa address, Time now) {
    Log& to = log(severity);
    if (to.records.size() == m_capacity) {
        if (to.overflow.lost == 0) to.overflow.first = now;
        to.overflow.last = now;
        if (to.overflow.lost != UINT16_MAX) ++to.overflow.lost;
        return;
    }
    // Zero is not a handle.
    to.last_handle = to.last_handle == UINT16_MAX ? std::uint16_t{1}
                                                  : static_cast<std::uint16_t>(to.last_handle + 1);
    to.records.push_back({to.last_handle, now, event, address});
}

std::span<const EventRecord> EventLog::oldest(Severity severity, std::size_t most) const {
    const Log& from = log(severity);
    return {from.records.data(), std::min(most, from.records.size())};
}

bool EventLog::clear(Severity severity, std::span<const std::uint16_t> handles) {
    Log& from = log(severity);
    if (handles.size() > from.records.size()) return false;
    for (std::size_t i = 0; i < handles.size(); ++i) {
        if (handles[i] != from.records[i].handle) return false;
    }
    from.records.erase(from.records.begin(),
                       from.records.begin() + static_cast<std::ptrdiff_t>(handles.size()));
    if (!handles.empty()) from.overflow = {};
    return true;
}

void EventLog::clear_all(Severity severity) {
    log(severity).records.clear();
    log(severity).overflow = {};
}

std::uint8_t EventLog::status() const {
    std::uint8_t bits = 0;
    for (std::size_t i = 0; i < m_logs.size(); ++i) {
        if (!m_logs[i].records.empty()) bits |= static_cast<std::uint8_t>(1U << i);
    }
    return bits;
}

}  // namespace kvplane::management
