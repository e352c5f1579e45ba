// SPDX-License-Identifier: Apache-2.0
#include "explore/config_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

namespace kvplane::explore {
namespace {

nlohmann::ordered_json document(nlohmann::ordered_json rows) {
    return {{"schema", "kvplane.config/1"}, {"rows", std::move(rows)}};
}

/// Where the value in force comes from; the table's source speaks for the default only.
std::string source_of(const Setting& setting) {
    if (setting.is_default()) return setting.info.about.source;
    return fmt::format("set in place of {} ({})", setting.info.default_text,
                       setting.info.about.source);
}

using Cells = std::array<std::string, 6>;

/// Columns as wide as their widest cell; the last one is not padded.
void write_columns(std::ostream& out, const std::vector<Cells>& lines) {
    std::array<std::size_t, 6> width{};
    for (const Cells& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) {
            width[i] = std::max(width[i], line[i].size());
        }
    }
    for (const Cells& line : lines) {
        std::string text;
        for (std::size_t i = 0; i + 1 < line.size(); ++i) {
            text += fmt::format("{:<{}}  ", line[i], width[i]);
        }
        out << text << line.back() << '\n';
    }
}

}  // namespace

void write_schema(std::ostream& out, const Table& table) {
    for (const Row& row : table.rows()) {
        const KeyInfo& info = row.info;
        const std::string unit = info.unit.empty() ? "" : fmt::format(" ({})", info.unit);
        out << fmt::format("{}: {}{}\n", info.path, info.type, unit)
            << fmt::format("    {}\n", info.about.description)
            << fmt::format("    default {}; range {}\n", info.default_text, info.range)
            << fmt::format("    {}: {}\n", to_string(info.about.number_class), info.about.source);
    }
    for (const Section& section : table.sections()) {
        if (!section.from_file) continue;
        out << fmt::format("{}: mapping, or the path of a YAML file that holds it\n", section.path);
    }
    out << "include: path or list of paths\n"
           "    Config files that are read before; what this file says overrides them.\n";
}

nlohmann::ordered_json schema_json(const Table& table) {
    auto rows = nlohmann::ordered_json::array();
    for (const Row& row : table.rows()) {
        const KeyInfo& info = row.info;
        rows.push_back({{"key", info.path},
                        {"type", info.type},
                        {"unit", info.unit},
                        {"default", info.default_text},
                        {"range", info.range},
                        {"number_class", to_string(info.about.number_class)},
                        {"source", info.about.source},
                        {"description", info.about.description}});
    }
    return document(std::move(rows));
}

void write_settings(std::ostream& out, const Settings& settings) {
    std::vector<Cells> lines{{"key", "value", "origin", "class", "unit", "source"}};
    for (const Setting& setting : settings.all()) {
        lines.push_back({setting.info.path, setting.value, setting.origin,
                         std::string(to_string(setting.number_class())),
                         setting.info.unit.empty() ? "-" : setting.info.unit, source_of(setting)});
    }
    write_columns(out, lines);
}

nlohmann::ordered_json settings_json(const Settings& settings) {
    auto rows = nlohmann::ordered_json::array();
    for (const Setting& setting : settings.all()) {
        rows.push_back({{"key", setting.info.path},
                        {"value", setting.value},
                        {"origin", setting.origin},
                        {"number_class", to_string(setting.number_class())},
                        {"unit", setting.info.unit},
                        {"source", source_of(setting)}});
    }
    return document(std::move(rows));
}

}  // namespace kvplane::explore
