// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host_driver/workload/id_tree.h"
#include "host_driver/workload/raw_trace.h"
#include "host_driver/workload/request.h"
#include "model/block/key.h"

namespace kvplane::workload {

/// What to do where time goes backwards from one request to the next.
enum class Backwards { kError, kSort };

/// Whose blocks two prompts that begin alike have in common.
enum class Sharing {
    kTenant,  ///< those of one tenant: equal contents of two tenants are blocks with other keys
    kAll,     ///< everybody's
};

/// The sharing salt of a tenant's private blocks, from that of the workload. Tenant 0, which
/// requests without a tenant belong to, has the workload's own.
[[nodiscard]] std::uint64_t private_salt(std::uint64_t salt, std::uint32_t tenant);

/// Session buckets are counted in sixteenths.
inline constexpr std::uint32_t kBuckets = 16;

/// How a trace becomes a workload.
struct AssembleOptions {
    /// Tokens of a block: a divisor or a multiple of the trace's tokens per id.
    std::uint32_t tokens_per_block = 16;
    /// Takes the requests whose bucket is one of `buckets` from `bucket_offset` on, modulo 16.
    /// 1 to 16, and 0 to 15.
    std::uint32_t buckets = kBuckets;
    std::uint32_t bucket_offset = 0;
    Backwards backwards = Backwards::kError;
    /// Equal stamps are spread evenly, in file order, up to the next distinct stamp; the last group
    /// over the step before it.
    bool spread_equal_stamps = true;
    /// Hashed into every block's key.
    block::Slice slice{.first_layer = 0, .last_layer = 79, .head_group = 0};
    std::uint64_t salt = 0;
    Sharing sharing = Sharing::kTenant;
};

/// The workload of a trace.
///
/// - Order: by stamp, equal stamps in file order.
/// - Buckets: a request's bucket is the second of the trace's ids of its prompt (the first is
///   shared by all in the traces at hand), or its only id, modulo 16. What is left keeps the
///   arrivals it has in the whole trace.
/// - Blocks: where an id stands for more tokens than a block has, block k of an id is a block of
///   its own for each k, and the blocks of a partial id are as many as its tokens begin; the last
///   may be partial. Where it stands for fewer, a block is a chain of ids. Block and id are named
///   by everything before them: `block::extend` with the id at each block.
/// - Tenants: with Sharing::kTenant two of them have no block in common, whatever their prompts.
/// - Sessions: those of the trace. Where it gives none, a request continues the session of the
///   latest earlier one whose prompt, up to its last full id, is a prefix of its own (sessions.h
///   has the rule in full); else it begins one.
/// - `after` of a request whose predecessor is left out becomes kNoRequest.
///
/// Throws UserError where the trace is empty, nothing is left of it, time goes backwards (with
/// Backwards::kError), the block does not fit the ids, or there are 2^32 - 1 blocks or more.
[[nodiscard]] Workload assemble(const RawTrace& trace, const AssembleOptions& options);

/// The trace with its requests in order of time, equal stamps in file order. `after` of a request
/// whose predecessor comes later becomes kNoRequest. Throws UserError where time goes backwards and
/// `backwards` is kError.
[[nodiscard]] RawTrace in_time_order(RawTrace trace, Backwards backwards);

/// Whether blocks of that many tokens can be made of the trace's ids.
[[nodiscard]] bool fits(std::uint32_t tokens_per_block, const RawTrace& trace);

}  // namespace kvplane::workload
