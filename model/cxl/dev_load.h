// SPDX-License-Identifier: Apache-2.0
/// QoS telemetry: how loaded the card says it is, and a host that heeds it.
#pragma once

#include <array>
#include <cstdint>

#include "model/common/units.h"
#include "model/cxl/message.h"

namespace kvplane::cxl {

struct DevLoadConfig {
    /// Occupancy of the fullest queue from which a level holds.
    Ratio optimal{250'000};
    Ratio moderate{600'000};
    Ratio severe{850'000};
    /// A level falls only once the occupancy is so far below where it begins.
    Ratio hysteresis{100'000};
};

/// The level of a device, from the occupancy of its queues.
class DevLoadMeter {
public:
    explicit DevLoadMeter(const DevLoadConfig& config);

    /// The fullest queue now holds `occupied` of `capacity` entries (which is not zero). Returns
    /// the level, which may rise by any number of steps and falls likewise.
    DevLoad update(std::uint64_t occupied, std::uint64_t capacity);
    [[nodiscard]] DevLoad level() const { return m_level; }
    /// Changes of level so far.
    [[nodiscard]] std::uint64_t changes() const { return m_changes; }

private:
    std::array<std::uint32_t, 4> m_enter;  ///< ppm, by level
    std::uint32_t m_hysteresis;
    DevLoad m_level = DevLoad::kLight;
    std::uint64_t m_changes = 0;
};

struct ThrottleConfig {
    std::uint32_t most = 256;     ///< requests in flight at the start and at most
    std::uint32_t least = 4;      ///< and at least
    std::uint32_t interval = 32;  ///< answers between two decisions
    std::uint32_t raise = 1;      ///< Light: so many more
    std::uint32_t lower = 8;      ///< Moderate Overload: so many less; Severe halves
};

/// A host that bounds its requests in flight by the levels it hears: the most loaded of an interval
/// decides. Light raises the bound, Optimal holds it, the overloads lower it.
class HostThrottle {
public:
    explicit HostThrottle(const ThrottleConfig& config);

    /// An answer has come.
    void heard(DevLoad level);
    /// Requests that may be in flight.
    [[nodiscard]] std::uint32_t window() const { return m_window; }

private:
    ThrottleConfig m_config;
    std::uint32_t m_window;
    std::uint32_t m_answers = 0;
    DevLoad m_worst = DevLoad::kLight;
};

}  // namespace kvplane::cxl
