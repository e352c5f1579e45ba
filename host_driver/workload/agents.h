// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host_driver/workload/raw_trace.h"

namespace kvplane::workload {

/// A fixed population of agents, each of which calls the model, runs a tool for a while, and calls
/// again with all it had and the tool's result: a closed loop. Open arrivals instead made the load
/// differ by half between seeds.
///
/// Every request but an agent's first says which request it follows and how long the tool takes
/// (Request::after, Request::pause). Its `arrival` is an estimate for views without service times:
/// it takes the request before it to be served in
///     estimated_start + new prompt tokens / estimated_prefill_rate
///     + output tokens x estimated_token_time
/// where new tokens are those that the agent's last request did not have, without queueing.
struct AgentsConfig {
    /// Agents at work at any time. 1 to 100,000. Tuned, with the pauses and the service times
    /// estimated below, to 1.7 requests a second.
    std::uint32_t population = 35;
    /// Requests of all agents together. 1 to 100,000,000. An hour at 1.7 a second.
    std::uint32_t requests = 6'000;
    /// Tokens of an agent's first prompt. 1 to 16,777,216. Source: design/EXPERIMENTS.md.
    std::uint32_t initial_tokens = 8'192;
    /// Of these, tokens that all agents share. Below initial_tokens.
    std::uint32_t shared_prefix_tokens = 0;
    /// Tokens by which the prompt grows from one turn to the next: the output of the turn before,
    /// then the tool's result. Above output_tokens. Source: design/EXPERIMENTS.md.
    std::uint32_t appended_tokens = 900;
    /// Output of a turn. At least 1. Source: design/EXPERIMENTS.md.
    std::uint32_t output_tokens = 200;
    /// Longest prompt; an agent whose next prompt is longer begins a new session with a first
    /// prompt. Up to 16,777,216. Source: the context of the models of 2024 (128 Ki).
    std::uint32_t max_context = 131'072;
    /// Tool pause: lognormal, cut at a week. Median up to a day; sigma 0 to 4. Source:
    /// design/EXPERIMENTS.md.
    Time pause_median = Time::from_s(5);
    double pause_sigma = 1.5;
    /// The estimate of service: see above. Rate at least 1,000 tokens a second; start up to
    /// a minute; time of all output tokens of a request up to a day.
    /// Sources: prefill of the default node (design/EXPERIMENTS.md); a decode step of about 40
    /// sequences and a chunk of prefill, assumed.
    Time estimated_start = Time{0};
    std::uint32_t estimated_prefill_rate = 27'700;
    Time estimated_token_time = Time::from_ms(25);
};

/// Throws UserError that names the generator and the key of a value out of range.
void validate(const AgentsConfig& config);

/// The workload, with one id a block of `tokens_per_id` tokens, in order of estimated arrival.
/// Agents begin with a tool pause at time 0. An agent's pauses do not depend on the other agents,
/// nor on the estimate of service. Throws UserError as validate() does.
[[nodiscard]] RawTrace generate(const AgentsConfig& config, std::uint64_t seed,
                                std::uint32_t tokens_per_id);

}  // namespace kvplane::workload
