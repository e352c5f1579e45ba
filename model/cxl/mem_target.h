// SPDX-License-Identifier: Apache-2.0
/// The CXL.mem front end: a TLM-2.0 target of the base protocol, loosely timed (b_transport) and
/// approximately timed (four phases) on one functional core. Any number of initiators may bind.
///
/// Addresses are host physical. An access lies inside one 64 B line; MemExtension says what the
/// host means by it, and a plain TLM initiator does without. The time of an answer includes both
/// flights. An initiator of b_transport may run ahead of time; it is never made to wait here, so
/// that a request behind a snoop of its line, or while the link is down, is answered
/// TLM_GENERIC_ERROR_RESPONSE: hosts of HDM-DB, or of a link that trains anew, use four phases.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <cstdint>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "model/common/event_heap.h"
#include "model/cxl/burst_path.h"
#include "model/cxl/dev_load.h"
#include "model/cxl/front_end.h"
#include "model/cxl/line_link.h"
#include "model/cxl/mem_core.h"
#include "model/cxl/memory_port.h"
#include "model/cxl/tlp_wire_if.h"

namespace kvplane::cxl {

/// How the link is modelled for four-phase initiators; b_transport is always in closed form.
enum class LinkFidelity : std::uint8_t { kBurst, kLine };

struct MemTargetConfig {
    HdmConfig hdm;  ///< back-invalidate follows from the link's flits
    DevLoadConfig dev_load;
    /// Requests in the card, each with its response buffer; DevLoad is the share of them that
    /// waits.
    std::uint32_t depth = 64;
    Time processing = Time::from_ns(15);  ///< protocol layers, each way (ASIC)
    FrontEndConfig front_end;
    LinkFidelity fidelity = LinkFidelity::kBurst;
};

/// The host's side of HDM-DB. Its calls to MemTarget::respond() may come at once; a conflict is a
/// request (BIConflict) whose tag is that of the snoop.
class SnoopedHostIf {
public:
    virtual ~SnoopedHostIf() = default;
    /// A BISnp has arrived.
    virtual void snooped(const Snoop& snoop) = 0;
};

/// Hears of errors that the link has corrected by sending again.
class LinkErrorListener {
public:
    virtual ~LinkErrorListener() = default;
    /// So many flits have arrived with a bad CRC since the last call.
    virtual void crc_errors(std::uint64_t count) = 0;
};

class MemTarget final : public sc_core::sc_module,
                        public TlpWireIf,
                        private LinkClient,
                        private MemoryPort::Client {
public:
    MemTarget(sc_core::sc_module_name name, const LinkConfig& link, const MemTargetConfig& config,
              LineMemoryIf& memory);

    tlm_utils::multi_passthrough_target_socket<MemTarget, 32, tlm::tlm_base_protocol_types, 0,
                                               sc_core::SC_ZERO_OR_MORE_BOUND>
        socket{"socket"};
    /// To the card's memory at line fidelity. Bound before the simulation starts, it replaces
    /// LineMemoryIf::access_line(), for both fidelities of the link.
    MemoryPort memory;

    /// Why there is no direct memory interface.
    static constexpr const char* kNoDmi =
        "no DMI: every access takes its time and may meet poison, so none may bypass the model";

    [[nodiscard]] MemCore& core() { return m_core; }
    [[nodiscard]] const MemCore& core() const { return m_core; }

    /// Optional; set before the simulation starts.
    void connect(SnoopedHostIf& host) { m_host = &host; }
    void listen(LinkErrorListener& listener) { m_errors = &listener; }
    /// The card wants a line of an HDM-DB region for itself: sends the snoop that this needs.
    /// False where one is needed and cannot start yet. The engine asks for none yet: its frames are
    /// not the host's to write.
    [[nodiscard]] bool claim(Dpa line, bool write);
    /// The host sends BIRsp. False, and nothing is sent, for one that answers no snoop under way,
    /// or answers it again.
    [[nodiscard]] bool respond(std::uint16_t tag, Opcode response);

    /// A reset of the card with requests under way: each of them is answered once, with
    /// TLM_GENERIC_ERROR_RESPONSE (and poison). Decoders and directory are as after power-on.
    void reset();

    /// The link is down, or up again. With four phases what comes, and what answers would go out,
    /// waits meanwhile; b_transport is answered as MemCore::lose() says.
    void stop_link(bool stopped);

    /// TLPs on the same wire. The host's lines see them with LinkFidelity::kLine. A reset loses
    /// those under way.
    void send_tlp(Direction direction, const Tlp& tlp) override;
    void hear_tlps(TlpListener& listener) override { m_tlps = &listener; }

    /// Requests accepted and not yet answered.
    [[nodiscard]] std::uint32_t in_flight() const { return m_used; }
    [[nodiscard]] std::uint64_t answers() const { return m_answers; }
    /// Changes of DevLoad so far.
    [[nodiscard]] std::uint64_t load_changes() const { return m_meter.changes(); }
    void set_faults(const WireFaults& faults) {
        m_faults = faults;
        m_link->set_faults(faults);
    }

private:
    enum class Step : std::uint8_t {
        kBegin,
        kArrive,  ///< at the memory
        kMemory,  ///< done
        kAnswer,
        kEndResponse,
        kLink,
        kSnoop
    };
    struct Event {
        Step step = Step::kLink;
        std::uint32_t subject = 0;  ///< slot, initiator or snoop message
    };
    /// The message of a snoop that is on its way: one at a time.
    struct SnoopMessage {
        enum class Kind : std::uint8_t { kNone, kSnoop, kResponse };
        Kind kind = Kind::kNone;
        Opcode response = Opcode::kBiRspI;
        Snoop snoop;
    };
    /// Where a request is.
    enum class Where : std::uint8_t {
        kFree,
        kBlocked,   ///< behind a snoop, or a link that is down
        kOnLink,    ///< its message waits or travels
        kTimed,     ///< an event, or the memory, will go on with it
        kAnswered,  ///< its answer waits for the response channel or is on it
    };
    struct Slot {
        tlm::tlm_generic_payload* payload = nullptr;
        std::uint32_t initiator = 0;
        MemOutcome outcome;
        Where where = Where::kFree;
        bool aborted = false;  ///< by a reset
    };
    /// One binding of the socket, and its part of the base protocol.
    struct Initiator {
        tlm::tlm_generic_payload* waiting = nullptr;  ///< BEGIN_REQ without END_REQ
        bool due = false;                             ///< and its time has come
        std::vector<std::uint32_t> answers;           ///< slots that wait for the response channel
        std::size_t head = 0;
        std::uint32_t answering = kNone;  ///< slot between BEGIN_RESP and END_RESP
        bool ending = false;              ///< END_RESP has come, and its time has not
    };
    static constexpr std::uint32_t kNone = UINT32_MAX;

    void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    tlm::tlm_sync_enum nb_transport_fw(int id, tlm::tlm_generic_payload& payload,
                                       tlm::tlm_phase& phase, sc_core::sc_time& delay);
    unsigned int transport_dbg(int id, tlm::tlm_generic_payload& payload);
    bool get_direct_mem_ptr(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

    void run();
    void handle(const Event& event);
    [[nodiscard]] LinkClient& client() { return *this; }
    [[nodiscard]] MemoryPort::Client& memory_client() { return *this; }
    [[nodiscard]] tlm::tlm_sync_enum begin_request(std::uint32_t id,
                                                   tlm::tlm_generic_payload& payload,
                                                   tlm::tlm_phase& phase, Time delay);
    [[nodiscard]] Initiator& initiator(std::uint32_t id);
    void begin(std::uint32_t id);
    void accept(std::uint32_t id);
    void start(std::uint32_t slot);
    void arrive(std::uint32_t slot, Time at);
    void reach_memory(std::uint32_t slot);
    void memory_done(std::uint32_t slot);
    void line_done(std::uint32_t slot) override { memory_done(slot); }
    void answer(std::uint32_t slot);
    void next_answer(std::uint32_t id);
    void end_response(std::uint32_t id);
    void accept_waiting();
    void retry_blocked();
    [[nodiscard]] Time pass(tlm::tlm_generic_payload& payload, const MemOutcome& outcome, Time at);
    [[nodiscard]] Time through_front_end(const MemOutcome& outcome, Time at);
    [[nodiscard]] Time access(const MemOutcome& outcome, Time at);
    void fill_dev_load(tlm::tlm_generic_payload& payload, const MemOutcome& outcome, Time arrived);
    void note_waiting(Time arrived, Time until);
    [[nodiscard]] std::uint64_t waiting(Time at);
    void arm_link();
    void advance_link();
    void send_snoop_message(std::uint16_t tag, SnoopMessage::Kind kind);
    void snoop_message_arrived(std::uint16_t tag);

    void arrived(Direction direction, const FlitMessage& message, Time at) override;
    void arrived(Direction direction, const Tlp& tlp, Time at) override;

    LinkConfig m_link_config;
    WireFaults m_faults;
    MemTargetConfig m_config;
    LineMemoryIf& m_memory;
    MemCore m_core;
    BurstPath m_path;
    FrontEnd m_front_end;
    std::unique_ptr<LineLink> m_link;  ///< renewed by a reset
    DevLoadMeter m_meter;
    EventHeap<Event> m_events;
    SnoopedHostIf* m_host = nullptr;
    LinkErrorListener* m_errors = nullptr;
    TlpListener* m_tlps = nullptr;
    std::uint64_t m_crc_errors = 0;  ///< told
    std::vector<Initiator> m_initiators;
    std::vector<Slot> m_slots;
    std::vector<std::uint32_t> m_free_slots;
    std::vector<std::uint32_t> m_blocked;  ///< slots that wait to start, in order
    std::vector<std::uint32_t> m_held;     ///< slots whose answers a stopped link keeps
    bool m_stopped = false;
    std::vector<SnoopMessage> m_snoops;  ///< by tag
    std::uint32_t m_generation = 0;      ///< resets so far
    std::uint32_t m_used = 0;
    std::size_t m_turn = 0;  ///< initiator that is let in next
    std::uint64_t m_answers = 0;
    Time m_link_armed = Time::never();
    std::vector<Time> m_waiting;  ///< until when requests wait in the card's queues: a ring
    std::uint64_t m_waiting_head = 0;
    std::uint64_t m_waiting_tail = 0;
};

}  // namespace kvplane::cxl
