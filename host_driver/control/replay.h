// SPDX-License-Identifier: Apache-2.0
/// Placement without time: requests are served one after the other, moves take no time. Answers
/// what a policy does to hits and traffic.
///
/// Pinned (the default), a request's whole chain, a partial last block included, is one read set
/// that must be in HBM together. Unpinned, its blocks are read one at a time, root first, and each
/// may leave as soon as it was read.
#pragma once

#include <cstdint>

#include "host_driver/control/config.h"
#include "host_driver/control/residency.h"
#include "host_driver/workload/request.h"
#include "model/block/ledger.h"

namespace kvplane::control {

/// Evicting ahead of need, in hundredths of the frames: when more than `start` are used after a
/// request, blocks leave until `start - batch` are. The default evicts on demand.
struct Watermark {
    std::uint32_t start = 100;  ///< 1 to 100
    std::uint32_t batch = 0;    ///< below start
};

struct ReplayConfig {
    std::uint64_t frames = 0;                           ///< HBM budget, blocks
    std::uint64_t tier_blocks = Residency::kUnbounded;  ///< tier capacity, blocks
    ControlConfig control{.demotion = Demotion::kOnEvict};
    Watermark watermark{};
    bool pinned = true;
    /// How many requests ahead wait in the queue that queue-lru is told of.
    std::uint32_t queue = 0;
    /// Requests before this one are served but not counted. One request at least is.
    std::uint64_t first_counted = 0;
};

/// Totals over the counted requests.
struct ReplayResult {
    bool feasible = true;  ///< every read set fits in the budget; else nothing was replayed
    std::uint64_t largest_read_set = 0;
    std::uint64_t block_refs = 0;
    std::uint64_t hits = 0;      ///< found in HBM
    std::uint64_t distinct = 0;  ///< U: distinct blocks that were referenced
    block::LedgerCounts counts;
    std::uint64_t recomputed = 0;      ///< computed before and again, private ones included
    std::uint64_t private_copies = 0;  ///< computed for one request alone, behind a hole
    /// Blocks in HBM that a request did not read, summed over the requests: what rent is paid on.
    std::uint64_t idle_block_requests = 0;
    std::uint64_t dead_writes = 0;         ///< demotions whose copy was never promoted
    std::uint64_t unreachable_blocks = 0;  ///< at the end
    /// What the host remembers of blocks beyond their stay in HBM: replacement, admission, store
    /// rule and tier eviction together.
    Bytes state_bytes;

    /// The bounds of bounds.h allow no recomputing and keep every tier copy, and they count all
    /// requests, whole read sets in HBM. Whether they bound this result.
    bool bounded = true;

    /// A_read and A_traffic of METRICS.md, F9.
    [[nodiscard]] double a_read() const;
    [[nodiscard]] double a_traffic() const;
};

/// Replays the requests in order. Throws InvariantError on a breach of write-once or of the chain
/// rule, or where no request is counted, std::invalid_argument with one sentence where the config
/// makes no sense.
[[nodiscard]] ReplayResult replay(const workload::Workload& workload, const ReplayConfig& config);

}  // namespace kvplane::control
