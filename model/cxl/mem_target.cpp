// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/mem_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/common/errors.h"
#include "model/common/tlm_protocol.h"

namespace kvplane::cxl {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
/// Marks a message of a snoop on the wire; below is its tag.
constexpr std::uint32_t kSnoopMessage = 1U << 31;
/// Bits of a snoop's tag; above it, an event holds the number of resets before it.
constexpr std::uint32_t kTagBits = 12;
constexpr std::uint32_t kTagMask = (1U << kTagBits) - 1;

HdmConfig with_back_invalidate(HdmConfig config, const LinkConfig& link) {
    config.back_invalidate = link.flit != FlitLayout::k68B;
    return config;
}

LineAccess kind_of(const MemOutcome& outcome) {
    if (!outcome.write) return LineAccess::kRead;
    return outcome.opcode == Opcode::kMemWr ? LineAccess::kWrite : LineAccess::kPartialWrite;
}

}  // namespace

MemTarget::MemTarget(sc_core::sc_module_name name, const LinkConfig& link,
                     const MemTargetConfig& config, LineMemoryIf& lines)
    : sc_module(name),
      memory("memory", config.depth, memory_client()),
      m_link_config(link),
      m_config(config),
      m_memory(lines),
      m_core(with_back_invalidate(config.hdm, link), lines),
      m_path(link, config.processing, lines),
      m_front_end(config.front_end),
      m_link(std::make_unique<LineLink>(link, client())),
      m_meter(config.dev_load),
      m_events("events"),
      m_slots(config.depth),
      m_snoops(std::size_t{1} << kTagBits),
      m_waiting(config.depth) {
    m_free_slots.reserve(config.depth);
    for (std::uint32_t i = config.depth; i != 0; --i) m_free_slots.push_back(i - 1);
    socket.register_b_transport(this, &MemTarget::b_transport);
    socket.register_nb_transport_fw(this, &MemTarget::nb_transport_fw);
    socket.register_transport_dbg(this, &MemTarget::transport_dbg);
    socket.register_get_direct_mem_ptr(this, &MemTarget::get_direct_mem_ptr);
    SC_HAS_PROCESS(MemTarget);
    SC_METHOD(run);
    sensitive << m_events.event();
    dont_initialize();
}

// --- loosely timed ----------------------------------------------------------------------------

/// Requests in the card's queues at `at`.
std::uint64_t MemTarget::waiting(Time at) {
    while (m_waiting_head != m_waiting_tail && m_waiting[m_waiting_head % m_waiting.size()] <= at) {
        ++m_waiting_head;
    }
    return m_waiting_tail - m_waiting_head;
}

void MemTarget::note_waiting(Time arrived, Time until) {
    if (until <= arrived || m_waiting_tail - m_waiting_head == m_waiting.size()) return;
    m_waiting[m_waiting_tail++ % m_waiting.size()] = until;
}

/// The level that a request finds when it arrives.
void MemTarget::fill_dev_load(tlm::tlm_generic_payload& payload, const MemOutcome& outcome,
                              Time arrived) {
    const std::uint64_t queued =
        waiting(arrived) + memory.held() + m_link->wire(Direction::kToHost).held();  // for a credit
    // The fullest of the card's queue, the memory's, and what other traffic takes of the memory.
    std::uint64_t share =
        std::max<std::uint64_t>(queued * kMillion / m_config.depth, m_memory.other_load().ppm);
    if (outcome.access) share = std::max<std::uint64_t>(share, m_memory.queued(outcome.line).ppm);
    const DevLoad level = m_meter.update(share, kMillion);
    if (auto* extension = payload.get_extension<MemExtension>()) extension->dev_load = level;
}

/// When a request that is in the card at `at` is at its memory.
Time MemTarget::through_front_end(const MemOutcome& outcome, Time at) {
    return outcome.access ? m_front_end.pass(at, outcome.line, outcome.write) : at;
}

/// When an access at `at`, now or later, is done.
Time MemTarget::access(const MemOutcome& outcome, Time at) {
    if (memory.bound()) return memory.access(at, outcome.line, kind_of(outcome));
    return m_memory.access_line(at, outcome.line, outcome.write);
}

/// In closed form: returns when the answer is back at the host.
Time MemTarget::pass(tlm::tlm_generic_payload& payload, const MemOutcome& outcome, Time at) {
    const Time arrived = m_path.request(outcome, at);
    fill_dev_load(payload, outcome, arrived);
    const Time passed = through_front_end(outcome, arrived);
    const Time done = outcome.access ? access(outcome, passed) : passed;
    const BurstPath::Answer answer = m_path.answer(outcome, done);
    const Time idle = outcome.access ? m_memory.idle_latency() : Time{};
    note_waiting(arrived, done - idle + answer.waited);
    return answer.answered;
}

