// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/agents.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "host_driver/workload/prompt.h"
#include "model/common/random.h"

namespace kvplane::workload {
namespace {

constexpr std::string_view kName = "agents";
constexpr Time kDay = Time::from_s(86'400);
constexpr Time kLongestPause = kDay * 7;

struct Agent {
    Agent(const AgentsConfig& config, std::uint64_t seed, std::uint32_t index)
        : pauses(seed, fmt::format("workload.agents.pauses.{}", index)),
          next_tokens(config.initial_tokens) {}

    RandomStream pauses;
    PromptWriter::Context context;
    std::uint32_t session = 0;
    std::uint32_t next_tokens;      ///< of its next prompt
    std::uint32_t last_tokens = 0;  ///< of its last prompt in this session
    std::uint32_t last_request = kNoRequest;
    Time pause;  ///< before its next request
};

Time service_estimate(const AgentsConfig& config, std::uint32_t new_tokens) {
    const Int128 prefill =
        static_cast<Int128>(new_tokens) * Time::from_s(1).ps / config.estimated_prefill_rate;
    return config.estimated_start + Time{static_cast<std::int64_t>(prefill)} +
           config.estimated_token_time * config.output_tokens;
}

Time draw_pause(const AgentsConfig& config, Agent& agent) {
    const Time pause = agent.pauses.lognormal(config.pause_median, config.pause_sigma);
    return whole_ns(std::min(pause, kLongestPause));
}

void begin_session(const AgentsConfig& config, Agent& agent, std::uint32_t session) {
    agent.context = {};
    agent.session = session;
    agent.next_tokens = config.initial_tokens;
    agent.last_tokens = 0;
}

/// Writes the agent's next request, and gives the estimate of its service.
Time ask(const AgentsConfig& config, Agent& agent, Time stamp, PromptWriter& writer) {
    const bool first = agent.last_request == kNoRequest;
    agent.last_request = writer.append({.stamp = stamp,
                                        .input_tokens = agent.next_tokens,
                                        .output_tokens = config.output_tokens,
                                        .session = agent.session,
                                        .after = agent.last_request,
                                        .pause = first ? Time{0} : agent.pause},
                                       agent.context);
    const std::uint32_t new_tokens = agent.next_tokens - agent.last_tokens;
    agent.last_tokens = agent.next_tokens;
    agent.next_tokens += config.appended_tokens;
    return service_estimate(config, new_tokens);
}

/// The next arrival of an agent; ties go to the lower agent.
using Arrival = std::tuple<Time, std::uint32_t>;
using Arrivals = std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>>;

}  // namespace

void validate(const AgentsConfig& c) {
    check_range(kName, "population", c.population, 1, 100'000);
    check_range(kName, "requests", c.requests, 1, 100'000'000);
    check_range(kName, "max_context", c.max_context, 1, kMostTokens);
    check_range(kName, "initial_tokens", c.initial_tokens, 1, c.max_context);
    check_range(kName, "shared_prefix_tokens", c.shared_prefix_tokens, 0, c.initial_tokens - 1);
    check_range(kName, "output_tokens", c.output_tokens, 1, kMostTokens);
    check_range(kName, "appended_tokens", c.appended_tokens, c.output_tokens + 1, kMostTokens);
    check_range(kName, "pause_median in s", c.pause_median.s(), 0.0, kDay.s());
    check_range(kName, "pause_sigma", c.pause_sigma, 0.0, 4.0);
    check_range(kName, "estimated_start in s", c.estimated_start.s(), 0.0, 60.0);
    check_range(kName, "estimated_prefill_rate", c.estimated_prefill_rate, 1'000, UINT32_MAX);
    check_range(kName, "estimated_token_time in s", c.estimated_token_time.s(), 0.0,
                kDay.s() / c.output_tokens);
}

RawTrace generate(const AgentsConfig& config, std::uint64_t seed, std::uint32_t tokens_per_id) {
    validate(config);
    RawTrace trace{.path = std::string(kName), .tokens_per_id = tokens_per_id};
    PromptWriter writer(trace, config.shared_prefix_tokens);
    std::vector<Agent> agents;
    Arrivals arrivals;
    for (std::uint32_t i = 0; i < config.population; ++i) {
        Agent& agent = agents.emplace_back(config, seed, i);
        arrivals.push({draw_pause(config, agent), i});
    }
    std::uint32_t sessions = 0;
    while (trace.requests.size() < config.requests) {
        const auto [now, index] = arrivals.top();
        arrivals.pop();
        check_stamp(kName, now);
        Agent& agent = agents[index];
        if (agent.session == 0 || agent.next_tokens > config.max_context) {
            begin_session(config, agent, ++sessions);
        }
        const Time served = now + ask(config, agent, whole_ns(now), writer);
        agent.pause = draw_pause(config, agent);
        arrivals.push({served + agent.pause, index});
    }
    return trace;
}

}  // namespace kvplane::workload
