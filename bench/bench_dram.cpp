// SPDX-License-Identifier: Apache-2.0
/// How fast one DDR5-4800B subchannel is simulated: 64 B requests a second, behind its four-phase
/// target and without it. Closed loop, 64 outstanding behind 32 + 32 places, so that the port
/// always holds a request back. Where the kernel lets us count, instructions a request beside it.
#include <benchmark/benchmark.h>

#include "bench/closed_loop.h"
#include "bench/instructions.h"
#include "model/common/random.h"
#include "model/memory/ddr5_load.h"
#include "model/memory/ddr5_memory.h"

namespace kvplane::memory {
namespace {

constexpr std::uint64_t kRequests = 500'000;
constexpr std::uint32_t kOutstanding = 64;
constexpr std::uint64_t kLines = (1ULL << 32) / 64;

/// The lines of a pattern: every third is written where it is mixed.
struct Pattern {
    bool sequential = true;
    bool mixed = false;
    RandomStream random{1, "bench dram"};

    bench::LineAccess operator()(std::uint64_t n) {
        const std::uint64_t line = sequential ? n % kLines : random.uniform(kLines);
        return {mixed && n % 3 == 2 ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, line * 64};
    }
};

Ddr5Config one_subchannel() {
    Ddr5Config config;
    config.geometry.subchannels = 1;
    return config;
}

void report(benchmark::State& state, std::uint64_t requests, std::uint64_t instructions,
            double gb_s) {
    state.counters["requests"] =
        benchmark::Counter(static_cast<double>(requests), benchmark::Counter::kIsRate);
    state.counters["GB/s"] = gb_s;
    if (instructions != 0) {
        state.counters["instructions"] =
            static_cast<double>(instructions) / static_cast<double>(requests);
    }
}

void port(benchmark::State& state, bool sequential, bool mixed) {
    const bench::Instructions instructions;
    std::uint64_t requests = 0;
    std::uint64_t executed = 0;
    double gb_s = 0;
    for (auto _ : state) {
        state.PauseTiming();
        sc_core::sc_curr_simcontext = new sc_core::sc_simcontext();
        sc_core::sc_default_global_context = sc_core::sc_curr_simcontext;
        Ddr5Memory memory("memory", one_subchannel());
        bench::ClosedLoop sender("sender", kRequests, kOutstanding, false,
                                 Pattern{.sequential = sequential, .mixed = mixed});
        sender.socket.bind(memory.socket);
        const std::uint64_t before = instructions.count();
        state.ResumeTiming();
        sc_core::sc_start();
        state.PauseTiming();
        executed += instructions.count() - before;
        requests += kRequests;
        gb_s = static_cast<double>(kRequests * 64) / sc_core::sc_time_stamp().to_seconds() / 1e9;
        state.ResumeTiming();
    }
    report(state, requests, executed, gb_s);
}

/// The scheduler alone, with a source beside it that keeps latencies.
void bare(benchmark::State& state, bool sequential, bool mixed) {
    const bench::Instructions instructions;
    DramLoad load;
    load.pattern = sequential ? DramPattern::kSequential : DramPattern::kRandom;
    load.reads = mixed ? 2 : 1;
    load.writes = mixed ? 1 : 0;
    load.requests = kRequests;
    std::uint64_t requests = 0;
    std::uint64_t executed = 0;
    double gb_s = 0;
    for (auto _ : state) {
        const std::uint64_t before = instructions.count();
        const DramMeasure measure = measure_dram(one_subchannel(), load);
        executed += instructions.count() - before;
        requests += measure.requests;
        gb_s = measure.reads.gb_s() + measure.writes.gb_s();
    }
    report(state, requests, executed, gb_s);
}

BENCHMARK_CAPTURE(port, sequential_read, true, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(port, random_read, false, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(port, sequential_2_1, true, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(port, random_2_1, false, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, sequential_read, true, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, random_read, false, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, sequential_2_1, true, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, random_2_1, false, true)->Unit(benchmark::kMillisecond);

/// A minute of simulated time with a request every 10 ms: what an idle subchannel costs.
void BM_Idle(benchmark::State& state) {
    for (auto _ : state) {
        Ddr5Subchannel channel(one_subchannel());
        for (std::int64_t n = 0; n < 6'000; ++n) {
            const Time at = Time::from_ms(10 * n);
            channel.submit(
                at, {.line = static_cast<std::uint64_t>(n) * 4096, .op = LineOp::kRead, .tag = 0});
            channel.advance(at + Time::from_us(1));
            benchmark::DoNotOptimize(channel.pop_answer(at + Time::from_us(1)));
        }
    }
    state.counters["simulated s"] = benchmark::Counter(
        60.0 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Idle)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvplane::memory
