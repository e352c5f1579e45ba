// SPDX-License-Identifier: Apache-2.0
#include "model/memory/ddr5_memory.h"

#include <algorithm>
#include <array>

#include "model/common/errors.h"
#include "model/common/tlm_protocol.h"

namespace kvplane::memory {
namespace {

constexpr std::uint32_t kLooseTag = UINT32_MAX;

}  // namespace

Ddr5Memory::Ddr5Memory(sc_core::sc_module_name name, const Ddr5Config& config, SparseStore* bytes)
    : sc_module(name),
      m_config(checked(config)),
      m_interleave(config),
      m_bytes(bytes),
      m_armed(config.subchannels(), Time::never()),
      m_steps("steps"),
      m_blocked(config.subchannels()) {
    m_subchannels.reserve(config.subchannels());
    for (std::uint32_t i = 0; i < config.subchannels(); ++i) {
        m_subchannels.emplace_back(config, nullptr, config.refresh_offset(i));
    }
    socket.register_b_transport(this, &Ddr5Memory::b_transport);
    socket.register_nb_transport_fw(this, &Ddr5Memory::nb_transport_fw);
    socket.register_transport_dbg(this, &Ddr5Memory::transport_dbg);
    socket.register_get_direct_mem_ptr(this, &Ddr5Memory::get_direct_mem_ptr);
    SC_HAS_PROCESS(Ddr5Memory);
    SC_METHOD(run_steps);
    sensitive << m_steps.event();
    dont_initialize();
    SC_METHOD(run_wakes);
    sensitive << m_wake;
    dont_initialize();
}

void Ddr5Memory::observe(std::uint32_t subchannel, DramObserver& observer) {
    m_subchannels.at(subchannel).observe(observer);
}

Ddr5Counters Ddr5Memory::counters() {
    Ddr5Counters sum;
    for (std::uint32_t i = 0; i < m_subchannels.size(); ++i) {
        m_subchannels[i].advance(now());
        tell_corrections(i);
        sum += m_subchannels[i].counters();
    }
    return sum;
}

void Ddr5Memory::inject_correctable(Dpa line) {
    if (line.value >= m_config.capacity().count) {
        throw InvariantError("ddr5: an error beyond the end");
    }
    const auto place = m_interleave.place(line.value / kLine.count);
    m_subchannels[place.subchannel].advance(now());
    m_subchannels[place.subchannel].inject_correctable(place.line);
}

void Ddr5Memory::tell_corrections(std::uint32_t subchannel) {
    if (!m_subchannels[subchannel].has_corrections()) return;
    for (const DramCorrection& found : m_subchannels[subchannel].take_corrections()) {
        const std::uint64_t line = m_interleave.line({subchannel, found.line});
        if (m_errors != nullptr) {
            m_errors->corrected({line * kLine.count}, found.at, found.patrol);
        }
    }
}

void Ddr5Memory::set_thermal(const DramThermal& thermal) {
    for (std::uint32_t i = 0; i < m_subchannels.size(); ++i) {
        m_subchannels[i].set_thermal(now(), thermal);
        arm(i, now());
    }
}

Ratio Ddr5Memory::queued(Dpa address) {
    const auto place = m_interleave.place(address.value / kLine.count);
    m_subchannels[place.subchannel].advance(now());
    return m_subchannels[place.subchannel].queued();
}

// --- what a request is --------------------------------------------------------------------------

tlm::tlm_response_status Ddr5Memory::refuse(const tlm::tlm_generic_payload& payload) const {
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) return tlm::TLM_COMMAND_ERROR_RESPONSE;
    const tlm::tlm_response_status status = check_line_access(payload);
    if (status != tlm::TLM_OK_RESPONSE) return status;
    return payload.get_address() < m_config.capacity().count ? tlm::TLM_OK_RESPONSE
                                                             : tlm::TLM_ADDRESS_ERROR_RESPONSE;
}

LineOp Ddr5Memory::op_of(const tlm::tlm_generic_payload& payload) {
    if (payload.is_read()) return LineOp::kRead;
    return is_whole_line(payload) ? LineOp::kWrite : LineOp::kPartialWrite;
}

void Ddr5Memory::move_bytes(tlm::tlm_generic_payload& payload) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    if (m_bytes == nullptr) return;
    const std::uint64_t address = payload.get_address();
    const std::span<unsigned char> data(payload.get_data_ptr(), payload.get_data_length());
    if (payload.get_byte_enable_ptr() == nullptr) {
        if (payload.is_read()) {
            m_bytes->read(address, data);
        } else {
            m_bytes->write(address, data);
        }
        return;
    }
    std::array<std::uint8_t, kLine.count> line{};
    const std::span<std::uint8_t> part(line.data(), data.size());
    m_bytes->read(address, part);
    copy_enabled(payload, line.data());
    if (payload.is_write()) m_bytes->write(address, part);
}

