// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/reuse.h"

#include <algorithm>
#include <bit>

namespace kvplane::control {

std::size_t ReusePredictor::bin(Time interval) {
    const auto ms = static_cast<std::uint64_t>(interval.ps) / 1'000'000'000U + 4;
    // The octave, and the two bits below its leading one. 4 ms is the first with both.
    const auto octave = static_cast<std::size_t>(std::bit_width(ms)) - 1;
    return std::min(kBins - 1, (octave - 2) * 4 + (ms >> (octave - 2) & 3U));
}

const ReusePredictor::Class& ReusePredictor::class_of(BlockIndex block) const {
    return m_classes[std::min<std::size_t>(m_references[block.value], kClasses) - 1];
}

void ReusePredictor::on_access(BlockIndex block, Time now) {
    std::uint32_t& references = m_references[block.value];
    if (references > 0) {
        Class& before = m_classes[std::min<std::size_t>(references, kClasses) - 1];
        for (std::size_t i = bin(now - m_last[block.value]); i < kBins; ++i) ++before.up_to[i];
    } else {
        ++m_seen;
    }
    ++references;
    ++m_classes[std::min<std::size_t>(references, kClasses) - 1].references;
    m_last[block.value] = now;
}

std::uint64_t ReusePredictor::probability(BlockIndex block, Time now, Time horizon) const {
    if (m_references[block.value] == 0) return 0;
    const Class& c = class_of(block);
    const Time age = now - m_last[block.value];
    const std::uint64_t shorter = c.up_to[bin(age)];  // those of its own bin count as shorter
    const std::uint64_t within = c.up_to[bin(age + horizon)] - shorter;
    if (within == 0) return 0;
    const std::uint64_t longer = c.references - shorter;
    return static_cast<std::uint64_t>(Uint128{within} * kCertain / longer);
}

}  // namespace kvplane::control
