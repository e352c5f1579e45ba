// SPDX-License-Identifier: Apache-2.0
#include "model/management/management_target.h"

#include "model/management/bytes.h"

namespace kvplane::management {

ManagementTarget::ManagementTarget(sc_core::sc_module_name name, const ManagementConfig& config,
                                   cxl::HdmDecoders& decoders, cxl::LineMemoryIf& memory,
                                   PoisonList& poison, EventLog& events)
    : sc_module(name),
      m_config(config),
      m_mailbox(config.mailbox, memory, poison, events),
      m_device(config.device, m_mailbox, events),
      m_component(decoders),
      m_config_space(config.mailbox.capacity.count, decoders),
      m_decoders(decoders),
      m_memory(memory),
      m_events(events),
      m_timer("timer") {
    poison.listen(m_component);
    socket.register_b_transport(this, &ManagementTarget::b_transport);
    socket.register_transport_dbg(this, &ManagementTarget::transport_dbg);
    SC_HAS_PROCESS(ManagementTarget);
    SC_METHOD(announce);
    sensitive << m_timer.event();
    dont_initialize();
    if (config.starts_cold) {
        m_timer.schedule(m_device.ready_at(), true);
    } else {
        m_device.media_are_ready();
        m_config_space.set_media_ready(true);
    }
}

void ManagementTarget::listen(ManagementListener& listener) {
    m_listener = &listener;
    listener.media_ready(m_device.media_ready(now()));
}

void ManagementTarget::announce() {
    bool due = false;
    while (m_timer.pop_due(due)) {
        // A power cycle since then has put the time off.
        if (!m_device.media_ready(now())) continue;
        m_config_space.set_media_ready(true);
        if (m_listener != nullptr) m_listener->media_ready(true);
    }
}

void ManagementTarget::reset(Reset kind) {
    if (kind == Reset::kFunction) {
        // The engine's function; the memory function and its registers stay.
        if (m_listener != nullptr) m_listener->reset_done(kind);
        return;
    }
    m_component.reset(kind);
    m_config_space.reset(kind);
    if (!effect_of(kind).decoders) m_decoders.reset();
    // Traffic ends first: what it has moved by now was moved from memory as it was.
    if (m_listener != nullptr) m_listener->reset_done(kind);
    if (!effect_of(kind).dram) m_memory.clear();
    if (kind == Reset::kCold) {
        m_events.reset();
        m_mailbox.reset();
        m_device.power_on(now());
        m_config_space.set_media_ready(false);
        if (m_listener != nullptr) m_listener->media_ready(false);
        m_timer.schedule(m_device.ready_at(), true);
    } else {
        m_device.reset();
    }
}

void ManagementTarget::raise_viral() {
    m_config_space.set_viral();
    m_device.set_viral(true);
}

bool ManagementTarget::access(bool write, std::uint64_t address, std::uint32_t size, Time at,
                              std::uint64_t& value) {
    if (address >= kConfigBlock) {
        const std::uint64_t offset = address - kConfigBlock;
        if (!write) return m_config_space.read(offset, size, value);
        const bool accepted = m_config_space.write(offset, size, value);
        if (const auto kind = m_config_space.take_reset()) reset(*kind);
        return accepted;
    }
    if (address >= kDeviceBlock) {
        const std::uint64_t offset = address - kDeviceBlock;
        return write ? m_device.write(offset, size, at, value)
                     : m_device.read(offset, size, at, value);
    }
    return write ? m_component.write(address, size, value) : m_component.read(address, size, value);
}

void ManagementTarget::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    payload.set_dmi_allowed(false);
    const std::uint32_t size = payload.get_data_length();
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) {
        payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
        return;
    }
    if (payload.get_byte_enable_ptr() != nullptr) {
        payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
        return;
    }
    if (size == 0 || size > 8 || payload.get_streaming_width() < size) {
        payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
        return;
    }
    const std::span<std::uint8_t> data(payload.get_data_ptr(), size);
    const bool write = payload.is_write();
    std::uint64_t value = write ? get_le(data, 0, size) : 0;
    // The registers see the access half a round trip after it left; a write is posted.
    const Time arrival = now() + from_sc_time(delay) + Time{m_config.access.ps / 2};
    const bool accepted = access(write, payload.get_address(), size, arrival, value);
    if (accepted && !write) put_le(data, 0, size, value);
    if (!write) delay += to_sc_time(m_config.access);
    payload.set_response_status(accepted ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

unsigned int ManagementTarget::transport_dbg(tlm::tlm_generic_payload& payload) {
    // Reads alone: a debug write would ring doorbells.
    const std::uint32_t size = payload.get_data_length();
    std::uint64_t value = 0;
    if (!payload.is_read() || size == 0 || size > 8 ||
        !access(false, payload.get_address(), size, now(), value)) {
        return 0;
    }
    put_le({payload.get_data_ptr(), size}, 0, size, value);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return size;
}

}  // namespace kvplane::management
