// SPDX-License-Identifier: Apache-2.0
/// Offline bounds on the traffic of a run: what any placement at all would have had to move. They
/// know the read sets of a run (read_trace.h) and nothing of chains, policies or time.
///
/// Model. A block's first need makes it, at no cost. At each admission the needed blocks are in HBM
/// together, and at most budget - needed others. A block that leaves and returns is promoted (cost
/// 1 per return) and was demoted once before (cost 1, once per block: write-once); one that never
/// returns is dropped unwritten. The tier keeps everything. In this model
///   - min_promotions is exact: furthest next use with the read set kept. Gaps and capacities form
///     a matrix with consecutive ones, so the sweep that drops the gap that ends last is optimal;
///   - min_promotions_streamed is exact where an accessed block need not stay (it is read on its
///     way past), one access at a time: the weaker bound;
///   - traffic, promotions + demotions, is bracketed: max(lb1, lb2) <= optimum <= ub.
#pragma once

#include <cstdint>
#include <variant>

#include "host_driver/control/read_trace.h"
#include "model/common/units.h"

namespace kvplane::control {

/// The budget cannot hold what is needed at one time, so no placement exists.
struct Infeasible {
    std::uint64_t budget = 0;
    std::uint64_t largest_need = 0;
};

/// Bounds for one budget, in blocks.
struct Bounds {
    std::uint64_t budget = 0;
    std::uint64_t min_promotions = 0;           ///< m*, exact; A_read* = m* / U
    std::uint64_t min_promotions_streamed = 0;  ///< exact for streamed reads
    std::uint64_t min_demoted = 0;  ///< w*: fewest blocks that leave HBM at least once and return
    std::uint64_t lb1 = 0;          ///< m* + w*
    std::uint64_t lb2 = 0;          ///< Lagrangian dual, rounded up
    std::uint64_t ub = 0;           ///< traffic of the best placement found
};

/// Bounds where all blocks are of one size. `iterations` of the dual: 0 leaves lb2 at 0; more only
/// tighten it. Cost: O(references) and O(gaps) an iteration.
[[nodiscard]] std::variant<Bounds, Infeasible> bound_traffic(const GapTable& table,
                                                             std::uint64_t budget,
                                                             std::uint32_t iterations);

/// The parts of Bounds one by one. The budget must be feasible, except for the streamed bound.
[[nodiscard]] std::uint64_t min_promotions(const GapTable& table, std::uint64_t budget);
[[nodiscard]] std::uint64_t min_promotions_streamed(const GapTable& table, std::uint64_t budget);
[[nodiscard]] std::uint64_t min_demoted(const GapTable& table, std::uint64_t budget);

/// The unit of prices: the move of one block of size 1 costs kMove.
inline constexpr std::int64_t kMove = std::int64_t{1} << 30;
/// No recomputing.
inline constexpr std::int64_t kNoRecompute = std::int64_t{1} << 60;

/// What things cost, per unit of size.
struct Prices {
    std::int64_t demotion =
        kMove;  ///< once per block that is promoted at all; 0 bounds reads alone
    std::int64_t recompute = kNoRecompute;  ///< of a block that left, instead of promoting it
    std::int64_t rent = 0;  ///< of staying in HBM through one admission without being needed
};

/// A bracket on the least total cost, in size x kMove: lower <= optimum <= upper.
struct CostBracket {
    Int128 lower = 0;
    Int128 upper = 0;
};

/// Brackets the least total cost where blocks have sizes (those of the table), may be recomputed at
/// a price and pay rent. The lower end is a Lagrangian dual: valid at any number of iterations.
[[nodiscard]] std::variant<CostBracket, Infeasible> bound_cost(const GapTable& table,
                                                               std::uint64_t budget,
                                                               const Prices& prices,
                                                               std::uint32_t iterations);

}  // namespace kvplane::control
