// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/read_trace.h"

#include <algorithm>
#include <numeric>

#include "model/common/errors.h"

namespace kvplane::control {

std::uint32_t ReadTrace::admit(std::span<const BlockIndex> blocks) {
    const auto number = static_cast<std::uint32_t>(m_sets.size());
    m_sets.push_back({m_refs.size(), static_cast<std::uint32_t>(blocks.size())});
    m_refs.insert(m_refs.end(), blocks.begin(), blocks.end());
    return number;
}

void ReadTrace::finish(std::uint32_t set) {
    m_sets[set].until = static_cast<std::uint32_t>(m_sets.size());
}

void ReadTrace::reserve(std::uint32_t sets, std::uint64_t refs) {
    m_sets.reserve(sets);
    m_refs.reserve(refs);
}

namespace {

using Counts = std::vector<std::uint32_t>;

/// Turns counts[k + 1] = number of members of class k into offsets, in place.
void to_offsets(Counts& counts) { std::partial_sum(counts.begin(), counts.end(), counts.begin()); }

/// Read sets grouped by the admission before which they finish (`points` for the last).
struct Finishes {
    explicit Finishes(std::span<const ReadTrace::ReadSet> sets) : first(sets.size() + 2, 0) {
        const auto points = static_cast<std::uint32_t>(sets.size());
        for (const auto& set : sets) ++first[std::min(set.until, points) + 1];
        to_offsets(first);
        order.resize(sets.size());
        Counts next(first.begin(), first.end() - 1);
        for (std::uint32_t i = 0; i < points; ++i) {
            order[next[std::min(sets[i].until, points)]++] = i;
        }
    }
    [[nodiscard]] std::span<const std::uint32_t> before(std::uint32_t e) const {
        return {order.data() + first[e], first[e + 1] - first[e]};
    }
    Counts first;
    Counts order;
};

std::size_t count_blocks(const ReadTrace& trace) {
    std::size_t n = 0;
    for (const BlockIndex b : trace.refs()) n = std::max(n, std::size_t{b.value} + 1);
    return n;
}

}  // namespace

/// One pass over admissions and finishes in order.
struct GapTable::Scan {
    struct Gap {
        std::uint32_t block;
        std::uint32_t end;
    };
    struct Block {
        std::uint32_t active = 0;     ///< sets that need it now
        std::uint32_t next = kNone;   ///< the set that names it next
        Interval lifetime{kNone, 0};  ///< starts at kNone where it is never named
        std::uint32_t references = 0;
        std::uint32_t gaps = 0;
    };

    Scan(const ReadTrace& trace, std::span<const std::uint32_t> next_set,
         std::span<const std::uint32_t> block_sizes, std::size_t block_count)
        : sizes(block_sizes), blocks(block_count) {
        const auto sets = trace.sets();
        const Finishes finishes(sets);
        first_start.reserve(sets.size() + 2);
        needed.reserve(sets.size());
        for (std::uint32_t e = 0; e <= sets.size(); ++e) {
            first_start.push_back(static_cast<std::uint32_t>(gaps.size()));
            for (const std::uint32_t set : finishes.before(e)) {
                for (const BlockIndex b : trace.blocks(sets[set])) release(b.value, e);
            }
            if (e == sets.size()) break;
            const std::uint64_t last = sets[e].first + sets[e].count;
            for (std::uint64_t i = sets[e].first; i < last; ++i) {
                acquire(trace.refs()[i].value, e, next_set[i]);
            }
            needed.push_back(now_needed);
        }
        first_start.push_back(static_cast<std::uint32_t>(gaps.size()));
    }

    [[nodiscard]] std::uint32_t size(std::uint32_t b) const { return sizes.empty() ? 1 : sizes[b]; }
    /// Reused blocks are those with a lifetime that can be cut, or that touches itself.
    [[nodiscard]] bool reused(std::uint32_t b) const { return blocks[b].references > 1; }

    void acquire(std::uint32_t b, std::uint32_t e, std::uint32_t next_set) {
        Block& block = blocks[b];
        block.next = next_set;
        ++block.references;
        if (block.active++ != 0) return;
        now_needed += size(b);
        if (block.lifetime.start == kNone) {
            block.lifetime.start = e;
            distinct += size(b);
        }
    }

    void release(std::uint32_t b, std::uint32_t e) {
        Block& block = blocks[b];
        if (--block.active != 0) return;
        now_needed -= size(b);
        block.lifetime.end = e;
        if (block.next == kNone || block.next == e) return;
        gaps.push_back({b, block.next});
        ++block.gaps;
    }

