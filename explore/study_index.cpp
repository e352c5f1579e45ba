// SPDX-License-Identifier: Apache-2.0
#include "explore/study_index.h"

#include <fmt/format.h>

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;
using memory::Corner;

constexpr const char* kDelay = "delay below 22 nm is scaled by an assumed factor";
constexpr const char* kEnergy =
    "energy below 22 nm is scaled by gate data and an assumed margin (5 nm: assumed); wires "
    "between "
    "banks left out";
constexpr const char* kArea =
    "area below 22 nm follows from bit cells and test chips with an assumed floor plan";
constexpr const char* kLeakage = "leakage below 22 nm is scaled by an assumed factor: a sweep";

/// `name`, `name`_low and `name`_high.
void add_range(Json& row, const std::string& name, const std::array<std::uint64_t, 3>& values,
               double unit) {
    constexpr std::array<const char*, 3> kEnds{"_low", "", "_high"};
    for (const std::size_t i : {1U, 0U, 2U}) {
        row[name + kEnds[i]] = static_cast<double>(values[i]) / unit;
    }
}

}  // namespace

block::BlockKey study_key(std::uint64_t n) { return {mix64(n * 0x9E3779B97F4A7C15ULL + 1), n}; }

double idle_lookup_ns(const index::IndexConfig& config) {
    const std::uint32_t cycles =
        index::engine_figures(config).latency_cycles() + index::TlmIndex::kQueueCycles;
    return static_cast<double>(config.clock.cycles(cycles).ps) / 1e3;
}

void add_node_figures(Json& row, const index::IndexConfig& config) {
    constexpr std::array<Corner, 3> kCorners{Corner::kLow, Corner::kTypical, Corner::kHigh};
    for (const StudyNode& node : kStudyNodes) {
        index::IndexConfig at = config;
        at.node = node.node;
        const std::string suffix = std::string("_") + node.name;
        row["lookup_idle_ns" + suffix] = idle_lookup_ns(at);
        std::array<std::uint64_t, 3> energy{};
        std::array<std::uint64_t, 3> area{};
        std::array<std::uint64_t, 3> leakage{};
        for (std::size_t i = 0; i < kCorners.size(); ++i) {
            const index::EngineFigures figures = index::engine_figures(at, kCorners[i]);
            energy[i] = figures.request_read_fj;
            area[i] = figures.area_um2;
            leakage[i] = figures.leakage_uw;
        }
        add_range(row, "lookup_pj" + suffix, energy, 1e3);
        add_range(row, "area_mm2" + suffix, area, 1e6);
        add_range(row, "leakage_mw" + suffix, leakage, 1e3);
    }
    row["in_fit"] = index::engine_figures(config).in_fit;
}

std::vector<StudyColumn> node_columns() {
    std::vector<StudyColumn> columns;
    const auto add = [&](const std::string& name, const std::string& header, const char* unit,
                         const char* assumption) {
        columns.push_back({name, header, unit, assumption});
    };
    for (const StudyNode& node : kStudyNodes) {
        const bool scaled = node.node != memory::SramNode::k22nm;
        const auto basis = [&](const char* assumption) { return scaled ? assumption : ""; };
        const std::string suffix = std::string("_") + node.name;
        const std::string at = std::string(" ") + node.name;
        add("lookup_idle_ns" + suffix, "", "ns",
            scaled ? kDelay : "the engine's clock and its cycles of queueing");
        for (const char* end : {"", "_low", "_high"}) {
            const bool typical = *end == '\0';
            add("lookup_pj" + suffix + end, typical ? "pJ" + at : "", "pJ",
                scaled ? kEnergy : "wires between banks left out");
            add("area_mm2" + suffix + end, typical ? "mm2" + at : "", "mm2", basis(kArea));
            add("leakage_mw" + suffix + end, "", "mW", basis(kLeakage));
        }
    }
    add("in_fit", "in fit", "", "");
    return columns;
}

}  // namespace kvplane::explore
