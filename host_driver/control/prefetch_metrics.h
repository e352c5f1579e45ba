// SPDX-License-Identifier: Apache-2.0
/// How well prefetches were guessed, and whether they came in time (F12).
#pragma once

#include <cstdint>
#include <optional>

#include "model/common/units.h"

namespace kvplane::control {

class PrefetchMetrics {
public:
    /// A prefetch of a block has moved it.
    void prefetched() { ++m_prefetched; }
    /// A prefetched block is read for the first time: needed at `needed`, there at `arrived`.
    void read(Time needed, Time arrived) {
        ++m_read;
        m_late += arrived > needed ? 1 : 0;
    }
    /// A prefetched block is removed that was never read, or a prefetch was cancelled after `bytes`
    /// had crossed.
    void wasted(Bytes bytes) { m_wasted += bytes; }

    /// Read before removal over prefetched; nothing without prefetches.
    [[nodiscard]] std::optional<double> accuracy() const { return share(m_read); }
    /// The same of those that were there when needed.
    [[nodiscard]] std::optional<double> timely() const { return share(m_read - m_late); }
    [[nodiscard]] Bytes wasted() const { return m_wasted; }

private:
    [[nodiscard]] std::optional<double> share(std::uint64_t part) const {
        if (m_prefetched == 0) return std::nullopt;
        return static_cast<double>(part) / static_cast<double>(m_prefetched);
    }

    std::uint64_t m_prefetched = 0;
    std::uint64_t m_read = 0;
    std::uint64_t m_late = 0;
    Bytes m_wasted;
};

}  // namespace kvplane::control
