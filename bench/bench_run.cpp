// SPDX-License-Identifier: Apache-2.0
/// How fast a whole run is, in block references and in moved blocks a second.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <systemc>
#include <utility>

#include "explore/platform.h"

namespace kvplane::explore {
namespace {

/// Sessions on a budget that holds a quarter of them, so that blocks move all the time.
RunConfig busy_config(driver::Mechanism mechanism) {
    RunConfig config;
    config.driver.mechanism = mechanism;
    config.node.kv_budget = Bytes::from_gib(64);
    config.workload.generated.zipf_sessions.turns = 1'000;
    config.workload.generated.zipf_sessions.max_context = 16'384;
    return config;
}

void fresh_kernel() {
    sc_core::sc_curr_simcontext = new sc_core::sc_simcontext();
    sc_core::sc_default_global_context = sc_core::sc_curr_simcontext;
}

/// The simulation alone; the workload is made beforehand.
void run(benchmark::State& state, driver::Mechanism mechanism) {
    const RunConfig config = busy_config(mechanism);
    const workload::Workload workload = load_workload(config);
    std::uint64_t refs = 0;
    std::uint64_t moves = 0;
    for (auto _ : state) {
        {
            Platform platform(config, workload, false);
            platform.run();
            refs += platform.control().counts().block_refs;
            moves += platform.ledger().counts().promotions + platform.ledger().counts().demotions;
        }
        state.PauseTiming();
        fresh_kernel();
        state.ResumeTiming();
    }
    const auto rate = [](std::uint64_t n) {
        return benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsRate);
    };
    state.counters["refs"] = rate(refs);
    state.counters["moves"] = rate(moves);
}

void BM_RunCard(benchmark::State& state) { run(state, driver::Mechanism::kCard); }
BENCHMARK(BM_RunCard)->Unit(benchmark::kMillisecond);

void BM_RunCopyEngine(benchmark::State& state) { run(state, driver::Mechanism::kCopyEngine); }
BENCHMARK(BM_RunCopyEngine)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvplane::explore
