// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_driver/control/policies/ranked.h"

namespace kvplane::control {

/// Lowest exponential moving average of references first (LRFU): at each reference
/// S <- alpha + (1 - alpha)^dt S, dt in ticks of the declared clock. State: the average.
///
/// All averages decay alike, so blocks are ordered by log2 S + t log2(1 / (1 - alpha)), which stays
/// as it is between references. It is kept above a floor, and saved so, with as many fraction bits
/// (at most 32) as leave room for 2^36 ticks: two years in milliseconds, or as many references. On
/// later ticks time stands still.
class Ema final : public RankedPolicy {
public:
    Ema(std::size_t blocks, const StateSpec& state, Clock clock, std::uint32_t alpha_ppm);
    [[nodiscard]] Bytes state_bytes() const override { return m_history.bytes(); }

private:
    std::uint64_t arrive(BlockIndex block, const Moment& /*now*/) override {
        return m_history.load(block);
    }
    std::uint64_t use(const Access& access) override;
    void leave(BlockIndex block) override { m_history.save(block, number(block)); }

    Clock m_clock;
    std::uint64_t m_alpha;  ///< Q48
    int m_fraction;         ///< bits of all logarithms below
    std::int64_t m_decay;   ///< log2(1 / (1 - alpha))
    std::int64_t m_floor;   ///< added to every number, so that none is negative
    History m_history;
};

}  // namespace kvplane::control
