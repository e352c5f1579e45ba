// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "host_driver/workload/block_table.h"
#include "host_driver/workload/sessions.h"
#include "model/common/errors.h"
#include "model/common/flat_map.h"
#include "model/common/random.h"

namespace kvplane::workload {
namespace {

[[noreturn]] void fail(const RawTrace& trace, const RawRequest& request,
                       const std::string& message) {
    if (request.line > 0) throw UserError(trace.path, request.line, message);
    throw UserError(trace.path + ": " + message);
}

void check_options(const RawTrace& trace, const AssembleOptions& options) {
    const std::uint32_t block = options.tokens_per_block;
    const std::uint32_t id = trace.tokens_per_id;
    if (!fits(block, trace)) {
        throw UserError(fmt::format(
            "{}: a block of {} tokens does not fit the trace's ids of {} tokens: one must divide "
            "the other",
            trace.path, block, id));
    }
    if (options.buckets < 1 || options.buckets > kBuckets || options.bucket_offset >= kBuckets) {
        throw UserError(fmt::format("buckets: {} from {}: must be 1 to {} from 0 to {}",
                                    options.buckets, options.bucket_offset, kBuckets,
                                    kBuckets - 1));
    }
    if (trace.requests.empty()) throw UserError(trace.path, 1, "the trace has no requests");
}

/// The requests in time, equal stamps in file order.
std::vector<std::uint32_t> time_order(const RawTrace& trace, Backwards backwards) {
    std::vector<std::uint32_t> order(trace.requests.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
        return trace.requests[a].stamp < trace.requests[b].stamp;
    };
    if (backwards == Backwards::kSort) {
        std::stable_sort(order.begin(), order.end(), earlier);
        return order;
    }
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (!earlier(order[i], order[i - 1])) continue;
        const RawRequest& request = trace.requests[i];
        fail(trace, request,
             fmt::format("timestamp: goes backwards, from {} to {}; workload.time_backwards=sort "
                         "takes the trace in order of time",
                         to_string(trace.requests[i - 1].stamp), to_string(request.stamp)));
    }
    return order;
}

/// The arrival of each request of `order`: stamps, with groups of equal ones spread.
std::vector<Time> arrivals(const RawTrace& trace, const std::vector<std::uint32_t>& order,
                           bool spread) {
    const auto stamp = [&](std::size_t i) { return trace.requests[order[i]].stamp; };
    std::vector<Time> out(order.size());
    Time step{0};
    for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
        while (last < order.size() && stamp(last) == stamp(first)) ++last;
        if (last < order.size()) step = stamp(last) - stamp(first);
        const auto count = static_cast<std::int64_t>(last - first);
        for (std::size_t i = first; i < last; ++i) {
            const Int128 part = static_cast<Int128>(step.ps) * static_cast<Int128>(i - first);
            const Time offset{spread ? static_cast<std::int64_t>(part / count) : 0};
            out[i] = stamp(first) + offset;
        }
    }
    return out;
}

/// Tenants have roots of their own where they share nothing.
IdTree::Node root_of(std::uint32_t tenant, IdTree& tree,
                     FlatMap<std::uint64_t, IdTree::Node, NumberHash>& roots) {
    if (tenant == 0) return IdTree::kRoot;
    if (const IdTree::Node* known = roots.find(tenant)) return *known;
    const IdTree::Node made = tree.add_root();
    roots.insert(tenant, made);
    return made;
}

/// The node of each of the trace's ids.
std::vector<IdTree::Node> find_nodes(const RawTrace& trace, Sharing sharing, IdTree& tree) {
    std::vector<IdTree::Node> nodes(trace.ids.size());
    FlatMap<std::uint64_t, IdTree::Node, NumberHash> roots;
    for (const RawRequest& request : trace.requests) {
        const std::uint32_t tenant = sharing == Sharing::kTenant ? request.tenant : 0;
        IdTree::Node node = root_of(tenant, tree, roots);
        for (std::uint64_t i = request.first_id; i < request.first_id + request.id_count; ++i) {
            node = tree.add(node, trace.ids[i]);
            nodes[i] = node;
        }
    }
    return nodes;
}

bool in_buckets(const RawTrace& trace, const RawRequest& request, const AssembleOptions& options) {
    const std::uint64_t id = trace.ids[request.first_id + (request.id_count > 1 ? 1 : 0)];
    const auto bucket = static_cast<std::uint32_t>(id % kBuckets);
    return (bucket + kBuckets - options.bucket_offset) % kBuckets < options.buckets;
}

