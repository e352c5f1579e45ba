// SPDX-License-Identifier: Apache-2.0
/// Small workloads written out by hand.
#pragma once

#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "host_driver/control/read_trace.h"
#include "host_driver/workload/request.h"

namespace kvplane::control {

/// The workload whose requests read these chains, root first; a name means one block. Requests
/// arrive a second apart.
inline workload::Workload chains(const std::vector<std::vector<std::string>>& requests) {
    workload::Workload workload;
    std::map<std::string, block::BlockIndex> known;
    for (const auto& names : requests) {
        workload::Request request;
        request.arrival = Time::from_s(static_cast<std::int64_t>(workload.requests.size()));
        request.first_ref = workload.refs.size();
        request.block_count = static_cast<std::uint32_t>(names.size());
        request.input_tokens = request.block_count * workload.tokens_per_block;
        block::BlockIndex parent = block::kNoBlock;
        for (const std::string& name : names) {
            const auto next = static_cast<std::uint32_t>(workload.blocks.size());
            const auto [it, fresh] = known.try_emplace(name, block::BlockIndex{next});
            if (fresh) workload.blocks.push_back({.key = {0, next}, .parent = parent});
            parent = it->second;
            workload.refs.push_back(parent);
        }
        workload.requests.push_back(request);
    }
    return workload;
}

/// Random forests with chains of up to six blocks.
inline workload::Workload random_workload(std::uint64_t seed, std::size_t requests) {
    std::mt19937_64 random(seed);
    std::vector<std::vector<std::string>> all;
    for (std::size_t i = 0; i < requests; ++i) {
        std::string name;
        std::vector<std::string> chain;
        const std::uint64_t length = 1 + random() % 6;
        for (std::uint64_t k = 0; k < length; ++k) {
            name += static_cast<char>('a' + random() % (k < 2 ? 3 : 2));
            chain.push_back(name);
        }
        all.push_back(chain);
    }
    return chains(all);
}

/// Each request's whole chain as one read set.
inline ReadTrace read_sets(const workload::Workload& workload) {
    ReadTrace trace;
    for (const auto& request : workload.requests) trace.read(workload.chain(request));
    return trace;
}

}  // namespace kvplane::control
