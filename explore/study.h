// SPDX-License-Identifier: Apache-2.0
/// `kvplane study`: what a part of the card costs and how fast it is, over a grid.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "explore/output.h"
#include "explore/run_config.h"

namespace kvplane::explore {

struct StudyOptions {
    std::string config;               ///< none: the defaults
    std::vector<std::string> sets{};  ///< path=value
    std::string out;                  ///< folder of study.json and its plots; none: not written
    std::string synthesis{};          ///< of `sram`: what tb/synthesis/synthesise wrote; or none
    bool json = false;                ///< one JSON object instead of a table
};

/// One column of a study's rows.
struct StudyColumn {
    std::string name;        ///< the key of the rows
    std::string header;      ///< of the table; empty: not in the table
    std::string unit;        ///< empty where it has none
    std::string assumption;  ///< what the figure rests on without a source; empty: nothing
};

/// A figure: a Vega-Lite specification without its data, which are the rows.
struct StudyPlot {
    std::string name;
    nlohmann::ordered_json spec;
};

struct Study {
    std::string name;
    std::vector<StudyColumn> columns;
    nlohmann::ordered_json rows;
    std::vector<StudyPlot> plots;
};

/// Tells a terminal how far a study is; silent elsewhere.
class StudyProgress {
public:
    explicit StudyProgress(std::size_t total);
    void advance();

private:
    std::size_t m_total;
    std::size_t m_done = 0;
    ProgressLine m_line;
    double m_start;
};

/// How much SRAM an index needs and what it buys: hit ratio, latency, share of a promotion, energy,
/// area.
[[nodiscard]] Study study_sram(const RunConfig& config);
/// How fast the lookup engine answers under load: latency, conflicts, kicks, energy.
[[nodiscard]] Study study_lookup(const RunConfig& config);

/// What a promotion takes by mechanism, block, link, ring, fence, depth and load: latency, stages,
/// share of the lookup, bandwidth, closed forms beside them.
[[nodiscard]] Study study_path(const RunConfig& config);

/// {"schema": "kvplane.study/1", "study", "columns": [{name, unit, assumption}], "rows"}.
[[nodiscard]] nlohmann::ordered_json study_document(const Study& study);

/// The time of one promotion of a block without any load, from the decision to the poll that sees
/// it: one destination. A ring in the card's memory is read there; that its host waits for the
/// write of a descriptor before it rings is left out. `lookup` and `commit`: what the index takes.
[[nodiscard]] Time zero_load_promotion(const RunConfig& config, Bytes block, Time lookup,
                                       Time commit);

/// The names of the studies.
[[nodiscard]] std::vector<std::string> study_names();

/// Runs the study `name` and prints it to `out`. Returns the exit code, 0. Throws UserError.
[[nodiscard]] int study(const std::string& name, const StudyOptions& options, std::ostream& out);

}  // namespace kvplane::explore
