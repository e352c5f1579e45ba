// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/policies/ema.h"

#include <algorithm>

#include "model/common/fixed_point.h"

namespace kvplane::control {
namespace {

constexpr int kBits = 48;
constexpr std::uint64_t kMillion = 1'000'000;
constexpr std::uint64_t kMostTicks = std::uint64_t{1} << 36;
/// An average is at least 2^-20, and at most 1.
constexpr std::int64_t kFloor = 64;

/// The most fraction bits, up to 32, with which the decay of kMostTicks and the floor stay below
/// 2^62.
int fraction_bits(std::int64_t decay_q32) {
    const Uint128 most =
        Uint128{kMostTicks} * static_cast<std::uint64_t>(decay_q32) + (Uint128{kFloor} << 32);
    int bits = 32;
    while (most >> (32 - bits) >= Uint128{1} << 62) --bits;
    return bits;
}

std::int64_t decay_of(std::uint32_t alpha_ppm) {
    return log2_q32(kMillion) - log2_q32(kMillion - alpha_ppm);
}

}  // namespace

Ema::Ema(std::size_t blocks, const StateSpec& state, Clock clock, std::uint32_t alpha_ppm)
    : RankedPolicy(blocks),
      m_clock(clock),
      m_alpha((std::uint64_t{alpha_ppm} << (kBits - 4)) / kMillion << 4),
      m_fraction(fraction_bits(decay_of(alpha_ppm))),
      m_decay(decay_of(alpha_ppm) >> (32 - m_fraction)),
      m_floor(kFloor << m_fraction),
      m_history(state, blocks, 8) {}

std::uint64_t Ema::use(const Access& access) {
    const std::uint64_t ticks = std::min(tick(m_clock, access.now), kMostTicks);
    const std::int64_t elapsed = static_cast<std::int64_t>(ticks) * m_decay;
    std::uint64_t average = m_alpha;
    if (const std::uint64_t known = number(access.block); known != 0) {
        const std::int64_t log =
            std::min<std::int64_t>(static_cast<std::int64_t>(known) - m_floor - elapsed, 0);
        // What has decayed below 2^-64 is nothing, and its logarithm might not fit a Q32.
        if (log > -m_floor) average += exp2_q32(log << (32 - m_fraction), kBits);
    }
    const std::int64_t log = (log2_q32(average) - (std::int64_t{kBits} << 32)) >> (32 - m_fraction);
    return static_cast<std::uint64_t>(log + elapsed + m_floor);
}

}  // namespace kvplane::control
