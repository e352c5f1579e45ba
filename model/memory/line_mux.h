// SPDX-License-Identifier: Apache-2.0
/// Two initiators before one memory at line fidelity. While the memory has no room, each may have
/// one request waiting; the host's goes first. Takes no time of its own.
#pragma once

#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <cstdint>
#include <systemc>
#include <tlm>

#include "model/common/flat_map.h"

namespace kvplane::memory {

class LineMux final : public sc_core::sc_module {
public:
    explicit LineMux(sc_core::sc_module_name name);

    tlm_utils::passthrough_target_socket_tagged<LineMux> host{"host"};
    tlm_utils::passthrough_target_socket_tagged<LineMux> moves{"moves"};
    tlm_utils::simple_initiator_socket<LineMux> memory{"memory"};

private:
    static constexpr int kHost = 0;
    static constexpr int kMoves = 1;

    void b_transport(int from, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    tlm::tlm_sync_enum forward(int from, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                               sc_core::sc_time& delay);
    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time& delay);
    [[nodiscard]] tlm::tlm_sync_enum begin(int from, tlm::tlm_generic_payload& payload,
                                           tlm::tlm_phase& phase, sc_core::sc_time& delay);
    tlm::tlm_sync_enum answer(int to, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                              sc_core::sc_time& delay);
    void send_held();

    tlm::tlm_generic_payload* m_requesting = nullptr;  ///< BEGIN_REQ without END_REQ
    std::array<tlm::tlm_generic_payload*, 2> m_held{};
    FlatMap<std::uint64_t, int, NumberHash> m_from;  ///< payloads under way, by place
};

}  // namespace kvplane::memory
