// SPDX-License-Identifier: Apache-2.0
/// Placement studies: every arm at every budget on one workload, and the offline bounds beside
/// them. Untimed (replay.h); the tier is unbounded unless the plan says otherwise. All blocks are
/// of one size here; bounds where they are not: bound_cost() of bounds.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host_driver/control/bounds.h"
#include "host_driver/control/presets.h"
#include "host_driver/control/replay.h"

namespace kvplane::control {

/// What is compared: a replay whose frames are still open, or a preset.
struct PlaceArm {
    ReplayConfig replay;
    std::optional<Preset> preset{};  ///< where set, it gives the policies

    /// The replay at a budget, for a plan.
    [[nodiscard]] ReplayConfig at(std::uint64_t frames) const;
};

struct PlacePlan {
    std::vector<PlaceArm> arms;
    std::vector<std::uint64_t> budgets;  ///< blocks
    std::uint32_t dual_iterations = 3000;
    /// What it costs to recompute each block, in any unit: what gdsf goes by. Empty: all the same.
    std::vector<std::uint32_t> recompute_cost{};
    /// What recomputing a block costs, in moves of a block. Where set, bounds come with it, too.
    std::optional<Ratio> recompute_price{};
    /// Rent: what a block costs for staying in HBM through one request that does not read it, in
    /// moves of a block. Where set, bounds of moves and rent come with it, too.
    std::optional<Ratio> rent{};
};

/// A bracket on a cost, in moves of a block: the lower end is rounded down, the upper end up, to
/// whole moves.
struct MoveBracket {
    std::uint64_t lower = 0;
    std::uint64_t upper = 0;
};

/// One arm at one budget. Where it is infeasible, nothing was replayed.
struct PlaceRow {
    std::optional<Preset> preset{};
    std::uint64_t budget = 0;
    ReplayConfig config;
    ReplayResult result;
};

/// The bounds of one budget. They hold for pinned arms on an unbounded tier that recompute nothing.
struct BoundsRow {
    std::uint64_t budget = 0;
    std::uint64_t distinct = 0;  ///< U
    std::variant<Bounds, Infeasible> bounds;
    /// Moves, with recomputing at the plan's price; null without one or where infeasible.
    std::optional<MoveBracket> recompute{};
    /// Moves and the plan's rent, recomputing included where it has a price; null likewise.
    std::optional<MoveBracket> rent{};
};

/// Hears of each row as it is made: the bounds of a budget, then its arms in order.
class PlaceListener {
public:
    virtual ~PlaceListener() = default;
    /// The bounds of a budget are being computed.
    virtual void on_budget(std::uint64_t /*budget*/) {}
    virtual void on_bounds(const BoundsRow& row) = 0;
    virtual void on_row(const PlaceRow& row) = 0;

protected:
    PlaceListener() = default;
    PlaceListener(const PlaceListener&) = default;
    PlaceListener& operator=(const PlaceListener&) = default;
};

/// Runs the plan. Deterministic; one thread. Throws as replay() does.
void place(const workload::Workload& workload, const PlacePlan& plan, PlaceListener& listener);

}  // namespace kvplane::control
