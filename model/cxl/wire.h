// SPDX-License-Identifier: Apache-2.0
/// One direction of the link, flit by flit: the sender's queues, credits, ARB/MUX and retry buffer,
/// and the receiver that checks the CRC. It knows times, but no simulation kernel: its user asks
/// when the next transmission can start, and starts it then.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "model/common/growing_ring.h"
#include "model/common/random.h"
#include "model/cxl/link.h"

namespace kvplane::cxl {

/// Credits that travel back to the sender of the other direction, in the header of a flit.
struct CreditReturn {
    std::uint32_t requests = 0;  ///< Req, or on the way to the card: NDR
    std::uint32_t data = 0;      ///< RwD, or on the way to the card: DRS
    [[nodiscard]] bool any() const { return requests != 0 || data != 0; }
};

/// The credits that one field of a flit header can return: 0, 1, 2, 4, ... 64, as a 3-bit code.
[[nodiscard]] std::uint8_t credit_code(std::uint32_t waiting);
[[nodiscard]] constexpr std::uint32_t credits_of(std::uint8_t code) {
    return code == 0 ? 0 : 1U << (code - 1U);
}

/// What one transmission brought to the other side.
struct Delivery {
    Time end;      ///< the last byte has left
    Time arrival;  ///< and is there: end + propagation
    std::vector<FlitMessage> messages;
    std::vector<Tlp> tlps;
    std::vector<Tlp> io_credits;  ///< TLPs of the other direction that were drained there
    CreditReturn credits;

    void clear() {
        messages.clear();
        tlps.clear();
        io_credits.clear();
        credits = {};
    }
};

struct WireCounters {
    std::uint64_t mem_flits = 0;      ///< with messages or data, without resent ones
    std::uint64_t control_flits = 0;  ///< credits alone
    std::uint64_t resent_flits = 0;
    std::uint64_t lost_flits = 0;  ///< arrived with a bad CRC, or after one that did
    std::uint64_t crc_errors = 0;
    std::uint64_t tlps = 0;
    std::uint64_t stream_bytes = 0;  ///< of TLPs
    std::uint64_t wire_bytes = 0;    ///< all of it, control and resent included
};

/// Errors put on the wire on purpose.
struct WireFaults {
    std::uint32_t crc_errors_a_million = 0;  ///< of flits
    std::uint64_t seed = 1;
};

class Wire {
public:
    Wire(Direction direction, const LinkConfig& config, const WireFaults& faults = {});

    /// Queues a message; it waits here until the receiver has room for it. BISnp and BIRsp need no
    /// credit: what they answer bounds them.
    void push(const FlitMessage& message, Time now);
    /// Queues a TLP of the CXL.io stream. Each kind waits for its own credits: posted writes and
    /// completions pass reads that have none.
    void push(const Tlp& tlp);
    /// The receiver has drained a TLP of this wire, and its credit update arrives.
    void grant(const Tlp& tlp);
    /// This wire's sender owes a credit update for CXL.io: one DLLP for all that wait, with the
    /// stream of 68 B flits (256 B flits have a place of their own for it).
    void return_io_credit(const Tlp& tlp, Time now);
    /// Credits of the receiver arrive.
    void grant(const CreditReturn& credits, Time now);
    /// This wire's sender has room again for a message of the other direction, and says so with
    /// its next flit; with one of its own at `now` + kCreditDelay at the latest.
    void return_credit(Channel channel, Time now);

    /// The earliest start of the next transmission, not before `now`; Time::never() where there is
    /// nothing to send.
    [[nodiscard]] Time next_start(Time now) const;
    /// Starts a transmission at `start`, which next_start() gave, and says what it brings.
    void send(Time start, Delivery& delivery);

    /// Messages that wait for a credit.
    [[nodiscard]] std::size_t held() const {
        return m_waiting_requests.size() + m_waiting_data.size();
    }
    [[nodiscard]] const WireCounters& counters() const { return m_counters; }
    void set_faults(const WireFaults& faults);

    /// The longest that a credit waits for a flit to travel with.
    static constexpr Time kCreditDelay = Time::from_ns(100);
    /// So many credits are worth a flit of their own.
    static constexpr std::uint32_t kCreditBacklog = 16;

    /// So many TLPs are worth a credit update, which otherwise waits so long.
    static constexpr std::size_t kIoUpdate = 64;
    static constexpr Time kIoDelay = Time::from_us(1);

private:
    struct Sent {
        Flit flit;
        CreditReturn credits;
        Time acknowledged;
    };

    [[nodiscard]] Time mem_start(Time from) const;
    [[nodiscard]] Time io_start(Time from) const;
    /// From when on a credit update for CXL.io leaves; never, where none is owed.
    [[nodiscard]] Time io_update_at() const {
        if (m_io_owed.empty()) return Time::never();
        return m_io_owed.size() >= kIoUpdate ? Time{} : m_io_owed_since + kIoDelay;
    }
    void admit_tlps(TlpKind kind);
    [[nodiscard]] bool credits_due(Time at) const;
    void send_flit(Time start, Delivery& delivery);
    void receive(const Sent& sent, std::uint64_t sequence, Delivery& delivery);
    void send_io(Time start, Delivery& delivery);
    void occupy(Time start, std::uint64_t wire_64ths, Delivery& delivery);
    [[nodiscard]] bool corrupted();
    [[nodiscard]] CreditReturn take_credits();
    void admit(Time now);
    /// Beside waiting TLPs, completions alone wait for a full flit, up to a limit.
    [[nodiscard]] bool holds_completions(Time at) const;

    Direction m_direction;
    LinkConfig m_config;
    std::uint64_t m_wire_rate;
    std::uint64_t m_flit_bytes;
    std::uint64_t m_flit_stream;
    TlpRules m_tlp_rules;
    WireFaults m_faults;
    RandomStream m_random;
    FlitPacker m_packer;

    // credits
    CreditReturn m_room;  ///< at the receiver of this wire
    CreditReturn m_owed;  ///< for the other direction
    Time m_owed_since;
    GrowingRing<FlitMessage> m_waiting_requests;  ///< Req or NDR without a credit
    GrowingRing<FlitMessage> m_waiting_data;      ///< RwD or DRS without a credit
    Time m_completions_since;                     ///< the packer has had completions from then on

    // the wire
    Time m_free_at;
    std::uint64_t m_fraction = 0;  ///< of a picosecond, by which m_free_at is too early
    std::uint32_t m_mem_in_a_row = 0;

    std::size_t m_full_of_completions;  ///< so many fill a flit

    // retry: flits by sequence number, modulo the depth
    std::vector<Sent> m_retry;
    std::uint64_t m_next = 0;      ///< sequence number of the next new flit
    std::uint64_t m_resend = 0;    ///< next to send; below m_next while resending
    std::uint64_t m_expected = 0;  ///< by the receiver
    Time m_replay_at = Time::never();

    // CXL.io
    std::array<std::deque<Tlp>, 3> m_waiting_tlps;  ///< without a credit, by kind
    IoCreditCounter m_io_room;
    Time m_io_owed_since;
    std::vector<Tlp> m_io_owed;    ///< credit updates for the other direction
    std::deque<Tlp> m_tlps;        ///< with credits, in the order in which they leave
    std::uint64_t m_tlp_sent = 0;  ///< stream bytes of the front TLP that have left
    Time m_io_from;                ///< after an error: when the stream goes on
    WireCounters m_counters;
};

}  // namespace kvplane::cxl
