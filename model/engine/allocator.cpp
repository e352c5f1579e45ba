// SPDX-License-Identifier: Apache-2.0
#include "model/engine/allocator.h"

#include <fmt/format.h>

#include "model/common/errors.h"

namespace kvplane::engine {

TierAllocator::TierAllocator(Bytes capacity, Bytes block)
    : m_granules_per_block(granules(block)),
      m_capacity(capacity.count / (kGranule.count * m_granules_per_block)) {}

std::optional<TierFrame> TierAllocator::allocate() {
    if (m_used == m_capacity) return std::nullopt;
    ++m_used;
    if (m_free.empty()) {
        m_taken.push_back(true);
        return TierFrame{static_cast<std::uint32_t>(m_taken.size() - 1) * m_granules_per_block};
    }
    const std::uint32_t number = m_free.back();
    m_free.pop_back();
    m_taken[number] = true;
    return TierFrame{number * m_granules_per_block};
}

void TierAllocator::free(TierFrame frame) {
    const std::uint32_t index = number(frame);
    if (frame.granule % m_granules_per_block != 0 || index >= m_taken.size() || !m_taken[index]) {
        throw InvariantError(fmt::format("tier frame {} freed twice", frame.granule));
    }
    m_taken[index] = false;
    m_free.push_back(index);
    --m_used;
}

void TierAllocator::clear() {
    m_used = 0;
    m_taken.clear();
    m_free.clear();
}

bool TierAllocator::allocated(Dpa address) const {
    const std::uint64_t index = address.value / (kGranule.count * m_granules_per_block);
    return index < m_taken.size() && m_taken[index];
}

}  // namespace kvplane::engine
