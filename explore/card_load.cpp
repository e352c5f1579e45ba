// SPDX-License-Identifier: Apache-2.0
#include "explore/card_load.h"

#include <tlm_utils/simple_initiator_socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "explore/kernel.h"
#include "model/card/type3_card.h"
#include "model/common/errors.h"
#include "model/common/event_heap.h"
#include "model/common/random.h"
#include "model/index/tlm_index.h"

namespace kvplane::explore {
namespace {

using cxl::HdmDecoders;

constexpr std::uint64_t kPage = 4096;
/// Mean time from an answer of the probe to its next read: at random, or it would fall in step with
/// refreshes.
constexpr Time kProbeGap = Time::from_ns(100);

/// A line on its way. The pool of them is its memory manager.
struct LineAccess final : tlm::tlm_generic_payload {
    std::array<unsigned char, kLine.count> bytes{};
    std::uint32_t requester = 0;
    std::uint32_t card = 0;
    Time generated;
    bool answered = false;
};

/// A socket to one card: BEGIN_REQ one at a time, the others wait in order.
class Port final : public sc_core::sc_module {
public:
    class Client {
    public:
        virtual ~Client() = default;
        virtual void answered(LineAccess& access) = 0;
    };

    Port(sc_core::sc_module_name name, Client& client) : sc_module(name), m_client(client) {
        socket.register_nb_transport_bw(this, &Port::backward);
    }
    tlm_utils::simple_initiator_socket<Port> socket{"socket"};

    void send(LineAccess& access) {
        m_waiting.push_back(&access);
        advance();
    }

private:
    void advance() {
        while (!m_requesting && m_head != m_waiting.size()) {
            LineAccess& access = *m_waiting[m_head++];
            if (m_head == m_waiting.size()) {
                m_waiting.clear();
                m_head = 0;
            }
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
            m_requesting = socket->nb_transport_fw(access, phase, delay) == tlm::TLM_ACCEPTED;
        }
    }
    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time&) {
        if (phase == tlm::END_REQ) {
            m_requesting = false;
            advance();
            return tlm::TLM_ACCEPTED;
        }
        m_client.answered(static_cast<LineAccess&>(payload));
        phase = tlm::END_RESP;
        return tlm::TLM_COMPLETED;
    }

