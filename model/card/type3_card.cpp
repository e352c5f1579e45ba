// SPDX-License-Identifier: Apache-2.0
#include "model/card/type3_card.h"

#include <cstring>

#include "model/common/errors.h"

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

// Additional status of the health information (CXL 2.0, Get Health Info; from memory of the table).
constexpr std::uint8_t kTemperatureWarning = 1U << 2U;
constexpr std::uint8_t kCorrectedWarning = 1U << 4U;

cxl::MemTargetConfig mem_config(const CardConfig& config) {
    cxl::MemTargetConfig mem = config.mem;
    mem.hdm.capacity = mapped_capacity(config);
    return mem;
}

management::ManagementConfig management_config(const CardConfig& config) {
    management::ManagementConfig management = config.management;
    management.mailbox.capacity = mapped_capacity(config);
    return management;
}

bool is_doorbell(std::uint64_t offset) {
    if (offset < management::kQueuePage) return false;
    const std::uint64_t which = offset % management::kQueuePage;
    return which == static_cast<std::uint64_t>(management::QueueRegister::kSubmissionTail) ||
           which == static_cast<std::uint64_t>(management::QueueRegister::kCompletionHead);
}

}  // namespace

memory::Ddr5Config line_dram(const CardConfig& config) {
    memory::Ddr5Config lines = config.lines;
    lines.channels = config.dram.channels;
    lines.ecc = config.dram.ecc;
    lines.controller = config.dram.controller;
    while (lines.capacity() < mapped_capacity(config)) lines.geometry.rows *= 2;
    return lines;
}

Type3Card::Type3Card(sc_core::sc_module_name name, const CardConfig& config, Bytes block,
                     index::ResidentIndex& index)
    : sc_module(name),
      m_flight(config.flight),
      m_poison(config.management.mailbox.poison_records),
      m_events(config.management.mailbox.event_records),
      m_data_plane("data_plane", data_plane_config(config, block), index, m_poison, m_events),
      mem("mem", config.link, mem_config(config), m_data_plane),
      management("management", management_config(config), mem.core().decoders(), m_data_plane,
                 m_poison, m_events),
      m_doorbells("doorbells"),
      m_thermal(config.lines.thermal),
      m_corrected_threshold(config.lines.corrected_threshold) {
    if (config.dram_fidelity == DramFidelity::kLine) {
        m_lines = std::make_unique<memory::Ddr5Memory>("lines", line_dram(config));
        m_data_plane.serve_host_from(*m_lines);
        mem.memory.socket.bind(m_lines->socket);
        m_lines->listen(*this);
    }
    m_data_plane.dma.bind(dma);
    bulk.bind(m_data_plane);
    management.listen(*this);
    mem.listen(*this);
    mmio.register_b_transport(this, &Type3Card::mmio_transport);
    SC_HAS_PROCESS(Type3Card);
    SC_METHOD(ring);
    sensitive << m_doorbells.event();
    dont_initialize();
}

void Type3Card::raise_viral() {
    mem.core().set_viral(true);
    m_data_plane.halt();
    management.raise_viral();
}

void Type3Card::set_thermal(const memory::DramThermal& thermal) {
    if (m_lines == nullptr) {
        throw UserError("card: a change of temperature needs card.dram.fidelity: line");
    }
    m_lines->set_thermal(thermal);
    if (thermal == m_thermal) return;
    m_thermal = thermal;
    const bool hot = thermal != memory::DramThermal{};
    std::uint8_t& additional = management.mailbox().health().additional;
    additional = static_cast<std::uint8_t>(hot ? additional | kTemperatureWarning
                                               : additional & ~kTemperatureWarning);
    m_events.add(hot ? management::Severity::kWarning : management::Severity::kInformational,
                 hot ? management::MediaEvent::kHot : management::MediaEvent::kCooled, {}, now());
}

/// Each counts in the health information; an event is logged for every so many of them.
void Type3Card::corrected(Dpa line, Time at, bool) {
    management::Health& health = management.mailbox().health();
    ++health.corrected;
    if (++m_corrected < m_corrected_threshold) return;
    m_corrected = 0;
    health.additional |= kCorrectedWarning;
    m_events.add(management::Severity::kWarning, management::MediaEvent::kCorrected, line, at);
}

void Type3Card::reset_done(management::Reset kind) {
    m_doorbells.clear();
    m_data_plane.reset(kind);
    // An FLR must leave CXL.mem alone; everything else takes the link down.
    if (kind != management::Reset::kFunction) mem.reset();
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
        delay += to_sc_time(m_flight * 2);
        accepted = m_data_plane.registers().read(offset, value);
        if (accepted) std::memcpy(payload.get_data_ptr(), &value, sizeof(value));
    } else if (payload.is_write()) {
        std::memcpy(&value, payload.get_data_ptr(), sizeof(value));
        if (is_doorbell(offset)) {
            m_doorbells.schedule(now() + from_sc_time(delay) + m_flight, {offset, value});
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
