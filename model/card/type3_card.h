// SPDX-License-Identifier: Apache-2.0
/// A CXL Type-3 memory card that keeps KV blocks and moves them by itself.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <systemc>
#include <tlm>

#include "model/card/config.h"
#include "model/common/event_heap.h"
#include "model/engine/data_plane.h"

namespace kvplane::card {

/// The card and the wire it hangs on. It is handed its index, which must outlive it.
class Type3Card final : public sc_core::sc_module {
public:
    /// `block` is the size of every block of the run.
    Type3Card(sc_core::sc_module_name name, const CardConfig& config, Bytes block,
              index::ResidentIndex& index);

    /// CXL.mem, at the card's pins. Addresses are DPAs. An access lies inside one 64 B line; one
    /// that crosses a line answers TLM_BURST_ERROR_RESPONSE, one outside the tier
    /// TLM_ADDRESS_ERROR_RESPONSE, a write into a frame that holds a block
    /// TLM_GENERIC_ERROR_RESPONSE (payload is written once) and is counted. The annotated delay
    /// ends when the answer has left on the wire. No DMI: every access takes its time.
    tlm_utils::simple_target_socket_optional<Type3Card> mem{"mem"};
    /// The engine's registers (management::QueueRegisters): aligned accesses of 8 bytes. Doorbells
    /// are posted: the card sees them one flight later.
    tlm_utils::simple_target_socket_optional<Type3Card> mmio{"mmio"};
    /// The card's DMA. May stay unbound where no intent is ever submitted; so may the sockets.
    engine::DmaPort dma{"dma"};
    /// Copies by a host-side mover.
    sc_core::sc_export<engine::BulkMemIf> bulk{"bulk"};

    [[nodiscard]] engine::DataPlane& data_plane() { return m_data_plane; }
    [[nodiscard]] const engine::DataPlane& data_plane() const { return m_data_plane; }

    /// Writes into committed blocks and doorbells with bad values, both refused.
    [[nodiscard]] std::uint64_t refused_writes() const { return m_refused_writes; }
    [[nodiscard]] std::uint64_t refused_doorbells() const { return m_refused_doorbells; }

private:
    struct Doorbell {
        std::uint64_t offset = 0;
        std::uint64_t value = 0;
    };

    void mem_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    unsigned int mem_debug(tlm::tlm_generic_payload& payload);
    [[nodiscard]] tlm::tlm_response_status check_mem(const tlm::tlm_generic_payload& payload) const;
    void copy_line(tlm::tlm_generic_payload& payload);
    void mmio_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    void ring();

    CardConfig m_config;
    engine::DataPlane m_data_plane;
    EventHeap<Doorbell> m_doorbells;
    std::uint64_t m_refused_writes = 0;
    std::uint64_t m_refused_doorbells = 0;
};

}  // namespace kvplane::card
