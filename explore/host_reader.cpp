// SPDX-License-Identifier: Apache-2.0
#include "explore/host_reader.h"

#include <tlm>

#include "model/common/errors.h"
#include "model/common/sim_time.h"

namespace kvplane::explore {
namespace {

constexpr Time kGap = Time::from_us(1);

}  // namespace

HostReader::HostReader(sc_core::sc_module_name name, Bytes span, std::uint64_t seed)
    : sc_module(name), m_lines(span / kLine), m_random(seed, "host reader"), m_events("events") {
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
        if (!m_reading) continue;
        read();
        m_events.schedule(now() + m_random.exponential(kGap), 0);
    }
}

void HostReader::read() {
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_address(m_random.uniform(m_lines) * kLine.count);
    payload.set_data_ptr(m_line.data());
    payload.set_data_length(kLine.count);
    payload.set_streaming_width(kLine.count);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    mem->b_transport(payload, delay);
    if (payload.is_response_error()) throw InvariantError("host reader: a read failed");
    m_latency.add(from_sc_time(delay));
}

}  // namespace kvplane::explore
