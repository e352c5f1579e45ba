// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/packer.h"

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::cxl {
namespace {

constexpr unsigned bit(Channel channel) { return 1U << static_cast<unsigned>(channel); }

/// A completion that waits for a second one waits no longer than so many flits of headers.
constexpr std::uint32_t kMostHeldFlits = 15;
/// So many completions are worth a flit of their own beside waiting data.
constexpr std::size_t kCompletionBacklog = 16;

}  // namespace

FlitPacker::FlitPacker(Direction direction, const PackerConfig& config)
    : m_direction(direction), m_config(config) {}

bool FlitPacker::carries(Channel channel) const {
    const bool wide = m_config.layout != FlitLayout::k68B;
    switch (channel) {
        case Channel::kReq:
        case Channel::kRwD:
            return m_direction == Direction::kToCard;
        case Channel::kBiRsp:
            return m_direction == Direction::kToCard && wide;
        case Channel::kNdr:
        case Channel::kDrs:
            return m_direction == Direction::kToHost;
        case Channel::kBiSnp:
            return m_direction == Direction::kToHost && wide;
    }
    return false;
}

void FlitPacker::push(const FlitMessage& message) {
    if (!carries(message.channel)) throw InvariantError("packer: a message of the other way");
    queue(message.channel).push({message, m_sequence++});
    ++m_waiting;
}

void FlitPacker::next(Flit& flit) {
    if (!pending()) throw InvariantError("packer: nothing to pack");
    flit.used = 0;
    flit.all_data = false;
    for (std::size_t i = 0; i < slots_of(m_config.layout); ++i) {
        flit.slots[i].kind = SlotKind::kEmpty;
    }
    if (m_config.layout == FlitLayout::k68B) {
        form_68(flit);
    } else {
        form_256(flit);
    }
    for (std::size_t i = 0; i < slots_of(m_config.layout); ++i) {
        if (flit.slots[i].kind != SlotKind::kEmpty) ++flit.used;
    }
}

FlitPacker::MessageQueue* FlitPacker::oldest(unsigned allowed) {
    MessageQueue* best = nullptr;
    for (std::size_t c = 0; c < m_queues.size(); ++c) {
        MessageQueue& candidate = m_queues[c];
        if ((allowed >> c & 1U) == 0 || candidate.empty()) continue;
        if (best == nullptr || candidate.front().sequence < best->front().sequence) {
            best = &candidate;
        }
    }
    return best;
}

void FlitPacker::add_data(const FlitMessage& message) {
    m_data.push({message, 0});
    m_chunks += chunks_of(message);
}

void FlitPacker::put(Slot& slot, MessageQueue& from, std::size_t count) {
    if (slot.kind == SlotKind::kEmpty) {
        slot.kind = SlotKind::kHeaders;
        slot.count = 0;
        slot.last = false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const FlitMessage message = from.pop().message;
        slot.messages[slot.count++] = message;
        if (has_data(message.channel)) add_data(message);
        --m_waiting;
    }
}

void FlitPacker::put_data(Slot& slot) {
    Data& data = m_data.front();
    slot.kind = SlotKind::kData;
    slot.messages[0] = data.message;
    slot.count = data.sent++;
    slot.last = data.sent == chunks_of(data.message);
    if (slot.last) m_data.pop();
    --m_chunks;
}

void FlitPacker::fill_data(Flit& flit, std::size_t from, std::size_t count) {
    for (std::size_t i = 0; i < count && m_chunks != 0; ++i) put_data(flit.slots[from + i]);
}

// --- 68 B -------------------------------------------------------------------------------------

void FlitPacker::form_68(Flit& flit) {
    constexpr std::size_t kSlots = 4;
    if (m_chunks >= kSlots) {
        flit.all_data = true;
        fill_data(flit, 0, kSlots);
        return;
    }
    // One to three chunks that roll over come first, behind slot 0.
    const std::size_t rollover = m_chunks;
    fill_data(flit, 1, rollover);
    if (m_direction == Direction::kToHost) {
        headers_to_host_68(flit, rollover);
    } else {
        headers_to_card_68(flit, rollover);
    }
    for (std::size_t i = 1 + rollover; i < kSlots; ++i) {
        if (flit.slots[i].kind == SlotKind::kEmpty && m_chunks != 0) put_data(flit.slots[i]);
    }
}

bool FlitPacker::completions_alone(std::size_t rollover) const {
    return waiting(Channel::kDrs) == 0 ||
           (rollover == 0 && waiting(Channel::kNdr) >= kCompletionBacklog);
}

void FlitPacker::completions_68(Flit& flit, std::size_t rollover) {
    MessageQueue& ndr = queue(Channel::kNdr);
    for (std::size_t i = 0; i < 4 && !ndr.empty(); ++i) {
        if (i != 0 && i <= rollover) continue;
        put(flit.slots[i], ndr, std::min<std::size_t>(2, ndr.size()));
    }
    m_held_flits = 0;
}

void FlitPacker::headers_to_host_68(Flit& flit, std::size_t rollover) {
    if (completions_alone(rollover)) {
        completions_68(flit, rollover);
        return;
    }
    MessageQueue& ndr = queue(Channel::kNdr);
    MessageQueue& drs = queue(Channel::kDrs);
    const bool free_slot = rollover < 3;
    const bool late = !ndr.empty() && m_held_flits >= kMostHeldFlits;
    const std::size_t before = ndr.size();
    if (!m_config.multi_data_header || drs.size() == 1 || late) {
        put(flit.slots[0], drs, 1);  // H3: one DRS, one NDR
        if (!ndr.empty()) put(flit.slots[0], ndr, 1);
    } else if (m_config.packing == Packing::kBalanced && drs.size() >= 3 && ndr.size() >= 2 &&
               free_slot) {
        put(flit.slots[0], ndr, 2);             // H4: two NDR
        put(flit.slots[1 + rollover], drs, 3);  // G6: three DRS
    } else {
        put(flit.slots[0], drs, 2);  // H5: two DRS
        if (m_config.packing == Packing::kNaive && ndr.size() >= 2 && free_slot) {
            put(flit.slots[1 + rollover], ndr, 2);  // G5: two NDR
        }
    }
    const bool held = ndr.size() == before && before != 0;
    m_held_flits = held ? m_held_flits + 1 : 0;
}

void FlitPacker::headers_to_card_68(Flit& flit, std::size_t rollover) {
    unsigned allowed = bit(Channel::kReq) | bit(Channel::kRwD);
    std::uint32_t requests = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        if (i != 0 && i <= rollover) continue;
        MessageQueue* from = oldest(allowed);
        if (from == nullptr) return;
        if (from == &queue(Channel::kRwD)) {
            allowed &= ~bit(Channel::kRwD);
        } else if (++requests == 2) {
            allowed &= ~bit(Channel::kReq);
        }
        put(flit.slots[i], *from, 1);
    }
}

