// SPDX-License-Identifier: Apache-2.0
/// `kvplane trace`: what a trace holds, and traces from traces or from parameters.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "explore/config.h"
#include "host_driver/workload/generators.h"
#include "host_driver/workload/trace.h"

namespace kvplane::explore {

/// A trace in a file, and how to read it.
struct TraceSource {
    std::string path;
    workload::TraceFormat format = workload::TraceFormat::kAuto;
    workload::TraceOptions options{};
};

/// How to read a trace, from `sets` ("path=value") of seed, workload.time_backwards and
/// workload.azure. Throws UserError.
[[nodiscard]] workload::TraceOptions trace_options(std::span<const std::string> sets);

/// `trace info`: prints what the trace holds in blocks of each of `block_tokens` tokens (empty: of
/// the trace's own ids, and of 16 where the two go together), as tables or, with `json`, as
/// {"schema": "kvplane.trace/1", "rows": [...]} with one row a size, whose keys are the fields of
/// workload::TraceInfo. The span is that of the stamps as they stand. Throws UserError for a bad
/// trace.
void print_trace_info(const TraceSource& source, std::vector<std::uint32_t> block_tokens, bool json,
                      std::ostream& out);

/// `trace convert`: writes the trace in our own format, stamps and ids as they stand, in order of
/// time. Throws UserError for a bad trace, one whose time goes backwards unless the options sort
/// it, or where `out` does not take it.
void convert_trace(const TraceSource& source, std::ostream& out);

/// `trace generate`: writes a workload drawn from parameters in our own format, with ids of
/// `tokens_per_id` tokens. Throws UserError for a bad parameter, or where `out` does not take it.
void generate_trace(const workload::GeneratorConfig& config, std::uint64_t seed,
                    std::uint32_t tokens_per_id, std::ostream& out);
/// The same for the workload of a config, which must not be a trace.
void generate_trace(const LoadedConfig& config, std::ostream& out);

}  // namespace kvplane::explore
