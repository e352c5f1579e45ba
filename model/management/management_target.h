// SPDX-License-Identifier: Apache-2.0
/// The management of the card behind one TLM target: what an enumerating host sees of its memory
/// function. Loosely timed; every access costs a round trip.
///
///     0x00000  component registers (64 KiB)     0x20000  configuration space (4 KiB)
///     0x10000  memory-device registers
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <systemc>
#include <tlm>

#include "model/common/event_heap.h"
#include "model/management/component_registers.h"
#include "model/management/device_registers.h"
#include "model/management/reset.h"

namespace kvplane::management {

/// What management tells the rest of the card.
class ManagementListener {
public:
    virtual ~ManagementListener() = default;
    virtual void media_ready(bool ready) = 0;
    /// A reset of `kind` happens now; drop what effect_of(kind) does not keep.
    virtual void reset_done(Reset kind) = 0;
};

struct ManagementConfig {
    MailboxConfig mailbox;
    DeviceRegistersConfig device;
    bool starts_cold = false;          ///< media become ready after a delay; else they are
    Time access = Time::from_ns(741);  ///< round trip of an MMIO read, measured on Gen5 x16
};

class ManagementTarget final : public sc_core::sc_module {
public:
    /// `memory` is the memory whose poison is that of `poison`.
    ManagementTarget(sc_core::sc_module_name name, const ManagementConfig& config,
                     cxl::HdmDecoders& decoders, cxl::LineMemoryIf& memory, PoisonList& poison,
                     EventLog& events);

    tlm_utils::simple_target_socket_optional<ManagementTarget> socket{"socket"};

    /// Optional; set before the simulation starts. Hears at once that media are not ready.
    void listen(ManagementListener& listener);
    /// Resets the card.
    void reset(Reset kind);
    /// Shows that the card is viral, until a reset; the DVSEC until the host clears it.
    void raise_viral();

    [[nodiscard]] Mailbox& mailbox() { return m_mailbox; }
    [[nodiscard]] ComponentRegisters& component() { return m_component; }
    [[nodiscard]] ConfigSpace& config_space() { return m_config_space; }

    static constexpr std::uint64_t kDeviceBlock = ConfigSpace::kDeviceOffset;
    static constexpr std::uint64_t kConfigBlock = 0x20000;

private:
    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    unsigned int transport_dbg(tlm::tlm_generic_payload& payload);
    [[nodiscard]] bool access(bool write, std::uint64_t address, std::uint32_t size, Time at,
                              std::uint64_t& value);
    void announce();

    ManagementConfig m_config;
    Mailbox m_mailbox;
    DeviceRegisters m_device;
    ComponentRegisters m_component;
    ConfigSpace m_config_space;
    cxl::HdmDecoders& m_decoders;
    cxl::LineMemoryIf& m_memory;
    EventLog& m_events;
    ManagementListener* m_listener = nullptr;
    EventHeap<bool> m_timer;
};

}  // namespace kvplane::management
