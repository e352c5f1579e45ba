// SPDX-License-Identifier: Apache-2.0
/// Both directions of the link, flit by flit, and what is on the way. It is driven like any model
/// of this kind: its user asks for the time of the next event, and advances it to there.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/cxl/wire.h"

namespace kvplane::cxl {

/// Hears what arrives, at the time at which it is there. May push new messages.
class LinkClient {
public:
    virtual ~LinkClient() = default;
    /// A message has arrived whole. The receiver holds a credit for it until
    /// LineLink::consumed().
    virtual void arrived(Direction direction, const FlitMessage& message, Time at) = 0;
    /// So has a TLP; the same goes for its credits.
    virtual void arrived(Direction direction, const Tlp& tlp, Time at) = 0;
};

class LineLink {
public:
    LineLink(const LinkConfig& config, LinkClient& client, const WireFaults& faults = {});

    void push(Direction direction, const FlitMessage& message, Time now) {
        side(direction).wire.push(message, now);
        rearm(direction, now);
    }
    void push(Direction direction, const Tlp& tlp, Time now) {
        side(direction).wire.push(tlp);
        rearm(direction, now);
    }
    /// The receiver has drained a TLP that came in `direction`: its credits go back.
    void consumed(Direction direction, const Tlp& tlp, Time now);
    /// The receiver has room again for a message of `channel` that came in `direction`.
    void consumed(Direction direction, Channel channel, Time now);

    /// Time::never() while nothing is on the way and nothing can be sent.
    [[nodiscard]] Time next_event() const;
    /// Lets all happen that is due by `now`, in order of time.
    void advance(Time now);

    [[nodiscard]] const Wire& wire(Direction direction) const {
        return m_sides[static_cast<std::size_t>(direction)].wire;
    }
    void set_faults(const WireFaults& faults);

private:
    /// Transmissions under way in one direction, oldest first: a ring.
    struct Side {
        Wire wire;
        Time start = Time::never();  ///< of the next transmission
        std::vector<Delivery> flying;
        std::uint64_t head = 0;
        std::uint64_t tail = 0;

        [[nodiscard]] std::size_t at(std::uint64_t number) const {
            return number & (flying.size() - 1);
        }
        [[nodiscard]] Time arrival() const {
            return head == tail ? Time::never() : flying[at(head)].arrival;
        }
    };

    [[nodiscard]] Side& side(Direction direction) {
        return m_sides[static_cast<std::size_t>(direction)];
    }
    void rearm(Direction direction, Time now) {
        side(direction).start = side(direction).wire.next_start(now);
    }
    void start(Direction direction);
    void arrive(Direction direction);

    std::array<Side, 2> m_sides;
    LinkClient& m_client;
    Delivery m_arrived;  ///< scratch
};

}  // namespace kvplane::cxl
