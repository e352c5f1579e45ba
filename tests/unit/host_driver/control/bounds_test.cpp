// SPDX-License-Identifier: Apache-2.0
/// Every bound against exhaustive search over tiny instances, and against published values on the
/// Mooncake conversation trace.
#include "host_driver/control/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>

#include "model/common/errors.h"

namespace kvplane::control {
namespace {

using Mask = std::uint32_t;

/// A tiny instance: read sets as masks of at most 8 blocks, and how many admissions each lasts.
struct Instance {
    std::vector<Mask> sets;
    std::vector<std::uint32_t> lasts;
    std::vector<std::uint32_t> sizes;
    std::uint64_t budget = 0;

    [[nodiscard]] std::uint64_t size(Mask blocks) const {
        std::uint64_t sum = 0;
        for (std::uint32_t b = 0; b < 8; ++b) sum += (blocks >> b & 1) * sizes[b];
        return sum;
    }
    /// What is needed just after admission e.
    [[nodiscard]] Mask needed(std::size_t e) const {
        Mask mask = 0;
        for (std::size_t s = 0; s <= e; ++s) {
            if (s + lasts[s] > e) mask |= sets[s];
        }
        return mask;
    }
};

std::vector<BlockIndex> members(Mask set) {
    std::vector<BlockIndex> blocks;
    for (std::uint32_t b = 0; b < 8; ++b) {
        if (set >> b & 1) blocks.push_back({b});
    }
    return blocks;
}

ReadTrace log_of(const Instance& instance) {
    ReadTrace trace;
    for (std::size_t e = 0; e < instance.sets.size(); ++e) {
        for (std::size_t s = 0; s < e; ++s) {
            if (s + instance.lasts[s] == e) trace.finish(static_cast<std::uint32_t>(s));
        }
        trace.admit(members(instance.sets[e]));
    }
    for (std::size_t s = 0; s < instance.sets.size(); ++s) {
        if (s + instance.lasts[s] == instance.sets.size()) {
            trace.finish(static_cast<std::uint32_t>(s));
        }
    }
    return trace;
}

/// The least cost over all placements, by dynamic programming over (resident, has a tier copy).
/// Copies are charged when they are first used: nobody writes a block that does not return.
class Exhaustive {
public:
    Exhaustive(const Instance& instance, const Prices& prices)
        : m_instance(instance), m_prices(prices) {}

    std::int64_t least_cost() {
        m_states = {{{0, 0}, 0}};
        Mask seen = 0;
        for (std::size_t e = 0; e < m_instance.sets.size(); ++e) {
            admit(m_instance.sets[e], m_instance.needed(e), seen);
            seen |= m_instance.sets[e];
        }
        return std::min_element(m_states.begin(), m_states.end(),
                                [](auto& a, auto& b) { return a.second < b.second; })
            ->second;
    }

private:
    struct State {
        Mask resident;
        Mask copied;
        auto operator<=>(const State&) const = default;
    };
    using States = std::map<State, std::int64_t>;

    void admit(Mask set, Mask needed, Mask seen) {
        States loaded;
        for (const auto& [state, cost] : m_states) {
            load(state, cost, set & seen & ~state.resident, loaded);
        }
        m_states.clear();
        for (const auto& [state, cost] : loaded) {
            const Mask all = state.resident | set;
            const Mask others = all & ~needed;
            for (Mask kept = others;; kept = (kept - 1) & others) {
                if (m_instance.size(kept | needed) <= m_instance.budget) {
                    const auto rent =
                        m_prices.rent * static_cast<std::int64_t>(m_instance.size(kept));
                    put(m_states, {kept | needed, state.copied}, cost + rent);
                }
                if (kept == 0) break;
            }
        }
    }

