// SPDX-License-Identifier: Apache-2.0
#include "small_run.h"

#include "explore/result.h"
#include "host_driver/workload/assemble.h"
#include "tests/support/shared_data.h"

namespace kvplane::test {
namespace {

explore::LoadedConfig load_baseline(const Sets& sets) {
    return explore::load((source_dir() / "configs/baseline.yaml").string(), sets);
}

}  // namespace

Sets operator+(Sets first, const Sets& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

Sets small_setting() {
    return {
        "block.layers=4",
        "block.kv_heads=2",
        "block.head_dim=32",
        "host.node.layers=4",
        "host.node.hidden=64",
        "host.node.parameters=1000000",
        "host.node.weights=1 MiB",
        "host.node.compute=1 TFLOP/s",
        "host.node.weight_bandwidth=100 GB/s",
        "host.node.kv_bandwidth=100 GB/s",
        "host.node.fixed=50 us",
        "host.node.kv_budget=1 MiB",
        "card.tier.capacity=64 MiB",
        "workload.zipf_sessions.sessions=8",
        "workload.zipf_sessions.turns=40",
        "workload.zipf_sessions.shared_prefix_tokens=64",
        "workload.zipf_sessions.initial_context_min=32",
        "workload.zipf_sessions.initial_context_max=256",
        "workload.zipf_sessions.appended_min=16",
        "workload.zipf_sessions.appended_max=64",
        "workload.zipf_sessions.output_min=1",
        "workload.zipf_sessions.output_max=32",
        "workload.zipf_sessions.max_context=512",
        "workload.zipf_sessions.requests_per_second=400",
    };
}

nlohmann::ordered_json RunTest::simulate(const Sets& sets, const Inspect& inspect,
                                         const Inspect& before) {
    const explore::LoadedConfig config = load_baseline(sets);
    return simulate(config, explore::load_workload(config.run), inspect, before);
}

nlohmann::ordered_json RunTest::simulate(const Sets& sets, const std::vector<HandRequest>& requests,
                                         const Inspect& inspect) {
    const explore::LoadedConfig config = load_baseline(sets);
    const std::uint32_t tokens = config.run.block.tokens;
    workload::RawTrace trace{.path = "by hand", .tokens_per_id = tokens};
    for (const HandRequest& request : requests) {
        trace.requests.push_back(
            {.stamp = request.arrival,
             .input_tokens =
                 static_cast<std::uint32_t>(request.ids.size()) * tokens + request.more_tokens,
             .output_tokens = request.output_tokens,
             .first_id = trace.ids.size(),
             .id_count =
                 static_cast<std::uint32_t>(request.ids.size()) + (request.more_tokens != 0)});
        trace.ids.insert(trace.ids.end(), request.ids.begin(), request.ids.end());
        // The id of a rest is never shared.
        if (request.more_tokens != 0) trace.ids.push_back(1'000'000 + trace.requests.size());
    }
    workload::AssembleOptions options{.tokens_per_block = tokens};
    options.spread_equal_stamps = false;
    return simulate(config, workload::assemble(trace, options), inspect, {});
}

nlohmann::ordered_json RunTest::simulate(const explore::LoadedConfig& config,
                                         workload::Workload workload, const Inspect& inspect,
                                         const Inspect& before) {
    nlohmann::ordered_json result;
    {
        explore::Platform platform(config.run, std::move(workload), true);
        if (before) before(platform);
        platform.run();
        if (inspect) inspect(platform);
        result = explore::make_result(config, platform, {});
    }
    fresh_kernel();
    return result;
}

}  // namespace kvplane::test
