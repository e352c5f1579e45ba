// SPDX-License-Identifier: Apache-2.0
/// What the studies of the index share.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "explore/study.h"
#include "model/index/engine_figures.h"
#include "model/index/resident_index.h"
#include "model/index/tlm_index.h"
#include "model/memory/dram.h"

namespace kvplane::explore {

struct StudyNode {
    memory::SramNode node;
    const char* name;
};
inline constexpr std::array<StudyNode, 3> kStudyNodes{{{memory::SramNode::k22nm, "22nm"},
                                                       {memory::SramNode::k7nm, "7nm"},
                                                       {memory::SramNode::k5nm, "5nm"}}};

/// A key for each number, well spread and never twice.
[[nodiscard]] block::BlockKey study_key(std::uint64_t n);

/// The card's DRAM under the index; block n lives in frame n.
class StudyDram final : public index::RecordReader {
public:
    explicit StudyDram(const memory::DramConfig& config) : m_dram(config) {}

    Time read_record_line(Time at, std::uint64_t line) override {
        return m_dram.access_line(at, {line * kLine.count}, false, {});
    }
    std::optional<block::BlockKey> key_of(std::uint32_t frame) override { return study_key(frame); }

private:
    memory::Dram m_dram;
};

/// An idle SRAM hit, in ns.
[[nodiscard]] double idle_lookup_ns(const index::IndexConfig& config);

/// Adds lookup_idle_ns, energy of a lookup, area and leakage at each node, with ranges.
void add_node_figures(nlohmann::ordered_json& row, const index::IndexConfig& config);
[[nodiscard]] std::vector<StudyColumn> node_columns();

}  // namespace kvplane::explore
