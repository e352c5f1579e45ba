// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/mooncake.h"

#include <array>

#include "host_driver/workload/json_record.h"
#include "host_driver/workload/json_trace.h"
#include "host_driver/workload/line_reader.h"

namespace kvplane::workload {
namespace {

enum Key : std::size_t { kTimestamp, kInputLength, kOutputLength };
constexpr std::array<std::string_view, 3> kKeys{"timestamp", "input_length", "output_length"};

}  // namespace

RawTrace read_mooncake(const std::string& path) {
    LineReader lines(path);
    RawTrace trace{.path = path, .tokens_per_id = kMooncakeTokensPerId};
    JsonRecord record({.keys = kKeys, .ids_key = "hash_ids", .other_keys = true});
    while (lines.next()) {
        record.parse(lines);
        RawRequest request;
        request.line = lines.number();
        request.stamp = record.time(kTimestamp, kMilliseconds);
        request.input_tokens = read_tokens(record, kInputLength);
        request.output_tokens = read_tokens(record, kOutputLength);
        append_with_ids(trace, request, record, "hash_ids");
    }
    return trace;
}

}  // namespace kvplane::workload
