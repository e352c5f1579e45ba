// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/dev_load.h"

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::cxl {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

}  // namespace

DevLoadMeter::DevLoadMeter(const DevLoadConfig& config)
    : m_enter{0, config.optimal.ppm, config.moderate.ppm, config.severe.ppm},
      m_hysteresis(config.hysteresis.ppm) {
    if (config.optimal >= config.moderate || config.moderate >= config.severe ||
        config.hysteresis >= config.optimal) {
        throw UserError("DevLoad: levels must rise, and hysteresis must be below the lowest");
    }
}

DevLoad DevLoadMeter::update(std::uint64_t occupied, std::uint64_t capacity) {
    const std::uint64_t share = occupied * kMillion / capacity;
    auto level = static_cast<std::size_t>(m_level);
    while (level < 3 && share >= m_enter[level + 1]) ++level;
    while (level > 0 && share + m_hysteresis < m_enter[level]) --level;
    const auto next = static_cast<DevLoad>(level);
    if (next != m_level) ++m_changes;
    m_level = next;
    return next;
}

HostThrottle::HostThrottle(const ThrottleConfig& config)
    : m_config(config), m_window(config.most) {}

void HostThrottle::heard(DevLoad level) {
    m_worst = std::max(m_worst, level);
    if (++m_answers < m_config.interval) return;
    switch (m_worst) {
        case DevLoad::kLight:
            m_window = std::min(m_config.most, m_window + m_config.raise);
            break;
        case DevLoad::kOptimal:
            break;
        case DevLoad::kModerateOverload:
            m_window = m_window > m_config.least + m_config.lower ? m_window - m_config.lower
                                                                  : m_config.least;
            break;
        case DevLoad::kSevereOverload:
            m_window = std::max(m_config.least, m_window / 2);
            break;
    }
    m_answers = 0;
    m_worst = DevLoad::kLight;
}

}  // namespace kvplane::cxl
