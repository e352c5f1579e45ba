// SPDX-License-Identifier: Apache-2.0
/// What the lookup engine's logic takes beside its SRAM, as synthesised.
#pragma once

#include <string>

#include "explore/study.h"

namespace kvplane::explore {

/// Adds the columns logic_gates, logic_flip_flops and logic_path (gates in the longest path) to
/// the rows of `study sram`, by their sram_kib, from the file `path` that tb/synthesis/synthesise
/// writes. Null where no row of the file has the shape of `config` with that SRAM. Throws UserError
/// where `path` is no such file.
void add_logic(Study& study, const index::IndexConfig& config, const std::string& path);

}  // namespace kvplane::explore
