// SPDX-License-Identifier: Apache-2.0
#include "model/engine/allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "model/common/errors.h"

namespace kvplane::engine {

TierAllocator::TierAllocator(Bytes capacity) : m_capacity(capacity.count / kGranule.count) {
    clear();
}

void TierAllocator::clear() {
    m_used = 0;
    m_runs.clear();
    m_unused_runs.clear();
    m_bins.fill(kNone);
    m_filled.fill(0);
    m_by_start.clear();
    m_by_end.clear();
    m_taken.clear();
    if (m_capacity != 0) link(0, m_capacity);
}

/// Lengths below 2^kSubdivision have a bin each; above, each power of two has 2^kSubdivision.
std::size_t TierAllocator::bin_of(std::uint64_t length) {
    if (length >> kSubdivision == 0) return static_cast<std::size_t>(length);
    const auto power = static_cast<std::size_t>(std::bit_width(length)) - 1;
    const std::uint64_t part = (length >> (power - kSubdivision)) & ((1U << kSubdivision) - 1);
    return ((power - kSubdivision + 1) << kSubdivision) + static_cast<std::size_t>(part);
}

/// The first bin from `from` on that holds a run; kBins where none does.
std::size_t TierAllocator::next_bin(std::size_t from) const {
    for (std::size_t word = from / 64; word < m_filled.size(); ++word) {
        std::uint64_t bits = m_filled[word];
        if (word == from / 64) bits &= ~std::uint64_t{0} << from % 64;
        if (bits != 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    }
    return kBins;
}

/// A run of at least `length`: the newest one that fits of its own bin, else one of a larger bin.
std::uint32_t TierAllocator::find(std::uint64_t length) const {
    const std::size_t own = bin_of(length);
    const std::uint32_t newest = m_bins[own];
    if (newest != kNone && m_runs[newest].length >= length) return newest;
    const std::size_t larger = next_bin(own + 1);
    if (larger != kBins) return m_bins[larger];
    std::uint32_t run = newest;
    while (run != kNone && m_runs[run].length < length) run = m_runs[run].next;
    return run;
}

std::optional<std::uint32_t> TierAllocator::take(std::uint64_t length) {
    const std::uint32_t found = find(length);
    if (found == kNone) return std::nullopt;
    const Run run = m_runs[found];
    unlink(found);
    if (run.length > length) link(run.start + length, run.length - length);
    mark(run.start, length, true);
    m_used += length;
    return static_cast<std::uint32_t>(run.start);
}

std::optional<Extents> TierAllocator::take_all(std::uint32_t count, std::uint8_t parts) {
    Extents made{.count = parts};
    for (std::uint8_t i = 0; i < parts; ++i) {
        const std::optional<std::uint32_t> start = take(made.length(i, count));
        if (!start) {
            while (i-- > 0) give(made.first[i], made.length(i, count));
            return std::nullopt;
        }
        made.first[i] = *start;
    }
    return made;
}

std::optional<Extents> TierAllocator::allocate(std::uint32_t count) {
    if (count > m_capacity - m_used) return std::nullopt;
    for (std::uint8_t parts = 1; parts <= std::min<std::uint32_t>(kMostExtents, count); ++parts) {
        // Some numbers of extents would leave nothing for the last.
        if ((count + parts - 1) / parts * (parts - 1U) >= count) continue;
        if (const std::optional<Extents> made = take_all(count, parts)) return made;
    }
    return std::nullopt;
}

void TierAllocator::free(const Extents& extents, std::uint32_t count) {
    for (std::uint8_t i = 0; i < extents.count; ++i) {
        give(extents.first[i], extents.length(i, count));
    }
}

void TierAllocator::give(std::uint64_t start, std::uint64_t length) {
    mark(start, length, false);
    m_used -= length;
    if (const std::uint32_t* before = m_by_end.find(start)) {
        const std::uint32_t run = *before;
        start = m_runs[run].start;
        length += m_runs[run].length;
        unlink(run);
    }
    if (const std::uint32_t* behind = m_by_start.find(start + length)) {
        const std::uint32_t run = *behind;
        length += m_runs[run].length;
        unlink(run);
    }
    link(start, length);
}

void TierAllocator::link(std::uint64_t start, std::uint64_t length) {
    std::uint32_t run = static_cast<std::uint32_t>(m_runs.size());
    if (m_unused_runs.empty()) {
        m_runs.emplace_back();
    } else {
        run = m_unused_runs.back();
        m_unused_runs.pop_back();
    }
    const std::size_t bin = bin_of(length);
    m_runs[run] = {.start = start, .length = length, .next = m_bins[bin]};
    if (m_bins[bin] != kNone) m_runs[m_bins[bin]].previous = run;
    m_bins[bin] = run;
    m_filled[bin / 64] |= std::uint64_t{1} << bin % 64;
    m_by_start.insert(start, run);
    m_by_end.insert(start + length, run);
}

void TierAllocator::unlink(std::uint32_t index) {
    const Run run = m_runs[index];
    const std::size_t bin = bin_of(run.length);
    if (run.previous == kNone) {
        m_bins[bin] = run.next;
        if (run.next == kNone) m_filled[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
    } else {
        m_runs[run.previous].next = run.next;
    }
    if (run.next != kNone) m_runs[run.next].previous = run.previous;
    m_by_start.erase(run.start);
    m_by_end.erase(run.start + run.length);
    m_unused_runs.push_back(index);
}

void TierAllocator::mark(std::uint64_t start, std::uint64_t length, bool taken) {
    const std::uint64_t end = start + length;
    if (m_taken.size() * 64 < end) m_taken.resize((end + 63) / 64);
    for (std::uint64_t at = start; at < end; at = (at / 64 + 1) * 64) {
        const std::uint64_t bits = std::min<std::uint64_t>(64 - at % 64, end - at);
        const std::uint64_t mask = (bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1)
                                   << at % 64;
        std::uint64_t& word = m_taken[at / 64];
        if ((word & mask) != (taken ? 0 : mask)) {
            throw InvariantError(fmt::format("tier granules {} to {} {} twice", start, end - 1,
                                             taken ? "allocated" : "freed"));
        }
        word ^= mask;
    }
}

bool TierAllocator::allocated(Dpa address) const {
    const std::uint64_t granule = address.value / kGranule.count;
    return granule / 64 < m_taken.size() && (m_taken[granule / 64] >> granule % 64 & 1U) != 0;
}

Fragmentation TierAllocator::fragmentation() const {
    Fragmentation made{.free = m_capacity - m_used, .extents = m_by_start.size()};
    for (std::size_t bin = next_bin(0); bin != kBins; bin = next_bin(bin + 1)) {
        for (std::uint32_t run = m_bins[bin]; run != kNone; run = m_runs[run].next) {
            made.largest = std::max(made.largest, m_runs[run].length);
        }
    }
    return made;
}

}  // namespace kvplane::engine
