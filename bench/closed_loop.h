// SPDX-License-Identifier: Apache-2.0
/// An initiator for benchmarks of four-phase targets: it keeps a number of lines in flight and
/// stops the simulation behind the last answer.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <systemc>
#include <tlm>
#include <utility>

#include "tests/support/tlm_pool.h"

namespace kvplane::bench {

struct LineAccess {
    tlm::tlm_command command = tlm::TLM_READ_COMMAND;
    std::uint64_t address = 0;
};

/// Next(n) is the LineAccess number n.
template <class Next>
class ClosedLoop final : public sc_core::sc_module {
public:
    /// with_extension: payloads carry a cxl::MemExtension.
    ClosedLoop(sc_core::sc_module_name name, std::uint64_t count, std::uint32_t outstanding,
               bool with_extension, Next next)
        : sc_module(name),
          m_count(count),
          m_outstanding(outstanding),
          m_next(std::move(next)),
          m_pool(with_extension) {
        socket.register_nb_transport_bw(this, &ClosedLoop::backward);
        SC_HAS_PROCESS(ClosedLoop);
        SC_METHOD(send);
    }
    tlm_utils::simple_initiator_socket<ClosedLoop> socket{"socket"};

private:
    void send() {
        while (!m_requesting && m_in_flight < m_outstanding && m_sent < m_count) {
            const LineAccess access = m_next(m_sent++);
            tlm::tlm_generic_payload& payload = m_pool.take(access.command, access.address);
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
            send();
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
    std::uint32_t m_outstanding;
    Next m_next;
    std::uint64_t m_sent = 0;
    std::uint64_t m_done = 0;
    std::uint32_t m_in_flight = 0;
    bool m_requesting = false;
    test::LinePool m_pool;
};

}  // namespace kvplane::bench
