// SPDX-License-Identifier: Apache-2.0
/// A CXL Type-3 memory card that keeps KV blocks and moves them by itself.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <memory>
#include <systemc>
#include <tlm>

#include "model/card/config.h"
#include "model/common/event_heap.h"
#include "model/cxl/mem_target.h"
#include "model/engine/data_plane.h"
#include "model/management/event_log.h"
#include "model/management/management_target.h"
#include "model/management/poison_list.h"
#include "model/memory/ddr5_memory.h"

namespace kvplane::card {

/// The card and the wire it hangs on. It is handed its index, which must outlive it. Sockets and
/// ports may stay unbound where nothing uses them.
///
/// The decoders come up unprogrammed and CXL.mem disabled: no host address leads to the card before
/// decoders are committed and enabled, and Mem_Enable is set in the DVSEC.
/// All of the tier may be mapped. Frames that hold blocks can be read, not written (payload is
/// written once).
class Type3Card final : public sc_core::sc_module,
                        private management::ManagementListener,
                        private cxl::LinkErrorListener,
                        private memory::DramErrorListener {
    // The order is that of construction: each part refers to those before it.
    Time m_flight;
    Bytes m_mapped;
    management::PoisonList m_poison;
    management::EventLog m_events;
    engine::DataPlane m_data_plane;
    std::unique_ptr<memory::Ddr5Memory> m_lines;  ///< null: the closed form

public:
    /// `block` is the size of every block of the run.
    Type3Card(sc_core::sc_module_name name, const CardConfig& config, Bytes block,
              index::ResidentIndex& index);

    /// CXL.mem of the host. With `mem.fidelity` kLine the flits of the host's messages are formed
    /// one by one, on a wire that does not see the card's DMA.
    cxl::MemTarget mem;
    /// Configuration space and MMIO of the memory function.
    management::ManagementTarget management;
    /// The engine's registers (management::QueueRegisters): aligned accesses of 8 bytes, and of 64
    /// bytes to a portal. Doorbells and portal writes are posted: the card sees them one flight
    /// later.
    tlm_utils::simple_target_socket_optional<Type3Card> mmio{"mmio"};
    /// The card's DMA.
    engine::DmaPort dma{"dma"};
    /// Copies by a host-side mover.
    sc_core::sc_export<engine::BulkMemIf> bulk{"bulk"};

    /// Sets the decoders up as firmware would: host address = device address for all of
    /// mapped_capacity(), and CXL.mem enabled. Before the first reset, or after one.
    void map_whole();

    /// Resets the card, also in mid-traffic: CXL.mem requests under way are answered with an error,
    /// intents under way end without a completion, and what effect_of() does not keep is gone. Not
    /// from within a callback of the card.
    void reset(management::Reset kind) { management.reset(kind); }
    /// The card cannot trust itself any more: from now on reads answer with poison, writes are
    /// dropped and its DMA stops, until a reset that takes the link down.
    void raise_viral();

    /// Nothing crosses the link, which replays or trains anew, or all does again: moves, copies and
    /// CXL.mem go on where they were (MemTarget::stop_link), doorbells are seen then. Bus master
    /// enable stands beside it. Registers answer.
    void stop_link(bool stopped);

    /// The card's temperature from now on: refreshes and bandwidth of the host's lines change, and
    /// with their queues DevLoad. The change is logged, as a warning where it throttles, and shows
    /// in the health information. Throws UserError where DRAM is a closed form (`dram.fidelity`),
    /// or on a cap outside its range.
    void set_thermal(const memory::DramThermal& thermal);

    [[nodiscard]] engine::DataPlane& data_plane() { return m_data_plane; }
    [[nodiscard]] const engine::DataPlane& data_plane() const { return m_data_plane; }
    /// The DRAM of the host's lines; nullptr where they use the closed form.
    [[nodiscard]] memory::Ddr5Memory* lines() { return m_lines.get(); }
    [[nodiscard]] const management::PoisonList& poison() const { return m_poison; }
    [[nodiscard]] const management::EventLog& events() const { return m_events; }
    /// Doorbells and portal writes with bad values, or of queues that are not enabled.
    [[nodiscard]] std::uint64_t refused_doorbells() const { return m_refused_doorbells; }

private:
    struct Doorbell {
        std::uint64_t offset = 0;
        std::uint64_t value = 0;
        std::uint32_t posted = kNoDescriptor;  ///< place in m_posted, of a write to a portal
    };
    static constexpr std::uint32_t kNoDescriptor = UINT32_MAX;

    void mmio_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    [[nodiscard]] bool access_register(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    [[nodiscard]] bool write_portal(tlm::tlm_generic_payload& payload,
                                    const sc_core::sc_time& delay);
    void connect_lines();
    void ring();
    void ring(const Doorbell& doorbell);

    void media_ready(bool ready) override { mem.core().set_media_ready(ready); }
    void reset_done(management::Reset kind) override;
    void crc_errors(std::uint64_t) override {
        management.component().correctable(management::ComponentRegisters::kCrcThreshold);
    }

    void corrected(Dpa line, Time at, bool patrol) override;

    EventHeap<Doorbell> m_doorbells;
    memory::DramThermal m_thermal;
    std::uint32_t m_corrected_threshold;
    std::uint32_t m_corrected = 0;         ///< errors in DRAM since the last event about them
    std::vector<engine::Intent> m_posted;  ///< descriptors on their way to a portal: a pool
    std::vector<std::uint32_t> m_posted_free;
    std::uint64_t m_refused_doorbells = 0;
    bool m_link_down = false;
};

}  // namespace kvplane::card