// --- loosely timed ------------------------------------------------------------------------------

void Ddr5Memory::b_transport(int /*port*/, tlm::tlm_generic_payload& payload,
                             sc_core::sc_time& delay) {
    const tlm::tlm_response_status status = refuse(payload);
    if (status != tlm::TLM_OK_RESPONSE) {
        payload.set_response_status(status);
        return;
    }
    const auto place = m_interleave.place(payload.get_address() / kLine.count);
    Ddr5Subchannel& subchannel = m_subchannels[place.subchannel];
    const LineOp op = op_of(payload);
    Time at = now() + from_sc_time(delay);
    subchannel.advance(at);
    while (!subchannel.can_accept(op)) {
        at = std::max(at, subchannel.next_event(true));
        subchannel.advance(at);
    }
    move_bytes(payload);
    subchannel.submit(at, {.line = place.line, .op = op, .tag = kLooseTag});
    // Answers of other requests that fall due on the way keep their time.
    const Time answered = subchannel.take_answer(kLooseTag);
    delay = to_sc_time(answered - now());
    tell_corrections(place.subchannel);
    arm(place.subchannel, now());
}

unsigned int Ddr5Memory::transport_dbg(int /*port*/, tlm::tlm_generic_payload& payload) {
    const std::uint64_t capacity = m_config.capacity().count;
    const std::uint64_t address = payload.get_address();
    if (m_bytes == nullptr || address >= capacity ||
        payload.get_command() == tlm::TLM_IGNORE_COMMAND) {
        return 0;
    }
    const auto length = static_cast<std::size_t>(
        std::min<std::uint64_t>(payload.get_data_length(), capacity - address));
    const std::span<unsigned char> data(payload.get_data_ptr(), length);
    if (payload.is_read()) {
        m_bytes->read(address, data);
    } else {
        m_bytes->write(address, data);
    }
    return static_cast<unsigned int>(length);
}

bool Ddr5Memory::get_direct_mem_ptr(int /*port*/, tlm::tlm_generic_payload& payload,
                                    tlm::tlm_dmi& dmi) {
    // Every access takes its time, so that none may go past the model.
    payload.set_dmi_allowed(false);
    dmi.init();
    dmi.set_start_address(0);
    dmi.set_end_address(UINT64_MAX);
    return false;
}

// --- approximately timed ------------------------------------------------------------------------

