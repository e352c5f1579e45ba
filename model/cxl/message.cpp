// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/message.h"

#include <array>

namespace kvplane::cxl {
namespace {

constexpr std::array kEncodings{
    Encoding{Field::kReqOpcode, "MemInv", 0b0000, 4},
    Encoding{Field::kReqOpcode, "MemRd", 0b0001, 4},
    Encoding{Field::kReqOpcode, "MemRdData", 0b0010, 4},
    Encoding{Field::kReqOpcode, "MemRdFwd", 0b0011, 4},
    Encoding{Field::kReqOpcode, "MemWrFwd", 0b0100, 4},
    Encoding{Field::kReqOpcode, "MemSpecRd", 0b1000, 4},
    Encoding{Field::kReqOpcode, "MemInvNT", 0b1001, 4},
    Encoding{Field::kReqOpcode, "MemClnEvct", 0b1010, 4},
    Encoding{Field::kRwDOpcode, "MemWr", 0b0001, 4},
    Encoding{Field::kRwDOpcode, "MemWrPtl", 0b0010, 4},
    Encoding{Field::kRwDOpcode, "BIConflict", 0b0100, 4},
    Encoding{Field::kBiRspOpcode, "BIRspI", 0b0000, 4},
    Encoding{Field::kBiRspOpcode, "BIRspS", 0b0001, 4},
    Encoding{Field::kBiRspOpcode, "BIRspE", 0b0010, 4},
    Encoding{Field::kBiRspOpcode, "BIRspIBlk", 0b0100, 4},
    Encoding{Field::kBiRspOpcode, "BIRspSBlk", 0b0101, 4},
    Encoding{Field::kBiRspOpcode, "BIRspEBlk", 0b0110, 4},
    Encoding{Field::kBiSnpOpcode, "BISnpCur", 0b0000, 4},
    Encoding{Field::kBiSnpOpcode, "BISnpData", 0b0001, 4},
    Encoding{Field::kBiSnpOpcode, "BISnpInv", 0b0010, 4},
    Encoding{Field::kBiSnpOpcode, "BISnpCurBlk", 0b0100, 4},
    Encoding{Field::kBiSnpOpcode, "BISnpDataBlk", 0b0101, 4},
    Encoding{Field::kBiSnpOpcode, "BISnpInvBlk", 0b0110, 4},
    Encoding{Field::kNdrOpcode, "Cmp", 0b000, 3},
    Encoding{Field::kNdrOpcode, "Cmp-S", 0b001, 3},
    Encoding{Field::kNdrOpcode, "Cmp-E", 0b010, 3},
    Encoding{Field::kNdrOpcode, "Cmp-M", 0b011, 3},
    Encoding{Field::kNdrOpcode, "BIConflictAck", 0b100, 3},
    Encoding{Field::kDrsOpcode, "MemData", 0b000, 3},
    Encoding{Field::kDrsOpcode, "MemData-NXM", 0b001, 3},
    Encoding{Field::kMetaField, "Meta0-State", 0b00, 2},
    Encoding{Field::kMetaField, "No-Op", 0b11, 2},
    Encoding{Field::kMetaValue, "Invalid", 0b00, 2},
    Encoding{Field::kMetaValue, "Any", 0b10, 2},
    Encoding{Field::kMetaValue, "Shared", 0b11, 2},
    Encoding{Field::kSnpType, "No-Op", 0b000, 3},
    Encoding{Field::kSnpType, "SnpData", 0b001, 3},
    Encoding{Field::kSnpType, "SnpCur", 0b010, 3},
    Encoding{Field::kSnpType, "SnpInv", 0b011, 3},
    Encoding{Field::kDevLoad, "Light", 0b00, 2},
    Encoding{Field::kDevLoad, "Optimal", 0b01, 2},
    Encoding{Field::kDevLoad, "Moderate Overload", 0b10, 2},
    Encoding{Field::kDevLoad, "Severe Overload", 0b11, 2},
};

/// The fields of opcodes come first, in the order of the channels.
Field opcode_field(Channel channel) { return static_cast<Field>(channel); }

/// A row of the rule of HDM-DB requests that carry Meta0-State.
struct CoherentRule {
    Opcode request;
    MetaValue value;
    SnpType snoop;
    Opcode ndr;
    bool data;
    HostState host;
};

constexpr std::array kCoherentRules{
    // The host asks for data and may keep them exclusively, as shared, or not at all.
    CoherentRule{Opcode::kMemRd, MetaValue::kAny, SnpType::kSnpInv, Opcode::kCmpE, true,
                 HostState::kExclusive},
    CoherentRule{Opcode::kMemRd, MetaValue::kShared, SnpType::kSnpData, Opcode::kCmpS, true,
                 HostState::kShared},
    CoherentRule{Opcode::kMemRd, MetaValue::kInvalid, SnpType::kSnpInv, Opcode::kCmp, true,
                 HostState::kInvalid},
    CoherentRule{Opcode::kMemRd, MetaValue::kInvalid, SnpType::kSnpCur, Opcode::kCmp, true,
                 HostState::kUnchanged},
    // MemRdData leaves the state to the device, and ours grants Shared.
    CoherentRule{Opcode::kMemRdData, MetaValue::kInvalid, SnpType::kSnpData, Opcode::kCmpS, true,
                 HostState::kShared},
    // The same without data.
    CoherentRule{Opcode::kMemInv, MetaValue::kAny, SnpType::kSnpInv, Opcode::kCmpE, false,
                 HostState::kExclusive},
    CoherentRule{Opcode::kMemInv, MetaValue::kShared, SnpType::kSnpData, Opcode::kCmpS, false,
                 HostState::kShared},
    CoherentRule{Opcode::kMemInv, MetaValue::kInvalid, SnpType::kSnpInv, Opcode::kCmp, false,
                 HostState::kInvalid},
    CoherentRule{Opcode::kMemInvNt, MetaValue::kAny, SnpType::kSnpInv, Opcode::kCmpE, false,
                 HostState::kExclusive},
    CoherentRule{Opcode::kMemInvNt, MetaValue::kInvalid, SnpType::kSnpInv, Opcode::kCmp, false,
                 HostState::kInvalid},
    CoherentRule{Opcode::kMemClnEvct, MetaValue::kInvalid, SnpType::kNoOp, Opcode::kCmp, false,
                 HostState::kInvalid},
    // Writes: the host keeps the line, keeps it shared, or drops it.
    CoherentRule{Opcode::kMemWr, MetaValue::kAny, SnpType::kNoOp, Opcode::kCmp, false,
                 HostState::kExclusive},
    CoherentRule{Opcode::kMemWr, MetaValue::kShared, SnpType::kNoOp, Opcode::kCmp, false,
                 HostState::kShared},
    CoherentRule{Opcode::kMemWr, MetaValue::kInvalid, SnpType::kNoOp, Opcode::kCmp, false,
                 HostState::kInvalid},
    CoherentRule{Opcode::kMemWr, MetaValue::kInvalid, SnpType::kSnpInv, Opcode::kCmp, false,
                 HostState::kInvalid},
    CoherentRule{Opcode::kMemWrPtl, MetaValue::kInvalid, SnpType::kSnpInv, Opcode::kCmp, false,
                 HostState::kInvalid},
};

/// What a request asks for where the card keeps no coherence.
std::optional<Answer> plain_answer(Opcode request) {
    switch (request) {
        case Opcode::kMemRd:
        case Opcode::kMemRdData:
            return Answer{.ndr = {}, .drs = Opcode::kMemData};
        case Opcode::kMemInv:
        case Opcode::kMemInvNt:
        case Opcode::kMemWr:
        case Opcode::kMemWrPtl:
            return Answer{.ndr = Opcode::kCmp, .drs = {}};
        case Opcode::kMemSpecRd:
            return Answer{};
        default:
            return std::nullopt;
    }
}

std::optional<Answer> coherent_answer(Opcode request, MetaField field, MetaValue value,
                                      SnpType snoop) {
    if (request == Opcode::kBiConflict) return Answer{.ndr = Opcode::kBiConflictAck, .drs = {}};
    if (request == Opcode::kMemSpecRd) return Answer{};
    if (field == MetaField::kNoOp) {
        if (snoop != SnpType::kNoOp) return std::nullopt;
        // The host declares no state: it does not cache the line by this access.
        std::optional<Answer> answer = plain_answer(request);
        if (answer) answer->ndr = Opcode::kCmp;
        return answer;
    }
    for (const CoherentRule& rule : kCoherentRules) {
        if (rule.request == request && rule.value == value && rule.snoop == snoop) {
            return Answer{rule.ndr, rule.data ? std::optional(Opcode::kMemData) : std::nullopt,
                          rule.host};
        }
    }
    return std::nullopt;
}

}  // namespace

std::span<const Encoding> encodings() { return kEncodings; }

const Encoding* find_encoding(Field field, std::uint8_t value) {
    for (const Encoding& row : kEncodings) {
        if (row.field == field && row.value == value) return &row;
    }
    return nullptr;
}

std::optional<Opcode> decode_opcode(Channel channel, std::uint8_t bits) {
    if (find_encoding(opcode_field(channel), bits) == nullptr) return std::nullopt;
    return static_cast<Opcode>(static_cast<unsigned>(channel) << 4U | bits);
}

std::string_view name_of(Opcode opcode) {
    const Encoding* row = find_encoding(opcode_field(channel_of(opcode)), encoding_of(opcode));
    return row == nullptr ? "reserved" : row->name;
}

std::optional<Answer> answer_to(Opcode request, Region region, MetaField field, MetaValue value,
                                SnpType snoop) {
    switch (region) {
        case Region::kPrivate:
            return std::nullopt;
        case Region::kHdmH:
            // The host asks no snoops of a card that caches nothing of it.
            return snoop == SnpType::kNoOp ? plain_answer(request) : std::nullopt;
        case Region::kHdmDb:
            return coherent_answer(request, field, value, snoop);
    }
    return std::nullopt;
}

}  // namespace kvplane::cxl
