// SPDX-License-Identifier: Apache-2.0
#include "host_driver/gpu/step_time.h"

#include <algorithm>
#include <cmath>

namespace kvplane::gpu {
namespace {

constexpr double kPsPerSecond = 1e12;

}  // namespace

StepTime::StepTime(const NodeConfig& node, Bytes kv_per_token)
    : m_fixed_ps(static_cast<double>(node.fixed.ps)) {
    const auto flops = static_cast<double>(node.compute.flop_per_second);
    m_weights_ps = static_cast<double>(node.weights.count) /
                   static_cast<double>(node.weight_bandwidth.bytes_per_second) * kPsPerSecond;
    m_token_ps = 2.0 * static_cast<double>(node.parameters) / flops * kPsPerSecond;
    m_half_pair_ps = 2.0 * node.layers * node.hidden / flops * kPsPerSecond;
    m_kv_token_ps = static_cast<double>(kv_per_token.count) /
                    static_cast<double>(node.kv_bandwidth.bytes_per_second) * kPsPerSecond;
}

Time StepTime::of(const StepLoad& load) const {
    const double dense = std::max(m_weights_ps, static_cast<double>(load.tokens) * m_token_ps);
    const double attention = static_cast<double>(load.prefill_pairs_x2) * m_half_pair_ps;
    const double kv = static_cast<double>(load.decode_context) * m_kv_token_ps;
    return {std::llround(m_fixed_ps + dense + attention + kv)};
}

Time StepTime::compute_of(const StepLoad& load) const {
    return {std::llround(static_cast<double>(load.tokens) * m_token_ps +
                         static_cast<double>(load.prefill_pairs_x2) * m_half_pair_ps)};
}

}  // namespace kvplane::gpu
