// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host_driver/workload/raw_trace.h"

namespace kvplane::workload {

/// Tokens that one id of a Mooncake trace stands for.
inline constexpr std::uint32_t kMooncakeTokensPerId = 512;

/// Reads a Mooncake trace (FAST'25 release): a JSON object a line with `timestamp` (ms, from the
/// start of the trace), `input_length` and `output_length` (tokens, at least 1) and `hash_ids`, one
/// for each 512 tokens of the prompt, the last one for what is left. An id stands for the prompt up
/// to its end. Other keys are ignored. Stamps are given as they stand, in file order.
///
/// Throws UserError with file, line and key for anything else.
[[nodiscard]] RawTrace read_mooncake(const std::string& path);

}  // namespace kvplane::workload
