// SPDX-License-Identifier: Apache-2.0
#include "model/engine/chunk_table.h"

#include <algorithm>

#include "model/common/crc32c.h"

namespace kvplane::engine {

void ChunkTable::record(std::uint32_t frame, std::span<const std::uint8_t> payload) {
    std::size_t at = frame * chunks(payload.size());
    m_crcs.resize(std::max(m_crcs.size(), at + chunks(payload.size())));
    for (; !payload.empty(); ++at) {
        const std::size_t size = std::min<std::size_t>(m_chunk.count, payload.size());
        m_crcs[at] = crc32c(payload.first(size));
        payload = payload.subspan(size);
    }
}

bool ChunkTable::intact(std::uint32_t frame, std::span<const std::uint8_t> payload) const {
    std::size_t at = frame * chunks(payload.size());
    for (; !payload.empty(); ++at) {
        const std::size_t size = std::min<std::size_t>(m_chunk.count, payload.size());
        if (m_crcs[at] != crc32c(payload.first(size))) return false;
        payload = payload.subspan(size);
    }
    return true;
}

}  // namespace kvplane::engine
