// SPDX-License-Identifier: Apache-2.0
/// The rows of a placement study, as JSON and as a table (docs/placement.md has every key).
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "explore/place_config.h"
#include "host_driver/control/place.h"

namespace kvplane::explore {

/// What a row is about: `workload` and `seed`.
[[nodiscard]] nlohmann::ordered_json row_of(const std::string& workload, std::uint64_t seed);

/// Adds the bounds of a budget.
void add_bounds(nlohmann::ordered_json& row, const control::BoundsRow& bounds,
                const PlacementConfig& config);
/// Adds an arm at a budget and what came of it.
void add_arm(nlohmann::ordered_json& row, const control::PlaceRow& arm);

/// All rows, for people.
void print_table(const nlohmann::ordered_json& rows, const PlacementConfig& config,
                 std::ostream& out);

}  // namespace kvplane::explore
