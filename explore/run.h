// SPDX-License-Identifier: Apache-2.0
/// `kvplane run`: one workload through one card.
#pragma once

#include <string>
#include <vector>

namespace kvplane::explore {

struct RunOptions {
    std::string config;
    std::vector<std::string> sets;  ///< path=value
    std::string out;                ///< empty: out/<config>-<hash>
    bool json = false;              ///< one JSON object on stdout instead of the summary
    bool check = false;             ///< every invariant, step by step
    std::string intents;            ///< log of intents, events and completions; empty: none
    std::string events;             ///< FILE[:from,to]: trace of the card's resources; empty: none
    std::string waves;              ///< FILE[:from,to]: waveforms of the RTL engine; empty: none
};

/// Runs, and writes result.json and config.yaml. Returns the exit code: 0, or 1 where the run is
/// marked invalid. Throws UserError and InvariantError.
[[nodiscard]] int run(const RunOptions& options);

}  // namespace kvplane::explore
