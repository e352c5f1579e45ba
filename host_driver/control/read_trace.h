// SPDX-License-Identifier: Apache-2.0
/// What a run read together, and when: all that the offline bounds (bounds.h) know of a run.
///
/// Time here is the order of admissions. A read set is admitted, is needed whole until it finishes,
/// and may overlap others: continuous batching gives spans [admitted, finished] of sequences, an
/// untimed replay gives points (each set finishes before the next is admitted). Between two spans
/// that need it a block has a *gap*: it may stay in HBM through it, or leave and be promoted again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/block/block.h"

namespace kvplane::control {

using block::BlockIndex;

/// The log of read sets. Blocks are dense indices, each at most once in a set. A sequence that
/// grows logs the blocks it makes as further sets, which finish with it.
class ReadTrace {
public:
    /// A read set: `count` blocks from refs()[first], needed at the admissions with numbers
    /// [own number, until).
    struct ReadSet {
        std::uint64_t first = 0;
        std::uint32_t count = 0;
        std::uint32_t until = UINT32_MAX;
    };

    /// Admits a read set. Returns its number: 0, 1, 2, ...
    std::uint32_t admit(std::span<const BlockIndex> blocks);
    /// From now on `set` needs nothing. A set that never finishes is needed to the end of the
    /// trace.
    void finish(std::uint32_t set);
    /// A read set without duration: admit and finish.
    void read(std::span<const BlockIndex> blocks) { finish(admit(blocks)); }
    /// Makes room for that much, so that logging does not allocate.
    void reserve(std::uint32_t sets, std::uint64_t refs);

    [[nodiscard]] std::span<const ReadSet> sets() const { return m_sets; }
    [[nodiscard]] std::span<const BlockIndex> refs() const { return m_refs; }
    [[nodiscard]] std::span<const BlockIndex> blocks(const ReadSet& set) const {
        return {m_refs.data() + set.first, set.count};
    }

private:
    std::vector<ReadSet> m_sets;
    std::vector<BlockIndex> m_refs;
};

/// A read trace in the form that the bounds work on: its gaps and lifetimes as intervals of
/// admission numbers, and what is needed at each admission. Built in O(references), kept for every
/// budget. About 30 bytes a reference.
class GapTable {
public:
    /// Covers the admissions start <= e < end. A gap starts with the first admission after its
    /// block was last needed and ends with the admission that needs the block again.
    struct Interval {
        std::uint32_t start = 0;
        std::uint32_t end = 0;
    };
    /// A gap, named by its place in gaps().
    struct Start {
        std::uint32_t end = 0;
        std::uint32_t gap = 0;
    };
    static constexpr std::uint32_t kNone = UINT32_MAX;

    /// `sizes`: the size of each block in a unit of the caller's choice (the sum over all
    /// references must stay below 2^40), or empty where all are of size 1. Throws InvariantError if
    /// a reference has no size.
    explicit GapTable(const ReadTrace& trace, std::span<const std::uint32_t> sizes = {});

    /// The number of admissions.
    [[nodiscard]] std::uint32_t points() const { return m_points; }
    /// U: the sizes of the distinct blocks that are referenced.
    [[nodiscard]] std::uint64_t distinct() const { return m_distinct; }
    /// The most that is needed at one time. A smaller budget is infeasible.
    [[nodiscard]] std::uint64_t largest_need() const { return m_largest_need; }
    /// What is needed just after admission e.
    [[nodiscard]] std::uint64_t needed(std::uint32_t e) const { return m_needed[e]; }
    /// The part of needed(e) whose blocks are referenced once.
    [[nodiscard]] std::uint64_t needed_once(std::uint32_t e) const { return m_needed_once[e]; }

    /// Block references; for each, the reference that names its block next, or kNone. The streamed
    /// bound needs nothing else.
    [[nodiscard]] std::span<const std::uint32_t> next_reference() const { return m_next; }

    /// Gaps, those of one block together and in order. Gaps that cover no admission are left out.
    [[nodiscard]] std::span<const Interval> gaps() const { return m_gaps; }
    /// Gaps of owner i, a block that has any, are gaps()[first_gap(i) .. first_gap(i + 1)).
    [[nodiscard]] std::uint32_t owners() const {
        return static_cast<std::uint32_t>(m_first_gap.size()) - 1;
    }
    [[nodiscard]] std::uint32_t first_gap(std::uint32_t i) const { return m_first_gap[i]; }
    /// The owner of a gap, and the size of that block.
    [[nodiscard]] std::uint32_t owner(std::uint32_t gap) const { return m_owner[gap]; }
    [[nodiscard]] std::uint32_t size(std::uint32_t i) const { return m_size[i]; }
    /// The gaps that start at admission e. Those whose block is deeper in its read set come later.
    [[nodiscard]] std::span<const Start> starts(std::uint32_t e) const {
        return {m_starts.data() + m_first_start[e], m_first_start[e + 1] - m_first_start[e]};
    }
    /// Ends of the lifetimes (first admission to end of last need) that start at admission e, of
    /// blocks referenced more than once.
    [[nodiscard]] std::span<const std::uint32_t> lifetimes(std::uint32_t e) const {
        return {m_lifetimes.data() + m_first_lifetime[e],
                m_first_lifetime[e + 1] - m_first_lifetime[e]};
    }

private:
    struct Scan;
    /// Fills m_next; returns, for each reference, the set that names its block next.
    std::vector<std::uint32_t> link_references(const ReadTrace& trace, std::size_t blocks);
    void group_gaps(const Scan& scan);
    void group_lifetimes(const Scan& scan);

    std::uint32_t m_points = 0;
    std::uint64_t m_distinct = 0;
    std::uint64_t m_largest_need = 0;
    std::vector<std::uint64_t> m_needed;
    std::vector<std::uint64_t> m_needed_once;
    std::vector<std::uint32_t> m_next;
    std::vector<Interval> m_gaps;
    std::vector<std::uint32_t> m_first_gap;
    std::vector<std::uint32_t> m_owner;
    std::vector<std::uint32_t> m_size;
    std::vector<Start> m_starts;
    std::vector<std::uint32_t> m_first_start;
    std::vector<std::uint32_t> m_lifetimes;
    std::vector<std::uint32_t> m_first_lifetime;
};

}  // namespace kvplane::control
