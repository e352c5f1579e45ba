// SPDX-License-Identifier: Apache-2.0
/// The workloads that are drawn from parameters: one door for every generator.
#pragma once

#include <cstdint>
#include <string_view>

#include "host_driver/workload/agents.h"
#include "host_driver/workload/loop.h"
#include "host_driver/workload/raw_trace.h"
#include "host_driver/workload/scan.h"
#include "host_driver/workload/zipf_sessions.h"

namespace kvplane::workload {

enum class Generator { kZipfSessions, kScan, kLoop, kAgents };

/// Which generator, and the parameters of each; those of the others are ignored.
struct GeneratorConfig {
    Generator generator = Generator::kZipfSessions;
    ZipfSessionsConfig zipf_sessions;
    ScanConfig scan;
    LoopConfig loop;
    AgentsConfig agents;
};

/// The generator of that name (zipf-sessions, scan, loop, agents). Throws UserError for another.
[[nodiscard]] Generator parse_generator(std::string_view name);
[[nodiscard]] std::string_view name_of(Generator generator);

/// The workload that the chosen generator draws, with one id a block of `tokens_per_id` tokens
/// (1 to 16,777,216). Every prompt of a generator with a shared prefix has the same second id, so
/// session buckets cannot sample it. Throws UserError for a parameter out of range.
[[nodiscard]] RawTrace generate(const GeneratorConfig& config, std::uint64_t seed,
                                std::uint32_t tokens_per_id);

}  // namespace kvplane::workload
