// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/bounds.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "host_driver/control/bounds_dual.h"
#include "host_driver/control/furthest.h"

namespace kvplane::control {
namespace {

/// The most intervals that fit under a capacity, as the number that must be dropped: whenever too
/// many overlap, the one that ends last goes. Which of several goes makes no difference, so they
/// are only counted, by where they end.
class IntervalSweep {
public:
    explicit IntervalSweep(std::uint32_t points)
        : m_ending(points + 1, 0), m_furthest(points + 1) {}

    /// Moves on to the next place: intervals that end there no longer count.
    void advance(std::uint32_t place) {
        if (m_ending[place] == 0) return;
        m_count -= m_ending[place];
        m_ending[place] = 0;
        m_furthest.erase(place);
    }
    void add(std::uint32_t end) {
        if (m_ending[end]++ == 0) m_furthest.insert(end);
        ++m_count;
    }
    void shrink_to(std::uint64_t capacity) {
        while (m_count > capacity) {
            const std::uint32_t end = m_furthest.greatest();
            const auto n = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(m_ending[end], m_count - capacity));
            m_ending[end] -= n;
            if (m_ending[end] == 0) m_furthest.erase(end);
            m_count -= n;
            m_dropped += n;
        }
    }
    [[nodiscard]] std::uint64_t dropped() const { return m_dropped; }

private:
    std::vector<std::uint32_t> m_ending;
    Furthest m_furthest;
    std::uint64_t m_count = 0;
    std::uint64_t m_dropped = 0;
};

/// Gaps held in HBM, in lists by where they end: those whose block has a tier copy (clean) apart
/// from those that would have to be written if they were dropped.
class HeldGaps {
public:
    HeldGaps(std::uint32_t points, std::size_t gaps)
        : m_head(points + 1, GapTable::kNone), m_next(gaps), m_furthest(points + 1) {}

    void add(std::uint32_t end, std::uint32_t gap) {
        if (m_head[end] == GapTable::kNone) m_furthest.insert(end);
        m_next[gap] = m_head[end];
        m_head[end] = gap;
    }
    /// Takes a gap of those that end at `end`, the last added; kNone if there is none.
    std::uint32_t take(std::uint32_t end) {
        const std::uint32_t gap = m_head[end];
        if (gap == GapTable::kNone) return gap;
        m_head[end] = m_next[gap];
        if (m_head[end] == GapTable::kNone) m_furthest.erase(end);
        return gap;
    }
    [[nodiscard]] bool empty() const { return m_furthest.empty(); }
    [[nodiscard]] std::uint32_t furthest() const { return m_furthest.greatest(); }

private:
    std::vector<std::uint32_t> m_head;
    std::vector<std::uint32_t> m_next;
    Furthest m_furthest;
};

/// Furthest next use with a bias to victims that have a tier copy: the distance of the others is
/// shrunk to `percent` of itself.
class CleanFirst {
public:
    explicit CleanFirst(const GapTable& table)
        : m_table(table),
          m_clean(table.points(), table.gaps().size()),
          m_unwritten(table.points(), table.gaps().size()),
          m_written(table.owners(), false),
          m_dropped(table.gaps().size(), false) {}

    /// Which gaps are dropped.
    const std::vector<bool>& run(std::uint64_t budget, std::int64_t percent) {
        std::fill(m_written.begin(), m_written.end(), false);
        std::fill(m_dropped.begin(), m_dropped.end(), false);
        for (std::uint32_t e = 0; e < m_table.points(); ++e) {
            finish(m_clean, e);
            finish(m_unwritten, e);
            for (const auto& start : m_table.starts(e)) add(start);
            while (m_held > budget - m_table.needed(e)) drop(e, percent);
        }
        finish(m_clean, m_table.points());
        finish(m_unwritten, m_table.points());
        return m_dropped;
    }

private:
    [[nodiscard]] std::uint64_t size(std::uint32_t gap) const {
        return m_table.size(m_table.owner(gap));
    }
    void finish(HeldGaps& held, std::uint32_t e) {
        std::uint32_t gap = 0;
        while ((gap = held.take(e)) != GapTable::kNone) m_held -= size(gap);
    }
    void add(GapTable::Start start) {
        (m_written[m_table.owner(start.gap)] ? m_clean : m_unwritten).add(start.end, start.gap);
        m_held += size(start.gap);
    }
    void drop(std::uint32_t e, std::int64_t percent) {
        const auto distance = [e](const HeldGaps& held) {
            return held.empty() ? -1 : std::int64_t{held.furthest()} - e;
        };
        const bool write = distance(m_unwritten) * percent > distance(m_clean) * 100;
        HeldGaps& from = write ? m_unwritten : m_clean;
        const std::uint32_t gap = from.take(from.furthest());
        m_held -= size(gap);
        m_dropped[gap] = true;
        m_written[m_table.owner(gap)] = true;
    }

