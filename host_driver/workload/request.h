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

/// One request. `first_ref` and `block_count` name its chain in Workload::refs.
struct Request {
    Time arrival;
    std::uint32_t input_tokens = 0;   ///< at least 1
    std::uint32_t output_tokens = 0;  ///< at least 1
    std::uint64_t first_ref = 0;
    std::uint32_t block_count = 0;  ///< ceil(input_tokens / tokens of a block)
    std::uint32_t session = 0;      ///< requests of one session share a prefix; 0 where not known
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
