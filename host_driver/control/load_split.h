// SPDX-License-Identifier: Apache-2.0
/// Fetch or recompute: how much of a prefix that the tier holds is worth loading. The head can be
/// computed while the tail loads; a block's computation needs those before it, so what is computed
/// is always the head.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/common/units.h"

namespace kvplane::control {

/// What a prefix costs, block by block, with what is queued before it.
struct PrefixPrice {
    std::uint64_t blocks = 0;
    Time fetch;              ///< of a block, through the link
    Time recompute;          ///< of a block
    Time link_backlog{};     ///< before the first fetch
    Time compute_backlog{};  ///< before the first computation
};

/// How long a prefix takes whose first `computed` blocks are computed while the others load.
/// `computed`: 0 to price.blocks.
[[nodiscard]] constexpr Time split_time(const PrefixPrice& price, std::uint64_t computed) {
    const std::uint64_t loaded = price.blocks - computed;
    const auto times = [](Time each, std::uint64_t n) {
        return each * static_cast<std::int64_t>(n);
    };
    const Time compute =
        computed == 0 ? Time{} : price.compute_backlog + times(price.recompute, computed);
    const Time load = loaded == 0 ? Time{} : price.link_backlog + times(price.fetch, loaded);
    return std::max(compute, load);
}

/// All computed, and that faster than all loaded.
[[nodiscard]] constexpr bool recompute_beats_fetch(const PrefixPrice& price) {
    return split_time(price, price.blocks) < split_time(price, 0);
}

/// How many blocks to compute for the shortest time; the fewest where several do.
[[nodiscard]] constexpr std::uint64_t best_split(const PrefixPrice& price) {
    std::uint64_t best = 0;
    for (std::uint64_t computed = 1; computed <= price.blocks; ++computed) {
        if (split_time(price, computed) < split_time(price, best)) best = computed;
    }
    return best;
}

}  // namespace kvplane::control
