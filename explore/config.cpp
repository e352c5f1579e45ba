// SPDX-License-Identifier: Apache-2.0
#include "explore/config.h"

#include "explore/run_schema.h"

namespace kvplane::explore {

LoadedConfig load(const std::string& path, std::span<const std::string> sets) {
    RunConfig run;
    Table table = run_table(run);
    Settings settings = load_settings(table, path, sets);
    derive_dram(run, table, settings);
    validate(run, settings);
    return {run, std::move(settings)};
}

}  // namespace kvplane::explore
