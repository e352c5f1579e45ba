// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/scan.h"

#include <vector>

#include "host_driver/workload/prompt.h"
#include "model/common/random.h"

namespace kvplane::workload {
namespace {

constexpr std::string_view kName = "scan";

}  // namespace

void validate(const ScanConfig& c) {
    check_range(kName, "requests", c.requests, 1, 100'000'000);
    check_range(kName, "hot_documents", c.hot_documents, 1, 1U << 22);
    check_range(kName, "scan_permille", c.scan_permille, 0, 1000);
    check_range(kName, "document_tokens", c.document_tokens, 1, kMostTokens);
    check_range(kName, "shared_prefix_tokens", c.shared_prefix_tokens, 0, c.document_tokens - 1);
    check_range(kName, "output_tokens", c.output_tokens, 1, kMostTokens);
    check_range(kName, "requests_per_second", c.requests_per_second, 1e-3, 1e6);
}

RawTrace generate(const ScanConfig& config, std::uint64_t seed, std::uint32_t tokens_per_id) {
    validate(config);
    RawTrace trace{.path = std::string(kName), .tokens_per_id = tokens_per_id};
    PromptWriter writer(trace, config.shared_prefix_tokens);
    RandomStream choice(seed, "workload.scan.documents");
    RandomStream arrivals(seed, "workload.scan.arrivals");
    const Time gap = mean_gap(config.requests_per_second);

    std::vector<PromptWriter::Context> hot(config.hot_documents);
    std::uint32_t cold = config.hot_documents;
    Time now{0};
    for (std::uint32_t i = 0; i < config.requests; ++i) {
        const bool once = choice.uniform(1000) < config.scan_permille;
        const std::size_t document = choice.uniform(config.hot_documents);
        RawRequest request{.stamp = whole_ns(now),
                           .input_tokens = config.document_tokens,
                           .output_tokens = config.output_tokens};
        PromptWriter::Context fresh;
        request.session = once ? ++cold : static_cast<std::uint32_t>(document + 1);
        writer.append(request, once ? fresh : hot[document]);
        now += arrivals.exponential(gap);
        check_stamp(kName, now);
    }
    return trace;
}

}  // namespace kvplane::workload
