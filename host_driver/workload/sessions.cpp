// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/sessions.h"

#include <algorithm>

namespace kvplane::workload {
namespace {

/// Shorter prefixes are taken for shared instructions.
constexpr std::uint32_t kShortestPrefix = 3;

}  // namespace

std::vector<std::uint32_t> detect_sessions(const RawTrace& trace,
                                           const std::vector<std::uint32_t>& order,
                                           const std::vector<IdTree::Node>& nodes,
                                           std::size_t node_count) {
    std::vector<std::uint32_t> sharers(node_count, 0);
    for (const IdTree::Node node : nodes) ++sharers[node];

    /// For each node, 1 + the place in `order` of the latest request that ends there.
    std::vector<std::uint32_t> latest(node_count, 0);
    std::vector<std::uint32_t> sessions(trace.requests.size(), 0);
    std::uint32_t count = 0;
    for (std::uint32_t place = 0; place < order.size(); ++place) {
        const RawRequest& request = trace.requests[order[place]];
        const IdTree::Node* path = nodes.data() + request.first_id;
        std::uint32_t continued = 0;
        for (std::uint32_t i = 0; i < request.id_count; ++i) {
            const bool common = std::uint64_t{sharers[path[i]]} * 100 > order.size();
            if (!common) continued = std::max(continued, latest[path[i]]);
        }
        sessions[order[place]] = continued > 0 ? sessions[order[continued - 1]] : ++count;
        const std::uint32_t full = request.input_tokens / trace.tokens_per_id;
        if (full >= kShortestPrefix) latest[path[full - 1]] = place + 1;
    }
    return sessions;
}

}  // namespace kvplane::workload
