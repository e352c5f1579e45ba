// SPDX-License-Identifier: Apache-2.0
#include "explore/study_logic.h"

#include <fmt/format.h>

#include <fstream>

#include "model/common/errors.h"
#include "model/index/engine_figures.h"
#include "model/index/tlm_index.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "kvplane.synthesis/1";
constexpr const char* kKind =
    "generic gates of Yosys, SRAM left out: no foundry's cells, no wires, no timing";
struct Column {
    const char* name;    ///< of the study
    const char* header;  ///< the same, in a table
    const char* figure;  ///< of the file
};
constexpr Column kColumns[] = {{"logic_gates", "gates", "gates"},
                               {"logic_flip_flops", "flip-flops", "flip_flops"},
                               {"logic_path", "gates in path", "gate_path"}};

/// The file's rows. A row has the engine's parameters and the figures, all of them counts.
Json read_rows(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw UserError(path + ": cannot be read");
    const Json document = Json::parse(file, nullptr, false);
    if (!document.is_object() || document.value("schema", "") != kSchema ||
        !document.contains("rows") || !document["rows"].is_array()) {
        throw UserError(fmt::format("{}: is not {}, which tb/synthesis/synthesise --json writes",
                                    path, kSchema));
    }
    for (const Json& row : document["rows"]) {
        for (const Column& column : kColumns) {
            const auto figure = row.find(column.figure);
            if (figure == row.end() || !figure->is_number_unsigned()) {
                throw UserError(fmt::format("{}: a row without '{}'", path, column.figure));
            }
        }
    }
    return document["rows"];
}

/// The parameters of the RTL that `config` is.
Json shape_of(const index::IndexConfig& config) {
    return {{"BucketsLog2", index::cuckoo_config(config).buckets_log2},
            {"Slots", config.slots},
            {"Banks", config.banks},
            {"Stash", config.stash},
            {"KickLimit", config.kick_limit},
            {"SramLatency", index::engine_figures(config).sram_cycles},
            {"StoreBuffer", config.store_buffer}};
}

/// The row of that shape; null where there is none, or where the RTL is not built so at all.
const Json* find(const Json& rows, const index::IndexConfig& config) {
    if (config.choices != 2 || config.fingerprint_bits != 0) return nullptr;
    const Json shape = shape_of(config);
    for (const Json& row : rows) {
        bool same = true;
        for (const auto& [name, value] : shape.items()) same &= row.value(name, Json()) == value;
        if (same) return &row;
    }
    return nullptr;
}

}  // namespace

void add_logic(Study& study, const index::IndexConfig& config, const std::string& path) {
    const Json rows = read_rows(path);
    for (const Column& column : kColumns) {
        study.columns.push_back({column.name, column.header, "", kKind});
    }
    for (Json& row : study.rows) {
        index::IndexConfig sized = config;
        sized.sram = Bytes::from_kib(row["sram_kib"].get<std::uint64_t>());
        const Json* found = find(rows, sized);
        for (const Column& column : kColumns) {
            row[column.name] = found != nullptr ? (*found)[column.figure] : Json();
        }
    }
}

}  // namespace kvplane::explore
