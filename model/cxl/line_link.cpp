// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/line_link.h"

#include <algorithm>
#include <utility>

namespace kvplane::cxl {
namespace {

constexpr Direction opposite(Direction direction) {
    return direction == Direction::kToCard ? Direction::kToHost : Direction::kToCard;
}

}  // namespace

LineLink::LineLink(const LinkConfig& config, LinkClient& client, const WireFaults& faults)
    : m_sides{Side{.wire = Wire(Direction::kToCard, config, faults), .flying = {}},
              Side{.wire = Wire(Direction::kToHost, config, faults), .flying = {}}},
      m_client(client) {
    for (Side& side : m_sides) side.flying.resize(8);
}

void LineLink::set_faults(const WireFaults& faults) {
    for (Side& side : m_sides) side.wire.set_faults(faults);
}

void LineLink::consumed(Direction direction, Channel channel, Time now) {
    side(opposite(direction)).wire.return_credit(channel, now);
    rearm(opposite(direction), now);
}

void LineLink::consumed(Direction direction, const Tlp& tlp, Time now) {
    side(opposite(direction)).wire.return_io_credit(tlp, now);
    rearm(opposite(direction), now);
}

Time LineLink::next_event() const {
    return std::min(
        {m_sides[0].start, m_sides[1].start, m_sides[0].arrival(), m_sides[1].arrival()});
}

void LineLink::advance(Time now) {
    for (Time next = next_event(); next <= now; next = next_event()) {
        // Arrivals first: what they bring may still leave now.
        if (m_sides[0].arrival() == next) {
            arrive(Direction::kToCard);
        } else if (m_sides[1].arrival() == next) {
            arrive(Direction::kToHost);
        } else {
            start(m_sides[0].start == next ? Direction::kToCard : Direction::kToHost);
        }
    }
}

void LineLink::start(Direction direction) {
    Side& sender = side(direction);
    if (sender.tail - sender.head == sender.flying.size()) {
        std::vector<Delivery> larger(sender.flying.size() * 2);
        for (std::uint64_t i = sender.head; i != sender.tail; ++i) {
            std::swap(larger[i & (larger.size() - 1)], sender.flying[sender.at(i)]);
        }
        sender.flying.swap(larger);
    }
    const Time begin = sender.start;
    sender.wire.send(begin, sender.flying[sender.at(sender.tail++)]);
    rearm(direction, begin);
}

void LineLink::arrive(Direction direction) {
    Side& sender = side(direction);
    // The delivery may be overwritten while the client pushes: take it out of the ring.
    std::swap(m_arrived, sender.flying[sender.at(sender.head++)]);
    const Time at = m_arrived.arrival;
    if (m_arrived.credits.any()) {
        side(opposite(direction)).wire.grant(m_arrived.credits, at);
        rearm(opposite(direction), at);
    }
    if (!m_arrived.io_credits.empty()) {
        for (const Tlp& tlp : m_arrived.io_credits) side(opposite(direction)).wire.grant(tlp);
        rearm(opposite(direction), at);
    }
    for (const FlitMessage& message : m_arrived.messages) m_client.arrived(direction, message, at);
    for (const Tlp& tlp : m_arrived.tlps) m_client.arrived(direction, tlp, at);
}

}  // namespace kvplane::cxl
