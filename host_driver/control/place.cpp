// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/place.h"

#include <numeric>

namespace kvplane::control {
namespace {

/// One request's chain is one read set.
ReadTrace read_sets(const workload::Workload& workload) {
    ReadTrace trace;
    trace.reserve(static_cast<std::uint32_t>(workload.requests.size()), workload.refs.size());
    for (const workload::Request& request : workload.requests) trace.read(workload.chain(request));
    return trace;
}

constexpr std::int64_t kMillion = 1'000'000;

/// A price of `ppm` millionths of a move, not above it or not below it.
std::int64_t price(std::uint64_t ppm, bool up) {
    return (kMove * static_cast<std::int64_t>(ppm) + (up ? kMillion - 1 : 0)) / kMillion;
}

Prices make_prices(std::optional<Ratio> recompute, std::optional<Ratio> rent, bool up) {
    Prices prices;
    if (recompute) prices.recompute = price(recompute->ppm, up);
    if (rent) prices.rent = price(rent->ppm, up);
    return prices;
}

/// Brackets the cost at the given prices. Prices are rounded against the bound they go into. Every
/// placement costs a multiple of what divides all prices, so both ends are such multiples first.
MoveBracket bracket_moves(const GapTable& table, std::uint64_t budget, std::uint32_t iterations,
                          std::optional<Ratio> recompute, std::optional<Ratio> rent) {
    const auto bound = [&](bool up) {
        return std::get<CostBracket>(
            bound_cost(table, budget, make_prices(recompute, rent, up), up ? 0 : iterations));
    };
    std::int64_t quantum = kMillion;
    if (recompute) quantum = std::gcd(quantum, static_cast<std::int64_t>(recompute->ppm));
    if (rent) quantum = std::gcd(quantum, static_cast<std::int64_t>(rent->ppm));
    const Int128 unit = Int128{kMove} * quantum;
    const Int128 least = (bound(false).lower * kMillion + unit - 1) / unit;
    const Int128 most = bound(true).upper * kMillion / unit;
    return {static_cast<std::uint64_t>(least * quantum / kMillion),
            static_cast<std::uint64_t>((most * quantum + kMillion - 1) / kMillion)};
}

BoundsRow make_bounds(const GapTable& table, std::uint64_t budget, const PlacePlan& plan) {
    BoundsRow row{.budget = budget,
                  .distinct = table.distinct(),
                  .bounds = bound_traffic(table, budget, plan.dual_iterations)};
    if (std::holds_alternative<Infeasible>(row.bounds)) return row;
    if (plan.recompute_price) {
        row.recompute =
            bracket_moves(table, budget, plan.dual_iterations, plan.recompute_price, std::nullopt);
    }
    if (plan.rent) {
        row.rent =
            bracket_moves(table, budget, plan.dual_iterations, plan.recompute_price, plan.rent);
    }
    return row;
}

}  // namespace

ReplayConfig PlaceArm::at(std::uint64_t frames) const {
    ReplayConfig config = replay;
    config.frames = frames;
    if (preset) {
        const ReplayConfig given = make_preset(*preset, frames);
        config.control = given.control;
        config.control.tier_eviction = replay.control.tier_eviction;
        config.watermark = given.watermark;
    }
    return config;
}

void place(const workload::Workload& workload, const PlacePlan& plan, PlaceListener& listener) {
    const GapTable table(read_sets(workload));
    for (const std::uint64_t budget : plan.budgets) {
        listener.on_budget(budget);
        listener.on_bounds(make_bounds(table, budget, plan));
        for (const PlaceArm& arm : plan.arms) {
            ReplayConfig config = arm.at(budget);
            config.control.replacement.cost = plan.recompute_cost;
            config.control.tier_eviction.cost = plan.recompute_cost;
            listener.on_row({arm.preset, budget, config, replay(workload, config)});
        }
    }
}

}  // namespace kvplane::control
