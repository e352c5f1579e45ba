// SPDX-License-Identifier: Apache-2.0
/// How long one step of the engine takes (F14).
#pragma once

#include <cstdint>

#include "host_driver/gpu/node.h"

namespace kvplane::gpu {

/// The work of one step.
struct StepLoad {
    std::uint64_t tokens = 0;          ///< prompt and decoded tokens
    std::uint64_t decode_context = 0;  ///< tokens of context, summed over decoding sequences
    /// Token pairs of prefill attention, doubled: sum over chunks of q (2 ctx + q), with ctx tokens
    /// before a chunk of q.
    std::uint64_t prefill_pairs_x2 = 0;

    void add_chunk(std::uint64_t context, std::uint64_t chunk) {
        tokens += chunk;
        prefill_pairs_x2 += chunk * (2 * context + chunk);
    }
    void add_decode(std::uint64_t context) {
        ++tokens;
        decode_context += context;
    }
};

class StepTime {
public:
    StepTime(const NodeConfig& node, Bytes kv_per_token);

    /// fixed + max(W / BW_w, tokens x 2 P / (F eta)) + prefill attention + KV reads, rounded to the
    /// nearest picosecond.
    [[nodiscard]] Time of(const StepLoad& load) const;
    /// The part of a step that is arithmetic, which no batching can save: tokens x 2 P / (F eta)
    /// and prefill attention.
    [[nodiscard]] Time compute_of(const StepLoad& load) const;

private:
    double m_fixed_ps;
    double m_weights_ps;
    double m_token_ps;      ///< compute of one token
    double m_half_pair_ps;  ///< attention of one (token, context token) pair, halved
    double m_kv_token_ps;   ///< reading one token's KV
};

}  // namespace kvplane::gpu
