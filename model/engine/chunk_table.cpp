// SPDX-License-Identifier: Apache-2.0
#include "model/engine/chunk_table.h"

#include <algorithm>

#include "model/common/crc32c.h"

namespace kvplane::engine {

std::vector<std::uint32_t> ChunkTable::crcs(std::span<const std::uint8_t> payload) const {
    std::vector<std::uint32_t> made;
    for (; !payload.empty();
         payload = payload.subspan(std::min<std::size_t>(m_chunk.count, payload.size()))) {
        made.push_back(crc32c(payload.first(std::min<std::size_t>(m_chunk.count, payload.size()))));
    }
    return made;
}

void ChunkTable::record(std::uint32_t record, std::span<const std::uint8_t> payload) {
    if (record >= m_crcs.size()) m_crcs.resize(record + 1);
    m_crcs[record] = crcs(payload);
}

bool ChunkTable::intact(std::uint32_t record, std::span<const std::uint8_t> payload) const {
    return record < m_crcs.size() && m_crcs[record] == crcs(payload);
}

void ChunkTable::copy(std::uint32_t from, std::uint32_t to) {
    m_crcs.resize(std::max<std::size_t>(m_crcs.size(), to + 1));
    m_crcs[to] = m_crcs[from];
}

}  // namespace kvplane::engine
