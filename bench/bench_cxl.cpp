// SPDX-License-Identifier: Apache-2.0
/// How fast the CXL.mem front end simulates 64 B reads, a whole card with its simple DRAM behind
/// it: loosely timed with a quantum keeper, and approximately timed with four phases and 32
/// outstanding.
#include <benchmark/benchmark.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/tlm_quantumkeeper.h>

#include <array>
#include <memory>
#include <vector>

#include "bench/closed_loop.h"
#include "model/card/type3_card.h"
#include "model/common/sim_time.h"
#include "model/index/tlm_index.h"
#include "tests/support/tlm_pool.h"

namespace kvplane::cxl {
namespace {

constexpr std::uint64_t kWindow = 1ULL << 30;
constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;

std::uint64_t line_at(std::uint64_t n) { return (n * kStep >> 24U) % (kWindow / 64) * 64; }

/// Reads `count` lines with b_transport.
class LooseReader final : public sc_core::sc_module {
public:
    LooseReader(sc_core::sc_module_name name, std::uint64_t count)
        : sc_module(name), m_count(count) {
        SC_HAS_PROCESS(LooseReader);
        SC_THREAD(run);
    }
    tlm_utils::simple_initiator_socket<LooseReader> socket{"socket"};

private:
    void run() {
        m_keeper.reset();
        for (std::uint64_t n = 0; n < m_count; ++n) {
            tlm::tlm_generic_payload& payload = m_pool.take(tlm::TLM_READ_COMMAND, line_at(n));
            sc_core::sc_time delay = m_keeper.get_local_time();
            socket->b_transport(payload, delay);
            sc_assert(payload.is_response_ok());
            payload.release();
            // The next read leaves before this one is back: 32 are under way.
            m_keeper.inc(sc_core::sc_time::from_value(3'000));
            if (m_keeper.need_sync()) m_keeper.sync();
        }
        sc_core::sc_stop();
    }
    std::uint64_t m_count;
    test::LinePool m_pool{true};
    tlm_utils::tlm_quantumkeeper m_keeper;
};

template <class MakeReader>
void read_lines(benchmark::State& state, LinkFidelity fidelity, sc_core::sc_time quantum,
                const MakeReader& make, card::DramFidelity dram = card::DramFidelity::kBurst) {
    const auto count = static_cast<std::uint64_t>(state.range(0));
    std::uint64_t reads = 0;
    for (auto _ : state) {
        state.PauseTiming();
        sc_core::sc_curr_simcontext = new sc_core::sc_simcontext();
        sc_core::sc_default_global_context = sc_core::sc_curr_simcontext;
        tlm::tlm_global_quantum::instance().set(quantum);
        card::CardConfig config;
        config.tier_capacity = {kWindow};
        config.mem.fidelity = fidelity;
        config.dram_fidelity = dram;
        index::TlmIndex index({.sram = Bytes::from_kib(64)});
        card::Type3Card card("card", config, Bytes::from_kib(64), index);
        HdmDecoders& decoders = card.mem.core().decoders();
        decoders.write(HdmDecoders::kFirst + 0x08, static_cast<std::uint32_t>(kWindow));
        decoders.write(HdmDecoders::kFirst + 0x10, HdmDecoders::kHostOnly | HdmDecoders::kCommit);
        decoders.write(HdmDecoders::kGlobal, HdmDecoders::kEnable);
        decoders.enable_mem(true);
        const auto reader = make(count);
        reader->socket.bind(card.mem.socket);
        state.ResumeTiming();
        sc_core::sc_start();
        reads += card.mem.answers();
    }
    state.counters["reads"] =
        benchmark::Counter(static_cast<double>(reads), benchmark::Counter::kIsRate);
}

auto loose(std::uint64_t count) { return std::make_unique<LooseReader>("reader", count); }

/// Four phases, 32 at a time.
auto approximate(std::uint64_t count) {
    const auto next = [](std::uint64_t n) {
        return bench::LineAccess{tlm::TLM_READ_COMMAND, line_at(n)};
    };
    return std::make_unique<bench::ClosedLoop<decltype(next)>>("reader", count, 32U, true, next);
}

void BM_ReadLoose(benchmark::State& state) {
    read_lines(state, LinkFidelity::kBurst, sc_core::sc_time(1, sc_core::SC_US), loose);
}
BENCHMARK(BM_ReadLoose)->Arg(2'000'000)->Unit(benchmark::kMillisecond);

void BM_ReadApproximate(benchmark::State& state) {
    read_lines(state, LinkFidelity::kBurst, sc_core::SC_ZERO_TIME, approximate);
}
BENCHMARK(BM_ReadApproximate)->Arg(500'000)->Unit(benchmark::kMillisecond);

/// With the flits formed.
void BM_ReadApproximateLine(benchmark::State& state) {
    read_lines(state, LinkFidelity::kLine, sc_core::SC_ZERO_TIME, approximate);
}
BENCHMARK(BM_ReadApproximateLine)->Arg(500'000)->Unit(benchmark::kMillisecond);

/// With DRAM commands.
void BM_ReadApproximateOverDramCommands(benchmark::State& state) {
    read_lines(state, LinkFidelity::kBurst, sc_core::SC_ZERO_TIME, approximate,
               card::DramFidelity::kLine);
}
BENCHMARK(BM_ReadApproximateOverDramCommands)->Arg(500'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvplane::cxl
