// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/memory_port.h"

#include "model/common/errors.h"
#include "model/common/sim_time.h"

namespace kvplane::cxl {
namespace {

/// Every line that a decoder leads to is the memory's.
void require_ok(const tlm::tlm_generic_payload& payload) {
    if (payload.is_response_ok()) return;
    throw InvariantError("CXL.mem front end: its memory refuses line " +
                         std::to_string(payload.get_address()) + ": " +
                         payload.get_response_string());
}

}  // namespace

MemoryPort::MemoryPort(const char* name, std::uint32_t tags, Client& client, std::uint32_t channels)
    : m_client(client), m_payloads(std::size_t{tags} + 1) {
    for (std::uint32_t tag = 0; tag < m_payloads.size(); ++tag) {
        m_payloads[tag].tag = tag;
        m_payloads[tag].set_mm(this);
        m_payloads[tag].set_data_ptr(m_bytes.data());
    }
    for (std::uint32_t i = 0; i < channels; ++i) {
        Socket& socket = m_channels.emplace_back(sc_core::sc_gen_unique_name(name)).socket;
        socket.register_nb_transport_bw(this, &MemoryPort::backward, static_cast<int>(i));
    }
}

/// Nothing to give back: a tag is free again when its access is done.
void MemoryPort::free(tlm::tlm_generic_payload*) {}

void MemoryPort::set_up(Payload& payload, Dpa line, LineAccess access) {
    // Any part of a line makes a write a partial one.
    const auto length =
        static_cast<unsigned int>(access == LineAccess::kPartialWrite ? 1 : kLine.count);
    payload.set_command(access == LineAccess::kRead ? tlm::TLM_READ_COMMAND
                                                    : tlm::TLM_WRITE_COMMAND);
    payload.set_address(line.value);
    payload.set_data_length(length);
    payload.set_streaming_width(length);
    payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
}

void MemoryPort::start(std::uint32_t tag, Dpa line, LineAccess access, std::uint32_t channel) {
    Payload& payload = m_payloads[tag];
    set_up(payload, line, access);
    payload.acquire();
    Channel& way = m_channels[channel];
    if (way.sent || !way.held.empty()) {
        way.held.push(tag);
    } else {
        send(way, payload);
    }
}

void MemoryPort::send(Channel& channel, Payload& payload) {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    const tlm::tlm_sync_enum status = channel.socket->nb_transport_fw(payload, phase, delay);
    channel.sent = status == tlm::TLM_ACCEPTED;
    if (status == tlm::TLM_COMPLETED || phase == tlm::BEGIN_RESP) {
        throw InvariantError("CXL.mem front end: its memory answers before it takes a request");
    }
}

void MemoryPort::send_held(Channel& channel) {
    while (!channel.sent && !channel.held.empty()) {
        send(channel, m_payloads[channel.held.pop()]);
    }
}

tlm::tlm_sync_enum MemoryPort::backward(int channel, tlm::tlm_generic_payload& payload,
                                        tlm::tlm_phase& phase, sc_core::sc_time&) {
    if (phase == tlm::END_REQ) {
        Channel& way = m_channels[static_cast<std::size_t>(channel)];
        way.sent = false;
        send_held(way);
        return tlm::TLM_ACCEPTED;
    }
    end(static_cast<Payload&>(payload));
    phase = tlm::END_RESP;
    return tlm::TLM_COMPLETED;
}

void MemoryPort::end(Payload& payload) {
    require_ok(payload);
    payload.release();
    m_client.line_done(payload.tag);
}

Time MemoryPort::access(Time at, Dpa line, LineAccess access) {
    Payload& payload = m_payloads.back();
    set_up(payload, line, access);
    sc_core::sc_time delay = to_sc_time(at - now());
    socket()->b_transport(payload, delay);
    require_ok(payload);
    return now() + from_sc_time(delay);
}

}  // namespace kvplane::cxl
