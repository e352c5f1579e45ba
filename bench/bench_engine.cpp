// SPDX-License-Identifier: Apache-2.0
/// How fast moves are simulated, a whole card with its metrics on: 5 MiB blocks one by one and in
/// runs of 32 in burst fidelity; 64 KiB blocks line by line. Closed loop, 32 intents in flight.
/// Where the kernel lets us count, instructions a block (or a line) beside it.
#include <benchmark/benchmark.h>

#include <systemc>
#include <vector>

#include "bench/card_host.h"
#include "bench/instructions.h"
#include "host_driver/driver/move_metrics.h"
#include "model/card/type3_card.h"
#include "model/index/tlm_index.h"

namespace kvplane {
namespace {

constexpr std::uint32_t kBlocks = 1024;  ///< in the tier
constexpr std::uint32_t kInFlight = 32;

class Metrics final : public engine::MoveObserver {
public:
    void block_promoted(const engine::BlockMove& move) override {
        m_metrics.promoted(move.stages, move.bytes);
    }
    void block_demoted(const engine::BlockMove& move) override {
        m_metrics.demoted(move.stages, move.bytes);
    }

private:
    driver::MoveMetrics m_metrics;
};

/// A card with its tier full of blocks, and a host that promotes them over and over.
class Loop {
public:
    Loop(const card::CardConfig& config, Bytes block, std::uint32_t run)
        : m_block(block),
          m_run(run),
          m_index(index::IndexConfig{}),
          m_card("card", config, block, m_index),
          m_host("host") {
        m_host.mmio.bind(m_card.mmio);
        m_card.dma.bind(m_host);
        m_card.data_plane().observe(m_metrics);
        sc_core::sc_start(1, sc_core::SC_NS);
        for (std::uint32_t i = 0; i < kBlocks; i += kInFlight) {
            submit(engine::Opcode::kDemote, kInFlight);
            sc_core::sc_start();
        }
    }
    /// Promotes `intents` runs.
    void promote(std::uint32_t intents) {
        m_left = intents;
        m_host.on_completion = [this] { next(); };
        for (std::uint32_t i = 0; i < kInFlight && m_left != 0; ++i) next();
        sc_core::sc_start();
        m_host.on_completion = nullptr;
    }
    [[nodiscard]] std::uint64_t promoted() const {
        return m_card.data_plane().counters().promoted_blocks;
    }

private:
    void next() {
        if (m_left == 0) return;
        --m_left;
        submit(engine::Opcode::kPromote, m_run);
    }
    void submit(engine::Opcode opcode, std::uint32_t blocks) {
        m_list.clear();
        for (std::uint32_t i = 0; i < blocks; ++i) {
            const std::uint32_t key = m_next++ % kBlocks;
            m_list.push_back(engine::make_gather_entry({key, key * 0x9E3779B97F4A7C15U}, key,
                                                       engine::granules(m_block)));
        }
        m_host.submit(opcode, m_list);
    }

    Bytes m_block;
    std::uint32_t m_run;
    std::uint32_t m_next = 0;
    std::uint32_t m_left = 0;
    std::vector<engine::GatherEntry> m_list;
    Metrics m_metrics;
    index::TlmIndex m_index;
    card::Type3Card m_card;
    bench::CardHost m_host;
};

void promote(benchmark::State& state, const card::CardConfig& config, Bytes block,
             std::uint32_t run, std::uint32_t intents, std::uint64_t units, const char* name) {
    sc_core::sc_curr_simcontext = new sc_core::sc_simcontext();
    sc_core::sc_default_global_context = sc_core::sc_curr_simcontext;
    Loop loop(config, block, run);
    const bench::Instructions instructions;
    const std::uint64_t before = instructions.count();
    for (auto _ : state) loop.promote(intents);
    const std::uint64_t spent = instructions.count() - before;
    const std::uint64_t done = loop.promoted() * units;
    state.counters[name] =
        benchmark::Counter(static_cast<double>(done), benchmark::Counter::kIsRate);
    if (spent != 0) {
        state.counters["instructions"] = static_cast<double>(spent) / static_cast<double>(done);
    }
}

/// The argument is the blocks of an intent.
void BM_BurstPromotions(benchmark::State& state) {
    const auto run = static_cast<std::uint32_t>(state.range(0));
    promote(state, card::CardConfig{}, Bytes::from_mib(5), run, 20'000 / run, 1, "blocks");
}
BENCHMARK(BM_BurstPromotions)->Arg(1)->Arg(32)->Unit(benchmark::kMillisecond);

void BM_LinePromotions(benchmark::State& state) {
    constexpr Bytes kBlock = Bytes::from_kib(64);
    card::CardConfig config;
    config.tier_capacity = Bytes::from_mib(256);
    config.mem.fidelity = cxl::LinkFidelity::kLine;
    config.dram_fidelity = card::DramFidelity::kLine;
    promote(state, config, kBlock, 1, 1'000, kBlock / kLine, "lines");
}
BENCHMARK(BM_LinePromotions)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvplane
