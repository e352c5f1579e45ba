// SPDX-License-Identifier: Apache-2.0
/// A workload: requests in order of arrival, each with the chain of blocks of its prompt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/block/block.h"
#include "model/block/key.h"
#include "model/common/units.h"

namespace kvplane::workload {

using block::BlockIndex;

/// No request: `Request::after` of one that waits for nothing.
inline constexpr std::uint32_t kNoRequest = UINT32_MAX;

/// One request. `first_ref` and `block_count` name its chain in Workload::refs.
///
/// Open loop (`after` is kNoRequest): it arrives at `arrival`. Closed loop: it arrives `pause`
/// after requests[after] has completed, which only a run that serves requests can know; `arrival`
/// is then an estimate (the generator says how), for views without service times and for replay in
/// open loop. `after` always names an earlier request.
struct Request {
    Time arrival{};
    std::uint32_t input_tokens = 0;   ///< at least 1
    std::uint32_t output_tokens = 0;  ///< at least 1
    std::uint64_t first_ref = 0;
    std::uint32_t block_count = 0;  ///< ceil(input_tokens / tokens of a block)
    std::uint32_t session = 0;      ///< from 1, requests of one share a prefix; 0 where not known
    std::uint32_t tenant = 0;
    std::uint32_t after = kNoRequest;
    Time pause{};
};

/// A distinct block of a workload.
struct BlockEntry {
    block::BlockKey key;
    BlockIndex parent = block::kNoBlock;
    std::uint32_t depth = 0;  ///< blocks before it in its chain
};

/// Requests sorted by arrival (equal stamps in file order), their chains root first, and the
/// distinct blocks in order of first reference. Every chain is closed: the parent of refs[i] is
/// refs[i - 1], or kNoBlock at a root.
struct Workload {
    std::uint32_t tokens_per_block = 16;
    std::vector<Request> requests;
    std::vector<BlockIndex> refs;
    std::vector<BlockEntry> blocks;

    /// Every block of the request's prompt, root first, a partial last block included.
    [[nodiscard]] std::span<const BlockIndex> chain(const Request& request) const {
        return {refs.data() + request.first_ref, request.block_count};
    }
    /// The blocks that can be shared: those full of prompt tokens.
    [[nodiscard]] std::span<const BlockIndex> full_chain(const Request& request) const {
        return {refs.data() + request.first_ref, request.input_tokens / tokens_per_block};
    }
};

}  // namespace kvplane::workload
