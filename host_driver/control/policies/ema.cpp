// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/policies/ema.h"

#include <algorithm>

#include "model/common/fixed_point.h"

namespace kvplane::control {
namespace {

constexpr int kBits = 48;
/// Added to every number, so that none is negative: an average is at least 2^-20.
constexpr std::int64_t kFloor = std::int64_t{64} << 32;
constexpr std::uint64_t kMillion = 1'000'000;

}  // namespace

Ema::Ema(std::size_t blocks, const StateSpec& state, Clock clock, std::uint32_t alpha_ppm)
    : RankedPolicy(blocks),
      m_clock(clock),
      m_alpha((std::uint64_t{alpha_ppm} << (kBits - 4)) / kMillion << 4),
      m_decay(log2_q32(kMillion) - log2_q32(kMillion - alpha_ppm)),
      m_history(state, blocks, 8) {}

std::uint64_t Ema::use(const Access& access) {
    const auto elapsed = static_cast<std::int64_t>(tick(m_clock, access.now)) * m_decay;
    std::uint64_t average = m_alpha;
    if (const std::uint64_t known = number(access.block); known != 0) {
        const std::int64_t log = static_cast<std::int64_t>(known) - kFloor - elapsed;
        average += exp2_q32(std::min<std::int64_t>(log, 0), kBits);
    }
    const std::int64_t log = log2_q32(average) - (std::int64_t{kBits} << 32);
    return static_cast<std::uint64_t>(log + elapsed + kFloor);
}

}  // namespace kvplane::control
