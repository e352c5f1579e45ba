// SPDX-License-Identifier: Apache-2.0
/// How fast placement is studied. Targets: all on-line policies at one budget on the conversation
/// trace in 3 s together (BM_OnlinePolicies); MIN in 1 s per 5 million references, its table
/// included (BM_Min: at least 5 M refs/s); memory linear (rss_per_ref does not grow with the
/// trace).
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "host_driver/control/bounds.h"
#include "host_driver/control/replay.h"
#include "host_driver/workload/trace.h"

namespace kvplane::control {
namespace {

workload::Workload read_conversation(benchmark::State& state, std::uint32_t tokens_per_block) {
    const char* shared = std::getenv("KVPLANE_SHARED");
    const std::string path = std::string(shared != nullptr ? shared : "../shared") +
                             "/traces/mooncake/conversation_trace.jsonl";
    if (!std::filesystem::exists(path)) {
        state.SkipWithError("shared data absent: set KVPLANE_SHARED");
        return {};
    }
    workload::TraceOptions options;
    options.assemble.tokens_per_block = tokens_per_block;
    return workload::read_trace(path, workload::TraceFormat::kMooncake, options);
}

ReadTrace read_sets(const workload::Workload& workload) {
    ReadTrace trace;
    for (const workload::Request& request : workload.requests) trace.read(workload.chain(request));
    return trace;
}

void report_refs(benchmark::State& state, std::uint64_t refs) {
    state.counters["refs"] =
        benchmark::Counter(static_cast<double>(refs), benchmark::Counter::kIsRate);
}

/// From read sets to exact MIN, co-resident and streamed; the argument is the tokens of a block.
/// Runs first, with the largest trace last, so that the peak of the process is its own.
void BM_Min(benchmark::State& state) {
    const auto tokens = static_cast<std::uint32_t>(state.range(0));
    const ReadTrace trace = read_sets(read_conversation(state, tokens));
    std::uint64_t refs = 0;
    for (auto _ : state) {
        const GapTable table(trace);
        benchmark::DoNotOptimize(min_promotions(table, 409 * 512 / tokens));
        benchmark::DoNotOptimize(min_promotions_streamed(table, 409 * 512 / tokens));
        refs += trace.refs().size();
    }
    report_refs(state, refs);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    state.counters["rss_per_ref"] =
        static_cast<double>(usage.ru_maxrss) * 1024 / static_cast<double>(trace.refs().size());
}
BENCHMARK(BM_Min)->Arg(512)->Arg(128)->Arg(16)->Unit(benchmark::kMillisecond);

/// Every on-line policy once at 256 GiB, those with state once more with full state.
void BM_OnlinePolicies(benchmark::State& state) {
    const workload::Workload workload = read_conversation(state, 512);
    std::uint64_t refs = 0;
    for (auto _ : state) {
        for (auto i = static_cast<int>(Replacement::kLru); i < static_cast<int>(Replacement::kMin);
             ++i) {
            ReplayConfig config{.frames = 1638};
            config.control.replacement.replacement = static_cast<Replacement>(i);
            for (const Lifetime lifetime : {Lifetime::kReset, Lifetime::kFull}) {
                if (!can_keep(static_cast<Replacement>(i), lifetime)) continue;
                config.control.replacement.state.lifetime = lifetime;
                benchmark::DoNotOptimize(replay(workload, config).hits);
                refs += workload.refs.size();
            }
        }
    }
    report_refs(state, refs);
}
BENCHMARK(BM_OnlinePolicies)->Unit(benchmark::kMillisecond);

/// LRU alone; the argument is the tokens of a block.
void BM_Lru(benchmark::State& state) {
    const auto tokens = static_cast<std::uint32_t>(state.range(0));
    const workload::Workload workload = read_conversation(state, tokens);
    std::uint64_t refs = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(replay(workload, {.frames = 1638 * 512 / tokens}).hits);
        refs += workload.refs.size();
    }
    report_refs(state, refs);
}
BENCHMARK(BM_Lru)->Arg(512)->Arg(16)->Unit(benchmark::kMillisecond);

/// All bounds of one budget with 3,000 iterations of the dual.
void BM_Bounds(benchmark::State& state) {
    const GapTable table(read_sets(read_conversation(state, 512)));
    for (auto _ : state) benchmark::DoNotOptimize(bound_traffic(table, 409, 3000));
}
BENCHMARK(BM_Bounds)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvplane::control
