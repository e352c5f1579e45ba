// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/policies/arc.h"

#include <algorithm>

namespace kvplane::control {
namespace {

/// T1 and B1; T2 and B2.
constexpr std::uint8_t kOnce = 0;
constexpr std::uint8_t kOften = 1;

}  // namespace

void Arc::on_insert(BlockIndex block, const Moment& /*now*/) {
    const std::uint8_t ghost = m_ghosts.list_of(block);
    if (ghost == BlockLists::kNowhere) {
        m_segments.place(block, kOnce);
        return;
    }
    const std::uint64_t once = m_ghosts.size(kOnce);
    const std::uint64_t often = m_ghosts.size(kOften);
    if (ghost == kOnce) {
        m_target = std::min(m_capacity, m_target + std::max<std::uint64_t>(1, often / once));
    } else {
        m_target -= std::min(m_target, std::max<std::uint64_t>(1, once / often));
    }
    m_ghosts.erase(block);
    m_segments.place(block, kOften);
}

void Arc::on_access(const Access& access) {
    m_segments.place(access.block, access.hit ? kOften : m_segments.segment_of(access.block));
}

void Arc::on_remove(BlockIndex block) {
    const std::uint8_t segment = m_segments.segment_of(block);
    m_segments.drop(block);
    if (ghosts(m_state) == 0) return;
    m_ghosts.push_back(segment, block);
    const std::uint64_t total = m_ghosts.size(kOnce) + m_ghosts.size(kOften);
    if (total > ghosts(m_state)) {
        const bool once = m_ghosts.size(kOften) == 0 ||
                          (m_ghosts.size(kOnce) > 0 &&
                           m_segments.size(kOnce) + m_ghosts.size(kOnce) > m_capacity);
        m_ghosts.erase(m_ghosts.front(once ? kOnce : kOften));
    }
    m_most_ghosts = std::max(m_most_ghosts, m_ghosts.size(kOnce) + m_ghosts.size(kOften));
}

BlockIndex Arc::victim(const Moment& /*now*/) {
    const BlockIndex once = m_segments.first(kOnce);
    const BlockIndex often = m_segments.first(kOften);
    if (often == kNoBlock) return once;
    return once != kNoBlock && m_segments.size(kOnce) > m_target ? once : often;
}

Bytes Arc::state_bytes() const {
    return kGhostBytes * (m_state.lifetime == Lifetime::kFull ? m_most_ghosts : ghosts(m_state));
}

}  // namespace kvplane::control
