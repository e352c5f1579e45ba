// SPDX-License-Identifier: Apache-2.0
/// The cost of a placement, and a lower bound on it by Lagrangian relaxation of the capacity.
#pragma once

#include <cstdint>
#include <vector>

#include "host_driver/control/bounds.h"

namespace kvplane::control {

/// The cost of a placement in size x kMove. `dropped[g]` says that gap g is not held; where the
/// prices make it cheaper, held gaps are dropped and promotions become recomputations.
[[nodiscard]] Int128 placement_cost(const GapTable& table, const std::vector<bool>& dropped,
                                    const Prices& prices);

/// The best of `iterations` values of the dual: with a price lambda_e >= 0 for room at admission e,
/// and L_i the sum of prices over gap i plus its rent, the optimum is at least
///   sum over blocks of size x min(demotion + sum_i min(move, recompute, L_i),
///                                 sum_i min(recompute, L_i))
///   - sum over admissions of lambda_e x (budget - needed(e)).
/// Prices move by Polyak's subgradient rule towards `target`, an upper bound on the optimum. The
/// value is summed in integers, so it is exact; the steps are doubles in a fixed order.
[[nodiscard]] Int128 dual_bound(const GapTable& table, std::uint64_t budget, const Prices& prices,
                                Int128 target, std::uint32_t iterations);

}  // namespace kvplane::control
