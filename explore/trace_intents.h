// SPDX-License-Identifier: Apache-2.0
/// `kvplane trace intents`: what passes the queue pairs of a card, for people.
#pragma once

#include <ostream>
#include <string>

namespace kvplane::explore {

/// Prints the log of `kvplane run --intents` (intent_log.h), or the 64-byte descriptors
/// (engine::Intent) that `path` holds one behind the other, as the ring of a driver does: a line
/// each or, with `json`, rows {"schema": "kvplane.trace/1", "rows": [...]}. A `record` is an
/// intent, a block of its gather list, a completion or an event. What any card would refuse,
/// whatever its registers say, is named in `flaw`. Returns 1 where there is any such, else 0.
/// Throws UserError where `path` cannot be read or is neither.
int print_intents(const std::string& path, bool json, std::ostream& out);

}  // namespace kvplane::explore
