// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/loop.h"

#include <vector>

#include "host_driver/workload/prompt.h"
#include "model/common/random.h"

namespace kvplane::workload {
namespace {

constexpr std::string_view kName = "loop";

}  // namespace

void validate(const LoopConfig& c) {
    check_range(kName, "documents", c.documents, 1, 1U << 22);
    check_range(kName, "rounds", c.rounds, 1, 1'000'000);
    check_range(kName, "documents x rounds", std::uint64_t{c.documents} * c.rounds, 1, 100'000'000);
    check_range(kName, "document_tokens", c.document_tokens, 1, kMostTokens);
    check_range(kName, "shared_prefix_tokens", c.shared_prefix_tokens, 0, c.document_tokens - 1);
    check_range(kName, "output_tokens", c.output_tokens, 1, kMostTokens);
    check_range(kName, "requests_per_second", c.requests_per_second, 1e-3, 1e6);
}

RawTrace generate(const LoopConfig& config, std::uint64_t seed, std::uint32_t tokens_per_id) {
    validate(config);
    RawTrace trace{.path = std::string(kName), .tokens_per_id = tokens_per_id};
    PromptWriter writer(trace, config.shared_prefix_tokens);
    RandomStream arrivals(seed, "workload.loop.arrivals");
    const Time gap = mean_gap(config.requests_per_second);

    std::vector<PromptWriter::Context> documents(config.documents);
    const std::uint32_t requests = config.documents * config.rounds;
    Time now{0};
    for (std::uint32_t i = 0; i < requests; ++i) {
        const std::uint32_t document = i % config.documents;
        writer.append({.stamp = whole_ns(now),
                       .input_tokens = config.document_tokens,
                       .output_tokens = config.output_tokens,
                       .session = document + 1},
                      documents[document]);
        now += arrivals.exponential(gap);
        check_stamp(kName, now);
    }
    return trace;
}

}  // namespace kvplane::workload