    Client& m_client;
    std::vector<LineAccess*> m_waiting;
    std::size_t m_head = 0;
    bool m_requesting = false;
};

/// All requesters of a load, the host's share of each access, and what is measured.
class LoadHost final : public sc_core::sc_module,
                       private Port::Client,
                       private tlm::tlm_mm_interface {
public:
    LoadHost(sc_core::sc_module_name name, const CardLoad& load)
        : sc_module(name),
          m_load(load),
          m_random(load.seed, "card load"),
          m_cursors(load.requesters),
          m_events("events") {
        for (std::uint32_t i = 0; i < load.cards; ++i) {
            m_ports.push_back(
                std::make_unique<Port>(("port" + std::to_string(i)).c_str(), port_client()));
        }
        const std::uint64_t lines = load.span.count * load.cards / kLine.count;
        for (std::uint64_t& cursor : m_cursors) cursor = m_random.uniform(lines) * kLine.count;
        if (load.rate.bytes_per_second != 0) m_gap = transfer_time(kLine, load.rate);
        SC_HAS_PROCESS(LoadHost);
        SC_METHOD(run);
        sensitive << m_events.event();
        dont_initialize();
        start();
    }

    void bind(std::uint32_t port, card::Type3Card& card) {
        m_ports[port]->socket.bind(card.mem.socket);
    }

    [[nodiscard]] CardMeasure result() const {
        if (m_answered != m_issued || m_issued < total()) {
            throw InvariantError("card load: not every access was answered");
        }
        CardMeasure measure = m_measure;
        measure.issued = m_issued;
        measure.answered = m_answered;
        const auto ps = static_cast<Uint128>(std::max<std::int64_t>(1, (m_last - m_first).ps));
        const auto rate = [&](std::uint64_t lines) {
            const Uint128 bytes = static_cast<Uint128>(lines) * kLine.count * 1'000'000'000'000U;
            return Rate{static_cast<std::uint64_t>(bytes / ps)};
        };
        measure.reads = rate(m_moved[0]);
        measure.writes = rate(m_moved[1]);
        return measure;
    }

private:
    enum class Step : std::uint8_t { kGenerate, kSend };
    struct Event {
        Step step = Step::kGenerate;
        LineAccess* access = nullptr;  ///< kSend
        std::uint32_t requester = 0;   ///< kGenerate
    };

    [[nodiscard]] Port::Client& port_client() { return *this; }
    [[nodiscard]] std::uint64_t total() const { return m_load.warm_up + m_load.requests; }
    [[nodiscard]] bool open_loop() const { return m_gap != Time{}; }
    [[nodiscard]] std::uint32_t probe() const { return m_load.requesters; }

    void start() {
        if (open_loop()) {
            m_events.schedule(m_random.exponential(m_gap), {Step::kGenerate, nullptr, 0});
        } else {
            for (std::uint32_t line = 0; line < m_load.lines; ++line) {
                for (std::uint32_t r = 0; r < m_load.requesters; ++r) {
                    const auto begin = static_cast<std::uint64_t>(m_load.pause.ps) + 1;
                    const Time at{static_cast<std::int64_t>(m_random.uniform(begin))};
                    m_events.schedule(at, {Step::kGenerate, nullptr, r});
                }
            }
        }
        if (m_load.probe) m_events.schedule({}, {Step::kGenerate, nullptr, probe()});
    }

    void run() {
        Event event;
        while (m_events.pop_due(event)) {
            if (event.step == Step::kSend) {
                m_ports[event.access->card]->send(*event.access);
            } else if (event.requester == probe()) {
                admit(probe(), now());
            } else if (m_generated < total()) {
                generate(event.requester);
            }
        }
    }

    void generate(std::uint32_t requester) {
        ++m_generated;
        admit(requester, now());
        if (open_loop() && m_generated < total()) {
            const auto next = static_cast<std::uint32_t>(m_random.uniform(m_load.requesters));
            m_events.schedule(now() + m_random.exponential(m_gap),
                              {Step::kGenerate, nullptr, next});
        }
    }

    /// Lets an access out, or leaves it waiting for one of those in flight to end.
    void admit(std::uint32_t requester, Time generated) {
        if (m_in_flight == m_load.outstanding) {
            m_held.push_back({requester, generated});
            return;
        }
        ++m_in_flight;
        m_measure.most_in_flight = std::max(m_measure.most_in_flight, m_in_flight);
        ++m_issued;
        LineAccess& access = take();
        access.requester = requester;
        access.generated = generated;
        access.answered = false;
        const bool probing = requester == probe();
        const std::uint64_t n = probing ? 0 : m_mixed++;
        const bool write =
            !probing && n * m_load.writes % (m_load.reads + m_load.writes) + m_load.writes >=
                            m_load.reads + m_load.writes;
        place(access, probing || m_load.pattern == CardPattern::kRandom);
        access.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        m_events.schedule(now() + host_share(), {Step::kSend, &access, 0});
    }

    [[nodiscard]] Time host_share() {
        if (m_load.host_spread == Time{}) return m_load.host;
        const Int128 spread = static_cast<Int128>(m_random.normal_q32()) * m_load.host_spread.ps;
        return std::max(Time{}, m_load.host + Time{static_cast<std::int64_t>(spread >> 32)});
    }

    /// Gives an access its card and its address.
    void place(LineAccess& access, bool random) {
        const std::uint64_t whole = m_load.span.count * m_load.cards;
        std::uint64_t address = 0;
        if (random) {
            address = m_random.uniform(whole / kLine.count) * kLine.count;
        } else {
            std::uint64_t& cursor = m_cursors[access.requester];
            address = cursor;
            cursor = (cursor + kLine.count) % whole;
        }
        const std::uint64_t page = address / kPage;
        access.card = static_cast<std::uint32_t>(page % m_load.cards);
        access.set_address(page / m_load.cards * kPage + address % kPage);
    }

    void answered(LineAccess& access) override {
        if (!access.is_response_ok() || access.answered) {
            throw InvariantError("card load: an access failed, or was answered twice");
        }
        access.answered = true;
        ++m_answered;
        --m_in_flight;
        const bool probing = access.requester == probe();
        if (!probing) count(access);
        const bool measuring = m_done > m_load.warm_up && m_done <= total();
        if (measuring && access.is_read() && probing == m_load.probe) {
            m_measure.read_latency.add(now() - access.generated);
        }
        if (measuring && !access.is_read()) {
            m_measure.write_latency.add(now() - access.generated);
        }
        const std::uint32_t requester = access.requester;
        access.release();
        if (m_held_head != m_held.size()) {
            const Held held = m_held[m_held_head++];
            if (m_held_head == m_held.size()) {
                m_held.clear();
                m_held_head = 0;
            }
            admit(held.requester, held.generated);
        }
        if (probing ? m_done < total() : !open_loop()) {
            m_events.schedule(now() + pause(probing), {Step::kGenerate, nullptr, requester});
        }
    }

    [[nodiscard]] Time pause(bool probing) {
        if (probing) return m_random.exponential(kProbeGap);
        if (m_load.random_pause) return m_random.exponential(m_load.pause);
        return m_load.pause;
    }

    void count(const LineAccess& access) {
        ++m_done;
        if (m_done <= m_load.warm_up) {
            m_first = now();
        } else {
            m_last = now();
            ++m_moved[access.is_read() ? 0 : 1];
        }
    }

    LineAccess& take() {
        if (m_free.empty()) {
            m_pool.push_back(std::make_unique<LineAccess>());
            LineAccess& made = *m_pool.back();
            made.set_mm(this);
            made.set_data_ptr(made.bytes.data());
            made.set_data_length(kLine.count);
            made.set_streaming_width(kLine.count);
            m_free.push_back(&made);
        }
        LineAccess& access = *m_free.back();
        m_free.pop_back();
        access.acquire();
        access.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        return access;
    }
    void free(tlm::tlm_generic_payload* payload) override {
        m_free.push_back(static_cast<LineAccess*>(payload));
    }

    struct Held {
        std::uint32_t requester = 0;
        Time generated;
    };

    CardLoad m_load;
    RandomStream m_random;
    std::vector<std::unique_ptr<LineAccess>> m_pool;
    std::vector<LineAccess*> m_free;
    std::vector<std::uint64_t> m_cursors;  ///< by requester
    std::vector<std::unique_ptr<Port>> m_ports;
    EventHeap<Event> m_events;
    Time m_gap;  ///< mean, of an open loop
    std::vector<Held> m_held;
    std::size_t m_held_head = 0;
    std::uint64_t m_generated = 0;  ///< by the load; so are m_mixed, m_done and m_moved
    std::uint64_t m_mixed = 0;
    std::uint64_t m_done = 0;
    std::uint64_t m_issued = 0;  ///< by load and probe; so is m_answered
    std::uint64_t m_answered = 0;
    std::uint32_t m_in_flight = 0;
    std::uint64_t m_moved[2] = {0, 0};  ///< lines read and written
    Time m_first;
    Time m_last;
    CardMeasure m_measure;
};

/// Programs one decoder over the whole card: host address = device address.
void map(card::Type3Card& card, const card::CardConfig& config) {
    HdmDecoders& decoders = card.mem.core().decoders();
    const std::uint64_t size = mapped_capacity(config).count;
    decoders.write(HdmDecoders::kFirst + 0x08, static_cast<std::uint32_t>(size));
    decoders.write(HdmDecoders::kFirst + 0x0C, static_cast<std::uint32_t>(size >> 32));
    decoders.write(HdmDecoders::kFirst + 0x10, HdmDecoders::kHostOnly | HdmDecoders::kCommit);
    decoders.write(HdmDecoders::kGlobal, HdmDecoders::kEnable);
    decoders.enable_mem(true);
}

void check(const card::CardConfig& config, const CardLoad& load) {
    const bool sound = load.reads + load.writes != 0 && load.requesters != 0 && load.cards != 0 &&
                       load.outstanding != 0 && load.requests != 0 &&
                       (load.rate.bytes_per_second != 0 || load.lines != 0) &&
                       load.span.count % kPage == 0 && load.span.count != 0 &&
                       load.span <= mapped_capacity(config);
    if (!sound) throw InvariantError("card load: outside what CardLoad says");
}

}  // namespace

CardMeasure measure_card(const card::CardConfig& config, const CardLoad& load) {
    check(config, load);
    const Kernel kernel;
    const index::IndexConfig small{.sram = Bytes::from_kib(64)};
    std::vector<std::unique_ptr<index::TlmIndex>> indexes;
    std::vector<std::unique_ptr<card::Type3Card>> cards;
    LoadHost host("host", load);
    for (std::uint32_t i = 0; i < load.cards; ++i) {
        indexes.push_back(std::make_unique<index::TlmIndex>(small));
        cards.push_back(std::make_unique<card::Type3Card>(
            ("card" + std::to_string(i)).c_str(), config, Bytes::from_kib(64), *indexes.back()));
        map(*cards.back(), config);
        host.bind(i, *cards.back());
    }
    sc_core::sc_start();
    return host.result();
}

}  // namespace kvplane::explore
