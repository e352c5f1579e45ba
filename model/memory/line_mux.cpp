// SPDX-License-Identifier: Apache-2.0
#include "model/memory/line_mux.h"

#include "model/common/errors.h"

namespace kvplane::memory {
namespace {

std::uint64_t place_of(const tlm::tlm_generic_payload& payload) {
    return reinterpret_cast<std::uint64_t>(&payload);
}

}  // namespace

LineMux::LineMux(sc_core::sc_module_name name) : sc_module(name) {
    host.register_b_transport(this, &LineMux::b_transport, kHost);
    host.register_nb_transport_fw(this, &LineMux::forward, kHost);
    moves.register_b_transport(this, &LineMux::b_transport, kMoves);
    moves.register_nb_transport_fw(this, &LineMux::forward, kMoves);
    memory.register_nb_transport_bw(this, &LineMux::backward);
}

void LineMux::b_transport(int /*from*/, tlm::tlm_generic_payload& payload,
                          sc_core::sc_time& delay) {
    memory->b_transport(payload, delay);
}

tlm::tlm_sync_enum LineMux::forward(int from, tlm::tlm_generic_payload& payload,
                                    tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase != tlm::BEGIN_REQ) {
        if (phase == tlm::END_RESP) m_from.erase(place_of(payload));
        return memory->nb_transport_fw(payload, phase, delay);
    }
    if (m_requesting != nullptr || (from == kMoves && m_held[kHost] != nullptr)) {
        if (m_held[from] != nullptr) {
            throw InvariantError("line mux: a second request before the first was taken");
        }
        m_held[from] = &payload;
        return tlm::TLM_ACCEPTED;
    }
    return begin(from, payload, phase, delay);
}

tlm::tlm_sync_enum LineMux::begin(int from, tlm::tlm_generic_payload& payload,
                                  tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    m_from.insert(place_of(payload), from);
    const tlm::tlm_sync_enum status = memory->nb_transport_fw(payload, phase, delay);
    if (status == tlm::TLM_ACCEPTED) m_requesting = &payload;
    if (status == tlm::TLM_COMPLETED) m_from.erase(place_of(payload));
    return status;
}

/// The host's first.
void LineMux::send_held() {
    for (const int from : {kHost, kMoves}) {
        if (m_requesting != nullptr || m_held[from] == nullptr) continue;
        tlm::tlm_generic_payload& payload = *m_held[from];
        m_held[from] = nullptr;
        tlm::tlm_phase phase = tlm::BEGIN_REQ;
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        const tlm::tlm_sync_enum status = begin(from, payload, phase, delay);
        if (status == tlm::TLM_COMPLETED) {
            throw InvariantError("line mux: the memory answers before it takes a request");
        }
        if (status == tlm::TLM_UPDATED) static_cast<void>(answer(from, payload, phase, delay));
    }
}

tlm::tlm_sync_enum LineMux::answer(int to, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                   sc_core::sc_time& delay) {
    return to == kHost ? host->nb_transport_bw(payload, phase, delay)
                       : moves->nb_transport_bw(payload, phase, delay);
}

tlm::tlm_sync_enum LineMux::backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    const int* from = m_from.find(place_of(payload));
    if (from == nullptr) throw InvariantError("line mux: an answer that nobody asked for");
    const int to = *from;
    if (phase == tlm::END_REQ) {
        m_requesting = nullptr;
        send_held();
        return answer(to, payload, phase, delay);
    }
    m_from.erase(place_of(payload));
    const tlm::tlm_sync_enum status = answer(to, payload, phase, delay);
    if (status == tlm::TLM_ACCEPTED) m_from.insert(place_of(payload), to);
    return status;
}

}  // namespace kvplane::memory
