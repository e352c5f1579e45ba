// SPDX-License-Identifier: Apache-2.0
#include "explore/trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "explore/output.h"
#include "explore/run_schema.h"
#include "host_driver/workload/kvplane_trace.h"
#include "host_driver/workload/trace_info.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;

void add_spread(Json& row, const std::string& name, const workload::Spread& spread) {
    row[name + "_mean"] = spread.mean;
    row[name + "_p10"] = spread.p10;
    row[name + "_p50"] = spread.p50;
    row[name + "_p90"] = spread.p90;
    row[name + "_p99"] = spread.p99;
    row[name + "_max"] = spread.max;
}

/// What `trace info` counts in where the user does not say: the blocks of serving systems.
constexpr std::uint32_t kUsualBlock = 16;

Json make_row(const TraceSource& source, workload::TraceFormat format,
              const workload::RawTrace& raw, std::uint32_t block_tokens) {
    workload::AssembleOptions options = source.options.assemble;
    options.spread_equal_stamps = false;
    options.tokens_per_block = block_tokens;
    const workload::Workload trace = workload::assemble(raw, options);
    const workload::TraceInfo info = workload::trace_info(trace);
    Json row;
    row["trace"] = source.path;
    row["format"] = workload::name_of(format);
    row["tokens_per_block"] = trace.tokens_per_block;
    row["requests"] = info.requests;
    row["block_refs"] = info.block_refs;
    row["unique_blocks"] = info.unique_blocks;
    row["max_read_set"] = info.max_read_set;
    row["infinite_hit_rate"] = info.infinite_hit_rate;
    row["touched_once"] = info.touched_once;
    row["span_s"] = info.span_s;
    row["requests_per_s"] = info.requests_per_s;
    add_spread(row, "input_tokens", info.input_tokens);
    add_spread(row, "output_tokens", info.output_tokens);
    add_spread(row, "refs_per_request", info.refs_per_request);
    row["sessions"] = info.sessions;
    row["multi_turn_sessions"] = info.multi_turn_sessions;
    row["multi_turn_requests"] = info.multi_turn_requests;
    add_spread(row, "turns", info.turns);
    row["tenants"] = info.tenants;
    return row;
}

void print_table(const Json& row, std::ostream& out) {
    for (const auto& [key, value] : row.items()) {
        const std::string text = value.is_number_float()
                                     ? fmt::format("{:.4f}", value.get<double>())
                                 : value.is_string() ? value.get<std::string>()
                                                     : value.dump();
        out << fmt::format("{:<22} {}\n", key, text);
    }
}

}  // namespace

workload::TraceOptions trace_options(std::span<const std::string> sets) {
    workload::TraceOptions options;
    WorkloadConfig config;
    Table table;
    table.key("seed", options.seed, between<std::uint64_t>(0, UINT64_MAX),
              {NumberClass::kChosen, "free choice", "Seed of every random draw."});
    table.group("workload", [&] { describe_reading(table, config); });
    static_cast<void>(load_sets(table, sets));
    options.assemble.backwards = config.time_backwards;
    options.azure = config.azure;
    return options;
}

void print_trace_info(const TraceSource& source, std::vector<std::uint32_t> block_tokens, bool json,
                      std::ostream& out) {
    const workload::TraceFormat format = source.format == workload::TraceFormat::kAuto
                                             ? workload::detect_format(source.path)
                                             : source.format;
    const workload::RawTrace raw = workload::read_raw_trace(source.path, format, source.options);
    if (block_tokens.empty()) {
        block_tokens = {raw.tokens_per_id};
        if (raw.tokens_per_id != kUsualBlock && workload::fits(kUsualBlock, raw)) {
            block_tokens.push_back(kUsualBlock);
        }
    }
    Json object;
    object["schema"] = "kvplane.trace/1";
    object["rows"] = Json::array();
    for (const std::uint32_t tokens : block_tokens) {
        const Json row = make_row(source, format, raw, tokens);
        if (json) {
            object["rows"].push_back(row);
        } else {
            if (tokens != block_tokens.front()) out << '\n';
            print_table(row, out);
        }
    }
    if (json) out << object.dump(2) << '\n';
    finish(out);
}

void convert_trace(const TraceSource& source, std::ostream& out) {
    workload::RawTrace raw = workload::read_raw_trace(source.path, source.format, source.options);
    workload::write_kvplane(
        workload::in_time_order(std::move(raw), source.options.assemble.backwards), out);
    finish(out);
}

void generate_trace(const workload::GeneratorConfig& config, std::uint64_t seed,
                    std::uint32_t tokens_per_id, std::ostream& out) {
    workload::write_kvplane(workload::generate(config, seed, tokens_per_id), out);
    finish(out);
}

void generate_trace(const LoadedConfig& config, std::ostream& out) {
    const RunConfig& run = config.run;
    config.settings.require(!run.workload.trace, {"workload.trace"},
                            "trace generate draws a workload, and this config has a trace: leave "
                            "it out, or use trace convert");
    generate_trace(run.workload.generated, run.seed, run.block.tokens, out);
}

}  // namespace kvplane::explore
