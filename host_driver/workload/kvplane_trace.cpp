// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/kvplane_trace.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "host_driver/workload/json_record.h"
#include "host_driver/workload/json_trace.h"
#include "host_driver/workload/line_reader.h"

namespace kvplane::workload {
namespace {

constexpr std::string_view kFormat = "kvplane-trace/1";
constexpr std::string_view kIdsKey = "ids";

enum HeaderKey : std::size_t { kFormatKey, kTokensPerId };
constexpr std::array<std::string_view, 2> kHeaderKeys{"format", "tokens_per_id"};

enum Key : std::size_t {
    kTimestamp,
    kInputLength,
    kOutputLength,
    kSession,
    kTenant,
    kAfter,
    kPause
};
constexpr std::array<std::string_view, 7> kKeys{
    "timestamp_ns", "input_length", "output_length", "session", "tenant", "after", "pause_ns"};

void read_header(LineReader& lines, RawTrace& trace) {
    if (!lines.next()) return;
    JsonRecord header({.keys = kHeaderKeys, .ids_key = {}});
    header.parse(lines);
    if (header.text(kFormatKey) != kFormat) {
        header.fail(kHeaderKeys[kFormatKey], fmt::format("must be '{}'", kFormat));
    }
    trace.tokens_per_id = static_cast<std::uint32_t>(header.whole(kTokensPerId, 1, kMostTokens));
}

void read_closed_loop(const JsonRecord& record, std::size_t requests, RawRequest& request) {
    if (record.has(kAfter) != record.has(kPause)) {
        record.fail(kKeys[record.has(kAfter) ? kPause : kAfter],
                    "missing: after and pause_ns go together");
    }
    if (!record.has(kAfter)) return;
    if (requests == 0) record.fail(kKeys[kAfter], "the first request cannot wait for another");
    request.after = static_cast<std::uint32_t>(record.whole(kAfter, 0, requests - 1));
    request.pause = record.time(kPause, kNanoseconds);
}

}  // namespace

RawTrace read_kvplane(const std::string& path) {
    LineReader lines(path);
    RawTrace trace{.path = path};
    read_header(lines, trace);
    JsonRecord record({.keys = kKeys, .ids_key = kIdsKey});
    while (lines.next()) {
        record.parse(lines);
        RawRequest request;
        request.line = lines.number();
        request.stamp = record.time(kTimestamp, kNanoseconds);
        request.input_tokens = read_tokens(record, kInputLength);
        request.output_tokens = read_tokens(record, kOutputLength);
        if (record.has(kSession)) {
            request.session = static_cast<std::uint32_t>(record.whole(kSession, 0, UINT32_MAX));
        }
        if (record.has(kTenant)) {
            request.tenant = static_cast<std::uint32_t>(record.whole(kTenant, 0, UINT32_MAX));
        }
        read_closed_loop(record, trace.requests.size(), request);
        append_with_ids(trace, request, record, kIdsKey);
    }
    return trace;
}

void write_kvplane(const RawTrace& trace, std::ostream& out) {
    fmt::memory_buffer text;
    const auto end = std::back_inserter(text);
    out << fmt::format("{{\"format\":\"{}\",\"tokens_per_id\":{}}}\n", kFormat,
                       trace.tokens_per_id);
    for (const RawRequest& r : trace.requests) {
        text.clear();
        fmt::format_to(end, "{{\"timestamp_ns\":{},\"input_length\":{},\"output_length\":{}",
                       r.stamp.ps / 1000, r.input_tokens, r.output_tokens);
        if (r.session != 0) {
            fmt::format_to(end, ",\"session\":{}", r.session);
        }
        if (r.tenant != 0) fmt::format_to(end, ",\"tenant\":{}", r.tenant);
        if (r.after != kNoRequest) {
            fmt::format_to(end, ",\"after\":{},\"pause_ns\":{}", r.after, r.pause.ps / 1000);
        }
        const std::uint64_t* ids = trace.ids.data() + r.first_id;
        fmt::format_to(end, ",\"ids\":[{}]}}\n", fmt::join(ids, ids + r.id_count, ","));
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
    }
}

}  // namespace kvplane::workload
