// SPDX-License-Identifier: Apache-2.0
/// A trace as its file gives it: what every reader and every generator makes, and what the writer
/// writes. `assemble` turns it into a Workload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host_driver/workload/request.h"
#include "model/common/units.h"

namespace kvplane::workload {

/// The longest prompt, and the longest output, in tokens: 16 times the longest context of the
/// models served today; more is taken for a damaged trace.
inline constexpr std::uint32_t kMostTokens = 1U << 24;
/// The latest time stamp, counted from the start of the trace. Time ends after 106 days, and the
/// last group of equal stamps is spread over as much as a step that long.
inline constexpr Time kLatestStamp = Time::from_s(std::int64_t{45} * 86'400);

/// One request of a trace. Its ids are `ids[first_id]` to `ids[first_id + id_count - 1]`, root
/// first, one for each `tokens_per_id` tokens of the prompt and one for a rest.
struct RawRequest {
    Time stamp{};  ///< whole nanoseconds from the start of the trace
    std::uint32_t input_tokens = 0;
    std::uint32_t output_tokens = 0;
    std::uint64_t first_id = 0;
    std::uint32_t id_count = 0;
    std::uint32_t session = 0;  ///< from 1; 0 where the trace does not say
    std::uint32_t tenant = 0;
    std::uint32_t after = kNoRequest;  ///< as in Request; an index into RawTrace::requests
    Time pause{};
    int line = 0;  ///< where it stands in the file, from 1; 0 where it was generated
};

struct RawTrace {
    std::string path;  ///< names the trace in messages
    std::uint32_t tokens_per_id = 16;
    std::vector<RawRequest> requests{};
    std::vector<std::uint64_t> ids{};
};

}  // namespace kvplane::workload
