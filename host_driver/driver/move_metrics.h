// SPDX-License-Identifier: Apache-2.0
/// What the moves of a run took, block by block.
#pragma once

#include <array>
#include <cstdint>

#include "model/common/histogram.h"
#include "model/engine/stage_clock.h"

namespace kvplane::driver {

class MoveMetrics {
public:
    /// One promoted block, from the decision until a busy poll would see it.
    void promoted(const engine::StageTimes& stages, Bytes bytes);
    /// One demoted block.
    void demoted(const engine::StageTimes& stages, Bytes bytes);
    /// One load of a request: its first and its last block, from the decision.
    void load(Time first_block, Time last_block, Bytes bytes);

    /// Forgets all moves so far.
    void restart() { *this = {}; }

    [[nodiscard]] const Histogram& promotion() const { return m_promotion; }
    [[nodiscard]] const Histogram& demotion() const { return m_demotion; }
    [[nodiscard]] const Histogram& first_block() const { return m_first_block; }
    [[nodiscard]] const Histogram& last_block() const { return m_last_block; }
    [[nodiscard]] Bytes promoted_bytes() const { return m_promoted_bytes; }
    [[nodiscard]] Bytes demoted_bytes() const { return m_demoted_bytes; }
    [[nodiscard]] Bytes loaded_bytes() const { return m_loaded_bytes; }
    /// Sum of a stage over all promotions, in picoseconds; over all stages these sum to
    /// promotion().sum_ps() exactly.
    [[nodiscard]] Int128 stage_sum_ps(engine::Stage stage) const {
        return m_stage_sums[static_cast<std::size_t>(stage)];
    }
    /// Share of all promotion time that a stage took; 0 without promotions.
    [[nodiscard]] double stage_share(engine::Stage stage) const;

private:
    Histogram m_promotion;
    Histogram m_demotion;
    Histogram m_first_block;
    Histogram m_last_block;
    std::array<Int128, engine::kStages> m_stage_sums{};
    Bytes m_promoted_bytes;
    Bytes m_demoted_bytes;
    Bytes m_loaded_bytes;
};

}  // namespace kvplane::driver
