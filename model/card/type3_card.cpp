// SPDX-License-Identifier: Apache-2.0
#include "model/card/type3_card.h"

#include <cstring>

#include "model/common/errors.h"

namespace kvplane::card {
namespace {

/// Moves go line by line where both DRAM and link do.
std::optional<memory::Ddr5Interleave> move_lines(const CardConfig& config) {
    if (config.dram_fidelity != DramFidelity::kLine ||
        config.mem.fidelity != cxl::LinkFidelity::kLine) {
        return std::nullopt;
    }
    return memory::Ddr5Interleave(line_dram(config));
}

engine::DataPlaneConfig data_plane_config(const CardConfig& config, Bytes block) {
    return {.movers = {.engine = config.engine,
                       .link = config.link,
                       .codec = config.codec,
                       .dram = config.dram,
                       .flight = config.flight,
                       .lines = move_lines(config)},
            .tier_capacity = config.tier_capacity,
            .ring_memory = config.ring_memory,
            .block = block,
            .payload_bytes = config.payload == Payload::kBytes,
            .queues = kQueuePairs};
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
    using management::QueueRegister;
    if (offset < management::kQueuePage) return false;
    const auto which = static_cast<QueueRegister>(offset % management::kQueuePage);
    return which == QueueRegister::kSubmissionTail || which == QueueRegister::kCompletionHead ||
           which == QueueRegister::kInvalidate;
}

bool is_portal(std::uint64_t offset) {
    return offset >= management::kQueuePage &&
           offset % management::kQueuePage == management::kPortalOffset;
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
      m_mapped(mapped_capacity(config)),
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
        connect_lines();
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

void Type3Card::connect_lines() {
    engine::LineMovers* moves = m_data_plane.line_movers();
    mem.memory.socket().bind(m_lines->socket);  // the first: a host's lines go before moves
    if (moves == nullptr) return;
    for (std::uint32_t channel = 0; channel < moves->memory.channels(); ++channel) {
        moves->memory.socket(channel).bind(m_lines->socket);
    }
    moves->connect(mem);
}

void Type3Card::map_whole() {
    using cxl::HdmDecoders;
    HdmDecoders& decoders = mem.core().decoders();
    decoders.write(HdmDecoders::kFirst + 0x08, static_cast<std::uint32_t>(m_mapped.count));
    decoders.write(HdmDecoders::kFirst + 0x0C, static_cast<std::uint32_t>(m_mapped.count >> 32U));
    decoders.write(HdmDecoders::kFirst + 0x10, HdmDecoders::kHostOnly | HdmDecoders::kCommit);
    decoders.write(HdmDecoders::kGlobal, HdmDecoders::kEnable);
    using management::ConfigSpace;
    const bool enabled =
        management.config_space().write(ConfigSpace::kControl, 2, ConfigSpace::kMemEnable);
    if (!enabled || decoders.error(0) != cxl::CommitError::kNone) {
        throw InvariantError("the card's decoders could not be set up");
    }
}

void Type3Card::raise_viral() {
    mem.core().set_viral(true);
    m_data_plane.halt();
    management.raise_viral();
}

void Type3Card::stop_link(bool stopped) {
    m_link_down = stopped;
    mem.stop_link(stopped);
    m_data_plane.stop_link(stopped);
    if (!stopped) ring();
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
    m_posted.clear();
    m_posted_free.clear();
    m_data_plane.reset(kind);
    // An FLR must leave CXL.mem alone; everything else takes the link down.
    if (kind != management::Reset::kFunction) mem.reset();
}

void Type3Card::mmio_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    payload.set_dmi_allowed(false);
    if (!payload.is_read() && !payload.is_write()) {
        payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
        return;
    }
    const bool portal = payload.is_write() && is_portal(payload.get_address());
    const std::size_t length = portal ? sizeof(engine::Intent) : sizeof(std::uint64_t);
    if (payload.get_data_length() != length || payload.get_byte_enable_ptr() != nullptr ||
        payload.get_streaming_width() < length) {
        payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
        return;
    }
    const bool accepted = portal ? write_portal(payload, delay) : access_register(payload, delay);
    payload.set_response_status(accepted ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

bool Type3Card::access_register(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    const std::uint64_t offset = payload.get_address();
    std::uint64_t value = 0;
    if (payload.is_read()) {
        delay += to_sc_time(m_flight * 2);
        if (!m_data_plane.registers().read(offset, value)) return false;
        std::memcpy(payload.get_data_ptr(), &value, sizeof(value));
        return true;
    }
    std::memcpy(&value, payload.get_data_ptr(), sizeof(value));
    if (!is_doorbell(offset)) return m_data_plane.registers().write(offset, value);
    m_doorbells.schedule(now() + from_sc_time(delay) + m_flight, {offset, value});
    return true;
}

bool Type3Card::write_portal(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay) {
    if (m_posted_free.empty()) {
        m_posted_free.push_back(static_cast<std::uint32_t>(m_posted.size()));
        m_posted.emplace_back();
    }
    const std::uint32_t place = m_posted_free.back();
    m_posted_free.pop_back();
    std::memcpy(&m_posted[place], payload.get_data_ptr(), sizeof(engine::Intent));
    m_doorbells.schedule(now() + from_sc_time(delay) + m_flight, {payload.get_address(), 0, place});
    return true;
}

void Type3Card::ring() {
    if (m_link_down) return;
    Doorbell doorbell;
    while (m_doorbells.pop_due(doorbell)) ring(doorbell);
}

void Type3Card::ring(const Doorbell& doorbell) {
    bool accepted = false;
    if (doorbell.posted == kNoDescriptor) {
        accepted = m_data_plane.registers().write(doorbell.offset, doorbell.value);
    } else {
        const auto queue = static_cast<std::uint32_t>(doorbell.offset / management::kQueuePage - 1);
        accepted = m_data_plane.portal(queue, m_posted[doorbell.posted]);
        m_posted_free.push_back(doorbell.posted);
    }
    if (!accepted) ++m_refused_doorbells;
}

}  // namespace kvplane::card
