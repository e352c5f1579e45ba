// SPDX-License-Identifier: Apache-2.0
/// Whole runs inside the test's process, small enough to make many.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "explore/config.h"
#include "explore/platform.h"
#include "tests/support/systemc_test.h"

namespace kvplane::test {

using Sets = std::vector<std::string>;

/// `first`, overridden by `second`.
[[nodiscard]] Sets operator+(Sets first, const Sets& second);

/// A small model on a small node: blocks of 16 tokens and 16 KiB, steps of about 100 us, a few
/// dozen turns of 8 sessions, and room for 64 blocks in HBM.
[[nodiscard]] Sets small_setting();

/// A request of a workload made by hand; one id is one block.
struct HandRequest {
    Time arrival;
    std::vector<std::uint64_t> ids;  ///< of its full blocks
    std::uint32_t more_tokens = 0;   ///< of a partial last block
    std::uint32_t output_tokens = 1;
};

class RunTest : public SystemCTest {
protected:
    using Inspect = std::function<void(explore::Platform&)>;

    /// Runs the baseline with `sets`, every invariant checked at every step. `before` sees the
    /// platform before the run (and may begin it), `inspect` after it. Returns the result; what the
    /// run cost counts as 0.
    nlohmann::ordered_json simulate(const Sets& sets, const Inspect& inspect = {},
                                    const Inspect& before = {});
    /// The same with a workload made by hand.
    nlohmann::ordered_json simulate(const Sets& sets, const std::vector<HandRequest>& requests,
                                    const Inspect& inspect = {});

private:
    nlohmann::ordered_json simulate(const explore::LoadedConfig& config,
                                    workload::Workload workload, const Inspect& inspect,
                                    const Inspect& before);
};

}  // namespace kvplane::test
