// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explore/config.h"

namespace kvplane::explore {

/// Refuses what a placement study would pass over in silence:
/// - keys of a run with a counterpart in `placement` that are set to something else than their
///   default, and any key that `place` does not read where it stands on the command line;
/// - values that stand twice in a list;
/// - a listed policy that can keep none of the listed states, and so would get no row;
/// - rules that never do anything here: stores by intent, since nobody has one, and evictions from
///   a tier without a limit.
/// Throws UserError.
void check_place(const LoadedConfig& config);

}  // namespace kvplane::explore
