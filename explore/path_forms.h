// SPDX-License-Identifier: Apache-2.0
/// What a promotion should take by arithmetic: launches, stages and bytes over the slowest of the
/// resources, without any simulation. References for `kvplane study path`.
#pragma once

#include <cstdint>
#include <optional>

#include "explore/run_config.h"

namespace kvplane::explore {

/// One point of a path: promotions of one kind through the mechanism of the config.
struct PathPoint {
    Bytes block;
    std::uint32_t run = 1;    ///< blocks of an order
    std::uint32_t depth = 1;  ///< closed loop: orders in flight; 0: open loop
    Rate offered{};           ///< of an open loop
};

struct PathForm {
    /// Of an order, from the decision until a poll sees its end: one at a time, the sum of its
    /// stages; at a depth, what fills the slowest resource; open loop by the card, one server with
    /// random arrivals (M/D/1). Nothing for an open loop of copies (a launch is longer when idle)
    /// and where more is offered than passes.
    std::optional<double> order_us;
    /// Of a closed loop: the least of what passes the slowest resource and of what one order after
    /// another reaches.
    std::optional<double> gb_s;
};

/// Neither, for orders by the card, where something else than stages and bytes sets the pace:
/// completions written together, a tenant's rate, little staging, the host's submissions, or too
/// few orders under way to fill the slowest resource: by ring, by card.in_flight, or by a depth at
/// which fetches of descriptors from host memory wait for one another.
[[nodiscard]] PathForm path_form(const RunConfig& config, const PathPoint& point);

}  // namespace kvplane::explore
