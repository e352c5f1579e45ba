// SPDX-License-Identifier: Apache-2.0
/// The config of a run, from YAML and --set to the struct.
#pragma once

#include <span>
#include <string>

#include "explore/run_config.h"
#include "explore/settings.h"

namespace kvplane::explore {

/// A checked config. `settings` holds every key with its effective value and origin, writes the
/// effective config and gives its hash.
struct LoadedConfig {
    RunConfig run;
    Settings settings;
};

/// Reads the config file at `path` (none: the defaults) and then the `sets` ("path=value"). Throws
/// UserError: one line with place, key and what is wrong.
[[nodiscard]] LoadedConfig load(const std::string& path, std::span<const std::string> sets = {});

}  // namespace kvplane::explore
