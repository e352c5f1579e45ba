// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/wire.h"

#include <algorithm>
#include <bit>

namespace kvplane::cxl {
namespace {

constexpr std::uint32_t kMillion = 1'000'000;
constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;

std::uint32_t portion(std::uint32_t& waiting) {
    const std::uint32_t taken = credits_of(credit_code(waiting));
    waiting -= taken;
    return taken;
}

}  // namespace

std::uint8_t credit_code(std::uint32_t waiting) {
    return static_cast<std::uint8_t>(std::min<int>(7, std::bit_width(waiting)));
}

Wire::Wire(Direction direction, const LinkConfig& config, const WireFaults& faults)
    : m_direction(direction),
      m_config(config),
      m_wire_rate(Link(config).wire_rate().bytes_per_second),
      m_flit_bytes(Link(config).flit_bytes()),
      m_flit_stream(Link(config).stream_in_flit()),
      m_tlp_rules(Link(config).tlp_rules()),
      m_faults(faults),
      m_random(faults.seed, direction == Direction::kToCard ? "wire.to_card" : "wire.to_host"),
      m_packer(direction, Link(config).packer_config()),
      m_room(direction == Direction::kToCard
                 ? CreditReturn{config.request_credits, config.write_credits}
                 : CreditReturn{config.response_credits, config.response_credits}),
      m_full_of_completions(config.flit == FlitLayout::k68B
                                ? 8
                                : responses_a_slot(config.flit) * (slots_of(config.flit) - 1)),
      m_retry(config.retry_depth),
      m_io_room(config.io_credits) {}

void Wire::set_faults(const WireFaults& faults) { m_faults = faults; }

void Wire::push(const FlitMessage& message, Time now) {
    switch (message.channel) {
        case Channel::kReq:
        case Channel::kNdr:
            m_waiting_requests.push(message);
            break;
        case Channel::kRwD:
        case Channel::kDrs:
            m_waiting_data.push(message);
            break;
        case Channel::kBiRsp:
        case Channel::kBiSnp:
            m_packer.push(message);
            return;
    }
    admit(now);
}

void Wire::admit(Time now) {
    const bool none = m_packer.waiting(Channel::kNdr) == 0;
    while (m_room.requests != 0 && !m_waiting_requests.empty()) {
        m_packer.push(m_waiting_requests.pop());
        --m_room.requests;
    }
    while (m_room.data != 0 && !m_waiting_data.empty()) {
        m_packer.push(m_waiting_data.pop());
        --m_room.data;
    }
    if (none) m_completions_since = now;
}

bool Wire::holds_completions(Time at) const {
    return m_packer.completions_only() && m_packer.waiting(Channel::kNdr) < m_full_of_completions &&
           at < m_completions_since + m_config.completion_hold && m_resend == m_next &&
           m_replay_at == Time::never() && !credits_due(at);
}

void Wire::grant(const CreditReturn& credits, Time now) {
    m_room.requests += credits.requests;
    m_room.data += credits.data;
    admit(now);
}

void Wire::return_credit(Channel channel, Time now) {
    if (channel == Channel::kBiRsp || channel == Channel::kBiSnp) return;
    if (!m_owed.any()) m_owed_since = now;
    ++(has_data(channel) ? m_owed.data : m_owed.requests);
}

CreditReturn Wire::take_credits() {
    const CreditReturn taken{portion(m_owed.requests), portion(m_owed.data)};
    return taken;
}

bool Wire::credits_due(Time at) const {
    return m_owed.any() && (m_owed.requests >= kCreditBacklog || m_owed.data >= kCreditBacklog ||
                            at >= m_owed_since + kCreditDelay);
}

Time Wire::mem_start(Time from) const {
    Time start = Time::never();
    if (m_resend != m_next) return from;  // in the middle of a replay
    if (m_replay_at != Time::never()) start = std::max(from, m_replay_at);
    Time fresh = Time::never();
    if (m_packer.pending() || credits_due(from)) {
        fresh = from;
    } else if (m_owed.any()) {
        fresh = std::max(from, m_owed_since + kCreditDelay);
    }
    if (fresh == Time::never() || m_next < m_config.retry_depth) return std::min(start, fresh);
    // The retry buffer must have room.
    const std::uint64_t oldest = m_next - m_config.retry_depth;
    if (oldest >= m_expected) return start;
    return std::min(start, std::max(fresh, m_retry[oldest % m_retry.size()].acknowledged));
}

void Wire::push(const Tlp& tlp) {
    m_waiting_tlps[static_cast<std::size_t>(tlp.kind)].push_back(tlp);
    admit_tlps(tlp.kind);
}

void Wire::admit_tlps(TlpKind kind) {
    std::deque<Tlp>& waiting = m_waiting_tlps[static_cast<std::size_t>(kind)];
    while (!waiting.empty() && m_io_room.take(waiting.front())) {
        m_tlps.push_back(waiting.front());
        waiting.pop_front();
    }
}

void Wire::grant(const Tlp& tlp) {
    m_io_room.give_back(tlp);
    admit_tlps(tlp.kind);
}

void Wire::return_io_credit(const Tlp& tlp, Time now) {
    if (m_io_owed.empty()) m_io_owed_since = now;
    m_io_owed.push_back(tlp);
}

Time Wire::io_start(Time from) const {
    const Time ready = m_tlps.empty() ? io_update_at() : from;
    return ready == Time::never() ? ready : std::max({from, ready, m_io_from});
}

Time Wire::next_start(Time now) const {
    const Time from = std::max(now, m_free_at);
    return std::min(mem_start(from), io_start(from));
}

void Wire::send(Time start, Delivery& delivery) {
    delivery.clear();
    const bool mem = mem_start(start) <= start;
    const bool io = io_start(start) <= start;
    if (mem && (!io || (m_mem_in_a_row < m_config.mem_weight && !holds_completions(start)))) {
        ++m_mem_in_a_row;
        send_flit(start, delivery);
    } else {
        m_mem_in_a_row = 0;
        send_io(start, delivery);
    }
}

void Wire::occupy(Time start, std::uint64_t wire_64ths, Delivery& delivery) {
    if (start > m_free_at) {
        m_free_at = start;
        m_fraction = 0;
    }
    const std::uint64_t per_ps = 64 * m_wire_rate;
    const Uint128 work = static_cast<Uint128>(wire_64ths) * kPsPerSecond + m_fraction;
    m_free_at.ps += static_cast<std::int64_t>(work / per_ps);
    m_fraction = static_cast<std::uint64_t>(work % per_ps);
    m_counters.wire_bytes += wire_64ths / 64;
    delivery.end = m_free_at;
    delivery.arrival = m_free_at + m_config.propagation;
}

bool Wire::corrupted() {
    return m_faults.crc_errors_a_million != 0 &&
           m_random.uniform(kMillion) < m_faults.crc_errors_a_million;
}

void Wire::send_flit(Time start, Delivery& delivery) {
    if (m_replay_at <= start) {
        m_resend = m_expected;
        m_replay_at = Time::never();
    }
    const std::uint64_t sequence = m_resend++;
    Sent& sent = m_retry[sequence % m_retry.size()];
    if (sequence == m_next) {
        ++m_next;
        sent.credits = take_credits();
        if (m_owed.any()) m_owed_since = start;
        if (m_packer.pending()) {
            m_packer.next(sent.flit);
            m_completions_since = start;
            ++m_counters.mem_flits;
        } else {
            sent.flit.used = 0;
            ++m_counters.control_flits;
        }
    } else {
        ++m_counters.resent_flits;
    }
    occupy(start, 64 * m_flit_bytes, delivery);
    sent.acknowledged = delivery.arrival + m_config.propagation;
    receive(sent, sequence, delivery);
}

void Wire::receive(const Sent& sent, std::uint64_t sequence, Delivery& delivery) {
    const bool bad = corrupted();
    if (bad) ++m_counters.crc_errors;
    if (sequence != m_expected || bad) {
        ++m_counters.lost_flits;
        // The receiver asks once for all from the first bad flit on; what follows it is lost too.
        if (sequence == m_expected) m_replay_at = delivery.arrival + m_config.propagation;
        return;
    }
    ++m_expected;
    delivery.credits = sent.credits;
    if (sent.flit.used == 0) return;
    unpack(sent.flit, m_config.flit,
           [&](const FlitMessage& message) { delivery.messages.push_back(message); });
}

void Wire::send_io(Time start, Delivery& delivery) {
    std::uint64_t dllps = 0;
    if (io_update_at() <= start) {
        delivery.io_credits.swap(m_io_owed);
        dllps = m_config.flit == FlitLayout::k68B ? kDllpBytes : 0;
    }
    // One flit's worth of the stream, or one TLP to its end.
    const bool whole = m_config.arbitration == Arbitration::kTlp;
    std::uint64_t room = m_flit_stream;
    if (whole) {
        room = dllps;
        if (!m_tlps.empty()) room += tlp_stream_bytes(m_tlp_rules, m_tlps.front()) - m_tlp_sent;
    }
    occupy(start, whole ? 64 * room * m_flit_bytes / m_flit_stream : 64 * m_flit_bytes, delivery);
    if (corrupted()) {
        ++m_counters.crc_errors;
        m_io_from = delivery.arrival + m_config.propagation;
        m_io_owed.swap(delivery.io_credits);  // they go with the next
        return;
    }
    room -= std::min(room, dllps);
    while (room != 0 && !m_tlps.empty()) {
        const Tlp& tlp = m_tlps.front();
        const std::uint64_t left = tlp_stream_bytes(m_tlp_rules, tlp) - m_tlp_sent;
        const std::uint64_t part = std::min(left, room);
        room -= part;
        m_tlp_sent += part;
        m_counters.stream_bytes += part;
        if (part != left) break;
        delivery.tlps.push_back(tlp);
        ++m_counters.tlps;
        m_tlps.pop_front();
        m_tlp_sent = 0;
    }
}

}  // namespace kvplane::cxl
