// SPDX-License-Identifier: Apache-2.0
/// The tier's frames: contiguous room for one block each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/common/units.h"

namespace kvplane::engine {

/// A place for one block in the tier: the number of its first 4 KiB granule.
struct TierFrame {
    std::uint32_t granule = 0;
};

inline constexpr Bytes kGranule = Bytes::from_kib(4);

/// The granules that `size` bytes take.
[[nodiscard]] constexpr std::uint32_t granules(Bytes size) {
    return static_cast<std::uint32_t>((size.count + kGranule.count - 1) / kGranule.count);
}

class TierAllocator {
public:
    /// Room for as many blocks of `block` bytes as fit in `capacity`. A block takes whole granules.
    TierAllocator(Bytes capacity, Bytes block);

    /// A free frame, lowest address first among those never used, else the last one freed; nothing
    /// where the tier is full.
    [[nodiscard]] std::optional<TierFrame> allocate();
    /// Throws InvariantError where `frame` is not allocated.
    void free(TierFrame frame);

    /// Frees all.
    void clear();

    /// Which of the tier's frames `frame` is, from 0; and back.
    [[nodiscard]] std::uint32_t number(TierFrame frame) const {
        return frame.granule / m_granules_per_block;
    }
    [[nodiscard]] TierFrame frame(std::uint32_t number) const {
        return {number * m_granules_per_block};
    }
    [[nodiscard]] Dpa address(TierFrame frame) const { return {frame.granule * kGranule.count}; }
    [[nodiscard]] bool allocated(Dpa address) const;
    [[nodiscard]] std::uint64_t capacity() const { return m_capacity; }  ///< blocks
    [[nodiscard]] std::uint64_t used() const { return m_used; }          ///< blocks

private:
    std::uint32_t m_granules_per_block;
    std::uint64_t m_capacity;
    std::uint64_t m_used = 0;
    std::vector<bool> m_taken;  ///< grows to the highest frame ever used
    std::vector<std::uint32_t> m_free;
};

}  // namespace kvplane::engine
