// SPDX-License-Identifier: Apache-2.0
/// Logarithm, power and root in integers. The standard library's differ between machines in the
/// last bit; these do not. Qn is a value times 2^n.
#pragma once

#include <cstdint>

#include "model/common/units.h"

namespace kvplane {

/// 1 as a Q32.
inline constexpr std::int64_t kOneQ32 = std::int64_t{1} << 32;

/// log2(x) as a Q32, rounded down. Exact at powers of two; elsewhere less than 2^-32 + 2^-57 under
/// the true value. x must not be 0.
[[nodiscard]] std::int64_t log2_q32(std::uint64_t x);

/// 2^(x / 2^32) x 2^fraction_bits, rounded down, with a relative error below 2^-55 before the
/// rounding. UINT64_MAX where the result does not fit 63 bits. fraction_bits: 0 to 62.
[[nodiscard]] std::uint64_t exp2_q32(std::int64_t x, int fraction_bits = 32);

/// The largest r with r * r <= x.
[[nodiscard]] std::uint64_t integer_sqrt(Uint128 x);

/// A finite number as a Q32, to the nearest (ties away from zero). |value| below 2^31.
[[nodiscard]] std::int64_t to_q32(double value);

}  // namespace kvplane
