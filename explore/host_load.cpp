// SPDX-License-Identifier: Apache-2.0
#include "explore/host_load.h"

#include <fmt/format.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "explore/kernel.h"
#include "model/card/type3_card.h"
#include "model/common/errors.h"
#include "model/common/event_heap.h"
#include "model/common/random.h"
#include "model/common/sim_time.h"
#include "model/index/tlm_index.h"

namespace kvplane::explore {
namespace {

constexpr Bytes kBlock = Bytes::from_kib(64);

/// A line on its way. It is free for the next once nobody refers to it.
struct Access final : tlm::tlm_generic_payload {
    Time since;
    std::uint64_t number = 0;
    std::array<unsigned char, kLine.count> bytes{};
};

class LoadingHost final : public sc_core::sc_module, private tlm::tlm_mm_interface {
public:
    LoadingHost(sc_core::sc_module_name name, const HostLoad& load)
        : sc_module(name),
          m_load(load),
          m_random(load.seed, "host_load"),
          m_arrivals("arrivals"),
          m_accesses(load.outstanding + 1) {
        for (auto& access : m_accesses) {
            access = std::make_unique<Access>();
            access->set_mm(this);
            access->set_data_ptr(access->bytes.data());
            access->set_data_length(kLine.count);
            access->set_streaming_width(kLine.count);
            m_free.push_back(access.get());
        }
        socket.register_nb_transport_bw(this, &LoadingHost::backward);
        SC_HAS_PROCESS(LoadingHost);
        SC_METHOD(run);
        sensitive << m_arrivals.event();
    }

    tlm_utils::simple_initiator_socket<LoadingHost> socket{"socket"};

    [[nodiscard]] HostMeasure measure() const {
        HostMeasure measured = m_measured;
        measured.bandwidth = {static_cast<std::uint64_t>(
            static_cast<Uint128>(m_load.lines) * kLine.count * 1'000'000'000'000 /
            static_cast<std::uint64_t>((m_last - m_first).ps))};
        return measured;
    }

private:
    struct Arrival {};

    [[nodiscard]] std::uint64_t all() const { return m_load.lines + m_load.warm_up; }

    void run() {
        Arrival arrival;
        while (m_arrivals.pop_due(arrival)) m_waiting.push_back(now());
        if (m_load.rate != Rate{} && m_arrived < all()) {
            ++m_arrived;
            const Time mean = transfer_time(kLine, m_load.rate);
            m_arrivals.schedule(now() + m_random.exponential(mean), {});
        }
        send();
    }

    /// Whether a line may leave now, and since when it could.
    [[nodiscard]] bool ready(Time& since) {
        if (m_load.rate == Rate{}) {
            since = now();
            return m_sent < all();
        }
        if (m_head == m_waiting.size()) return false;
        since = m_waiting[m_head++];
        if (m_head == m_waiting.size()) {
            m_waiting.clear();
            m_head = 0;
        }
        return true;
    }

    void send() {
        Time since;
        while (!m_requesting && m_in_flight < m_load.outstanding && ready(since)) {
            Access& access = *m_free.back();
            m_free.pop_back();
            access.since = since;
            access.number = m_sent;
            const std::uint64_t lines = m_load.span.count / kLine.count;
            const std::uint64_t line = m_load.random ? m_random.uniform(lines) : m_sent % lines;
            const bool write =
                m_random.uniform(std::uint64_t{m_load.reads} + m_load.writes) >= m_load.reads;
            ++m_sent;
            ++m_in_flight;
            access.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
            access.set_address(line * kLine.count);
            access.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
            access.acquire();
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
            m_requesting = socket->nb_transport_fw(access, phase, delay) == tlm::TLM_ACCEPTED;
        }
    }

    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time&) {
        if (phase == tlm::END_REQ) {
            m_requesting = false;
        } else {
            answered(static_cast<Access&>(payload));
            phase = tlm::END_RESP;
        }
        send();
        return phase == tlm::END_RESP ? tlm::TLM_COMPLETED : tlm::TLM_ACCEPTED;
    }

    void answered(Access& access) {
        if (!access.is_response_ok()) {
            throw InvariantError(fmt::format("host load: line {} is refused: {}",
                                             access.get_address(), access.get_response_string()));
        }
        --m_in_flight;
        // The rate is that of the answers between the last of the warm-up and the last of all.
        if (++m_measured.answered == m_load.warm_up) m_first = now();
        if (m_measured.answered == all()) m_last = now();
        if (access.number >= m_load.warm_up) {
            (access.is_read() ? m_measured.read_latency : m_measured.write_latency)
                .add(now() - access.since);
        }
        access.release();
    }

    void free(tlm::tlm_generic_payload* payload) override {
        m_free.push_back(static_cast<Access*>(payload));
    }

    HostLoad m_load;
    RandomStream m_random;
    EventHeap<Arrival> m_arrivals;
    /// One more than may be in flight: the card still refers to one that it has answered.
    std::vector<std::unique_ptr<Access>> m_accesses;
    std::vector<Access*> m_free;
    std::vector<Time> m_waiting;  ///< arrived and not sent
    std::size_t m_head = 0;
    std::uint64_t m_arrived = 0;
    std::uint64_t m_sent = 0;
    std::uint32_t m_in_flight = 0;
    bool m_requesting = false;
    Time m_first;
    Time m_last;
    HostMeasure m_measured;
};

/// Host address = device address, over all of the card.
void map(card::Type3Card& card, Bytes size) {
    cxl::HdmDecoders& decoders = card.mem.core().decoders();
    constexpr std::uint32_t kSizeLow = cxl::HdmDecoders::kFirst + 0x08;
    decoders.write(kSizeLow, static_cast<std::uint32_t>(size.count));
    decoders.write(kSizeLow + 4, static_cast<std::uint32_t>(size.count >> 32U));
    decoders.write(cxl::HdmDecoders::kFirst + 0x10,
                   cxl::HdmDecoders::kHostOnly | cxl::HdmDecoders::kCommit);
    decoders.write(cxl::HdmDecoders::kGlobal, cxl::HdmDecoders::kEnable);
    decoders.enable_mem(true);
}

}  // namespace

HostMeasure measure_host(const card::CardConfig& config, const HostLoad& load) {
    const Kernel kernel;
    index::TlmIndex index({.sram = Bytes::from_kib(64)});
    card::Type3Card card("card", config, kBlock, index);
    map(card, card::mapped_capacity(config));
    LoadingHost host("host", load);
    host.socket.bind(card.mem.socket);
    sc_core::sc_start();
    HostMeasure measured = host.measure();
    if (measured.answered != load.lines + load.warm_up || card.mem.in_flight() != 0) {
        throw InvariantError(fmt::format("host load: {} of {} lines answered", measured.answered,
                                         load.lines + load.warm_up));
    }
    return measured;
}

}  // namespace kvplane::explore
