// SPDX-License-Identifier: Apache-2.0
/// Random draws that are the same on every machine: one stream a component, integer arithmetic
/// only. The standard library's distributions are not used, because their draws differ between
/// implementations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "model/common/units.h"

namespace kvplane {

/// FNV-1a, 64 bits.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3ULL;
    }
    return hash;
}

/// The finaliser of splitmix64: a bijection that spreads every bit over all.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t number) {
    number = (number ^ number >> 30U) * 0xBF58476D1CE4E5B9ULL;
    number = (number ^ number >> 27U) * 0x94D049BB133111EBULL;
    return number ^ number >> 31U;
}

/// Ranks 0 to n - 1 with probabilities proportional to 1 / (rank + 1)^exponent.
class Zipf {
public:
    /// n: 1 to 2^22 ranks. exponent: 0 (uniform) to 8. A weight is at least 2^-40 of rank 0's.
    Zipf(std::size_t n, double exponent);

    [[nodiscard]] std::size_t size() const { return m_cumulative.size(); }
    /// The weight of a rank, as a share of total().
    [[nodiscard]] std::uint64_t weight(std::size_t rank) const;
    [[nodiscard]] std::uint64_t total() const { return m_cumulative.back(); }
    /// The rank at `point` of [0, total()).
    [[nodiscard]] std::size_t rank_at(std::uint64_t point) const;

private:
    std::vector<std::uint64_t> m_cumulative;
};

/// The random draws of one component. Streams of different names or seeds are independent.
class RandomStream {
public:
    RandomStream(std::uint64_t seed, std::string_view component);

    /// 64 random bits.
    [[nodiscard]] std::uint64_t bits() { return m_engine(); }
    /// Uniform over [0, n), without bias. n must not be 0.
    [[nodiscard]] std::uint64_t uniform(std::uint64_t n);
    /// Uniform over [low, high], both ends included. low <= high.
    [[nodiscard]] std::uint64_t uniform(std::uint64_t low, std::uint64_t high);
    /// Exponential with the given mean, rounded down to a picosecond; at most 44.4 means.
    [[nodiscard]] Time exponential(Time mean);
    /// A standard normal as a Q32; between -7.5 and 7.5.
    [[nodiscard]] std::int64_t normal_q32();
    /// Lognormal: median x e^(sigma x normal), rounded down to a picosecond; cut at the end of
    /// time. sigma: 0 to 16.
    [[nodiscard]] Time lognormal(Time median, double sigma);
    /// A rank of `table`.
    [[nodiscard]] std::size_t zipf(const Zipf& table) {
        return table.rank_at(uniform(table.total()));
    }

private:
    std::mt19937_64 m_engine;
};

}  // namespace kvplane
