// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host_driver/workload/id_tree.h"
#include "host_driver/workload/request.h"
#include "model/block/key.h"

namespace kvplane::workload {

/// Makes the distinct blocks of a workload from chains of ids, in order of first reference, and
/// appends each chain's blocks to Workload::refs.
class BlockTable {
public:
    struct Chain {
        std::span<const IdTree::Node> nodes;  ///< root first
        std::span<const std::uint64_t> ids;   ///< of the same nodes
        std::uint32_t tokens = 0;             ///< of the prompt
        std::uint64_t salt = 0;               ///< of its blocks' keys; nodes are of one salt each
    };

    /// Fills `workload`, whose tokens_per_block is set and which must outlive the table. One of the
    /// two sizes must divide the other.
    BlockTable(Workload& workload, std::size_t nodes, std::uint32_t tokens_per_id,
               block::Slice slice);

    /// Makes room for the blocks of a chain, so that the table is allocated once. Optional.
    void announce(const Chain& chain);
    void reserve();

    /// Appends the blocks of a chain, ceil(tokens / tokens_per_block) of them.
    void append(const Chain& chain);

private:
    /// Blocks with consecutive indices, in chain order.
    struct Run {
        BlockIndex first;
        std::uint32_t count = 0;
        std::uint32_t next = kNoRun;
    };
    /// What of a node has been made.
    struct NodeBlocks {
        std::uint32_t first_run = kNoRun;
        std::uint32_t last_run = kNoRun;
        std::uint32_t made = 0;
        std::uint32_t announced = 0;
        block::PrefixHash prefix;          ///< at the end of the last block made
        BlockIndex tip = block::kNoBlock;  ///< the last block made
    };
    static constexpr std::uint32_t kNoRun = UINT32_MAX;

    void append_split(const Chain& chain);
    void append_grouped(const Chain& chain);
    void extend_node(const Chain& chain, std::size_t at, const NodeBlocks& before,
                     std::uint32_t count);
    [[nodiscard]] BlockIndex make_block(block::PrefixHash prefix, BlockIndex parent,
                                        std::uint32_t depth, std::uint64_t salt);

    Workload& m_workload;
    std::uint32_t m_tokens_per_id;
    std::uint32_t m_blocks_per_id;  ///< 1 where ids are not split
    std::uint32_t m_ids_per_block;  ///< 1 where ids are not grouped
    block::Slice m_slice;
    std::vector<NodeBlocks> m_nodes;
    std::vector<Run> m_runs;
};

}  // namespace kvplane::workload