// --- 256 B ------------------------------------------------------------------------------------

void FlitPacker::fill_short_slot(Slot& slot, std::uint8_t most) {
    if (m_direction == Direction::kToCard) {
        const bool requests = most == 2 && !is_pbr(m_config.layout);
        const unsigned allowed =
            bit(Channel::kBiRsp) | (requests ? bit(Channel::kReq) | bit(Channel::kRwD) : 0U);
        if (MessageQueue* from = oldest(allowed)) put(slot, *from, 1);
        return;
    }
    for (std::uint8_t i = 0; i < most; ++i) {
        // A BISnp fills a slot alone.
        const unsigned allowed =
            bit(Channel::kNdr) | bit(Channel::kDrs) | (i == 0 ? bit(Channel::kBiSnp) : 0U);
        MessageQueue* from = oldest(allowed);
        if (from == nullptr) return;
        put(slot, *from, 1);
        if (from == &queue(Channel::kBiSnp)) return;
    }
}

void FlitPacker::fill_generic_256(Slot& slot) {
    if (m_direction == Direction::kToCard) {
        MessageQueue* from = oldest(bit(Channel::kReq) | bit(Channel::kRwD) | bit(Channel::kBiRsp));
        if (from != nullptr) put(slot, *from, 1);
        return;
    }
    for (std::uint8_t i = 0; i < responses_a_slot(m_config.layout); ++i) {
        const unsigned allowed =
            bit(Channel::kNdr) | bit(Channel::kDrs) | (i == 0 ? bit(Channel::kBiSnp) : 0U);
        MessageQueue* from = oldest(allowed);
        if (from == nullptr) return;
        put(slot, *from, 1);
        if (from == &queue(Channel::kBiSnp)) return;
    }
}

void FlitPacker::form_256(Flit& flit) {
    const bool low_latency = is_low_latency(m_config.layout);
    const std::size_t slots = slots_of(m_config.layout);
    // H is slot 0; HS, where there is one, the slot at the start of the second half.
    const std::size_t short_slot = low_latency ? slots / 2 + 1 : slots;
    fill_short_slot(flit.slots[0], 2);
    for (std::size_t i = 1; i < slots; ++i) {
        Slot& slot = flit.slots[i];
        if (i == short_slot) {
            fill_short_slot(slot, 1);
        } else if (m_chunks != 0) {
            put_data(slot);
        } else {
            fill_generic_256(slot);
        }
    }
}

}  // namespace kvplane::cxl
