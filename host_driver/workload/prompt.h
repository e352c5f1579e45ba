// SPDX-License-Identifier: Apache-2.0
/// What generators and the readers of traces without ids share: prompts that grow, made of ids.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "host_driver/workload/raw_trace.h"
#include "model/common/errors.h"

namespace kvplane::workload {

/// Makes the requests of a trace whose ids are drawn: every full id's worth of tokens gets a number
/// of its own once. So does the rest at the end of a prompt, once for each length of the prompt:
/// when the prompt grows, the tokens that fill the id up make it another.
class PromptWriter {
public:
    /// The tokens of one session.
    struct Context {
        std::vector<std::uint64_t> full;  ///< ids
        std::uint32_t rest_end = 0;       ///< tokens of the last prompt that had a rest
        std::uint64_t rest_id = 0;        ///< of that rest
    };

    /// `shared_tokens`: those with which every context begins; a rest that does not fill an id is
    /// each session's own.
    PromptWriter(RawTrace& trace, std::uint32_t shared_tokens);

    /// Appends `request`, whose prompt is the first request.input_tokens tokens of `context`.
    /// Extends the context where it is shorter. Returns the index of the request.
    std::uint32_t append(RawRequest request, Context& context);

private:
    RawTrace& m_trace;
    std::vector<std::uint64_t> m_shared;
    std::uint64_t m_next_id = 0;
};

/// Throws UserError "GENERATOR: KEY: must be LOW to HIGH, not VALUE" where it is not.
template <typename T>
void check_range(std::string_view generator, std::string_view key, T value,
                 std::type_identity_t<T> low, std::type_identity_t<T> high) {
    if (value >= low && value <= high) return;
    throw UserError(
        fmt::format("{}: {}: must be {} to {}, not {}", generator, key, low, high, value));
}

/// The mean time between arrivals at that rate, which is above 0.
[[nodiscard]] Time mean_gap(double requests_per_second);

/// Cut to a whole nanosecond, as stamps are.
[[nodiscard]] constexpr Time whole_ns(Time t) { return {t.ps - t.ps % 1000}; }

/// A trace that runs longer than stamps reach is the user's mistake.
void check_stamp(std::string_view generator, Time stamp);

}  // namespace kvplane::workload
