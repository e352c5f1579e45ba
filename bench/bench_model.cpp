// SPDX-License-Identifier: Apache-2.0
/// How fast the parts of the card run, and the whole card: operations a second of wall time.
#include <benchmark/benchmark.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <systemc>
#include <vector>

#include "model/card/type3_card.h"
#include "model/common/flow_server.h"
#include "model/common/random.h"
#include "model/index/tlm_index.h"
#include "model/memory/sparse_store.h"

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

/// The least host that keeps a card busy: one ring, one gather list.
class BenchHost final : public sc_core::sc_module, public engine::DmaTargetIf {
public:
    static constexpr std::uint32_t kEntries = 1024;
    static constexpr std::uint64_t kCompletions = 1 << 20;
    static constexpr std::uint64_t kList = 1 << 21;

    explicit BenchHost(sc_core::sc_module_name name) : sc_module(name) {}

    tlm_utils::simple_initiator_socket<BenchHost> mmio{"mmio"};
    std::uint64_t completions = 0;

    void write_register(std::uint64_t offset, std::uint64_t value) {
        tlm::tlm_generic_payload payload;
        payload.set_command(tlm::TLM_WRITE_COMMAND);
        payload.set_address(offset);
        payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
        payload.set_data_length(sizeof(value));
        payload.set_streaming_width(sizeof(value));
        sc_core::sc_time delay;
        mmio->b_transport(payload, delay);
    }

    void submit(engine::Opcode opcode, const std::vector<engine::GatherEntry>& run) {
        m_memory.write(kList, bytes(run.data(), run.size()));
        engine::Intent intent{.opcode = static_cast<std::uint8_t>(opcode),
                              .flags = engine::kGatherList,
                              .transfer_class = 1,
                              .count = static_cast<std::uint16_t>(run.size()),
                              .target = engine::make_target(0, kList),
                              .length_4k = run.front().length()};
        if (m_odd_pass) intent.flags |= engine::kOddPass;
        intent.crc = engine::intent_crc(intent);
        m_memory.write(m_tail * sizeof(intent), bytes(&intent, 1));
        m_tail = (m_tail + 1) % kEntries;
        if (m_tail == 0) m_odd_pass = !m_odd_pass;
        write_register(management::queue_register(0, management::QueueRegister::kSubmissionTail),
                       m_tail);
    }

    void read_host(Hpa address, std::span<std::uint8_t> data) override {
        m_memory.read(address.value, data);
    }
    void write_host(Hpa, std::span<const std::uint8_t>) override {
        ++completions;
        write_register(management::queue_register(0, management::QueueRegister::kCompletionHead),
                       completions % kEntries);
    }
    bool write_device(Hpa, Bytes, std::span<const std::uint8_t>) override { return true; }
    bool read_device(Hpa, Bytes, std::span<std::uint8_t>) override { return true; }

private:
    template <class T>
    static std::span<const std::uint8_t> bytes(const T* first, std::size_t count) {
        return {reinterpret_cast<const std::uint8_t*>(first), count * sizeof(T)};
    }
    void end_of_elaboration() override {
        using enum management::QueueRegister;
        using enum management::WindowRegister;
        write_register(management::kCommandRegister, management::kBusMasterEnable);
        write_register(management::window_register(0, 0, kSlots), 4096);
        write_register(management::window_register(0, 0, kStride), Bytes::from_mib(5).count);
        write_register(management::queue_register(0, kRegionSize), std::uint64_t{1} << 32);
        write_register(management::queue_register(0, kSubmissionBase), 0);
        write_register(management::queue_register(0, kCompletionBase), kCompletions);
        write_register(management::queue_register(0, management::QueueRegister::kEntries),
                       std::uint64_t{BenchHost::kEntries});
        write_register(management::queue_register(0, kEnable), 1);
    }

    memory::SparseStore m_memory;
    std::uint32_t m_tail = 0;
    bool m_odd_pass = false;
};

/// Promotions of 64 KiB, sixteen intents at a time; the argument is the blocks of an intent.
void BM_CardPromotions(benchmark::State& state) {
    constexpr Bytes kBlock = Bytes::from_kib(64);
    const auto blocks = static_cast<std::uint32_t>(state.range(0));
    sc_core::sc_curr_simcontext = new sc_core::sc_simcontext();
    sc_core::sc_default_global_context = sc_core::sc_curr_simcontext;
    index::TlmIndex index(index::IndexConfig{});
    card::Type3Card card("card", card::CardConfig{}, kBlock, index);
    BenchHost host("host");
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
