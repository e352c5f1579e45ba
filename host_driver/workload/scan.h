// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host_driver/workload/raw_trace.h"

namespace kvplane::workload {

/// A few documents that are read again and again, and between them documents that are read once:
/// what a policy must not let push out the first. All of it is assumed; the sizes are chosen so
/// that the hot documents (40 GiB at 320 KiB a token) fit a budget of 64 GiB.
struct ScanConfig {
    std::uint32_t requests = 2'000;         ///< 1 to 100,000,000
    std::uint32_t hot_documents = 16;       ///< each as likely as the other; 1 to 4,194,304
    std::uint32_t scan_permille = 500;      ///< of 1,000 requests, those that read once; 0 to 1,000
    std::uint32_t document_tokens = 8'192;  ///< of every prompt; 1 to 16,777,216
    std::uint32_t shared_prefix_tokens = 0;  ///< of these, shared by all; below document_tokens
    std::uint32_t output_tokens = 128;       ///< of every request; 1 to 16,777,216
    double requests_per_second = 1.7;        ///< mean, Poisson; 0.001 to 1,000,000
};

/// Throws UserError that names the generator and the key of a value out of range.
void validate(const ScanConfig& config);

/// The workload, with one id a block of `tokens_per_id` tokens. Draws do not depend on
/// `tokens_per_id`. A session is a document. Throws UserError as validate() does.
[[nodiscard]] RawTrace generate(const ScanConfig& config, std::uint64_t seed,
                                std::uint32_t tokens_per_id);

}  // namespace kvplane::workload
