// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <cstdint>
#include <systemc>
#include <tlm>

#include "model/common/event_heap.h"
#include "model/common/histogram.h"
#include "model/common/random.h"
#include "model/common/units.h"

namespace kvplane::explore {

/// A host that reads random lines of a card over CXL.mem beside whatever else is under way: one at
/// a time, 0.25 us on average after the last, so that it is no load itself.
class HostReader final : public sc_core::sc_module, private tlm::tlm_mm_interface {
public:
    /// Reads the first `span` bytes; host address = device address.
    HostReader(sc_core::sc_module_name name, Bytes span, std::uint64_t seed);

    tlm_utils::simple_initiator_socket_optional<HostReader> mem{"mem"};

    void begin();
    /// No more reads.
    void end() { m_reading = false; }
    /// Of all reads so far.
    [[nodiscard]] const Histogram& latency() const { return m_latency; }

private:
    void run();
    void read();
    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time& delay);
    void answered(Time at);
    void free(tlm::tlm_generic_payload*) override {}

    std::uint64_t m_lines;
    RandomStream m_random;
    EventHeap<std::uint8_t> m_events;
    std::array<std::uint8_t, kLine.count> m_line{};
    tlm::tlm_generic_payload m_payload;  ///< of the one read
    Time m_asked;
    bool m_reading = false;
    Histogram m_latency;
};

}  // namespace kvplane::explore