    std::span<const std::uint32_t> sizes;
    std::vector<Block> blocks;
    std::vector<Gap> gaps;  ///< in order of start
    Counts first_start;
    std::vector<std::uint64_t> needed;
    std::uint64_t now_needed = 0;
    std::uint64_t distinct = 0;
};

GapTable::GapTable(const ReadTrace& trace, std::span<const std::uint32_t> sizes)
    : m_points(static_cast<std::uint32_t>(trace.sets().size())) {
    const std::size_t blocks = count_blocks(trace);
    if (!sizes.empty() && sizes.size() < blocks) {
        throw InvariantError("bounds: block " + std::to_string(blocks - 1) + " has no size");
    }
    const Counts next_set = link_references(trace, blocks);
    Scan scan(trace, next_set, sizes, blocks);
    m_needed = std::move(scan.needed);
    m_distinct = scan.distinct;
    for (const std::uint64_t n : m_needed) m_largest_need = std::max(m_largest_need, n);
    group_gaps(scan);
    group_lifetimes(scan);
}

std::vector<std::uint32_t> GapTable::link_references(const ReadTrace& trace, std::size_t blocks) {
    struct Place {
        std::uint32_t reference = kNone;
        std::uint32_t set = kNone;
    };
    std::vector<Place> last(blocks);
    m_next.resize(trace.refs().size());
    Counts next_set(trace.refs().size());
    for (std::uint32_t e = m_points; e-- > 0;) {
        const auto& set = trace.sets()[e];
        for (std::uint64_t i = set.first + set.count; i-- > set.first;) {
            Place& place = last[trace.refs()[i].value];
            m_next[i] = place.reference;
            next_set[i] = place.set;
            place = {static_cast<std::uint32_t>(i), e};
        }
    }
    return next_set;
}

void GapTable::group_gaps(const Scan& scan) {
    const auto blocks = static_cast<std::uint32_t>(scan.blocks.size());
    Counts number(blocks, kNone);  // of a block among those with gaps
    m_first_gap.push_back(0);
    for (std::uint32_t b = 0; b < blocks; ++b) {
        if (scan.blocks[b].gaps == 0) continue;
        number[b] = static_cast<std::uint32_t>(m_size.size());
        m_size.push_back(scan.size(b));
        m_first_gap.push_back(m_first_gap.back() + scan.blocks[b].gaps);
    }
    Counts next(m_first_gap.begin(), m_first_gap.end());
    m_gaps.resize(scan.gaps.size());
    m_owner.resize(scan.gaps.size());
    m_starts.reserve(scan.gaps.size());
    for (std::uint32_t e = 0; e <= m_points; ++e) {
        for (std::uint32_t i = scan.first_start[e]; i < scan.first_start[e + 1]; ++i) {
            const std::uint32_t owner = number[scan.gaps[i].block];
            const std::uint32_t id = next[owner]++;
            m_gaps[id] = {e, scan.gaps[i].end};
            m_owner[id] = owner;
            m_starts.push_back({scan.gaps[i].end, id});
        }
    }
    m_first_start = scan.first_start;
}

void GapTable::group_lifetimes(const Scan& scan) {
    const auto blocks = static_cast<std::uint32_t>(scan.blocks.size());
    // Blocks that are read once, as steps up and down, summed over admissions.
    m_needed_once.assign(m_points + 1, 0);
    m_first_lifetime.assign(m_points + 1, 0);
    for (std::uint32_t b = 0; b < blocks; ++b) {
        const Interval life = scan.blocks[b].lifetime;
        if (life.start == kNone) continue;
        if (scan.reused(b)) {
            ++m_first_lifetime[life.start + 1];
        } else {
            m_needed_once[life.start] += scan.size(b);
            m_needed_once[life.end] -= scan.size(b);  // wraps; the running sum does not
        }
    }
    std::partial_sum(m_needed_once.begin(), m_needed_once.end(), m_needed_once.begin());
    to_offsets(m_first_lifetime);
    m_lifetimes.resize(m_first_lifetime.back());
    Counts next(m_first_lifetime.begin(), m_first_lifetime.end());
    for (std::uint32_t b = 0; b < blocks; ++b) {
        if (scan.blocks[b].lifetime.start == kNone || !scan.reused(b)) continue;
        m_lifetimes[next[scan.blocks[b].lifetime.start]++] = scan.blocks[b].lifetime.end;
    }
}

}  // namespace kvplane::control
