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

    /// `payload` was written to frame number `frame`. All payloads have one length.
    void record(std::uint32_t frame, std::span<const std::uint8_t> payload);
    /// Whether every chunk of `payload`, read from `frame`, has the CRC recorded last.
    [[nodiscard]] bool intact(std::uint32_t frame, std::span<const std::uint8_t> payload) const;

private:
    [[nodiscard]] std::size_t chunks(std::size_t size) const {
        return (size + m_chunk.count - 1) / m_chunk.count;
    }

    Bytes m_chunk;
    std::vector<std::uint32_t> m_crcs;  ///< by frame, then chunk
};

}  // namespace kvplane::engine
