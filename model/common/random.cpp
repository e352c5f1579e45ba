// SPDX-License-Identifier: Apache-2.0
#include "model/common/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "model/common/errors.h"
#include "model/common/fixed_point.h"

namespace kvplane {
namespace {

constexpr std::int64_t kLn2Q32 = 2977044472;    // ln 2 = 0.6931471805...
constexpr std::int64_t kLog2eQ32 = 6196328019;  // log2 e = 1.4426950408...
constexpr int kZipfWeightBits = 40;
constexpr std::size_t kMostZipfRanks = std::size_t{1} << 22;

/// The finaliser of SplitMix64: spreads seeds that differ in few bits.
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/// -log2 of (bits + 1) / 2^64 as a Q32: 0 to 64.
std::int64_t minus_log2_of_unit(std::uint64_t bits) {
    return bits == UINT64_MAX ? 0 : 64 * kOneQ32 - log2_q32(bits + 1);
}

}  // namespace

Zipf::Zipf(std::size_t n, double exponent) {
    if (n == 0 || n > kMostZipfRanks || !(exponent >= 0.0 && exponent <= 8.0)) {
        throw InvariantError(fmt::format("Zipf({}, {}) is out of range", n, exponent));
    }
    const std::int64_t exponent_q32 = to_q32(exponent);
    m_cumulative.reserve(n);
    std::uint64_t sum = 0;
    for (std::size_t rank = 0; rank < n; ++rank) {
        const auto power =
            static_cast<std::int64_t>(static_cast<Int128>(log2_q32(rank + 1)) * exponent_q32 >> 32);
        sum += std::max<std::uint64_t>(exp2_q32(-power, kZipfWeightBits), 1);
        m_cumulative.push_back(sum);
    }
}

std::uint64_t Zipf::weight(std::size_t rank) const {
    return m_cumulative[rank] - (rank == 0 ? 0 : m_cumulative[rank - 1]);
}

std::size_t Zipf::rank_at(std::uint64_t point) const {
    const auto it = std::upper_bound(m_cumulative.begin(), m_cumulative.end(), point);
    return static_cast<std::size_t>(it - m_cumulative.begin());
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view component)
    : m_engine(mix(mix(seed) ^ fnv1a(component))) {}

std::uint64_t RandomStream::uniform(std::uint64_t n) {
    if (n == 0) throw InvariantError("RandomStream::uniform(0)");
    // Lemire, "Fast random integer generation in an interval" (2019): the high word of a product
    // is the draw; the low word says whether it fell into the part that would be biased.
    const std::uint64_t biased = (0 - n) % n;
    for (;;) {
        const Uint128 product = static_cast<Uint128>(bits()) * n;
        if (static_cast<std::uint64_t>(product) >= biased) {
            return static_cast<std::uint64_t>(product >> 64);
        }
    }
}

std::uint64_t RandomStream::uniform(std::uint64_t low, std::uint64_t high) {
    if (low > high) throw InvariantError(fmt::format("uniform({}, {}): empty range", low, high));
    const std::uint64_t span = high - low;
    return span == UINT64_MAX ? bits() : low + uniform(span + 1);
}

Time RandomStream::exponential(Time mean) {
    const Int128 nepers = static_cast<Int128>(minus_log2_of_unit(bits())) * kLn2Q32 >> 32;
    const Int128 draw = nepers * mean.ps >> 32;
    return {static_cast<std::int64_t>(std::min<Int128>(draw, Time::never().ps))};
}

std::int64_t RandomStream::normal_q32() {
    // Marsaglia's polar method. Leaving out the points next to the origin, one in 2^40, bounds
    // the result and so the width of the arithmetic.
    constexpr std::uint64_t kSmallestSquare = std::uint64_t{1} << 22;  // 2^-40 as a Q62
    for (;;) {
        const std::uint64_t word = bits();
        const std::int64_t u = 2 * static_cast<std::int64_t>(word >> 32 & 0x7fffffff) + 1;
        const std::int64_t v = 2 * static_cast<std::int64_t>(word & 0x7fffffff) + 1;
        const std::int64_t x = u - kOneQ32 / 2;  // Q31 in (-1, 1)
        const std::int64_t y = v - kOneQ32 / 2;
        const auto s = static_cast<std::uint64_t>(x * x + y * y);  // Q62
        if (s < kSmallestSquare || s >= std::uint64_t{1} << 62) continue;
        const std::int64_t minus_log2 = 62 * kOneQ32 - log2_q32(s);
        const auto minus_two_ln =
            static_cast<Uint128>(static_cast<Int128>(minus_log2) * kLn2Q32 >> 31);  // Q32
        // sqrt(-2 ln s / s): Q32 x 2^62 / Q62 = Q32; with 2^32 more its root is a Q32.
        const std::uint64_t factor = integer_sqrt(((minus_two_ln << 62) / s) << 32);
        return static_cast<std::int64_t>(static_cast<Int128>(x) * factor >> 31);
    }
}

Time RandomStream::lognormal(Time median, double sigma) {
    if (!(sigma >= 0.0 && sigma <= 16.0)) throw InvariantError("lognormal: sigma out of range");
    const Int128 nepers = static_cast<Int128>(normal_q32()) * to_q32(sigma) >> 32;
    const auto power = static_cast<std::int64_t>(nepers * kLog2eQ32 >> 32);
    const Int128 draw = static_cast<Int128>(median.ps) * exp2_q32(power) >> 32;
    return {static_cast<std::int64_t>(std::min<Int128>(draw, Time::never().ps))};
}

}  // namespace kvplane