/// The places in `order` of the requests that are taken.
std::vector<std::uint32_t> take(const RawTrace& trace, const std::vector<std::uint32_t>& order,
                                const AssembleOptions& options) {
    std::vector<std::uint32_t> taken;
    for (std::uint32_t place = 0; place < order.size(); ++place) {
        if (in_buckets(trace, trace.requests[order[place]], options)) taken.push_back(place);
    }
    if (taken.empty()) {
        throw UserError(fmt::format("{}: no request falls into the {} buckets from {}", trace.path,
                                    options.buckets, options.bucket_offset));
    }
    return taken;
}

class Assembly {
public:
    Assembly(const RawTrace& trace, const AssembleOptions& options)
        : m_trace(trace),
          m_nodes(find_nodes(trace, options.sharing, m_tree)),
          m_order(time_order(trace, options.backwards)),
          m_arrivals(arrivals(trace, m_order, options.spread_equal_stamps)),
          m_taken(take(trace, m_order, options)) {
        m_workload.tokens_per_block = options.tokens_per_block;
        const bool named = std::any_of(trace.requests.begin(), trace.requests.end(),
                                       [](const RawRequest& r) { return r.session != 0; });
        if (!named) m_sessions = detect_sessions(trace, m_order, m_nodes, m_tree.size());
    }

    Workload build(const AssembleOptions& options) {
        add_requests();
        BlockTable table(m_workload, m_tree.size(), m_trace.tokens_per_id, options.slice);
        for (const std::uint32_t place : m_taken) table.announce(chain(place, options));
        table.reserve();
        for (const std::uint32_t place : m_taken) table.append(chain(place, options));
        return std::move(m_workload);
    }

private:
    [[nodiscard]] BlockTable::Chain chain(std::uint32_t place,
                                          const AssembleOptions& options) const {
        const RawRequest& raw = m_trace.requests[m_order[place]];
        const bool owned = options.sharing == Sharing::kTenant;
        return {.nodes = {m_nodes.data() + raw.first_id, raw.id_count},
                .ids = {m_trace.ids.data() + raw.first_id, raw.id_count},
                .tokens = raw.input_tokens,
                .salt = owned ? private_salt(options.salt, raw.tenant) : options.salt};
    }

    void add_requests() {
        std::vector<std::uint32_t> index_of(m_trace.requests.size(), kNoRequest);
        std::uint64_t refs = 0;
        m_workload.requests.reserve(m_taken.size());
        for (const std::uint32_t place : m_taken) {
            const std::uint32_t source = m_order[place];
            const RawRequest& raw = m_trace.requests[source];
            const std::uint32_t block = m_workload.tokens_per_block;
            Request request{.arrival = m_arrivals[place],
                            .input_tokens = raw.input_tokens,
                            .output_tokens = raw.output_tokens,
                            .first_ref = refs,
                            .block_count = (raw.input_tokens + block - 1) / block,
                            .session = m_sessions.empty() ? raw.session : m_sessions[source],
                            .tenant = raw.tenant,
                            .after = raw.after == kNoRequest ? kNoRequest : index_of[raw.after],
                            .pause = raw.pause};
            refs += request.block_count;
            index_of[source] = static_cast<std::uint32_t>(m_workload.requests.size());
            m_workload.requests.push_back(request);
        }
        m_workload.refs.reserve(refs);
    }

    const RawTrace& m_trace;
    IdTree m_tree;
    std::vector<IdTree::Node> m_nodes;
    std::vector<std::uint32_t> m_order;
    std::vector<Time> m_arrivals;
    std::vector<std::uint32_t> m_taken;
    std::vector<std::uint32_t> m_sessions;
    Workload m_workload;
};

}  // namespace

std::uint64_t private_salt(std::uint64_t salt, std::uint32_t tenant) {
    return tenant == 0 ? salt : mix64(mix64(salt) + tenant);
}

bool fits(std::uint32_t tokens_per_block, const RawTrace& trace) {
    return tokens_per_block != 0 && (tokens_per_block % trace.tokens_per_id == 0 ||
                                     trace.tokens_per_id % tokens_per_block == 0);
}

RawTrace in_time_order(RawTrace trace, Backwards backwards) {
    const std::vector<std::uint32_t> order = time_order(trace, backwards);
    if (std::is_sorted(order.begin(), order.end())) return trace;
    std::vector<std::uint32_t> index_of(order.size(), kNoRequest);
    std::vector<RawRequest> requests;
    requests.reserve(order.size());
    for (const std::uint32_t source : order) {
        RawRequest request = trace.requests[source];
        if (request.after != kNoRequest) request.after = index_of[request.after];
        if (request.after == kNoRequest) request.pause = Time{};
        index_of[source] = static_cast<std::uint32_t>(requests.size());
        requests.push_back(request);
    }
    trace.requests = std::move(requests);
    return trace;
}

Workload assemble(const RawTrace& trace, const AssembleOptions& options) {
    check_options(trace, options);
    return Assembly(trace, options).build(options);
}

}  // namespace kvplane::workload
