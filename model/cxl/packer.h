// SPDX-License-Identifier: Apache-2.0
/// Forms the flits of one direction from the messages that wait there.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "model/common/growing_ring.h"
#include "model/cxl/flit.h"

namespace kvplane::cxl {

enum class Direction : std::uint8_t { kToCard, kToHost };

enum class Packing : std::uint8_t {
    kBalanced,  ///< pairs headers so that completions cost a quarter of a slot beside data
    kNaive,     ///< data headers first, completions in pairs in slots of their own
};

struct PackerConfig {
    FlitLayout layout = FlitLayout::k68B;
    Packing packing = Packing::kBalanced;
    bool multi_data_header = true;  ///< two or three DRS headers in one slot (68 B)
};

/// Messages of one channel leave in the order in which they came; so do their data. Other channels
/// may overtake, except that none waits for ever: completions go out at the latest with the
/// 16th flit of headers after them.
class FlitPacker {
public:
    FlitPacker(Direction direction, const PackerConfig& config);

    /// Whether messages of this channel travel in this direction and layout.
    [[nodiscard]] bool carries(Channel channel) const;

    /// Queues a message; the channel must be one that the packer carries.
    void push(const FlitMessage& message);

    /// Whether a flit of messages or data waits.
    [[nodiscard]] bool pending() const { return m_waiting != 0 || m_chunks != 0; }
    /// Messages whose header has not left.
    [[nodiscard]] std::size_t waiting() const { return m_waiting; }

    [[nodiscard]] std::size_t waiting(Channel channel) const {
        return m_queues[static_cast<std::size_t>(channel)].size();
    }
    /// Whether all that waits is completions.
    [[nodiscard]] bool completions_only() const {
        return m_chunks == 0 && m_waiting != 0 && m_waiting == waiting(Channel::kNdr);
    }

    /// Forms the next flit; pending() must hold.
    void next(Flit& flit);

private:
    struct Queued {
        FlitMessage message;
        std::uint64_t sequence = 0;  ///< order of arrival over all channels
    };
    using MessageQueue = GrowingRing<Queued>;
    struct Data {
        FlitMessage message;
        std::uint8_t sent = 0;
    };

    // 68 B
    void form_68(Flit& flit);
    void headers_to_host_68(Flit& flit, std::size_t rollover);
    void completions_68(Flit& flit, std::size_t rollover);
    [[nodiscard]] bool completions_alone(std::size_t rollover) const;
    void headers_to_card_68(Flit& flit, std::size_t rollover);
    // 256 B
    void form_256(Flit& flit);
    void fill_short_slot(Slot& slot, std::uint8_t most);
    void fill_generic_256(Slot& slot);

    void put(Slot& slot, MessageQueue& queue, std::size_t count);
    void put_data(Slot& slot);
    void fill_data(Flit& flit, std::size_t from, std::size_t count);
    [[nodiscard]] MessageQueue& queue(Channel channel) {
        return m_queues[static_cast<std::size_t>(channel)];
    }
    /// The channel with the oldest message among those of `allowed` (a bit each), or nothing.
    [[nodiscard]] MessageQueue* oldest(unsigned allowed);
    void add_data(const FlitMessage& message);

    Direction m_direction;
    PackerConfig m_config;
    std::array<MessageQueue, 6> m_queues;  ///< by channel
    std::size_t m_waiting = 0;
    std::uint64_t m_sequence = 0;
    GrowingRing<Data> m_data;        ///< headers sent, data not
    std::size_t m_chunks = 0;        ///< data of messages whose header has left
    std::uint32_t m_held_flits = 0;  ///< header flits that left a completion waiting
};

/// What a receiver makes of flits: calls `take(message)` for each message that is complete with
/// this flit, in order of slots.
template <class Take>
void unpack(const Flit& flit, FlitLayout layout, Take&& take) {
    for (std::size_t i = 0; i < slots_of(layout); ++i) {
        const Slot& slot = flit.slots[i];
        if (slot.kind == SlotKind::kData) {
            if (slot.last) take(slot.messages[0]);
        } else if (slot.kind == SlotKind::kHeaders) {
            for (std::size_t m = 0; m < slot.count; ++m) {
                if (!has_data(slot.messages[m].channel)) take(slot.messages[m]);
            }
        }
    }
}

}  // namespace kvplane::cxl
