// SPDX-License-Identifier: Apache-2.0
/// What a policy remembers of blocks that have left HBM: for how long, and in how many bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "host_driver/control/block_lists.h"
#include "model/block/block.h"
#include "model/common/units.h"

namespace kvplane::control {

/// How long what was learned about a block outlives its copy in HBM.
enum class Lifetime {
    kReset,   ///< it dies with the copy
    kGhosts,  ///< of the blocks that left last, as many as fit
    kSketch,  ///< of all blocks, approximately, in hashed cells
    kFull,    ///< for ever
};

/// Lifetime, and the bytes it may take (kGhosts, kSketch; the others take what they take).
struct StateSpec {
    Lifetime lifetime = Lifetime::kReset;
    Bytes bytes;
};

/// What one remembered block costs a host: 8 B of key, 8 B of value.
inline constexpr Bytes kGhostBytes{16};

/// The sizes a sketch may have: below the first its cells collide at once, and the last is more
/// than a host would give.
inline constexpr Bytes kSmallestSketch{64};
inline constexpr Bytes kLargestSketch = Bytes::from_gib(1);

/// Throws std::invalid_argument with one sentence if a sketch is too small or too large.
void check(const StateSpec& spec);

/// How many blocks a spec remembers: 0, a number, or UINT64_MAX.
[[nodiscard]] std::uint64_t ghosts(const StateSpec& spec);

/// One number per block that outlives the block: larger means more worth keeping. Values of a
/// sketch never fall below what was saved, and may exceed it.
class History {
public:
    /// `cell`: bytes of a sketch's cell, 1 (saturates at 255) or 8.
    History(const StateSpec& spec, std::size_t blocks, std::uint32_t cell);

    /// The block leaves with this value.
    void save(BlockIndex block, std::uint64_t value);
    /// The block is back. What is known of it, 0 if nothing. A ghost's entry is freed.
    [[nodiscard]] std::uint64_t load(BlockIndex block);

    /// What a host would spend. Of kFull: on the blocks seen so far.
    [[nodiscard]] Bytes bytes() const;

private:
    [[nodiscard]] std::uint64_t cell(BlockIndex block, std::uint32_t row) const;
    [[nodiscard]] std::uint64_t load_cells(BlockIndex block) const;
    void save_cells(BlockIndex block, std::uint64_t value);

    StateSpec m_spec;
    std::uint32_t m_cell;
    std::uint64_t m_columns = 0;
    std::uint64_t m_seen = 0;
    std::vector<std::uint64_t> m_values;  ///< by block, or cells of 8 B by row
    std::vector<std::uint8_t> m_bytes;    ///< cells of 1 B by row
    BlockLists m_ghosts;
};

/// References per block, approximately and with ageing: four rows of 4-bit counters, all halved
/// after ten references per column (TinyLFU). Counts lie between 0 and 15.
class FrequencySketch {
public:
    /// Uses at most `bytes`; at least 64.
    explicit FrequencySketch(Bytes bytes);

    void add(BlockIndex block);
    [[nodiscard]] std::uint32_t count(BlockIndex block) const;
    [[nodiscard]] Bytes bytes() const { return Bytes{m_cells.size()}; }

private:
    [[nodiscard]] std::uint64_t nibble(BlockIndex block, std::uint32_t row) const;
    void age();

    std::uint64_t m_columns;
    std::uint64_t m_added = 0;
    std::vector<std::uint8_t> m_cells;
};

}  // namespace kvplane::control
