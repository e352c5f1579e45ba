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

/// Reads `count` lines with four phases, 32 at a time.
class ApproximateReader final : public sc_core::sc_module {
public:
    ApproximateReader(sc_core::sc_module_name name, std::uint64_t count)
        : sc_module(name), m_count(count) {
        socket.register_nb_transport_bw(this, &ApproximateReader::backward);
        SC_HAS_PROCESS(ApproximateReader);
        SC_METHOD(send);
    }
    tlm_utils::simple_initiator_socket<ApproximateReader> socket{"socket"};

private:
    static constexpr std::uint32_t kOutstanding = 32;

    void send() {
        while (!m_requesting && m_in_flight < kOutstanding && m_sent < m_count) {
            tlm::tlm_generic_payload& payload =
                m_pool.take(tlm::TLM_READ_COMMAND, line_at(m_sent++));
            ++m_in_flight;
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
            m_requesting = socket->nb_transport_fw(payload, phase, delay) == tlm::TLM_ACCEPTED;
        }
    }
    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time&) {
        if (phase == tlm::END_REQ) {
            m_requesting = false;
            return tlm::TLM_ACCEPTED;
        }
        sc_assert(phase == tlm::BEGIN_RESP && payload.is_response_ok());
        payload.release();
        --m_in_flight;
        if (++m_done == m_count) sc_core::sc_stop();
        send();
        phase = tlm::END_RESP;
        return tlm::TLM_COMPLETED;
    }

    std::uint64_t m_count;
    std::uint64_t m_sent = 0;
    std::uint64_t m_done = 0;
    std::uint32_t m_in_flight = 0;
    bool m_requesting = false;
    test::LinePool m_pool{true};
};

template <class Reader>
void read_lines(benchmark::State& state, LinkFidelity fidelity, sc_core::sc_time quantum) {
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
        index::TlmIndex index({.sram = Bytes::from_kib(64)});
        card::Type3Card card("card", config, Bytes::from_kib(64), index);
        HdmDecoders& decoders = card.mem.core().decoders();
        decoders.write(HdmDecoders::kFirst + 0x08, static_cast<std::uint32_t>(kWindow));
        decoders.write(HdmDecoders::kFirst + 0x10, HdmDecoders::kHostOnly | HdmDecoders::kCommit);
        decoders.write(HdmDecoders::kGlobal, HdmDecoders::kEnable);
        decoders.enable_mem(true);
        Reader reader("reader", count);
        reader.socket.bind(card.mem.socket);
        state.ResumeTiming();
        sc_core::sc_start();
        reads += card.mem.answers();
    }
    state.counters["reads"] =
        benchmark::Counter(static_cast<double>(reads), benchmark::Counter::kIsRate);
}

void BM_ReadLoose(benchmark::State& state) {
    read_lines<LooseReader>(state, LinkFidelity::kBurst, sc_core::sc_time(1, sc_core::SC_US));
}
BENCHMARK(BM_ReadLoose)->Arg(2'000'000)->Unit(benchmark::kMillisecond);

void BM_ReadApproximate(benchmark::State& state) {
    read_lines<ApproximateReader>(state, LinkFidelity::kBurst, sc_core::SC_ZERO_TIME);
}
BENCHMARK(BM_ReadApproximate)->Arg(500'000)->Unit(benchmark::kMillisecond);

/// With the flits formed.
void BM_ReadApproximateLine(benchmark::State& state) {
    read_lines<ApproximateReader>(state, LinkFidelity::kLine, sc_core::SC_ZERO_TIME);
}
BENCHMARK(BM_ReadApproximateLine)->Arg(500'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvplane::cxl