void MemTarget::b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    if (m_stopped) return m_core.lose(payload);
    if (m_core.behind_snoop(payload)) {
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        return;
    }
    const MemOutcome outcome = m_core.execute(payload);
    delay = to_sc_time(pass(payload, outcome, now() + from_sc_time(delay)) - now());
    ++m_answers;
    if (outcome.opcode == Opcode::kBiConflict) retry_blocked();
}

unsigned int MemTarget::transport_dbg(int, tlm::tlm_generic_payload& payload) {
    return m_core.debug(payload);
}

bool MemTarget::get_direct_mem_ptr(int, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
    SC_REPORT_INFO_VERB("/cxl/mem/dmi", kNoDmi, sc_core::SC_DEBUG);
    payload.set_dmi_allowed(false);
    // Refused for the whole address space, so that an initiator need not ask again.
    dmi.init();
    dmi.set_start_address(0);
    dmi.set_end_address(UINT64_MAX);
    return false;
}

// --- approximately timed ----------------------------------------------------------------------

MemTarget::Initiator& MemTarget::initiator(std::uint32_t id) {
    if (id >= m_initiators.size()) m_initiators.resize(socket.size());
    return m_initiators[id];
}

tlm::tlm_sync_enum MemTarget::nb_transport_fw(int id, tlm::tlm_generic_payload& payload,
                                              tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    const auto index = static_cast<std::uint32_t>(id);
    if (phase == tlm::BEGIN_REQ) {
        return begin_request(index, payload, phase, from_sc_time(delay));
    }
    if (phase == tlm::END_RESP) {
        Initiator& from = initiator(index);
        const bool ended = from.answering == kNone || from.ending;
        if (refuse_end(payload, ended ? nullptr : m_slots[from.answering].payload)) {
            return tlm::TLM_COMPLETED;
        }
        if (delay == sc_core::SC_ZERO_TIME) {
            end_response(index);
        } else {
            from.ending = true;
            m_events.schedule(now() + from_sc_time(delay), {Step::kEndResponse, index});
        }
        return tlm::TLM_COMPLETED;
    }
    return refuse_phase(phase);
}

tlm::tlm_sync_enum MemTarget::begin_request(std::uint32_t id, tlm::tlm_generic_payload& payload,
                                            tlm::tlm_phase& phase, Time delay) {
    Initiator& from = initiator(id);
    if (const auto refused = refuse_begin(payload, from.waiting != nullptr)) return *refused;
    payload.acquire();
    from.waiting = &payload;
    if (delay != Time{}) {
        m_events.schedule(now() + delay, {Step::kBegin, id});
        return tlm::TLM_ACCEPTED;
    }
    from.due = true;
    if (m_free_slots.empty()) return tlm::TLM_ACCEPTED;
    accept(id);
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
}

/// Lets a request in whose time has come, or leaves it waiting for a slot.
void MemTarget::begin(std::uint32_t id) {
    Initiator& from = m_initiators[id];
    if (!from.due || m_free_slots.empty()) return;
    tlm::tlm_generic_payload& payload = *from.waiting;
    accept(id);
    tlm::tlm_phase phase = tlm::END_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    static_cast<void>(socket[static_cast<int>(id)]->nb_transport_bw(payload, phase, delay));
}

void MemTarget::accept(std::uint32_t id) {
    const std::uint32_t slot = m_free_slots.back();
    m_free_slots.pop_back();
    ++m_used;
    m_slots[slot] = {m_initiators[id].waiting, id, {}, Where::kTimed, false};
    m_initiators[id].waiting = nullptr;
    m_initiators[id].due = false;
    start(slot);
}

void MemTarget::start(std::uint32_t index) {
    Slot& slot = m_slots[index];
    if (m_stopped || m_core.behind_snoop(*slot.payload)) {
        slot.where = Where::kBlocked;
        m_blocked.push_back(index);
        return;
    }
    slot.outcome = m_core.execute(*slot.payload);
    slot.where = Where::kTimed;
    const Opcode opcode = slot.outcome.opcode;
    if (!slot.outcome.answered) {
        m_events.schedule(pass(*slot.payload, slot.outcome, now()), {Step::kAnswer, index});
    } else if (m_config.fidelity == LinkFidelity::kBurst) {
        arrive(index, m_path.request(slot.outcome, now()));
    } else {
        slot.where = Where::kOnLink;
        m_link->push(Direction::kToCard, {index, channel_of(opcode), opcode == Opcode::kMemWrPtl},
                     now());
        arm_link();
    }
    // The host has said that its request for the snooped line is in flight: it is let through.
    if (opcode == Opcode::kBiConflict) retry_blocked();
}

void MemTarget::run() {
    Event event;
    while (m_events.pop_due(event)) handle(event);
}

