// SPDX-License-Identifier: Apache-2.0
/// The set of occupied places of a line [0, n), and the furthest of them.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace kvplane::control {

/// A set of numbers below n that knows its greatest member: a tree of 64-bit words. Each operation
/// is O(log n / 6); no allocation after construction.
class Furthest {
public:
    explicit Furthest(std::size_t n) {
        do {
            n = (n + 63) / 64;
            m_levels.emplace_back(n, 0);
        } while (n > 1);
    }

    void insert(std::uint32_t i) {
        for (auto& level : m_levels) {
            const bool was_empty = level[i / 64] == 0;
            level[i / 64] |= std::uint64_t{1} << (i % 64);
            if (!was_empty) return;
            i /= 64;
        }
    }

    void erase(std::uint32_t i) {
        for (auto& level : m_levels) {
            level[i / 64] &= ~(std::uint64_t{1} << (i % 64));
            if (level[i / 64] != 0) return;
            i /= 64;
        }
    }

    [[nodiscard]] bool empty() const { return m_levels.back()[0] == 0; }

    /// The greatest member. The set must not be empty.
    [[nodiscard]] std::uint32_t greatest() const {
        std::uint32_t i = 0;
        for (std::size_t level = m_levels.size(); level-- > 0;) {
            i = i * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(m_levels[level][i]));
        }
        return i;
    }

private:
    std::vector<std::vector<std::uint64_t>> m_levels;
};

}  // namespace kvplane::control
