// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host_driver/workload/raw_trace.h"

namespace kvplane::workload {

/// How sessions are drawn for a trace that gives lengths only. All of it is assumed: the trace says
/// nothing about prefixes, so that no figure about reuse may rest on it.
struct AzureConfig {
    /// Tokens that a drawn id stands for. At least 1.
    std::uint32_t tokens_per_id = 16;
    /// Of 1,000 requests, those that continue a session where one fits. 0 to 1,000.
    std::uint32_t continue_permille = 500;
    /// A session that has been idle for longer is not continued.
    Time longest_idle = Time::from_s(600);
};

/// Reads an Azure LLM inference trace: CSV with the header
/// `TIMESTAMP,ContextTokens,GeneratedTokens` and rows such as `2023-11-16
/// 18:17:03.9799600,4808,10`; lengths are at least 1. Stamps are counted from the earliest.
///
/// Sessions are drawn, in file order: with the given chance a request of c prompt tokens continues
/// one of the sessions that have been idle for at most `longest_idle` and whose context (prompt and
/// output of its last request) has c/2 to c - 1 tokens, each as likely as the other; where none
/// fits, and otherwise, it begins a session. A prompt begins with its session's context.
///
/// Throws UserError with file, line and column for anything else.
[[nodiscard]] RawTrace read_azure(const std::string& path, const AzureConfig& config,
                                  std::uint64_t seed);

}  // namespace kvplane::workload
