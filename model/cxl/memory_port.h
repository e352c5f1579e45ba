// SPDX-License-Identifier: Apache-2.0
/// The front end's way to a memory at line fidelity: an initiator of the base protocol, four
/// phases.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <cstdint>
#include <deque>
#include <systemc>
#include <tlm>
#include <vector>

#include "model/common/growing_ring.h"
#include "model/common/units.h"

namespace kvplane::cxl {

/// What an access does to its line.
enum class LineAccess : std::uint8_t { kRead, kWrite, kPartialWrite };

/// Accesses move no bytes: those are the front end's. Those of a channel leave in order, one
/// BEGIN_REQ at a time, and any number may be under way; channels do not wait for each other.
class MemoryPort final : private tlm::tlm_mm_interface {
public:
    class Client {
    public:
        virtual ~Client() = default;
        /// The access of this tag has its answer now.
        virtual void line_done(std::uint32_t tag) = 0;
    };

    /// Tags are below `tags`; one access of each may be under way. Channels count from 0, each with
    /// a socket of its own.
    MemoryPort(const char* name, std::uint32_t tags, Client& client, std::uint32_t channels = 1);

    /// Optional: a memory without it is a closed form.
    using Socket = tlm_utils::simple_initiator_socket_tagged_optional<MemoryPort>;
    [[nodiscard]] Socket& socket(std::uint32_t channel = 0) { return m_channels[channel].socket; }
    [[nodiscard]] std::uint32_t channels() const {
        return static_cast<std::uint32_t>(m_channels.size());
    }
    [[nodiscard]] bool bound() const { return m_channels.front().socket.size() != 0; }

    void start(std::uint32_t tag, Dpa line, LineAccess access, std::uint32_t channel = 0);
    /// Loosely timed: when an access that begins at `at`, now or later, has its answer.
    [[nodiscard]] Time access(Time at, Dpa line, LineAccess access);
    /// Accesses of the first channel that the memory has not taken yet.
    [[nodiscard]] std::uint64_t held() const {
        return m_channels.front().held.size() + (m_channels.front().sent ? 1 : 0);
    }

private:
    struct Payload : tlm::tlm_generic_payload {
        std::uint32_t tag = 0;
    };
    struct Channel {
        explicit Channel(const char* name) : socket(name) {}
        Socket socket;
        GrowingRing<std::uint32_t> held;  ///< tags that wait for the request to end
        bool sent = false;                ///< BEGIN_REQ without END_REQ
    };

    tlm::tlm_sync_enum backward(int channel, tlm::tlm_generic_payload& payload,
                                tlm::tlm_phase& phase, sc_core::sc_time& delay);
    void set_up(Payload& payload, Dpa line, LineAccess access);
    void send_held(Channel& channel);
    void send(Channel& channel, Payload& payload);
    void end(Payload& payload);
    void free(tlm::tlm_generic_payload* payload) override;

    Client& m_client;
    std::array<unsigned char, kLine.count> m_bytes{};  ///< no access moves any
    std::vector<Payload> m_payloads;                   ///< by tag, and one more for access()
    std::deque<Channel> m_channels;                    ///< sockets stay where they are
};

}  // namespace kvplane::cxl
