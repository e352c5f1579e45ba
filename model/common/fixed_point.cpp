// SPDX-License-Identifier: Apache-2.0
#include "model/common/fixed_point.h"

#include <array>
#include <bit>
#include <cmath>

#include "model/common/errors.h"

namespace kvplane {
namespace {

constexpr std::uint64_t isqrt(Uint128 x) {
    std::uint64_t root = 0;
    for (int bit = 63; bit >= 0; --bit) {
        const std::uint64_t trial = root | (std::uint64_t{1} << bit);
        if (static_cast<Uint128>(trial) * trial <= x) root = trial;
    }
    return root;
}

/// kHalvings[i] = 2^(2^-(i+1)) as a Q62: each the square root of the one before.
constexpr std::array<std::uint64_t, 32> make_halvings() {
    std::array<std::uint64_t, 32> out{};
    std::uint64_t value = std::uint64_t{1} << 63;  // 2 as a Q62
    for (std::uint64_t& entry : out) {
        value = isqrt(static_cast<Uint128>(value) << 62);
        entry = value;
    }
    return out;
}
constexpr std::array<std::uint64_t, 32> kHalvings = make_halvings();

}  // namespace

std::int64_t log2_q32(std::uint64_t x) {
    if (x == 0) throw InvariantError("log2_q32(0)");
    const int exponent = 63 - std::countl_zero(x);
    std::uint64_t mantissa = x << (63 - exponent);  // Q63 in [1, 2)
    std::int64_t fraction = 0;
    for (int i = 0; i < 32; ++i) {
        const Uint128 square = static_cast<Uint128>(mantissa) * mantissa;  // Q126 in [1, 4)
        const bool carry = (square >> 127) != 0;
        mantissa = static_cast<std::uint64_t>(square >> (carry ? 64 : 63));
        fraction = fraction * 2 + (carry ? 1 : 0);
    }
    return exponent * kOneQ32 + fraction;
}

std::uint64_t exp2_q32(std::int64_t x, int fraction_bits) {
    const std::int64_t whole = (x >> 32) + fraction_bits;
    if (whole >= 63) return UINT64_MAX;
    if (whole < 0) return 0;
    const auto fraction = static_cast<std::uint32_t>(x & (kOneQ32 - 1));
    std::uint64_t mantissa = std::uint64_t{1} << 62;
    for (int i = 0; i < 32; ++i) {
        if ((fraction >> (31 - i) & 1) == 0) continue;
        const Uint128 product =
            static_cast<Uint128>(mantissa) * kHalvings[static_cast<std::size_t>(i)];
        mantissa = static_cast<std::uint64_t>(product >> 62);
    }
    return mantissa >> (62 - whole);
}

std::uint64_t integer_sqrt(Uint128 x) { return isqrt(x); }

std::int64_t to_q32(double value) {
    constexpr double kLimit = 2147483648.0;
    if (!(std::fabs(value) < kLimit)) throw InvariantError("to_q32: out of range");
    return std::llround(value * 4294967296.0);
}

}  // namespace kvplane
