// SPDX-License-Identifier: Apache-2.0
/// How fast the lookup engine runs as RTL: bare, in the model, and beside its TLM form.
#include <benchmark/benchmark.h>

#include "model/common/random.h"
#include "tb/plugin/dut_set_up.h"
#include "tb/plugin/lockstep_engine.h"

namespace kvplane::rtl {
namespace {

void report(benchmark::State& state, const char* what, std::uint64_t count) {
    state.counters[what] =
        benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsRate);
}

std::uint64_t key_of(std::uint64_t n) { return mix64(n * 0x9E3779B97F4A7C15ULL); }

/// The bare verilated model, a lookup a cycle; half of the keys are there.
void BM_BareLookup(benchmark::State& state) {
    const auto dut = make_card_dut();
    set_up(*dut, 1);
    DutInputs in{.request_valid = true};
    in.request.entry.state = 1;
    constexpr std::uint64_t kKeys = 100'000;
    in.request.operation = index::Operation::kInsert;
    for (std::uint64_t n = 0; n < kKeys / 2;) {
        in.request.key = key_of(n);
        if (dut->settle(in).request_ready) ++n;
        dut->posedge();
    }
    in.request.operation = index::Operation::kLookup;
    std::uint64_t n = 0;
    for (auto _ : state) {
        n = (n + 7'919) % kKeys;
        in.request.key = key_of(n);
        benchmark::DoNotOptimize(dut->settle(in));
        dut->posedge();
    }
    report(state, "cycles", static_cast<std::uint64_t>(state.iterations()));
}
BENCHMARK(BM_BareLookup);

/// The bare verilated model with nothing to do but to be clocked.
void BM_BareIdle(benchmark::State& state) {
    const auto dut = make_card_dut();
    set_up(*dut, 1);
    for (auto _ : state) {
        benchmark::DoNotOptimize(dut->settle({}));
        dut->posedge();
    }
    report(state, "cycles", static_cast<std::uint64_t>(state.iterations()));
}
BENCHMARK(BM_BareIdle);

/// The engine in the model, and its TLM form: a lookup a cycle; half of the keys are there.
template <class Engine>
void lookups(benchmark::State& state) {
    Engine engine{index::IndexConfig{}};
    constexpr std::uint64_t kKeys = 100'000;
    index::Request request{.operation = index::Operation::kInsert};
    request.entry.state = 1;
    Time at;
    for (std::uint64_t n = 0; n < kKeys / 2; ++n) {
        request.key = key_of(n);
        at += Time::from_ns(4);
        benchmark::DoNotOptimize(engine.submit(request, at));
    }
    request.operation = index::Operation::kLookup;
    std::uint64_t n = 0;
    for (auto _ : state) {
        n = (n + 7'919) % kKeys;
        request.key = key_of(n);
        at += Time::from_ns(1);
        benchmark::DoNotOptimize(engine.submit(request, at));
    }
    report(state, "cycles", static_cast<std::uint64_t>(state.iterations()));
}
void BM_RtlEngineLookup(benchmark::State& state) { lookups<RtlEngine>(state); }
BENCHMARK(BM_RtlEngineLookup);
void BM_LockstepLookup(benchmark::State& state) { lookups<LockstepEngine>(state); }
BENCHMARK(BM_LockstepLookup);
void BM_TimedTableLookup(benchmark::State& state) { lookups<index::TimedTable>(state); }
BENCHMARK(BM_TimedTableLookup);

}  // namespace
}  // namespace kvplane::rtl
