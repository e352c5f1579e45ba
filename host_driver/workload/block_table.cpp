// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/block_table.h"

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::workload {
namespace {

constexpr std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) { return a / b + (a % b != 0); }

}  // namespace

BlockTable::BlockTable(Workload& workload, std::size_t nodes, std::uint32_t tokens_per_id,
                       block::Slice slice)
    : m_workload(workload),
      m_tokens_per_id(tokens_per_id),
      m_blocks_per_id(std::max(1U, tokens_per_id / workload.tokens_per_block)),
      m_ids_per_block(std::max(1U, workload.tokens_per_block / tokens_per_id)),
      m_slice(slice),
      m_nodes(nodes) {}

void BlockTable::announce(const Chain& chain) {
    for (std::size_t i = 0; i < chain.nodes.size(); ++i) {
        const auto before = static_cast<std::uint32_t>(i) * m_tokens_per_id;
        const std::uint32_t tokens = std::min(m_tokens_per_id, chain.tokens - before);
        std::uint32_t& announced = m_nodes[chain.nodes[i]].announced;
        announced = std::max(announced, ceil_div(tokens, m_workload.tokens_per_block));
    }
}

void BlockTable::reserve() {
    std::size_t blocks = 0;
    for (const NodeBlocks& node : m_nodes) blocks += node.announced;
    // Grouped ids announce one block an id: too many by up to the size of a group.
    m_workload.blocks.reserve(blocks / m_ids_per_block);
}

void BlockTable::append(const Chain& chain) {
    if (m_ids_per_block > 1) {
        append_grouped(chain);
    } else {
        append_split(chain);
    }
}

void BlockTable::append_split(const Chain& chain) {
    std::vector<BlockIndex>& refs = m_workload.refs;
    std::uint32_t left = ceil_div(chain.tokens, m_workload.tokens_per_block);
    IdTree::Node before = IdTree::kRoot;
    for (std::size_t i = 0; i < chain.nodes.size(); ++i) {
        NodeBlocks& node = m_nodes[chain.nodes[i]];
        const std::uint32_t count = std::min(left, m_blocks_per_id);
        if (node.made < count) extend_node(chain, i, m_nodes[before], count);
        std::uint32_t wanted = count;
        for (std::uint32_t run = node.first_run; wanted > 0; run = m_runs[run].next) {
            const std::uint32_t taken = std::min(wanted, m_runs[run].count);
            for (std::uint32_t k = 0; k < taken; ++k) {
                refs.push_back({m_runs[run].first.value + k});
            }
            wanted -= taken;
        }
        left -= count;
        before = chain.nodes[i];
    }
}

/// Makes the blocks of node `at` of a chain from the first that is missing up to `count`.
void BlockTable::extend_node(const Chain& chain, std::size_t at, const NodeBlocks& before,
                             std::uint32_t count) {
    NodeBlocks& node = m_nodes[chain.nodes[at]];
    const auto depth = static_cast<std::uint32_t>(at) * m_blocks_per_id;
    if (node.made == 0) {
        node.prefix = before.prefix;
        node.tip = before.tip;
    }
    const auto next = static_cast<std::uint32_t>(m_workload.blocks.size());
    const bool joins = node.made > 0 && node.tip.value + 1 == next;
    if (!joins) {
        const auto run = static_cast<std::uint32_t>(m_runs.size());
        m_runs.push_back({.first = {next}});
        (node.made == 0 ? node.first_run : m_runs[node.last_run].next) = run;
        node.last_run = run;
    }
    m_runs[node.last_run].count += count - node.made;
    for (; node.made < count; ++node.made) {
        node.prefix = block::extend(node.prefix, chain.ids[at]);
        node.tip = make_block(node.prefix, node.tip, depth + node.made, chain.salt);
    }
}

/// The last id of a group names its block, a partial group at the end included.
void BlockTable::append_grouped(const Chain& chain) {
    block::PrefixHash prefix;
    BlockIndex parent = block::kNoBlock;
    std::uint32_t depth = 0;
    for (std::size_t first = 0; first < chain.nodes.size(); first += m_ids_per_block, ++depth) {
        const std::size_t last = std::min<std::size_t>(first + m_ids_per_block, chain.nodes.size());
        NodeBlocks& node = m_nodes[chain.nodes[last - 1]];
        if (node.made == 0) {
            for (std::size_t i = first; i < last; ++i) prefix = block::extend(prefix, chain.ids[i]);
            node.prefix = prefix;
            node.tip = make_block(prefix, parent, depth, chain.salt);
            node.made = 1;
        }
        prefix = node.prefix;
        parent = node.tip;
        m_workload.refs.push_back(parent);
    }
}

BlockIndex BlockTable::make_block(block::PrefixHash prefix, BlockIndex parent, std::uint32_t depth,
                                  std::uint64_t salt) {
    if (m_workload.blocks.size() >= block::kNoBlock.value) {
        throw UserError("the workload has more than 2^32 - 2 distinct blocks");
    }
    m_workload.blocks.push_back({block::make_key(prefix, m_slice, salt), parent, depth});
    return {static_cast<std::uint32_t>(m_workload.blocks.size() - 1)};
}

}  // namespace kvplane::workload
