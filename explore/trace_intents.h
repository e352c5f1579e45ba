// SPDX-License-Identifier: Apache-2.0
/// `kvplane trace intents`: descriptors of submission queues, for people.
#pragma once

#include <ostream>
#include <string>

namespace kvplane::explore {

/// Prints the 64-byte descriptors (engine::Intent) that `path` holds one behind the other, as
/// `kvplane run --intents` and the ring of a driver have them: a line each or, with `json`, rows
/// {"schema": "kvplane.trace/1", "rows": [...]}. What the card would refuse is named in `flaw`.
/// Returns 1 where there is any such, else 0. Throws UserError where `path` cannot be read or does
/// not hold whole descriptors.
int print_intents(const std::string& path, bool json, std::ostream& out);

}  // namespace kvplane::explore
