// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/zipf_sessions.h"

#include <algorithm>
#include <vector>

#include "host_driver/workload/prompt.h"
#include "model/common/random.h"

namespace kvplane::workload {
namespace {

constexpr std::string_view kName = "zipf-sessions";

/// A session that lives.
struct Session {
    PromptWriter::Context context;
    std::uint32_t number = 0;       ///< 0 before its first turn
    std::uint32_t next_tokens = 0;  ///< of its next prompt
};

std::uint32_t draw(RandomStream& random, std::uint32_t low, std::uint32_t high) {
    return static_cast<std::uint32_t>(random.uniform(low, high));
}

void begin_session(const ZipfSessionsConfig& config, Session& session, std::uint32_t number,
                   RandomStream& lengths) {
    session.context = {};
    session.number = number;
    session.next_tokens = config.shared_prefix_tokens +
                          draw(lengths, config.initial_context_min, config.initial_context_max);
}

}  // namespace

void validate(const ZipfSessionsConfig& c) {
    check_range(kName, "sessions", c.sessions, 1, 1U << 22);
    check_range(kName, "turns", c.turns, 1, 100'000'000);
    check_range(kName, "zipf_exponent", c.zipf_exponent, 0.0, 8.0);
    check_range(kName, "max_context", c.max_context, 1, kMostTokens);
    check_range(kName, "shared_prefix_tokens", c.shared_prefix_tokens, 0, c.max_context - 1);
    const std::uint32_t most_initial = c.max_context - c.shared_prefix_tokens;
    check_range(kName, "initial_context_max", c.initial_context_max, 1, most_initial);
    check_range(kName, "initial_context_min", c.initial_context_min, 1, c.initial_context_max);
    check_range(kName, "appended_max", c.appended_max, 2, kMostTokens);
    check_range(kName, "appended_min", c.appended_min, 2, c.appended_max);
    check_range(kName, "output_max", c.output_max, 1, kMostTokens);
    check_range(kName, "output_min", c.output_min, 1, c.output_max);
    check_range(kName, "requests_per_second", c.requests_per_second, 1e-3, 1e6);
}

RawTrace generate(const ZipfSessionsConfig& config, std::uint64_t seed,
                  std::uint32_t tokens_per_id) {
    validate(config);
    RawTrace trace{.path = std::string(kName), .tokens_per_id = tokens_per_id};
    PromptWriter writer(trace, config.shared_prefix_tokens);
    RandomStream turns(seed, "workload.zipf-sessions.turns");
    RandomStream lengths(seed, "workload.zipf-sessions.lengths");
    RandomStream arrivals(seed, "workload.zipf-sessions.arrivals");
    const Zipf popularity(config.sessions, config.zipf_exponent);
    const Time gap = mean_gap(config.requests_per_second);

    std::vector<Session> sessions(config.sessions);
    std::uint32_t begun = 0;
    Time now{0};
    trace.requests.reserve(config.turns);
    for (std::uint32_t turn = 0; turn < config.turns; ++turn) {
        Session& session = sessions[turns.zipf(popularity)];
        if (session.number == 0 || session.next_tokens > config.max_context) {
            begin_session(config, session, ++begun, lengths);
        }
        const std::uint32_t appended = draw(lengths, config.appended_min, config.appended_max);
        const std::uint32_t output = draw(lengths, config.output_min, config.output_max);
        writer.append({.stamp = whole_ns(now),
                       .input_tokens = session.next_tokens,
                       .output_tokens = std::min(output, appended - 1),
                       .session = session.number},
                      session.context);
        session.next_tokens += appended;
        now += arrivals.exponential(gap);
        check_stamp(kName, now);
    }
    return trace;
}

}  // namespace kvplane::workload