    /// Every way to bring the blocks of `missing` in.
    void load(State state, std::int64_t cost, Mask missing, States& out) {
        if (missing == 0) return put(out, state, cost);
        const auto b = static_cast<std::uint32_t>(std::countr_zero(missing));
        const std::int64_t size = m_instance.sizes[b];
        const Mask bit = Mask{1} << b;
        if (m_prices.recompute != kNoRecompute) {
            load(state, cost + size * m_prices.recompute, missing & ~bit, out);
        }
        const std::int64_t write = state.copied & bit ? 0 : m_prices.demotion;
        load({state.resident, state.copied | bit}, cost + size * (kMove + write), missing & ~bit,
             out);
    }

    static void put(States& states, State state, std::int64_t cost) {
        const auto [it, fresh] = states.try_emplace(state, cost);
        if (!fresh) it->second = std::min(it->second, cost);
    }

    const Instance& m_instance;
    Prices m_prices;
    States m_states;
};

/// Fewest promotions where an accessed block need not stay.
std::int64_t least_streamed(const Instance& instance) {
    std::map<Mask, std::int64_t> states{{0, 0}};
    Mask seen = 0;
    for (const Mask set : instance.sets) {
        for (const BlockIndex b : members(set)) {
            const Mask bit = Mask{1} << b.value;
            std::map<Mask, std::int64_t> next;
            for (const auto& [resident, cost] : states) {
                const std::int64_t paid = cost + ((seen & bit) != 0 && (resident & bit) == 0);
                const Mask all = resident | bit;
                for (Mask kept = all;; kept = (kept - 1) & all) {
                    if (std::popcount(kept) <= static_cast<int>(instance.budget)) {
                        const auto [it, fresh] = next.try_emplace(kept, paid);
                        if (!fresh) it->second = std::min(it->second, paid);
                    }
                    if (kept == 0) break;
                }
            }
            states = std::move(next);
            seen |= bit;
        }
    }
    std::int64_t least = INT64_MAX;
    for (const auto& [resident, cost] : states) least = std::min(least, cost);
    return least;
}

/// A random instance of `blocks` blocks; the budget is feasible, and often tight.
Instance draw(std::mt19937_64& random, bool spans, bool sized) {
    const auto below = [&random](std::uint64_t n) { return random() % n; };
    Instance instance;
    const std::uint64_t blocks = 4 + below(3);
    const std::uint64_t length = 6 + below(7);
    instance.sizes.assign(8, 1);
    if (sized) {
        for (auto& s : instance.sizes) s = static_cast<std::uint32_t>(1 + below(4));
    }
    for (std::uint64_t e = 0; e < length; ++e) {
        Mask set = 0;
        for (std::uint64_t n = 1 + below(spans ? 2 : 3); n > 0; --n) {
            set |= Mask{1} << below(blocks);
        }
        instance.sets.push_back(set);
        instance.lasts.push_back(static_cast<std::uint32_t>(spans ? 1 + below(2) : 1));
    }
    for (std::size_t e = 0; e < length; ++e) {
        instance.budget = std::max(instance.budget, instance.size(instance.needed(e)));
    }
    instance.budget += below(2);
    return instance;
}

constexpr std::uint32_t kIterations = 200;

TEST(BoundsTest, MinIsExactAndTheBracketHoldsOnRandomInstances) {
    std::mt19937_64 random(1);
    int tight = 0;
    int moved = 0;
    for (int i = 0; i < 800; ++i) {
        const Instance instance = draw(random, i % 2 == 1, false);
        const GapTable table(log_of(instance));
        const auto bounds = std::get<Bounds>(bound_traffic(table, instance.budget, kIterations));
        const std::int64_t reads = Exhaustive(instance, {.demotion = 0}).least_cost() / kMove;
        const auto moves =
            static_cast<std::uint64_t>(Exhaustive(instance, Prices{}).least_cost() / kMove);
        ASSERT_EQ(bounds.min_promotions, static_cast<std::uint64_t>(reads)) << "instance " << i;
        ASSERT_EQ(bounds.min_promotions_streamed,
                  static_cast<std::uint64_t>(least_streamed(instance)))
            << "instance " << i;
        ASSERT_LE(bounds.lb1, moves) << "instance " << i;
        ASSERT_LE(bounds.lb2, moves) << "instance " << i;
        ASSERT_GE(bounds.ub, moves) << "instance " << i;
        tight += std::max(bounds.lb1, bounds.lb2) == moves;
        moved += moves > 0;
    }
    EXPECT_GT(moved, 400) << "too many instances without traffic to mean anything";
    EXPECT_GT(tight, 720);
}

TEST(BoundsTest, PricesSizesAndRentStayBelowExhaustiveSearch) {
    std::mt19937_64 random(2);
    int tight = 0;
    for (int i = 0; i < 600; ++i) {
        const Instance instance = draw(random, i % 2 == 1, i % 3 != 0);
        const Prices prices{.demotion = random() % 4 == 0 ? 0 : kMove,
                            .recompute = random() % 2 == 0
                                             ? kNoRecompute
                                             : kMove / 4 * static_cast<std::int64_t>(random() % 12),
                            .rent = kMove / 8 * static_cast<std::int64_t>(random() % 3)};
        const GapTable table(log_of(instance), instance.sizes);
        const auto bracket =
            std::get<CostBracket>(bound_cost(table, instance.budget, prices, kIterations));
        const std::int64_t cost = Exhaustive(instance, prices).least_cost();
        ASSERT_LE(bracket.lower, cost) << "instance " << i;
        ASSERT_GE(bracket.upper, cost) << "instance " << i;
        tight += (bracket.lower + kMove / 8 - 1) / (kMove / 8) == cost / (kMove / 8);
    }
    EXPECT_GT(tight, 300);
}

TEST(BoundsTest, RentAloneIsSkiRental) {
    // Room for all: a gap is held exactly while its rent stays below what leaving would cost.
    for (std::uint32_t length = 1; length < 40; ++length) {
        ReadTrace trace;
        trace.read(members(1));
        for (std::uint32_t e = 0; e < length; ++e) trace.read(members(2));
        trace.read(members(1));
        const Prices prices{.rent = kMove / 10};
        const auto bracket = std::get<CostBracket>(bound_cost(GapTable(trace), 8, prices, 50));
        const Int128 expected = std::min<Int128>(Int128{length} * (kMove / 10), 2 * kMove);
        EXPECT_EQ(bracket.lower, expected);
        EXPECT_EQ(bracket.upper, expected);
    }
}

TEST(BoundsTest, BudgetBelowTheLargestReadSetIsInfeasible) {
    ReadTrace trace;
    const std::uint32_t first = trace.admit(members(0b0111));
    trace.finish(trace.admit(members(0b1100)));
    trace.finish(first);
    const auto result = bound_traffic(GapTable(trace), 3, 10);
    ASSERT_TRUE(std::holds_alternative<Infeasible>(result));
    EXPECT_EQ(std::get<Infeasible>(result).largest_need, 4U);
    EXPECT_TRUE(std::holds_alternative<Bounds>(bound_traffic(GapTable(trace), 4, 10)));
    EXPECT_TRUE(std::holds_alternative<Infeasible>(bound_cost(GapTable(trace), 3, Prices{}, 10)));
}

TEST(BoundsTest, ABlockWithoutSizeIsRefused) {
    ReadTrace trace;
    trace.read(members(0b100));
    const std::vector<std::uint32_t> sizes{1, 1};
    EXPECT_THROW(GapTable(trace, sizes), InvariantError);
}

TEST(BoundsTest, AnEmptyTraceNeedsNothing) {
    const auto bounds = std::get<Bounds>(bound_traffic(GapTable(ReadTrace{}), 0, 10));
    EXPECT_EQ(bounds.min_promotions + bounds.min_promotions_streamed, 0U);
    EXPECT_EQ(bounds.ub, 0U);
}

}  // namespace
}  // namespace kvplane::control
