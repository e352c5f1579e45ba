// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/policies/s3_fifo.h"

#include <algorithm>

namespace kvplane::control {
namespace {

constexpr std::uint8_t kSmall = 0;
constexpr std::uint8_t kMain = 1;
constexpr std::uint8_t kMostHits = 3;

}  // namespace

S3Fifo::S3Fifo(std::uint64_t capacity, std::size_t blocks, const StateSpec& state)
    : m_small_limit(std::max<std::uint64_t>(1, capacity / 10)),
      m_state(state),
      m_segments(blocks, 2),
      m_ghosts(blocks, 1),
      m_hits(blocks, 0) {}

void S3Fifo::on_insert(BlockIndex block, const Moment& /*now*/) {
    const bool ghost = m_ghosts.list_of(block) == 0;
    if (ghost) m_ghosts.erase(block);
    m_segments.place(block, ghost ? kMain : kSmall);
    m_hits[block.value] = 0;
}

void S3Fifo::on_access(const Access& access) {
    std::uint8_t& hits = m_hits[access.block.value];
    if (access.hit && hits < kMostHits) ++hits;
}

void S3Fifo::on_remove(BlockIndex block) {
    const bool ghost = m_segments.segment_of(block) == kSmall && ghosts(m_state) > 0;
    m_segments.drop(block);
    if (!ghost) return;
    if (m_ghosts.size(0) == ghosts(m_state)) m_ghosts.erase(m_ghosts.front(0));
    m_ghosts.push_back(0, block);
    m_most_ghosts = std::max(m_most_ghosts, m_ghosts.size(0));
}

BlockIndex S3Fifo::victim(const Moment& /*now*/) {
    for (;;) {
        const BlockIndex small = m_segments.first(kSmall);
        const BlockIndex main = m_segments.first(kMain);
        const bool from_small =
            main == kNoBlock || (small != kNoBlock && m_segments.size(kSmall) >= m_small_limit);
        const BlockIndex block = from_small ? small : main;
        if (block == kNoBlock) return kNoBlock;
        std::uint8_t& hits = m_hits[block.value];
        if (from_small ? hits < 2 : hits == 0) return block;
        hits = from_small ? 0 : static_cast<std::uint8_t>(hits - 1);
        m_segments.place(block, kMain);
    }
}

Bytes S3Fifo::state_bytes() const {
    return kGhostBytes * (m_state.lifetime == Lifetime::kFull ? m_most_ghosts : ghosts(m_state));
}

}  // namespace kvplane::control
