// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/trace.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "host_driver/workload/kvplane_trace.h"
#include "host_driver/workload/line_reader.h"
#include "host_driver/workload/mooncake.h"
#include "host_driver/workload/qwen.h"
#include "model/common/errors.h"

namespace kvplane::workload {
namespace {

constexpr std::array<std::pair<std::string_view, TraceFormat>, 5> kNames{
    {{"auto", TraceFormat::kAuto},
     {"mooncake", TraceFormat::kMooncake},
     {"qwen", TraceFormat::kQwen},
     {"azure", TraceFormat::kAzure},
     {"kvplane", TraceFormat::kKvplane}}};

}  // namespace

TraceFormat parse_format(std::string_view name) {
    for (const auto& [known, format] : kNames) {
        if (known == name) return format;
    }
    throw UserError(fmt::format(
        "unknown trace format '{}'; known are auto, mooncake, qwen, azure, kvplane", name));
}

std::string_view name_of(TraceFormat format) {
    for (const auto& [name, known] : kNames) {
        if (known == format) return name;
    }
    throw InvariantError("name_of: unknown trace format");
}

TraceFormat detect_format(const std::string& path) {
    LineReader lines(path);
    if (!lines.next()) throw UserError(path, 1, "the trace is empty");
    const std::string_view line = lines.line();
    const auto has = [&](std::string_view text) { return line.find(text) != line.npos; };
    if (line.starts_with("TIMESTAMP,")) return TraceFormat::kAzure;
    if (line[line.find_first_not_of(" \t")] != '{') {
        lines.fail(
            "the first line is neither a JSON object (mooncake, qwen, kvplane) nor the header "
            "TIMESTAMP,ContextTokens,GeneratedTokens (azure)");
    }
    if (has("\"kvplane-trace/")) return TraceFormat::kKvplane;
    return has("\"chat_id\"") ? TraceFormat::kQwen : TraceFormat::kMooncake;
}

RawTrace read_raw_trace(const std::string& path, TraceFormat format, const TraceOptions& options) {
    switch (format) {
        case TraceFormat::kAuto:
            return read_raw_trace(path, detect_format(path), options);
        case TraceFormat::kMooncake:
            return read_mooncake(path);
        case TraceFormat::kQwen:
            return read_qwen(path);
        case TraceFormat::kAzure:
            return read_azure(path, options.azure, options.seed);
        case TraceFormat::kKvplane:
            return read_kvplane(path);
    }
    throw InvariantError("read_raw_trace: unknown trace format");
}

Workload read_trace(const std::string& path, TraceFormat format, const TraceOptions& options) {
    return assemble(read_raw_trace(path, format, options), options.assemble);
}

}  // namespace kvplane::workload
