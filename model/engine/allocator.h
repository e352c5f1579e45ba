// SPDX-License-Identifier: Apache-2.0
/// The tier's room, in granules of 4 KiB, for blocks of any size.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/common/flat_map.h"
#include "model/common/units.h"

namespace kvplane::engine {

inline constexpr Bytes kGranule = Bytes::from_kib(4);

/// The granules that `size` bytes take.
[[nodiscard]] constexpr std::uint32_t granules(Bytes size) {
    return static_cast<std::uint32_t>((size.count + kGranule.count - 1) / kGranule.count);
}

/// The most extents of one block: what a hot record can name.
inline constexpr std::size_t kMostExtents = 6;

/// Where a block lies: up to six runs of granules. Every one but the last has the block's size
/// class, the last the remainder: of n granules in k extents the class is n / k, rounded up.
struct Extents {
    std::array<std::uint32_t, kMostExtents> first{};  ///< granule at which each starts
    std::uint8_t count = 0;

    /// The granules of extent `i` of a block of `total` granules.
    [[nodiscard]] std::uint32_t length(std::size_t i, std::uint32_t total) const {
        const std::uint32_t size_class = (total + count - 1) / count;
        return i + 1 < count ? size_class : total - size_class * (count - 1U);
    }
    bool operator==(const Extents&) const = default;
};

/// How the free room lies.
struct Fragmentation {
    std::uint64_t free = 0;     ///< granules
    std::uint64_t extents = 0;  ///< runs of free granules
    std::uint64_t largest = 0;  ///< granules of the longest run
    /// Share of the free room outside the longest run; 0 where nothing is free.
    [[nodiscard]] double external() const {
        return free == 0 ? 0 : 1 - static_cast<double>(largest) / static_cast<double>(free);
    }
};

/// Two-level segregated fit (Masmano, Ripoll, Crespo, Real: TLSF, ECRTS 2004): free runs in bins by
/// size, neighbours merged at once, constant time. Of runs of one bin the last freed goes first.
class TierAllocator {
public:
    explicit TierAllocator(Bytes capacity);

    /// Room for `count` granules, in one extent where there is one long enough, else in as few
    /// equal ones as fit; nothing where no six do. `count` is at least 1.
    [[nodiscard]] std::optional<Extents> allocate(std::uint32_t count);
    /// Gives back what allocate(count) gave. Throws InvariantError where some of it is free.
    void free(const Extents& extents, std::uint32_t count);
    /// Frees all.
    void clear();

    [[nodiscard]] static Dpa address(std::uint32_t granule) { return {granule * kGranule.count}; }
    [[nodiscard]] bool allocated(Dpa address) const;
    [[nodiscard]] std::uint64_t capacity() const { return m_capacity; }  ///< granules
    [[nodiscard]] std::uint64_t used() const { return m_used; }          ///< granules
    [[nodiscard]] Fragmentation fragmentation() const;

private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    static constexpr std::uint32_t kSubdivision = 3;  ///< log2 of bins per power of two
    static constexpr std::size_t kBins = (64 - kSubdivision) << kSubdivision;

    /// A run of free granules; both ends are known by m_by_start and m_by_end.
    struct Run {
        std::uint64_t start = 0;
        std::uint64_t length = 0;
        std::uint32_t previous = kNone;
        std::uint32_t next = kNone;
    };

    [[nodiscard]] static std::size_t bin_of(std::uint64_t length);
    [[nodiscard]] std::size_t next_bin(std::size_t from) const;
    [[nodiscard]] std::uint32_t find(std::uint64_t length) const;
    [[nodiscard]] std::optional<std::uint32_t> take(std::uint64_t length);
    [[nodiscard]] std::optional<Extents> take_all(std::uint32_t count, std::uint8_t parts);
    void give(std::uint64_t start, std::uint64_t length);
    void link(std::uint64_t start, std::uint64_t length);
    void unlink(std::uint32_t run);
    /// Marks granules as taken or free; throws InvariantError where one is so already.
    void mark(std::uint64_t start, std::uint64_t length, bool taken);

    std::uint64_t m_capacity;
    std::uint64_t m_used = 0;
    std::vector<Run> m_runs;
    std::vector<std::uint32_t> m_unused_runs;
    std::array<std::uint32_t, kBins> m_bins{};
    std::array<std::uint64_t, (kBins + 63) / 64> m_filled{};  ///< a bit a bin
    FlatMap<std::uint64_t, std::uint32_t, NumberHash> m_by_start;
    FlatMap<std::uint64_t, std::uint32_t, NumberHash> m_by_end;
    std::vector<std::uint64_t> m_taken;  ///< a bit a granule; grows to the highest ever used
};

}  // namespace kvplane::engine
