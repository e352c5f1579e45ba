// SPDX-License-Identifier: Apache-2.0
/// What the readers of JSON-lines traces share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host_driver/workload/json_record.h"
#include "host_driver/workload/raw_trace.h"

namespace kvplane::workload {

/// Units of JsonRecord::time.
inline constexpr int kNanoseconds = 0;
inline constexpr int kMilliseconds = 6;
inline constexpr int kSeconds = 9;

/// A number of tokens: 1 to kMostTokens.
[[nodiscard]] std::uint32_t read_tokens(const JsonRecord& record, std::size_t key);

/// Appends `request` and the ids of the line, which must be one for each `tokens_per_id` tokens of
/// its prompt and one for a rest.
void append_with_ids(RawTrace& trace, RawRequest request, const JsonRecord& record,
                     std::string_view ids_key);

}  // namespace kvplane::workload