void MemTarget::handle(const Event& event) {
    switch (event.step) {
        case Step::kBegin:
            m_initiators[event.subject].due = true;
            begin(event.subject);
            break;
        case Step::kArrive:
            reach_memory(event.subject);
            break;
        case Step::kAnswer:
            answer(event.subject);
            break;
        case Step::kMemory:
            memory_done(event.subject);
            break;
        case Step::kEndResponse:
            end_response(event.subject);
            break;
        case Step::kLink:
            if (m_link_armed == now()) m_link_armed = Time::never();
            advance_link();
            break;
        case Step::kSnoop: {
            const auto tag = static_cast<std::uint16_t>(event.subject & kTagMask);
            // A message of before a reset is lost.
            if (event.subject >> kTagBits != m_generation) break;
            snoop_message_arrived(tag);
            break;
        }
    }
}

/// The request is in the card at `at`, now or later.
void MemTarget::arrive(std::uint32_t index, Time at) {
    Slot& slot = m_slots[index];
    const Time passed = through_front_end(slot.outcome, at);
    if (memory.bound() && slot.outcome.access) {
        m_events.schedule(passed, {Step::kArrive, index});
        return;
    }
    fill_dev_load(*slot.payload, slot.outcome, at);
    Time done = passed;
    if (slot.outcome.access) {
        done = access(slot.outcome, passed);
        note_waiting(at, done - m_memory.idle_latency());
    }
    m_events.schedule(done, {Step::kMemory, index});
}

void MemTarget::reach_memory(std::uint32_t index) {
    const Slot& slot = m_slots[index];
    if (slot.aborted) {
        answer(index);
        return;
    }
    fill_dev_load(*slot.payload, slot.outcome, now());
    memory.start(index, slot.outcome.line, kind_of(slot.outcome));
}

void MemTarget::memory_done(std::uint32_t index) {
    Slot& slot = m_slots[index];
    if (slot.aborted) {
        answer(index);
        return;
    }
    if (m_config.fidelity == LinkFidelity::kBurst) {
        const BurstPath::Answer answer = m_path.answer(slot.outcome, now());
        note_waiting(now(), now() + answer.waited);
        m_events.schedule(answer.answered, {Step::kAnswer, index});
        return;
    }
    slot.where = Where::kOnLink;
    m_link->push(Direction::kToHost,
                 {index, slot.outcome.data ? Channel::kDrs : Channel::kNdr, false}, now());
    arm_link();
}

void MemTarget::arm_link() {
    const Time next = m_link->next_event();
    if (next >= m_link_armed || next == Time::never()) return;
    m_link_armed = next;
    m_events.schedule(std::max(next, now()), {Step::kLink, 0});
}

void MemTarget::advance_link() {
    m_link->advance(now());
    arm_link();
    if (m_errors == nullptr) return;
    const std::uint64_t errors = m_link->wire(Direction::kToCard).counters().crc_errors +
                                 m_link->wire(Direction::kToHost).counters().crc_errors;
    if (errors == m_crc_errors) return;
    m_errors->crc_errors(errors - m_crc_errors);
    m_crc_errors = errors;
}

void MemTarget::arrived(Direction direction, const FlitMessage& message, Time at) {
    m_link->consumed(direction, message.channel, at);
    if ((message.id & kSnoopMessage) != 0) {
        const std::uint32_t tag = message.id & kTagMask;
        m_events.schedule(at + m_config.processing, {Step::kSnoop, tag | m_generation << kTagBits});
        return;
    }
    Slot& slot = m_slots[message.id];
    slot.where = Where::kTimed;
    if (direction == Direction::kToHost) {
        m_events.schedule(at + m_config.processing, {Step::kAnswer, message.id});
        return;
    }
    arrive(message.id, at + m_config.processing);
}

void MemTarget::arrived(Direction direction, const Tlp& tlp, Time at) {
    m_link->consumed(direction, tlp, at);
    if (m_tlps == nullptr) throw InvariantError("CXL.mem front end: a TLP that nobody hears");
    m_tlps->tlp_arrived(direction, tlp);
}

void MemTarget::send_tlp(Direction direction, const Tlp& tlp) {
    m_link->push(direction, tlp, now());
    arm_link();
}

void MemTarget::answer(std::uint32_t index) {
    Slot& slot = m_slots[index];
    if (m_stopped && !slot.aborted) {
        slot.where = Where::kBlocked;
        m_held.push_back(index);
        return;
    }
    if (slot.aborted) {
        slot.payload->set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        if (auto* extension = slot.payload->get_extension<MemExtension>()) extension->poison = true;
    }
    slot.where = Where::kAnswered;
    Initiator& to = m_initiators[slot.initiator];
    to.answers.push_back(index);
    next_answer(slot.initiator);
}

