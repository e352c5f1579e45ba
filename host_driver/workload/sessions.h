// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "host_driver/workload/id_tree.h"
#include "host_driver/workload/raw_trace.h"

namespace kvplane::workload {

/// The session of each request, from 1 in order of first appearance, for a trace that does not say.
/// A request continues the session of the latest earlier one whose prompt, up to its last full id,
/// is a prefix of its own; prefixes of fewer than three ids, and those that more than 1 % of the
/// requests share, do not count. Else it begins a session. `order` lists the requests in time;
/// `nodes` are those of RawTrace::ids.
[[nodiscard]] std::vector<std::uint32_t> detect_sessions(const RawTrace& trace,
                                                         const std::vector<std::uint32_t>& order,
                                                         const std::vector<IdTree::Node>& nodes,
                                                         std::size_t node_count);

}  // namespace kvplane::workload
