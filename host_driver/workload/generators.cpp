// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/generators.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "host_driver/workload/prompt.h"
#include "model/common/errors.h"

namespace kvplane::workload {
namespace {

constexpr std::array<std::pair<std::string_view, Generator>, 4> kNames{
    {{"zipf-sessions", Generator::kZipfSessions},
     {"scan", Generator::kScan},
     {"loop", Generator::kLoop},
     {"agents", Generator::kAgents}}};

}  // namespace

Generator parse_generator(std::string_view name) {
    for (const auto& [known, generator] : kNames) {
        if (known == name) return generator;
    }
    throw UserError(
        fmt::format("unknown generator '{}'; known are zipf-sessions, scan, loop, agents", name));
}

std::string_view name_of(Generator generator) {
    for (const auto& [name, known] : kNames) {
        if (known == generator) return name;
    }
    throw InvariantError("name_of: unknown generator");
}

RawTrace generate(const GeneratorConfig& config, std::uint64_t seed, std::uint32_t tokens_per_id) {
    check_range(name_of(config.generator), "tokens of a block", tokens_per_id, 1, kMostTokens);
    switch (config.generator) {
        case Generator::kZipfSessions:
            return generate(config.zipf_sessions, seed, tokens_per_id);
        case Generator::kScan:
            return generate(config.scan, seed, tokens_per_id);
        case Generator::kLoop:
            return generate(config.loop, seed, tokens_per_id);
        case Generator::kAgents:
            return generate(config.agents, seed, tokens_per_id);
    }
    throw InvariantError("generate: unknown generator");
}

}  // namespace kvplane::workload