    const GapTable& m_table;
    HeldGaps m_clean;
    HeldGaps m_unwritten;
    std::vector<bool> m_written;  ///< of owners
    std::vector<bool> m_dropped;
    std::uint64_t m_held = 0;
};

/// The biases tried, from none to strong. The best on recorded traces lies between 40 and 70.
constexpr std::array<std::int64_t, 8> kBiases{100, 95, 85, 70, 60, 50, 40, 30};

Int128 best_placement(const GapTable& table, std::uint64_t budget, const Prices& prices) {
    CleanFirst placement(table);
    Int128 best = -1;
    for (const std::int64_t bias : kBiases) {
        const Int128 cost = placement_cost(table, placement.run(budget, bias), prices);
        if (best < 0 || cost < best) best = cost;
    }
    return best;
}

}  // namespace

std::uint64_t min_promotions(const GapTable& table, std::uint64_t budget) {
    IntervalSweep sweep(table.points());
    for (std::uint32_t e = 0; e < table.points(); ++e) {
        sweep.advance(e);
        for (const auto& start : table.starts(e)) sweep.add(start.end);
        sweep.shrink_to(budget - table.needed(e));
    }
    return sweep.dropped();
}

std::uint64_t min_promotions_streamed(const GapTable& table, std::uint64_t budget) {
    const auto next = table.next_reference();
    const auto references = static_cast<std::uint32_t>(next.size());
    IntervalSweep sweep(references);
    for (std::uint32_t i = 0; i < references; ++i) {
        sweep.advance(i);
        if (next[i] != GapTable::kNone) sweep.add(next[i]);
        sweep.shrink_to(budget);
    }
    return sweep.dropped();
}

std::uint64_t min_demoted(const GapTable& table, std::uint64_t budget) {
    IntervalSweep sweep(table.points());
    for (std::uint32_t e = 0; e < table.points(); ++e) {
        sweep.advance(e);
        for (const std::uint32_t end : table.lifetimes(e)) sweep.add(end);
        sweep.shrink_to(budget - table.needed_once(e));
    }
    return sweep.dropped();
}

std::variant<Bounds, Infeasible> bound_traffic(const GapTable& table, std::uint64_t budget,
                                               std::uint32_t iterations) {
    if (budget < table.largest_need()) return Infeasible{budget, table.largest_need()};
    Bounds bounds{.budget = budget};
    bounds.min_promotions = min_promotions(table, budget);
    bounds.min_promotions_streamed = min_promotions_streamed(table, budget);
    bounds.min_demoted = min_demoted(table, budget);
    bounds.lb1 = bounds.min_promotions + bounds.min_demoted;
    const Int128 upper = best_placement(table, budget, Prices{});
    bounds.ub = static_cast<std::uint64_t>(upper / kMove);
    const Int128 lower = dual_bound(table, budget, Prices{}, upper, iterations);
    bounds.lb2 = static_cast<std::uint64_t>((lower + kMove - 1) / kMove);
    return bounds;
}

std::variant<CostBracket, Infeasible> bound_cost(const GapTable& table, std::uint64_t budget,
                                                 const Prices& prices, std::uint32_t iterations) {
    if (budget < table.largest_need()) return Infeasible{budget, table.largest_need()};
    CostBracket bracket;
    bracket.upper = best_placement(table, budget, prices);
    bracket.lower = dual_bound(table, budget, prices, bracket.upper, iterations);
    return bracket;
}

}  // namespace kvplane::control
