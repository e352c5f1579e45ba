// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/policies/w_tinylfu.h"

#include <algorithm>

namespace kvplane::control {
namespace {

constexpr std::uint8_t kWindow = 0;
constexpr std::uint8_t kProbation = 1;
constexpr std::uint8_t kProtected = 2;

}  // namespace

WTinyLfu::WTinyLfu(std::uint64_t capacity, std::size_t blocks, const StateSpec& state)
    : m_window_limit(std::max<std::uint64_t>(1, capacity / 100)),
      m_main_limit(capacity - std::min(capacity, m_window_limit)),
      m_protected_limit(m_main_limit * 4 / 5),
      m_segments(blocks, 3),
      m_history(state.lifetime == Lifetime::kSketch ? StateSpec{} : state, blocks, 1),
      m_counts(blocks, 0) {
    if (state.lifetime == Lifetime::kSketch) m_sketch.emplace(state.bytes);
}

void WTinyLfu::on_insert(BlockIndex block, const Moment& /*now*/) {
    m_segments.place(block, kWindow);
    m_counts[block.value] = static_cast<std::uint32_t>(m_history.load(block));
}

void WTinyLfu::on_access(const Access& access) {
    const BlockIndex block = access.block;
    ++m_counts[block.value];
    if (m_sketch) m_sketch->add(block);
    const std::uint8_t segment = m_segments.segment_of(block);
    m_segments.place(block, access.hit && segment == kProbation ? kProtected : segment);
    while (m_segments.size(kProtected) > m_protected_limit) {
        m_segments.place(m_segments.oldest(kProtected), kProbation);
    }
}

void WTinyLfu::on_remove(BlockIndex block) {
    m_segments.drop(block);
    m_history.save(block, m_counts[block.value]);
}

std::uint64_t WTinyLfu::count(BlockIndex block) const {
    return m_sketch ? m_sketch->count(block) : m_counts[block.value];
}

BlockIndex WTinyLfu::victim(const Moment& /*now*/) {
    for (;;) {
        const BlockIndex candidate = m_segments.first(kWindow);
        const BlockIndex probation = m_segments.first(kProbation);
        const BlockIndex main = probation == kNoBlock ? m_segments.first(kProtected) : probation;
        if (candidate == kNoBlock) return main;
        if (main != kNoBlock) {
            if (m_segments.size(kWindow) < m_window_limit) return main;
            if (count(candidate) <= count(main)) return candidate;
        }
        const std::uint64_t main_size = m_segments.size(kProbation) + m_segments.size(kProtected);
        if (main_size >= m_main_limit) {
            if (main == kNoBlock) return candidate;
            m_segments.place(candidate, kProbation);
            return main;
        }
        m_segments.place(candidate, kProbation);
    }
}

Bytes WTinyLfu::state_bytes() const { return m_sketch ? m_sketch->bytes() : m_history.bytes(); }

}  // namespace kvplane::control
