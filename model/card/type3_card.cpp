// SPDX-License-Identifier: Apache-2.0
#include "model/card/type3_card.h"

#include <array>
#include <cstring>

namespace kvplane::card {
namespace {

engine::DataPlaneConfig data_plane_config(const CardConfig& config, Bytes block) {
    return {.movers = {.engine = config.engine,
                       .link = config.link,
                       .codec = config.codec,
                       .dram = config.dram,
                       .flight = config.flight},
            .tier_capacity = config.tier_capacity,
            .block = block,
            .payload_bytes = config.payload == Payload::kBytes};
}

bool is_doorbell(std::uint64_t offset) {
    if (offset < management::kQueuePage) return false;
    const std::uint64_t which = offset % management::kQueuePage;
    return which == static_cast<std::uint64_t>(management::QueueRegister::kSubmissionTail) ||
           which == static_cast<std::uint64_t>(management::QueueRegister::kCompletionHead);
}

}  // namespace

Type3Card::Type3Card(sc_core::sc_module_name name, const CardConfig& config, Bytes block,
                     index::ResidentIndex& index)
    : sc_module(name),
      m_config(config),
      m_data_plane("data_plane", data_plane_config(config, block), index),
      m_doorbells("doorbells") {
    m_data_plane.dma.bind(dma);
    bulk.bind(m_data_plane);
    mem.register_b_transport(this, &Type3Card::mem_transport);
    mem.register_transport_dbg(this, &Type3Card::mem_debug);
    mmio.register_b_transport(this, &Type3Card::mmio_transport);
    SC_HAS_PROCESS(Type3Card);
    SC_METHOD(ring);
    sensitive << m_doorbells.event();
    dont_initialize();
}

tlm::tlm_response_status Type3Card::check_mem(const tlm::tlm_generic_payload& payload) const {
    const std::uint64_t address = payload.get_address();
    const std::uint64_t length = payload.get_data_length();
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) return tlm::TLM_COMMAND_ERROR_RESPONSE;
    if (payload.get_byte_enable_ptr() != nullptr && payload.get_byte_enable_length() == 0) {
        return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
    }
    if (length == 0 || length > kLine.count || payload.get_streaming_width() < length ||
        address / kLine.count != (address + length - 1) / kLine.count) {
        return tlm::TLM_BURST_ERROR_RESPONSE;
    }
    const std::uint64_t capacity = m_config.tier_capacity.count;
    if (address >= capacity || length > capacity - address) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
    if (payload.is_write() && m_data_plane.tier().frames().allocated({address})) {
        return tlm::TLM_GENERIC_ERROR_RESPONSE;
    }
    return tlm::TLM_OK_RESPONSE;
}

void Type3Card::copy_line(tlm::tlm_generic_payload& payload) {
    const std::size_t length = payload.get_data_length();
    std::array<std::uint8_t, kLine.count> line{};
    m_data_plane.read_bytes({payload.get_address()}, {line.data(), length});
    unsigned char* data = payload.get_data_ptr();
    const unsigned char* enables = payload.get_byte_enable_ptr();
    for (std::size_t i = 0; i < length; ++i) {
        if (enables != nullptr &&
            enables[i % payload.get_byte_enable_length()] != TLM_BYTE_ENABLED) {
            continue;
        }
        if (payload.is_read()) {
            data[i] = line[i];
        } else {
            line[i] = data[i];
        }
    }
    if (payload.is_write()) {
        m_data_plane.write_bytes({payload.get_address()}, {line.data(), length});
    }
}

void Type3Card::mem_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    payload.set_dmi_allowed(false);
    const tlm::tlm_response_status status = check_mem(payload);
    payload.set_response_status(status);
    if (status != tlm::TLM_OK_RESPONSE) {
        m_refused_writes += status == tlm::TLM_GENERIC_ERROR_RESPONSE ? 1 : 0;
        return;
    }
    copy_line(payload);
    const Time at = now() + from_sc_time(delay);
    const Time done = m_data_plane.host_line({payload.get_address()}, payload.is_write(), at);
    delay = to_sc_time(done - now());
}

unsigned int Type3Card::mem_debug(tlm::tlm_generic_payload& payload) {
    const std::uint64_t address = payload.get_address();
    const std::uint64_t length = payload.get_data_length();
    const std::uint64_t capacity = m_config.tier_capacity.count;
    if (address >= capacity || length > capacity - address) return 0;
    const std::span<std::uint8_t> data(payload.get_data_ptr(), length);
    if (payload.is_read()) {
        m_data_plane.read_bytes({address}, data);
    } else if (payload.is_write()) {
        m_data_plane.write_bytes({address}, data);
    } else {
        return 0;
    }
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return payload.get_data_length();
}

void Type3Card::mmio_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    payload.set_dmi_allowed(false);
    std::uint64_t value = 0;
    if (payload.get_data_length() != sizeof(value) || payload.get_byte_enable_ptr() != nullptr ||
        payload.get_streaming_width() < sizeof(value)) {
        payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
        return;
    }
    const std::uint64_t offset = payload.get_address();
    bool accepted = true;
    if (payload.is_read()) {
        delay += to_sc_time(m_config.flight * 2);
        accepted = m_data_plane.registers().read(offset, value);
        if (accepted) std::memcpy(payload.get_data_ptr(), &value, sizeof(value));
    } else if (payload.is_write()) {
        std::memcpy(&value, payload.get_data_ptr(), sizeof(value));
        if (is_doorbell(offset)) {
            m_doorbells.schedule(now() + from_sc_time(delay) + m_config.flight, {offset, value});
        } else {
            accepted = m_data_plane.registers().write(offset, value);
        }
    } else {
        payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
        return;
    }
    payload.set_response_status(accepted ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

void Type3Card::ring() {
    Doorbell doorbell;
    while (m_doorbells.pop_due(doorbell)) {
        if (!m_data_plane.registers().write(doorbell.offset, doorbell.value)) ++m_refused_doorbells;
    }
}

}  // namespace kvplane::card