tlm::tlm_sync_enum Ddr5Memory::nb_transport_fw(int port, tlm::tlm_generic_payload& payload,
                                               tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    const auto from = static_cast<std::uint32_t>(port);
    if (phase == tlm::BEGIN_REQ) return begin_request(from, payload, phase, from_sc_time(delay));
    if (phase != tlm::END_RESP) return refuse_phase(phase);
    Port& way = m_ports[from];
    if (refuse_end(payload, way.ending ? nullptr : way.answering)) return tlm::TLM_COMPLETED;
    if (delay == sc_core::SC_ZERO_TIME) {
        end_response(from);
    } else {
        way.ending = true;
        m_steps.schedule(now() + from_sc_time(delay), {Act::kEndResponse, from});
    }
    return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum Ddr5Memory::begin_request(std::uint32_t port, tlm::tlm_generic_payload& payload,
                                             tlm::tlm_phase& phase, Time delay) {
    Port& way = m_ports[port];
    if (const auto refused = refuse_begin(payload, way.waiting != nullptr)) return *refused;
    payload.acquire();
    way.waiting = &payload;
    if (delay != Time{}) {
        m_steps.schedule(now() + delay, {Act::kBegin, port});
        return tlm::TLM_ACCEPTED;
    }
    if (!admit(port)) return tlm::TLM_ACCEPTED;
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
}

/// Takes the waiting request if its subchannel has room; else that wakes up when it has. One that
/// is refused is answered in the next delta.
bool Ddr5Memory::admit(std::uint32_t port) {
    Port& way = m_ports[port];
    tlm::tlm_generic_payload& payload = *way.waiting;
    const tlm::tlm_response_status status = refuse(payload);
    if (status == tlm::TLM_OK_RESPONSE) {
        const auto place = m_interleave.place(payload.get_address() / kLine.count);
        Ddr5Subchannel& channel = m_subchannels[place.subchannel];
        const LineOp op = op_of(payload);
        const Time at = now();
        channel.advance(at);
        if (!channel.can_accept(op)) {
            std::vector<std::uint32_t>& blocked = m_blocked[place.subchannel];
            blocked.insert(std::lower_bound(blocked.begin(), blocked.end(), port), port);
            arm(place.subchannel, at);
            return false;
        }
        move_bytes(payload);
        channel.submit(at, {.line = place.line, .op = op, .tag = take_slot({&payload, port})});
        arm(place.subchannel, at);
    } else {
        payload.set_response_status(status);
        way.answers.push(&payload);
        m_steps.schedule(now(), {Act::kRespond, port});
    }
    ++m_in_flight;
    way.waiting = nullptr;
    return true;
}

void Ddr5Memory::end_response(std::uint32_t port) {
    Port& way = m_ports[port];
    way.answering->release();
    way.answering = nullptr;
    way.ending = false;
    respond(port);
}

/// The waiting request tries again, or for the first time after its delay.
bool Ddr5Memory::admit_waiting(std::uint32_t port) {
    tlm::tlm_generic_payload& payload = *m_ports[port].waiting;
    if (!admit(port)) return false;
    tlm::tlm_phase phase = tlm::END_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    static_cast<void>(socket[static_cast<int>(port)]->nb_transport_bw(payload, phase, delay));
    return true;
}

/// Of those that wait for room in a subchannel, each that finds some, again and again.
void Ddr5Memory::admit_blocked(std::uint32_t subchannel) {
    std::vector<std::uint32_t>& blocked = m_blocked[subchannel];
    for (std::size_t i = 0; i < blocked.size();) {
        const std::uint32_t port = blocked[i];
        blocked.erase(blocked.begin() + static_cast<std::ptrdiff_t>(i));
        if (!admit_waiting(port)) ++i;  // it waits in the same place again
    }
}

std::uint32_t Ddr5Memory::take_slot(const Slot& slot) {
    if (m_free_slots.empty()) {
        m_free_slots.push_back(static_cast<std::uint32_t>(m_slots.size()));
        m_slots.push_back({});
    }
    const std::uint32_t tag = m_free_slots.back();
    m_free_slots.pop_back();
    m_slots[tag] = slot;
    return tag;
}

void Ddr5Memory::run_steps() {
    Step step;
    while (m_steps.pop_due(step)) {
        switch (step.act) {
            case Act::kBegin:
                static_cast<void>(admit_waiting(step.port));
                break;
            case Act::kEndResponse:
                end_response(step.port);
                break;
            case Act::kRespond:
                respond(step.port);
                break;
        }
    }
}

void Ddr5Memory::run_wakes() {
    ++m_wakes;
    const Time at = now();
    m_waking = true;
    for (std::uint32_t i = 0; i < m_armed.size(); ++i) {
        if (m_armed[i] <= at) wake(i, at);
    }
    m_waking = false;
    const Time next = *std::min_element(m_armed.begin(), m_armed.end());
    if (next != Time::never()) m_wake.notify(to_sc_time(next - at));
}

void Ddr5Memory::wake(std::uint32_t subchannel, Time at) {
    m_armed[subchannel] = Time::never();
    m_subchannels[subchannel].advance(at);
    collect(subchannel, at);
    for (const std::uint32_t port : m_answered) respond(port);
    m_answered.clear();
    admit_blocked(subchannel);
    arm(subchannel, at);
}

/// Wakes up when the subchannel has something to say, or room for the requests that wait. A wake-up
/// that turns out to be early finds nothing, and arms the next.
void Ddr5Memory::arm(std::uint32_t subchannel, Time at) {
    const Time next = m_subchannels[subchannel].next_event(!m_blocked[subchannel].empty());
    if (next >= m_armed[subchannel]) return;
    m_armed[subchannel] = std::max(next, at);
    if (!m_waking) m_wake.notify(to_sc_time(m_armed[subchannel] - at));
}

void Ddr5Memory::collect(std::uint32_t subchannel, Time at) {
    while (const auto answer = m_subchannels[subchannel].pop_answer(at)) {
        const Slot slot = m_slots[answer->tag];
        m_ports[slot.port].answers.push(slot.payload);
        m_answered.push_back(slot.port);
        m_free_slots.push_back(answer->tag);
    }
    tell_corrections(subchannel);
}

/// Gives answers as long as the response channel is free.
void Ddr5Memory::respond(std::uint32_t port) {
    Port& way = m_ports[port];
    while (way.answering == nullptr && !way.answers.empty()) {
        tlm::tlm_generic_payload& payload = *way.answers.pop();
        --m_in_flight;
        way.answering = &payload;
        tlm::tlm_phase phase = tlm::BEGIN_RESP;
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        const tlm::tlm_sync_enum status =
            socket[static_cast<int>(port)]->nb_transport_bw(payload, phase, delay);
        const bool ended =
            status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::END_RESP);
        if (!ended) return;
        if (delay != sc_core::SC_ZERO_TIME) {
            way.ending = true;
            m_steps.schedule(now() + from_sc_time(delay), {Act::kEndResponse, port});
            return;
        }
        way.answering = nullptr;
        payload.release();
    }
}

}  // namespace kvplane::memory
