// SPDX-License-Identifier: Apache-2.0
/// Placement without time: each request's whole chain is one read set, which must be in HBM
/// together; moves take no time. Answers what a policy does to hits and traffic.
#pragma once

#include <cstdint>

#include "host_driver/control/config.h"
#include "host_driver/workload/request.h"
#include "model/block/ledger.h"

namespace kvplane::control {

struct ReplayConfig {
    std::uint64_t frames = 0;                 ///< HBM budget, blocks
    std::uint64_t tier_blocks = UINT64_MAX;   ///< tier capacity, blocks
    Demotion demotion = Demotion::kOnEvict;
};

struct ReplayResult {
    bool feasible = true;        ///< every read set fits in the budget; else nothing was replayed
    std::uint64_t largest_read_set = 0;
    std::uint64_t block_refs = 0;
    std::uint64_t hits = 0;      ///< found in HBM
    block::LedgerCounts counts;
    std::uint64_t dead_writes = 0;
    double a_read = 0;
    double a_traffic = 0;
};

/// Replays the requests in order. Throws InvariantError on a breach of write-once.
[[nodiscard]] ReplayResult replay(const workload::Workload& workload, const ReplayConfig& config);

}  // namespace kvplane::control
