// SPDX-License-Identifier: Apache-2.0
/// `kvplane place`: placement policies and offline bounds on one or more workloads, without timing.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "explore/config.h"
#include "host_driver/control/place.h"

namespace kvplane::explore {

struct PlaceOptions {
    std::string config;
    std::vector<std::string> sets{};  ///< path=value
    bool json = false;                ///< one JSON object instead of a table
};

/// Runs the study of the config's section `placement`, which check_place() must pass, and prints it
/// to `out`. Progress on stderr where that is a terminal. Returns the exit code, 0. Throws
/// UserError and InvariantError.
[[nodiscard]] int place(const PlaceOptions& options, std::ostream& out);

/// The arms of a study, each once, in the order of the config's lists.
[[nodiscard]] std::vector<control::PlaceArm> place_arms(const PlacementConfig& config, Bytes block);

/// {"schema": "kvplane.place/1", "rows": [...]}: for each workload, seed and budget the row of its
/// bounds, then one row an arm. `bounds` of an arm's row says whether they hold for it. What goes
/// on is told to `progress`, unless it is nullptr. Throws UserError where the warm-up leaves
/// nothing to count.
[[nodiscard]] nlohmann::ordered_json place_rows(const LoadedConfig& config,
                                                std::ostream* progress = nullptr);

}  // namespace kvplane::explore
