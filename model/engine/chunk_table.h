// SPDX-License-Identifier: Apache-2.0
/// What tells whether a block's bytes are as they were written: a CRC32C for each chunk of each
/// block in the tier. Kept only in runs that carry bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/common/units.h"

namespace kvplane::engine {

class ChunkTable {
public:
    /// Chunks of `chunk` bytes; a block's last one may be shorter.
    explicit ChunkTable(Bytes chunk) : m_chunk(chunk) {}

    /// `payload` was written as the copy of hot record number `record`.
    void record(std::uint32_t record, std::span<const std::uint8_t> payload);
    /// Whether every chunk of `payload`, read from that copy, has the CRC recorded last.
    [[nodiscard]] bool intact(std::uint32_t record, std::span<const std::uint8_t> payload) const;
    /// The copy of `from` was written again as that of `to`.
    void copy(std::uint32_t from, std::uint32_t to);

private:
    [[nodiscard]] std::vector<std::uint32_t> crcs(std::span<const std::uint8_t> payload) const;

    Bytes m_chunk;
    std::vector<std::vector<std::uint32_t>> m_crcs;  ///< by record, then chunk
};

}  // namespace kvplane::engine
