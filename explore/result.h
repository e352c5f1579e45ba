// SPDX-License-Identifier: Apache-2.0
/// The result of a run: result.json (schema kvplane.result/1), and its summary for people.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "explore/config.h"
#include "explore/platform.h"

namespace kvplane::explore {

/// What a run cost the machine it ran on; the only parts of a result that may differ between two
/// runs of one config.
struct RunCost {
    double wall_s = 0;
    std::uint64_t peak_rss_mib = 0;
};

/// The sections of DESIGN.md section 4 that this version measures. Latencies in microseconds
/// unless the name says otherwise, GB/s = 10^9 bytes per second.
[[nodiscard]] nlohmann::ordered_json make_result(const LoadedConfig& config,
                                                 const Platform& platform, const RunCost& cost);

/// A screenful: what ran, what requests saw, where promotion time went.
void print_summary(std::ostream& out, const nlohmann::ordered_json& result);

/// {"schema": "kvplane.run/1", "rows": [one flat row]}, with keys such as promotion.count.
[[nodiscard]] nlohmann::ordered_json flat_rows(const nlohmann::ordered_json& result);

}  // namespace kvplane::explore
