// SPDX-License-Identifier: Apache-2.0
/// What `kvplane config schema` and `kvplane config show` print, for people and as JSON
/// {"schema": "kvplane.config/1", "rows": [...]}, one row for each key.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>

#include "explore/schema.h"
#include "explore/settings.h"

namespace kvplane::explore {

/// Every key: type, unit, default, range, number class, source, description.
void write_schema(std::ostream& out, const Table& table);
/// Rows {key, type, unit, default, range, number_class, source, description}, all text.
[[nodiscard]] nlohmann::ordered_json schema_json(const Table& table);

/// Every key: effective value, origin, number class, unit, source.
void write_settings(std::ostream& out, const Settings& settings);
/// Rows {key, value, origin, number_class, unit, source}, all text.
[[nodiscard]] nlohmann::ordered_json settings_json(const Settings& settings);

}  // namespace kvplane::explore
