// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/json_trace.h"

#include <fmt/format.h>

namespace kvplane::workload {

std::uint32_t read_tokens(const JsonRecord& record, std::size_t key) {
    return static_cast<std::uint32_t>(record.whole(key, 1, kMostTokens));
}

void append_with_ids(RawTrace& trace, RawRequest request, const JsonRecord& record,
                     std::string_view ids_key) {
    const std::span<const std::uint64_t> ids = record.ids();
    const std::size_t expected =
        (request.input_tokens + trace.tokens_per_id - 1) / trace.tokens_per_id;
    if (ids.size() != expected) {
        record.fail(ids_key,
                    fmt::format("has {} ids where {} tokens at {} an id need {}", ids.size(),
                                request.input_tokens, trace.tokens_per_id, expected));
    }
    request.first_id = trace.ids.size();
    request.id_count = static_cast<std::uint32_t>(ids.size());
    trace.ids.insert(trace.ids.end(), ids.begin(), ids.end());
    trace.requests.push_back(request);
}

}  // namespace kvplane::workload
