// SPDX-License-Identifier: Apache-2.0
/// How fast workloads are read and generated, in block references a second.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "host_driver/workload/assemble.h"
#include "host_driver/workload/mooncake.h"
#include "host_driver/workload/zipf_sessions.h"

namespace kvplane::workload {
namespace {

std::string conversation_trace() {
    const char* shared = std::getenv("KVPLANE_SHARED");
    return std::string(shared != nullptr ? shared : "../shared") +
           "/traces/mooncake/conversation_trace.jsonl";
}

void report_refs(benchmark::State& state, std::uint64_t refs) {
    state.counters["refs"] =
        benchmark::Counter(static_cast<double>(refs), benchmark::Counter::kIsRate);
}

/// The conversation trace, from file to workload; the argument is the tokens of a block.
void BM_ReadConversation(benchmark::State& state) {
    const std::string path = conversation_trace();
    if (!std::filesystem::exists(path)) {
        state.SkipWithError("shared data absent: set KVPLANE_SHARED");
        return;
    }
    AssembleOptions options;
    options.tokens_per_block = static_cast<std::uint32_t>(state.range(0));
    std::uint64_t refs = 0;
    for (auto _ : state) {
        const Workload workload = assemble(read_mooncake(path), options);
        refs += workload.refs.size();
    }
    report_refs(state, refs);
}
BENCHMARK(BM_ReadConversation)->Arg(16)->Arg(512)->Unit(benchmark::kMillisecond);

/// The same trace without its file: what blocks and keys cost.
void BM_AssembleConversation(benchmark::State& state) {
    const std::string path = conversation_trace();
    if (!std::filesystem::exists(path)) {
        state.SkipWithError("shared data absent: set KVPLANE_SHARED");
        return;
    }
    const RawTrace trace = read_mooncake(path);
    std::uint64_t refs = 0;
    for (auto _ : state) refs += assemble(trace, {}).refs.size();
    report_refs(state, refs);
}
BENCHMARK(BM_AssembleConversation)->Unit(benchmark::kMillisecond);

/// The published setting of zipf-sessions.
void BM_ZipfSessions(benchmark::State& state) {
    std::uint64_t refs = 0;
    for (auto _ : state) refs += assemble(generate(ZipfSessionsConfig{}, 1, 16), {}).refs.size();
    report_refs(state, refs);
}
BENCHMARK(BM_ZipfSessions)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvplane::workload
