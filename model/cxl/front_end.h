// SPDX-License-Identifier: Apache-2.0
/// How fast the card's request pipelines hand lines to its memory. Neither wire nor DRAM bounds
/// some cards: this does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/common/units.h"

namespace kvplane::cxl {

struct FrontEndConfig {
    std::uint32_t lanes = 1;  ///< pipelines beside each other, chosen by address; 1 to 64
    Bytes interleave{256};    ///< run of addresses of one lane; a power of two from 64 B
    Time read{500};           ///< of a lane, from one read to the next line: 128 GB/s (assumed)
    Time write{500};          ///< from one write to the next line (assumed)
};

/// Each lane takes its lines in order, one an interval. A line that finds its lane free passes at
/// once: latency is MemTargetConfig::processing.
class FrontEnd {
public:
    explicit FrontEnd(const FrontEndConfig& config) : m_config(config), m_free_at(config.lanes) {}

    /// When a line that arrives at `at` goes on to the memory.
    [[nodiscard]] Time pass(Time at, Dpa line, bool write) {
        Time& free_at = m_free_at[line.value / m_config.interleave.count % m_free_at.size()];
        const Time start = std::max(at, free_at);
        free_at = start + (write ? m_config.write : m_config.read);
        return start;
    }

private:
    FrontEndConfig m_config;
    std::vector<Time> m_free_at;  ///< by lane
};

}  // namespace kvplane::cxl