void MemTarget::next_answer(std::uint32_t id) {
    Initiator& to = m_initiators[id];
    while (to.answering == kNone && to.head != to.answers.size()) {
        to.answering = to.answers[to.head++];
        if (to.head == to.answers.size()) {
            to.answers.clear();
            to.head = 0;
        }
        tlm::tlm_phase phase = tlm::BEGIN_RESP;
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        const tlm::tlm_sync_enum status = socket[static_cast<int>(id)]->nb_transport_bw(
            *m_slots[to.answering].payload, phase, delay);
        const bool ended =
            status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::END_RESP);
        if (!ended) return;
        if (delay != sc_core::SC_ZERO_TIME) {
            to.ending = true;
            m_events.schedule(now() + from_sc_time(delay), {Step::kEndResponse, id});
            return;
        }
        end_response(id);
    }
}

void MemTarget::end_response(std::uint32_t id) {
    Initiator& from = m_initiators[id];
    const std::uint32_t index = from.answering;
    from.answering = kNone;
    from.ending = false;
    m_slots[index].payload->release();
    m_slots[index].payload = nullptr;
    m_slots[index].where = Where::kFree;
    m_free_slots.push_back(index);
    --m_used;
    ++m_answers;
    accept_waiting();
    next_answer(id);
}

void MemTarget::accept_waiting() {
    for (std::size_t n = 0; n < m_initiators.size() && !m_free_slots.empty(); ++n) {
        m_turn = (m_turn + 1) % m_initiators.size();
        begin(static_cast<std::uint32_t>(m_turn));
    }
}

// --- HDM-DB and resets ------------------------------------------------------------------------

bool MemTarget::claim(Dpa line, bool write) {
    const auto opcode = m_core.directory().needed(line, write);
    if (!opcode) return true;
    const auto snoop = m_core.directory().start(line, *opcode);
    if (!snoop) return false;
    m_snoops[snoop->tag].snoop = *snoop;
    send_snoop_message(snoop->tag, SnoopMessage::Kind::kSnoop);
    return true;
}

bool MemTarget::respond(std::uint16_t tag, Opcode response) {
    if (!m_core.directory().takes(tag, response)) return false;
    if (m_snoops[tag].kind != SnoopMessage::Kind::kNone) return false;
    m_snoops[tag].response = response;
    send_snoop_message(tag, SnoopMessage::Kind::kResponse);
    return true;
}

void MemTarget::send_snoop_message(std::uint16_t tag, SnoopMessage::Kind kind) {
    m_snoops[tag].kind = kind;
    const bool snoop = kind == SnoopMessage::Kind::kSnoop;
    const Direction direction = snoop ? Direction::kToHost : Direction::kToCard;
    if (m_config.fidelity == LinkFidelity::kBurst) {
        m_events.schedule(m_path.message(direction, now()),
                          {Step::kSnoop, tag | m_generation << kTagBits});
        return;
    }
    m_link->push(direction, {kSnoopMessage | tag, snoop ? Channel::kBiSnp : Channel::kBiRsp, false},
                 now());
    arm_link();
}

void MemTarget::snoop_message_arrived(std::uint16_t tag) {
    using Kind = SnoopMessage::Kind;
    const Kind kind = m_snoops[tag].kind;
    m_snoops[tag].kind = Kind::kNone;
    if (kind == Kind::kSnoop) {
        if (m_host != nullptr) m_host->snooped(m_snoops[tag].snoop);
        return;
    }
    if (kind == Kind::kNone || !m_core.directory().respond(tag, m_snoops[tag].response)) {
        throw InvariantError(fmt::format("CXL.mem front end: no message of snoop {} is due", tag));
    }
    retry_blocked();
}

void MemTarget::retry_blocked() {
    for (const std::uint32_t slot : std::exchange(m_blocked, {})) start(slot);
}

void MemTarget::stop_link(bool stopped) {
    m_stopped = stopped;
    if (stopped) return;
    for (const std::uint32_t slot : std::exchange(m_held, {})) answer(slot);
    retry_blocked();
}

void MemTarget::reset() {
    m_core.reset();
    m_link = std::make_unique<LineLink>(m_link_config, client(), m_faults);
    m_crc_errors = 0;
    m_generation = (m_generation + 1) & (UINT32_MAX >> kTagBits);
    for (SnoopMessage& message : m_snoops) message.kind = SnoopMessage::Kind::kNone;
    m_link_armed = Time::never();
    m_blocked.clear();
    m_held.clear();
    for (std::uint32_t i = 0; i < m_slots.size(); ++i) {
        Slot& slot = m_slots[i];
        if (slot.where == Where::kFree || slot.where == Where::kAnswered || slot.aborted) continue;
        slot.aborted = true;
        // Where no event will go on with the request, this one does.
        if (slot.where != Where::kTimed) m_events.schedule(now(), {Step::kAnswer, i});
        slot.where = Where::kTimed;
    }
}

}  // namespace kvplane::cxl
