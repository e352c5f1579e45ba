// SPDX-License-Identifier: Apache-2.0
/// DevLoad as the card's queues are, and a host that heeds it.
#include "mem_target_bench.h"

namespace kvplane::cxl {
namespace {

/// A closed loop of reads; with `throttled`, as many in flight as the levels it hears allow.
class ThrottledHost final : public sc_core::sc_module {
public:
    ThrottledHost(sc_core::sc_module_name name, std::uint32_t window, bool throttled)
        : sc_module(name), m_window(window), m_throttled(throttled), m_throttle({.most = window}) {
        socket.register_nb_transport_bw(this, &ThrottledHost::backward);
        SC_HAS_PROCESS(ThrottledHost);
        SC_METHOD(send);
        sensitive << m_again;
    }
    tlm_utils::simple_initiator_socket<ThrottledHost> socket{"socket"};

    std::uint64_t answers = 0;
    Time latency;  ///< sum
    std::array<std::uint64_t, 4> levels{};

private:
    void send() {
        const std::uint32_t window = m_throttled ? m_throttle.window() : m_window;
        while (!m_requesting && m_sent.size() - m_free.size() < window) {
            auto& payload = m_pool.take(tlm::TLM_READ_COMMAND, kBase + 64 * (m_count % 4096));
            auto* extension = payload.get_extension<MemExtension>();
            if (m_free.empty()) {
                m_free.push_back(static_cast<std::uint16_t>(m_sent.size()));
                m_sent.emplace_back();
            }
            extension->tag = m_free.back();
            m_free.pop_back();
            m_sent[extension->tag] = now();
            ++m_count;
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
            m_requesting = socket->nb_transport_fw(payload, phase, delay) == tlm::TLM_ACCEPTED;
        }
    }
    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time&) {
        m_again.notify(sc_core::SC_ZERO_TIME);
        if (phase == tlm::END_REQ) {
            m_requesting = false;
            return tlm::TLM_ACCEPTED;
        }
        const auto* extension = payload.get_extension<MemExtension>();
        ++answers;
        ++levels[static_cast<std::size_t>(extension->dev_load)];
        latency += now() - m_sent[extension->tag];
        m_free.push_back(extension->tag);
        m_throttle.heard(extension->dev_load);
        payload.release();
        return tlm::TLM_COMPLETED;
    }

    std::uint32_t m_window;
    bool m_throttled;
    HostThrottle m_throttle;
    test::LinePool m_pool{true};
    std::vector<Time> m_sent;
    std::vector<std::uint16_t> m_free;
    std::uint64_t m_count = 0;
    bool m_requesting = false;
    sc_core::sc_event m_again;
};

class ThrottleTest : public MemTargetTest, public testing::WithParamInterface<LinkFidelity> {
protected:
    struct Measured {
        double latency_ns = 0;
        double reads_per_us = 0;
        std::array<std::uint64_t, 4> levels{};
    };
    Measured measure(std::uint32_t window, bool throttled, Time service) {
        m_target.reset();
        fresh_kernel();
        MemTargetConfig config;
        config.fidelity = GetParam();
        memory = test::PlainMemory(kLatency);
        memory.service = service;
        build(config);
        ThrottledHost host("host", window, throttled);
        host.socket.bind(m_target->socket);
        sc_core::sc_start(sc_core::sc_time(200, sc_core::SC_US));  // settles
        const std::uint64_t before = host.answers;
        host.latency = {};
        host.levels = {};
        sc_core::sc_start(sc_core::sc_time(400, sc_core::SC_US));
        const auto answers = static_cast<double>(host.answers - before);
        Measured m{static_cast<double>(host.latency.ps) / 1e3 / answers, answers / 400,
                   host.levels};
        m_target.reset();
        return m;
    }
};

/// Many requests in flight on an unloaded card are not load: nothing waits.
TEST_P(ThrottleTest, WhatIsOnlyOnItsWayIsNoLoad) {
    const Measured idle = measure(1, false, {});
    const Measured many = measure(40, false, {});
    EXPECT_LT(many.latency_ns, 1.1 * idle.latency_ns);
    EXPECT_GT(many.reads_per_us, 30 * idle.reads_per_us);
    EXPECT_EQ(many.levels[2] + many.levels[3], 0U);
}

/// A memory that takes 20 ns a line has 64 reads waiting for it, says so, and throttling keeps most
/// of them at the host, at no cost in bandwidth.
TEST_P(ThrottleTest, ThrottlingBoundsQueueing) {
    const Time service = Time::from_ns(20);
    const Measured free = measure(64, false, service);
    EXPECT_GT(free.levels[3], 0U);
    EXPECT_EQ(free.levels[0], 0U);
    EXPECT_NEAR(free.latency_ns, 64 * 20, 64);
    const Measured throttled = measure(64, true, service);
    EXPECT_LT(throttled.latency_ns, 0.85 * free.latency_ns);
    EXPECT_GT(throttled.reads_per_us, 0.97 * free.reads_per_us);
}

/// Reads that b_transport has answered count with those of four phases.
TEST_F(MemTargetTest, BothKindsOfAccessShareTheQueue) {
    build();
    memory.service = Time::from_ns(20);
    AtPlan plan;
    plan.outstanding = 60;
    plan.lines = 512;
    add(plan);
    bind_loose();
    sc_core::sc_start(sc_core::sc_time(500, sc_core::SC_NS));
    MemExtension host;
    read(kBase + 4096 * 64, 64, &host);
    EXPECT_GE(host.dev_load, DevLoad::kModerateOverload);
}

std::string name_of(const testing::TestParamInfo<LinkFidelity>& row) {
    return row.param == LinkFidelity::kBurst ? "Burst" : "Line";
}
INSTANTIATE_TEST_SUITE_P(Fidelity, ThrottleTest,
                         testing::Values(LinkFidelity::kBurst, LinkFidelity::kLine), name_of);

}  // namespace
}  // namespace kvplane::cxl
