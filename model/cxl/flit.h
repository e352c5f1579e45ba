// SPDX-License-Identifier: Apache-2.0
/// Flits of CXL.mem and what their slots hold. A slot of 16 B carries headers of messages, or one
/// 16 B chunk of data; a line is four chunks, and byte enables are a fifth.
///
/// 68 B: four slots, CRC and protocol ID. Slot 0 keeps the flit header beside its 12 B of message,
/// so it takes data only in an all-data flit. Headers of one flit: at most two Req, one RwD, three
/// DRS, and one slot with DRS headers; beside DRS headers, two NDR.
/// 256 B: a slot H of 14 B that takes no data, then 14 generic slots; in the low-latency layout
/// one generic slot fewer and a slot HS of 10 B. A generic slot takes three NDR or DRS headers with
/// host-based routing (HBR), two with port-based routing (PBR), whose longer RwD and Req
/// do not fit into H. (Layouts as recalled: docs say +-3 %.)
#pragma once

#include <array>
#include <cstdint>

#include "model/cxl/message.h"

namespace kvplane::cxl {

enum class FlitLayout : std::uint8_t {
    k68B,
    k256BStandardHbr,
    k256BLowLatencyHbr,
    k256BStandardPbr,
    k256BLowLatencyPbr,
};

/// Bytes of a flit on the wire.
[[nodiscard]] constexpr std::uint64_t flit_bytes(FlitLayout layout) {
    return layout == FlitLayout::k68B ? 68 : 256;
}
[[nodiscard]] constexpr bool is_low_latency(FlitLayout layout) {
    return layout == FlitLayout::k256BLowLatencyHbr || layout == FlitLayout::k256BLowLatencyPbr;
}
[[nodiscard]] constexpr bool is_pbr(FlitLayout layout) {
    return layout == FlitLayout::k256BStandardPbr || layout == FlitLayout::k256BLowLatencyPbr;
}
/// Slots of a flit, H and HS included.
[[nodiscard]] constexpr std::size_t slots_of(FlitLayout layout) {
    return layout == FlitLayout::k68B ? 4 : 15;
}
/// NDR and DRS headers that fit into one generic slot of 256 B flits.
[[nodiscard]] constexpr std::uint8_t responses_a_slot(FlitLayout layout) {
    return is_pbr(layout) ? 2 : 3;
}

/// Bits of each message without its data (CXL 2.0 sizes for 68 B flits): what must fit into a slot.
[[nodiscard]] constexpr unsigned message_bits(Channel channel) {
    switch (channel) {
        case Channel::kReq:
        case Channel::kRwD:
            return 87;
        case Channel::kNdr:
            return 30;
        case Channel::kDrs:
        case Channel::kBiRsp:
            return 40;
        case Channel::kBiSnp:
            return 80;
    }
    return 0;
}

/// A message as a packer sees it. `id` is the sender's; it comes back at the receiver.
struct FlitMessage {
    std::uint32_t id = 0;
    Channel channel = Channel::kReq;
    bool byte_enables = false;  ///< MemWrPtl

    bool operator==(const FlitMessage&) const = default;
};

[[nodiscard]] constexpr bool has_data(Channel channel) {
    return channel == Channel::kRwD || channel == Channel::kDrs;
}
/// Slots of data that follow the header.
[[nodiscard]] constexpr std::uint32_t chunks_of(const FlitMessage& message) {
    if (!has_data(message.channel)) return 0;
    return message.byte_enables ? 5 : 4;
}

enum class SlotKind : std::uint8_t { kEmpty, kHeaders, kData };

struct Slot {
    SlotKind kind = SlotKind::kEmpty;
    std::uint8_t count = 0;  ///< headers in it, or the number of the chunk, 0 first
    bool last = false;       ///< of data: the message is complete
    std::array<FlitMessage, 3> messages;
};

/// The most slots of any layout.
inline constexpr std::size_t kMostSlots = 15;

struct Flit {
    std::array<Slot, kMostSlots> slots;
    std::uint8_t used = 0;  ///< slots that are not empty
    bool all_data = false;  ///< 68 B: data in slot 0 too
};

}  // namespace kvplane::cxl
