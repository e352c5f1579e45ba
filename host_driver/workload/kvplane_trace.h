// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>

#include "host_driver/workload/raw_trace.h"

namespace kvplane::workload {

/// Reads a trace in our own format: docs/trace_format.md. Throws UserError with file, line and key
/// for anything that the format does not allow.
[[nodiscard]] RawTrace read_kvplane(const std::string& path);

/// Writes a trace in our own format. Reading it gives every field of `trace` back, but for its path
/// and line numbers. Whether the stream took it all is for the caller to check.
void write_kvplane(const RawTrace& trace, std::ostream& out);

}  // namespace kvplane::workload
