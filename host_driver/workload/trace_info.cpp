// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/trace_info.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kvplane::workload {
namespace {

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

Spread spread_of(std::vector<std::uint64_t> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const std::uint64_t sum = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    const auto rank = [&](std::size_t percent) {
        return values[(values.size() * percent + 99) / 100 - 1];
    };
    return {.mean = share(sum, values.size()),
            .p10 = rank(10),
            .p50 = rank(50),
            .p90 = rank(90),
            .p99 = rank(99),
            .max = values.back()};
}

template <typename Field>
Spread spread_over_requests(const Workload& workload, Field field) {
    std::vector<std::uint64_t> values;
    values.reserve(workload.requests.size());
    for (const Request& request : workload.requests) values.push_back(field(request));
    return spread_of(std::move(values));
}

void add_blocks(const Workload& workload, TraceInfo& info) {
    std::vector<bool> twice(workload.blocks.size(), false);
    std::vector<bool> seen(workload.blocks.size(), false);
    for (const BlockIndex b : workload.refs) {
        if (seen[b.value]) twice[b.value] = true;
        seen[b.value] = true;
    }
    const auto again = static_cast<std::uint64_t>(std::count(twice.begin(), twice.end(), true));
    info.block_refs = workload.refs.size();
    info.unique_blocks = workload.blocks.size();
    info.infinite_hit_rate = share(info.block_refs - info.unique_blocks, info.block_refs);
    info.touched_once = share(info.unique_blocks - again, info.unique_blocks);
}

/// The distinct values of a field, with how many requests have each.
template <typename Field>
std::vector<std::uint64_t> group_sizes(const Workload& workload, Field field) {
    std::vector<std::uint32_t> values;
    for (const Request& request : workload.requests) values.push_back(field(request));
    std::sort(values.begin(), values.end());
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i == 0 || values[i] != values[i - 1]) sizes.push_back(0);
        ++sizes.back();
    }
    return sizes;
}

void add_sessions(const Workload& workload, TraceInfo& info) {
    std::vector<std::uint64_t> turns = group_sizes(workload, [](auto& r) { return r.session; });
    info.sessions = turns.size();
    std::erase(turns, 1U);
    info.multi_turn_sessions = turns.size();
    const auto requests = std::accumulate(turns.begin(), turns.end(), std::uint64_t{0});
    info.multi_turn_requests = share(requests, workload.requests.size());
    info.turns = spread_of(std::move(turns));
}

}  // namespace

TraceInfo trace_info(const Workload& workload) {
    TraceInfo info;
    info.requests = workload.requests.size();
    add_blocks(workload, info);
    const Time span = workload.requests.back().arrival - workload.requests.front().arrival;
    info.span_s = span.s();
    info.requests_per_s = span.ps > 0 ? static_cast<double>(info.requests) / span.s() : 0.0;
    info.input_tokens = spread_over_requests(workload, [](auto& r) { return r.input_tokens; });
    info.output_tokens = spread_over_requests(workload, [](auto& r) { return r.output_tokens; });
    info.refs_per_request = spread_over_requests(workload, [](auto& r) { return r.block_count; });
    info.max_read_set = info.refs_per_request.max;
    add_sessions(workload, info);
    info.tenants = group_sizes(workload, [](auto& r) { return r.tenant; }).size();
    return info;
}

}  // namespace kvplane::workload
