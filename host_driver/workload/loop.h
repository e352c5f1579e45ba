// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host_driver/workload/raw_trace.h"

namespace kvplane::workload {

/// Documents read round and round in one order: where LRU keeps exactly what it needs last, once
/// the loop is longer than the budget. All of it is assumed; the default loop has 160 GiB at
/// 320 KiB a token, so that it exceeds budgets of 64 and 128 GiB and fits one of 256.
struct LoopConfig {
    std::uint32_t documents = 64;            ///< 1 to 4,194,304
    std::uint32_t rounds = 20;               ///< 1 to 1,000,000; documents x rounds to 100,000,000
    std::uint32_t document_tokens = 8'192;   ///< of every prompt; 1 to 16,777,216
    std::uint32_t shared_prefix_tokens = 0;  ///< of these, shared by all; below document_tokens
    std::uint32_t output_tokens = 128;       ///< of every request; 1 to 16,777,216
    double requests_per_second = 1.7;        ///< mean, Poisson; 0.001 to 1,000,000
};

/// Throws UserError that names the generator and the key of a value out of range.
void validate(const LoopConfig& config);

/// The workload, with one id a block of `tokens_per_id` tokens. Only arrivals are drawn. A session
/// is a document. Throws UserError as validate() does.
[[nodiscard]] RawTrace generate(const LoopConfig& config, std::uint64_t seed,
                                std::uint32_t tokens_per_id);

}  // namespace kvplane::workload
