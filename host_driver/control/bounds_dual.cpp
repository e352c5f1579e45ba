// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/bounds_dual.h"

#include <algorithm>
#include <span>

namespace kvplane::control {
namespace {

/// The two ways to serve a block: with a copy in the tier, or without. `hold(i)` is the price of
/// holding gap i.
struct BlockCost {
    std::int64_t with_copy = 0;
    std::int64_t without = 0;

    void add(const Prices& prices, std::int64_t hold) {
        with_copy += std::min({kMove, prices.recompute, hold});
        without = std::min(without + std::min(prices.recompute, hold), kNoRecompute);
    }
    [[nodiscard]] bool copy(const Prices& prices) const {
        return with_copy + prices.demotion < without;
    }
    [[nodiscard]] std::int64_t cheapest(const Prices& prices) const {
        return std::min(with_copy + prices.demotion, without);
    }
};

/// Owners of the same gaps, as one of their summed size: most chains are read whole.
struct Group {
    std::uint32_t first_gap = 0;
    std::uint32_t last_gap = 0;
    std::int64_t size = 0;
};

bool same_gaps(std::span<const GapTable::Interval> a, std::span<const GapTable::Interval> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.start == y.start && x.end == y.end;
    });
}

std::vector<Group> group_blocks(const GapTable& table) {
    std::vector<Group> groups;
    for (std::uint32_t i = 0; i < table.owners(); ++i) {
        const std::uint32_t first = table.first_gap(i);
        const std::uint32_t last = table.first_gap(i + 1);
        const auto gaps = table.gaps();
        if (!groups.empty() &&
            same_gaps(gaps.subspan(groups.back().first_gap,
                                   groups.back().last_gap - groups.back().first_gap),
                      gaps.subspan(first, last - first))) {
            groups.back().size += table.size(i);
        } else {
            groups.push_back({first, last, table.size(i)});
        }
    }
    return groups;
}

class Dual {
public:
    Dual(const GapTable& table, std::uint64_t budget, const Prices& prices)
        : m_table(table),
          m_prices(prices),
          m_groups(group_blocks(table)),
          m_room(table.points()),
          m_lambda(table.points(), 0),
          m_sum(table.points() + 1, 0),
          m_excess(table.points() + 1, 0) {
        for (std::uint32_t e = 0; e < table.points(); ++e) {
            m_room[e] = static_cast<std::int64_t>(budget - table.needed(e));
        }
    }

    /// The value at the present prices; leaves in m_excess how far the cheapest choice of each
    /// block oversubscribes each admission.
    Int128 evaluate() {
        for (std::size_t e = 0; e < m_lambda.size(); ++e) m_sum[e + 1] = m_sum[e] + m_lambda[e];
        std::fill(m_excess.begin(), m_excess.end(), 0);
        Int128 value = 0;
        for (const Group& group : m_groups) value += choose(group);
        std::int64_t held = 0;
        for (std::size_t e = 0; e < m_lambda.size(); ++e) {
            held += m_excess[e];
            m_excess[e] = held - m_room[e];
            value -= Int128{m_lambda[e]} * m_room[e];
        }
        return value;
    }

    /// One step of `share` of the way to `distance` above the present value.
    void step(double share, Int128 distance) {
        double norm = 0;
        for (std::size_t e = 0; e < m_lambda.size(); ++e) {
            if (!pushes(e)) continue;
            const auto excess = static_cast<double>(m_excess[e]);
            const double square = excess * excess;
            norm += square;
        }
        if (norm == 0) return;
        const double length = share * static_cast<double>(distance) / norm;
        for (std::size_t e = 0; e < m_lambda.size(); ++e) {
            if (!pushes(e)) continue;
            const double move = length * static_cast<double>(m_excess[e]);
            m_lambda[e] = std::max<std::int64_t>(0, m_lambda[e] + static_cast<std::int64_t>(move));
        }
    }

private:
    /// A price of zero cannot fall further.
    [[nodiscard]] bool pushes(std::size_t e) const { return m_lambda[e] > 0 || m_excess[e] > 0; }

    [[nodiscard]] std::int64_t hold(GapTable::Interval gap) const {
        return m_sum[gap.end] - m_sum[gap.start] + m_prices.rent * (gap.end - gap.start);
    }

    Int128 choose(const Group& group) {
        const auto gaps = m_table.gaps().subspan(group.first_gap, group.last_gap - group.first_gap);
        BlockCost cost;
        for (const auto gap : gaps) cost.add(m_prices, hold(gap));
        const std::int64_t leave =
            cost.copy(m_prices) ? std::min(kMove, m_prices.recompute) : m_prices.recompute;
        for (const auto gap : gaps) {
            if (hold(gap) >= leave) continue;
            m_excess[gap.start] += group.size;
            m_excess[gap.end] -= group.size;
        }
        return Int128{cost.cheapest(m_prices)} * group.size;
    }

    const GapTable& m_table;
    Prices m_prices;
    std::vector<Group> m_groups;
    std::vector<std::int64_t> m_room;
    std::vector<std::int64_t> m_lambda;
    std::vector<std::int64_t> m_sum;  ///< of m_lambda, up to a place
    std::vector<std::int64_t> m_excess;
};

}  // namespace

Int128 placement_cost(const GapTable& table, const std::vector<bool>& dropped,
                      const Prices& prices) {
    Int128 total = 0;
    for (std::uint32_t i = 0; i < table.owners(); ++i) {
        BlockCost cost;
        for (std::uint32_t g = table.first_gap(i); g < table.first_gap(i + 1); ++g) {
            const auto gap = table.gaps()[g];
            cost.add(prices, dropped[g] ? kNoRecompute : prices.rent * (gap.end - gap.start));
        }
        total += Int128{cost.cheapest(prices)} * table.size(i);
    }
    return total;
}

Int128 dual_bound(const GapTable& table, std::uint64_t budget, const Prices& prices, Int128 target,
                  std::uint32_t iterations) {
    Dual dual(table, budget, prices);
    Int128 best = 0;
    double share = 1;
    std::uint32_t stalled = 0;
    for (std::uint32_t i = 0; i < iterations && best < target; ++i) {
        const Int128 value = dual.evaluate();
        if (value > best) {
            best = value;
            stalled = 0;
        } else if (++stalled == 20) {
            share /= 2;
            stalled = 0;
        }
        dual.step(share, target - value);
    }
    return best;
}

}  // namespace kvplane::control
