// SPDX-License-Identifier: Apache-2.0
#include "host_driver/driver/move_metrics.h"

namespace kvplane::driver {

void MoveMetrics::promoted(const engine::StageTimes& stages, Bytes bytes) {
    m_promotion.add(stages.total());
    for (std::size_t i = 0; i < engine::kStages; ++i) m_stage_sums[i] += stages.spans[i].ps;
    m_promoted_bytes += bytes;
}

void MoveMetrics::demoted(const engine::StageTimes& stages, Bytes bytes) {
    m_demotion.add(stages.total());
    m_demoted_bytes += bytes;
}

void MoveMetrics::load(Time first_block, Time last_block, Bytes bytes) {
    m_first_block.add(first_block);
    m_last_block.add(last_block);
    m_loaded_bytes += bytes;
}

double MoveMetrics::stage_share(engine::Stage stage) const {
    if (m_promotion.sum_ps() == 0) return 0;
    return static_cast<double>(stage_sum_ps(stage)) / static_cast<double>(m_promotion.sum_ps());
}

}  // namespace kvplane::driver
