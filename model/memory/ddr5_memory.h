// SPDX-License-Identifier: Apache-2.0
/// The card's DRAM at line fidelity behind a TLM-2.0 target: all subchannels, interleaved, four
/// phases (AT), and a loosely timed call on the same schedulers.
///
/// A request lies inside one 64 B line; fewer bytes, or byte enables, make a write a partial one.
/// Any number of initiators; END_REQ is withheld from one while its line's subchannel has no room,
/// and the others go on. Where several wait for room, the one that was bound first goes first. One
/// event an answer, none for commands. b_transport works out its subchannel ahead of time until the
/// answer is there, as if nothing else came meanwhile; commands given so stand, also for requests
/// that come in between.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <cstdint>
#include <span>
#include <systemc>
#include <tlm>
#include <vector>

#include "model/common/event_heap.h"
#include "model/common/growing_ring.h"
#include "model/memory/ddr5_interleave.h"
#include "model/memory/ddr5_subchannel.h"
#include "model/memory/sparse_store.h"

namespace kvplane::memory {

/// Hears of errors that ECC has corrected.
class DramErrorListener {
public:
    virtual ~DramErrorListener() = default;
    /// `line` had one, and it was found at `at`, which may be in the past: by the patrol scrub
    /// while nobody looked.
    virtual void corrected(Dpa line, Time at, bool patrol) = 0;
};

class Ddr5Memory final : public sc_core::sc_module {
public:
    /// Throws UserError on a config that check() refuses. `bytes` holds the contents and must
    /// outlive this; without it, requests take their time and move nothing.
    Ddr5Memory(sc_core::sc_module_name name, const Ddr5Config& config,
               SparseStore* bytes = nullptr);

    /// Addresses are offsets into the memory, up to Ddr5Config::capacity().
    tlm_utils::multi_passthrough_target_socket<Ddr5Memory> socket{"socket"};

    [[nodiscard]] const Ddr5Config& config() const { return m_config; }
    /// Brings all subchannels up to now, and sums what they did.
    [[nodiscard]] Ddr5Counters counters();
    /// From now on, for all subchannels. Throws UserError on a cap outside its range.
    void set_thermal(const DramThermal& thermal);
    /// One bit of a line's stored bytes is wrong from now on; reads stay right, and Ddr5Subchannel
    /// says what becomes of it. Throws UserError without ECC, InvariantError beyond the capacity.
    void inject_correctable(Dpa line);
    /// At most one, which must outlive this.
    void listen(DramErrorListener& listener) { m_errors = &listener; }
    /// How full the queue is that an access of this address would join: of reads, or of writes
    /// above the mark at which they go first, whichever is fuller.
    [[nodiscard]] Ratio queued(Dpa address);
    /// Watches one subchannel. Before the first request.
    void observe(std::uint32_t subchannel, DramObserver& observer);
    /// Requests taken and not yet answered.
    [[nodiscard]] std::uint32_t in_flight() const { return m_in_flight; }
    /// Times that this woke up: what a simulation of this memory costs.
    [[nodiscard]] std::uint64_t events() const { return m_wakes; }

private:
    /// What an annotated delay puts off.
    enum class Act : std::uint8_t { kBegin, kEndResponse, kRespond };
    struct Step {
        Act act = Act::kBegin;
        std::uint32_t port = 0;
    };
    /// An initiator.
    struct Port {
        tlm::tlm_generic_payload* waiting = nullptr;     ///< BEGIN_REQ without END_REQ
        GrowingRing<tlm::tlm_generic_payload*> answers;  ///< wait for the response channel
        tlm::tlm_generic_payload* answering = nullptr;   ///< between BEGIN_RESP and END_RESP
        bool ending = false;  ///< END_RESP has come, and its time has not
    };
    struct Slot {
        tlm::tlm_generic_payload* payload = nullptr;
        std::uint32_t port = 0;
    };

    void end_of_elaboration() override { m_ports.resize(socket.size()); }
    void b_transport(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    tlm::tlm_sync_enum nb_transport_fw(int port, tlm::tlm_generic_payload& payload,
                                       tlm::tlm_phase& phase, sc_core::sc_time& delay);
    unsigned int transport_dbg(int port, tlm::tlm_generic_payload& payload);
    bool get_direct_mem_ptr(int port, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);
    [[nodiscard]] tlm::tlm_sync_enum begin_request(std::uint32_t port,
                                                   tlm::tlm_generic_payload& payload,
                                                   tlm::tlm_phase& phase, Time delay);

    void run_steps();
    void run_wakes();
    void wake(std::uint32_t subchannel, Time at);
    void arm(std::uint32_t subchannel, Time at);
    [[nodiscard]] bool admit(std::uint32_t port);
    [[nodiscard]] bool admit_waiting(std::uint32_t port);
    void admit_blocked(std::uint32_t subchannel);
    void collect(std::uint32_t subchannel, Time at);
    void tell_corrections(std::uint32_t subchannel);
    void end_response(std::uint32_t port);
    void respond(std::uint32_t port);
    [[nodiscard]] tlm::tlm_response_status refuse(const tlm::tlm_generic_payload& payload) const;
    [[nodiscard]] static LineOp op_of(const tlm::tlm_generic_payload& payload);
    void move_bytes(tlm::tlm_generic_payload& payload);
    [[nodiscard]] std::uint32_t take_slot(const Slot& slot);

    Ddr5Config m_config;
    Ddr5Interleave m_interleave;
    SparseStore* m_bytes;
    DramErrorListener* m_errors = nullptr;
    std::vector<Ddr5Subchannel> m_subchannels;
    std::vector<Time> m_armed;  ///< of each subchannel: when to wake it up
    sc_core::sc_event m_wake{"wake"};
    bool m_waking = false;  ///< who wakes up will see what is armed meanwhile
    EventHeap<Step> m_steps;

    std::vector<Port> m_ports;
    std::vector<std::vector<std::uint32_t>> m_blocked;  ///< by subchannel: ports, ascending
    std::vector<Slot> m_slots;                          ///< by tag
    std::vector<std::uint32_t> m_free_slots;
    std::vector<std::uint32_t> m_answered;  ///< ports with answers of this wake-up
    std::uint32_t m_in_flight = 0;
    std::uint64_t m_wakes = 0;
};

}  // namespace kvplane::memory
