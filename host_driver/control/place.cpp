// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/place.h"

namespace kvplane::control {
namespace {

/// One request's chain is one read set.
ReadTrace read_sets(const workload::Workload& workload) {
    ReadTrace trace;
    trace.reserve(static_cast<std::uint32_t>(workload.requests.size()), workload.refs.size());
    for (const workload::Request& request : workload.requests) trace.read(workload.chain(request));
    return trace;
}

/// A cost in blocks moved. With a price of recomputing costs need not be whole: bounds give way.
std::uint64_t whole_moves(Int128 cost, bool up) {
    return static_cast<std::uint64_t>((cost + (up ? kMove - 1 : 0)) / kMove);
}

BoundsRow make_bounds(const GapTable& table, std::uint64_t budget, const PlacePlan& plan) {
    BoundsRow row{.budget = budget,
                  .distinct = table.distinct(),
                  .bounds = bound_traffic(table, budget, plan.dual_iterations)};
    if (!plan.recompute_price || std::holds_alternative<Infeasible>(row.bounds)) return row;
    const Prices prices{.recompute = kMove / 1'000'000 * plan.recompute_price->ppm};
    const auto bracket =
        std::get<CostBracket>(bound_cost(table, budget, prices, plan.dual_iterations));
    row.lb_recompute = whole_moves(bracket.lower, false);
    row.ub_recompute = whole_moves(bracket.upper, true);
    return row;
}

}  // namespace

ReplayConfig PlaceArm::at(std::uint64_t frames) const {
    ReplayConfig config = replay;
    config.frames = frames;
    if (preset) {
        const ReplayConfig given = make_preset(*preset, frames);
        config.control = given.control;
        config.watermark = given.watermark;
    }
    return config;
}

void place(const workload::Workload& workload, const PlacePlan& plan, PlaceListener& listener) {
    const GapTable table(read_sets(workload));
    for (const std::uint64_t budget : plan.budgets) {
        listener.on_bounds(make_bounds(table, budget, plan));
        for (const PlaceArm& arm : plan.arms) {
            ReplayConfig config = arm.at(budget);
            config.control.replacement.cost = plan.recompute_cost;
            listener.on_row({arm.preset, budget, config, replay(workload, config)});
        }
    }
}

}  // namespace kvplane::control
