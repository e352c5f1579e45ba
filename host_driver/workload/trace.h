// SPDX-License-Identifier: Apache-2.0
/// Traces in files: one door for every format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host_driver/workload/assemble.h"
#include "host_driver/workload/azure.h"
#include "host_driver/workload/raw_trace.h"
#include "host_driver/workload/request.h"

namespace kvplane::workload {

/// How a trace file is written; each format is described in the header of its reader. kAuto: the
/// first line that is not blank decides.
enum class TraceFormat { kAuto, kMooncake, kQwen, kAzure, kKvplane };

struct TraceOptions {
    AssembleOptions assemble{};
    AzureConfig azure{};     ///< how sessions are drawn where the trace has lengths only
    std::uint64_t seed = 1;  ///< of that draw
};

/// The format of that name (auto, mooncake, qwen, azure, kvplane). Throws UserError for another.
[[nodiscard]] TraceFormat parse_format(std::string_view name);
[[nodiscard]] std::string_view name_of(TraceFormat format);

/// The format of the file, by its first line that is not blank. Throws UserError where the file
/// cannot be read, is empty or begins like none of them.
[[nodiscard]] TraceFormat detect_format(const std::string& path);

/// The trace as its file gives it. Throws UserError with file, line and key for bad input.
[[nodiscard]] RawTrace read_raw_trace(const std::string& path, TraceFormat format,
                                      const TraceOptions& options);

/// The workload of the trace, as assemble() makes it.
[[nodiscard]] Workload read_trace(const std::string& path, TraceFormat format,
                                  const TraceOptions& options);

}  // namespace kvplane::workload
