// SPDX-License-Identifier: Apache-2.0
/// How fast the lookup engine runs as RTL: bare, in the model, and beside its TLM form.
#include <benchmark/benchmark.h>

#include <vector>

#include "model/common/random.h"
#include "tb/plugin/lookup_dut.h"

namespace kvplane::rtl {
namespace {

void report(benchmark::State& state, const char* what, std::uint64_t count) {
    state.counters[what] =
        benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsRate);
}

std::uint64_t key_of(std::uint64_t n) { return mix64(n * 0x9E3779B97F4A7C15ULL); }

void sweep_and_enable(MetaLookupDut& dut) {
    while (!dut.settle({}).idle) dut.posedge();
    (void)dut.settle({.register_valid = true, .register_write = true, .register_data = 1});
    dut.posedge();
    for (int i = 0; i < 4; ++i) {
        (void)dut.settle({});
        dut.posedge();
    }
}

/// The bare verilated model, a lookup a cycle; half of the keys are there.
void BM_BareLookup(benchmark::State& state) {
    const auto dut = make_card_dut();
    sweep_and_enable(*dut);
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
    sweep_and_enable(*dut);
    for (auto _ : state) {
        benchmark::DoNotOptimize(dut->settle({}));
        dut->posedge();
    }
    report(state, "cycles", static_cast<std::uint64_t>(state.iterations()));
}
BENCHMARK(BM_BareIdle);

/// What taking the engine back costs: mark, a cycle, rewind.
void BM_MarkAndRewind(benchmark::State& state) {
    const auto dut = make_card_dut();
    sweep_and_enable(*dut);
    for (auto _ : state) {
        dut->mark();
        dut->rewind();
    }
}
BENCHMARK(BM_MarkAndRewind);

}  // namespace
}  // namespace kvplane::rtl
