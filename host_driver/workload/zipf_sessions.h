// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host_driver/workload/raw_trace.h"

namespace kvplane::workload {

/// Chat sessions of which a few are much busier than the rest: each turn belongs to a session
/// drawn by Zipf's law, and its prompt is all that the session holds so far.
///
/// The defaults are a published setting (design/EXPERIMENTS.md, C4), whose last 1,250 turns are
/// counted. That setting has no output of its own: what a turn appends to the context is the
/// answer to the turn before and the user's next text together, and so it is here.
struct ZipfSessionsConfig {
    /// Sessions alive at a time. 1 to 4,194,304. Source: published setting.
    std::uint32_t sessions = 200;
    /// Turns of all sessions together: the requests. 1 to 100,000,000. Source: published setting.
    std::uint32_t turns = 2'500;
    /// Rank r of the sessions gets a share proportional to r^-exponent of the turns. 0 to 8.
    /// Source: published setting.
    double zipf_exponent = 1.1;
    /// Tokens with which every prompt begins, the same for all. 0 to 16,777,216. Source: published
    /// setting.
    std::uint32_t shared_prefix_tokens = 2'048;
    /// Tokens after the shared prefix in a session's first prompt, uniform, both ends included. At
    /// least 1. Source: published setting.
    std::uint32_t initial_context_min = 1'024;
    std::uint32_t initial_context_max = 12'288;
    /// Tokens by which a session's prompt grows from one turn to the next, uniform, both ends
    /// included: the output of the turn before, then at least one token of the user. At least 2.
    /// Source: published setting.
    std::uint32_t appended_min = 32;
    std::uint32_t appended_max = 512;
    /// Output tokens of a turn, uniform, both ends included; cut where the next prompt would have
    /// no room for a token of the user. At least 1. Assumed.
    std::uint32_t output_min = 16;
    std::uint32_t output_max = 256;
    /// Longest prompt, in tokens; a session whose next prompt is longer ends, and another with the
    /// same rank begins. Up to 16,777,216. The default leaves the published setting uncut (its
    /// longest prompts have about 160,000 tokens). Assumed.
    std::uint32_t max_context = 262'144;
    /// Mean arrival rate of all turns together, Poisson. 0.001 to 1,000,000. A turn arrives
    /// whether or not the one before it has completed. Source: the rate of half the Mooncake
    /// conversation trace, 12,031 / 3,537 s / 2.
    double requests_per_second = 1.7;
};

/// Throws UserError that names the generator and the key of a value out of range.
void validate(const ZipfSessionsConfig& config);

/// The workload, with one id a block of `tokens_per_id` tokens. The lengths, sessions and arrivals
/// do not depend on `tokens_per_id`, nor the lengths on the arrival rate. Throws UserError as
/// validate() does.
[[nodiscard]] RawTrace generate(const ZipfSessionsConfig& config, std::uint64_t seed,
                                std::uint32_t tokens_per_id);

}  // namespace kvplane::workload
