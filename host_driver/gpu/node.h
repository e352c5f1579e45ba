// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "model/common/units.h"

namespace kvplane::gpu {

/// A node of GPUs that serves one model. Defaults: 8 x H100 80 GB, TP8, Llama-3-70B BF16.
struct NodeConfig {
    std::string name = "h100x8";
    std::uint64_t parameters = 70'550'000'000;   ///< P
    std::uint32_t layers = 80;                   ///< L
    std::uint32_t hidden = 8192;                 ///< d
    Bytes weights{141'100'000'000};              ///< W, read once a step
    ComputeRate compute{4'350'000'000'000'000};  ///< F x eta: what prefill reaches
    Rate weight_bandwidth{23'300'000'000'000};   ///< BW_w
    Rate kv_bandwidth{24'100'000'000'000};       ///< BW_kv
    Time fixed = Time::from_ms(4);               ///< a step's cost of its own
    Bytes kv_budget = Bytes::from_gib(384);      ///< HBM for KV blocks
};

}  // namespace kvplane::gpu
