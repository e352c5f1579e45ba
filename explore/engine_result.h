// SPDX-License-Identifier: Apache-2.0
/// What a result says of the lookup engine where it is not the TLM form alone.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "model/index/table_engine.h"

namespace kvplane::explore {

/// Rows of the section `index`; none for a TimedTable.
[[nodiscard]] nlohmann::ordered_json engine_figures(const index::TableEngine& engine);
/// Their lines of the summary.
void print_engine(std::ostream& out, const nlohmann::ordered_json& index);

}  // namespace kvplane::explore
