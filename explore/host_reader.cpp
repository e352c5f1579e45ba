// SPDX-License-Identifier: Apache-2.0
#include "explore/host_reader.h"

#include "model/common/errors.h"
#include "model/common/sim_time.h"

namespace kvplane::explore {
namespace {

constexpr Time kGap = Time::from_ns(250);

}  // namespace

HostReader::HostReader(sc_core::sc_module_name name, Bytes span, std::uint64_t seed)
    : sc_module(name), m_lines(span / kLine), m_random(seed, "host reader"), m_events("events") {
    mem.register_nb_transport_bw(this, &HostReader::backward);
    m_payload.set_mm(this);
    m_payload.set_command(tlm::TLM_READ_COMMAND);
    m_payload.set_data_ptr(m_line.data());
    m_payload.set_data_length(kLine.count);
    m_payload.set_streaming_width(kLine.count);
    SC_HAS_PROCESS(HostReader);
    SC_METHOD(run);
    sensitive << m_events.event();
    dont_initialize();
}

void HostReader::begin() {
    m_reading = true;
    m_events.schedule(now() + m_random.exponential(kGap), 0);
}

void HostReader::run() {
    std::uint8_t event = 0;
    while (m_events.pop_due(event)) {
        if (m_reading) read();
    }
}

void HostReader::read() {
    m_payload.acquire();
    m_payload.set_address(m_random.uniform(m_lines) * kLine.count);
    m_payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    m_asked = now();
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    const tlm::tlm_sync_enum status = mem->nb_transport_fw(m_payload, phase, delay);
    if (status == tlm::TLM_COMPLETED || phase == tlm::BEGIN_RESP) {
        throw InvariantError("host reader: a card that answers before it takes a read");
    }
}

tlm::tlm_sync_enum HostReader::backward(tlm::tlm_generic_payload&, tlm::tlm_phase& phase,
                                        sc_core::sc_time& delay) {
    if (phase == tlm::END_REQ) return tlm::TLM_ACCEPTED;
    answered(now() + from_sc_time(delay));
    phase = tlm::END_RESP;
    return tlm::TLM_COMPLETED;
}

void HostReader::answered(Time at) {
    if (m_payload.is_response_error()) throw InvariantError("host reader: a read failed");
    m_latency.add(at - m_asked);
    m_payload.release();
    if (m_reading) m_events.schedule(at + m_random.exponential(kGap), 0);
}

}  // namespace kvplane::explore
