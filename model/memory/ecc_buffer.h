// SPDX-License-Identifier: Apache-2.0
/// The lines of check bits that a controller with inline ECC holds: one line covers eight of data.
/// Least recently used goes first; a changed one is written back.
#pragma once

#include <cstdint>
#include <vector>

namespace kvplane::memory {

class EccBuffer {
public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    struct Line {
        std::uint64_t line = UINT64_MAX;
        std::uint64_t used = 0;
        std::uint32_t fetch = kNone;  ///< the read that brings it, while it is under way
        bool dirty = false;
    };

    explicit EccBuffer(std::uint32_t lines) : m_lines(lines) {}

    /// The slot that holds `line`, or kNone.
    [[nodiscard]] std::uint32_t find(std::uint64_t line) const {
        for (std::uint32_t i = 0; i < m_lines.size(); ++i) {
            if (m_lines[i].line == line) return i;
        }
        return kNone;
    }
    /// The slot to give up: the least recently used that is not being fetched.
    [[nodiscard]] std::uint32_t victim() const {
        std::uint32_t best = kNone;
        for (std::uint32_t i = 0; i < m_lines.size(); ++i) {
            if (m_lines[i].fetch != kNone) continue;
            if (best == kNone || m_lines[i].used < m_lines[best].used) best = i;
        }
        return best;
    }
    [[nodiscard]] Line& operator[](std::uint32_t slot) { return m_lines[slot]; }
    void touch(std::uint32_t slot) { m_lines[slot].used = ++m_clock; }

private:
    std::vector<Line> m_lines;
    std::uint64_t m_clock = 0;
};

}  // namespace kvplane::memory
