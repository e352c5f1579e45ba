// SPDX-License-Identifier: Apache-2.0
/// Moves of blocks between a card and a GPU, ordered by a host that does nothing else: at a depth
/// (closed loop) or at a rate (open loop), through the driver that the config chooses. What the
/// saturation part of `validate` and `kvplane study path` measure with.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "explore/run_config.h"
#include "host_driver/driver/driver.h"
#include "model/common/histogram.h"
#include "model/engine/stage_clock.h"

namespace kvplane::explore {

/// Orders of one kind.
struct MoveFlow {
    driver::MoveKind kind = driver::MoveKind::kPromote;  ///< not kDiscard
    /// Closed loop: orders in flight; each that ends is followed by the next. Of an open loop: 0.
    std::uint32_t depth = 1;
    Rate rate{};            ///< open loop: payload offered; orders come at random (Poisson)
    std::uint32_t run = 1;  ///< blocks of an order: 1 to driver::kLongestRun
};

/// Which kinds a comparison orders.
struct MoveMix {
    const char* name;
    bool promotes;
    bool demotes;
};
inline constexpr std::array kMoveMixes{MoveMix{"promotions", true, false},
                                       MoveMix{"demotions", false, true},
                                       MoveMix{"both", true, true}};

struct MoveLoad {
    Bytes block = Bytes::from_mib(5);
    /// At least one; each kind once. The first says when measuring begins and ends.
    std::vector<MoveFlow> flows;
    std::uint64_t warm_up = 100;  ///< orders of the first flow that are not counted
    std::uint64_t orders = 1000;  ///< of the first flow that are
    std::uint64_t seed = 1;       ///< of the times of open loops
    /// While the first flow is measured, a host reads lines of the card beside it (HostReader). Not
    /// with rings in the card's memory.
    bool host_reads = false;
};

struct MoveMeasure {
    struct Flow {
        Rate payload;              ///< between the first and the last order that ended
        Histogram latency;         ///< of orders: from the decision until a busy poll sees the end
        std::uint64_t blocks = 0;  ///< that moved, all in all
    };
    std::vector<Flow> flows;  ///< as in the load
    /// Of all flows, towards the GPU, while the first one is measured: what crossed from its
    /// beginning to its end, parts of blocks too, and so never more than the wire carries.
    Rate promoted;
    /// Mean stages of the promoted blocks, prefetches included; zero without promotions.
    std::array<double, engine::kStages> stage_us{};
    Histogram host_read;      ///< latency of the host's reads; its own share left out
    Histogram block_latency;  ///< of the same blocks: the stages sum to its mean
};

/// Simulates in a kernel of its own; of `config` card, driver and seeds of nothing else count. The
/// tier is as large as the load needs and holds every block before it is promoted; no block is
/// ordered twice at a time unless an open loop falls behind by more than two thousand orders.
/// Throws InvariantError on a load outside what MoveLoad says, and where an order fails.
[[nodiscard]] MoveMeasure measure_moves(const RunConfig& config, const MoveLoad& load);

}  // namespace kvplane::explore
