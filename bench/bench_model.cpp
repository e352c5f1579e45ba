// SPDX-License-Identifier: Apache-2.0
/// How fast the parts of the card run, and the whole card: operations a second of wall time.
#include <benchmark/benchmark.h>

#include <systemc>
#include <vector>

#include "bench/card_host.h"
#include "model/card/type3_card.h"
#include "model/common/flow_server.h"
#include "model/common/random.h"
#include "model/index/tlm_index.h"

namespace kvplane {
namespace {

void report(benchmark::State& state, const char* what, std::uint64_t count) {
    state.counters[what] =
        benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsRate);
}

class Deaf final : public FlowClient {
    void block_drained(std::uint32_t, std::uint32_t, std::uint32_t, Time, Time) override {}
    void job_drained(std::uint32_t, std::uint32_t, Time) override {}
    void job_given_up(std::uint32_t, std::uint32_t, std::uint32_t, FlowEnd, Time) override {}
};

/// Jobs through two servers that share a resource; the argument is the blocks of a job.
void BM_FlowServers(benchmark::State& state) {
    Deaf client;
    FlowServerConfig config;
    config.share = {std::uint64_t{1} << 32, std::uint64_t{1} << 31, 0, 0};
    FlowServers flow({50'000'000'000, 40'000'000'000, 0, 0}, {config, config}, client);
    const auto blocks = static_cast<std::uint32_t>(state.range(0));
    Time at{};
    std::uint32_t jobs = 0;
    for (auto _ : state) {
        flow.push(jobs++ & 1U, {.id = jobs, .blocks = blocks, .block_bytes = {65'536}}, at);
        if (jobs % 16 == 0) {
            while (flow.busy(0) || flow.busy(1)) flow.advance(at = flow.next_end());
        }
    }
    report(state, "jobs", jobs);
    report(state, "blocks", std::uint64_t{jobs} * blocks);
}
BENCHMARK(BM_FlowServers)->Arg(1)->Arg(32);

/// Promotions of 64 KiB, sixteen intents at a time; the argument is the blocks of an intent.
void BM_CardPromotions(benchmark::State& state) {
    constexpr Bytes kBlock = Bytes::from_kib(64);
    const auto blocks = static_cast<std::uint32_t>(state.range(0));
    sc_core::sc_curr_simcontext = new sc_core::sc_simcontext();
    sc_core::sc_default_global_context = sc_core::sc_curr_simcontext;
    index::TlmIndex index(index::IndexConfig{});
    card::Type3Card card("card", card::CardConfig{}, kBlock, index);
    bench::CardHost host("host");
    host.mmio.bind(card.mmio);
    card.dma.bind(host);
    sc_core::sc_start(1, sc_core::SC_NS);
    std::vector<engine::GatherEntry> run;
    for (std::uint32_t i = 0; i < blocks; ++i) {
        run.push_back(
            engine::make_gather_entry({i, i * 0x9E3779B97F4A7C15U}, i, engine::granules(kBlock)));
    }
    host.submit(engine::Opcode::kDemote, run);
    sc_core::sc_start();
    for (auto _ : state) {
        for (int i = 0; i < 16; ++i) host.submit(engine::Opcode::kPromote, run);
        sc_core::sc_start();
    }
    report(state, "promotions", card.data_plane().counters().promoted_blocks);
}
BENCHMARK(BM_CardPromotions)->Arg(1)->Arg(32);

}  // namespace
}  // namespace kvplane
