// SPDX-License-Identifier: Apache-2.0
/// CXL.mem messages: their encodings, what each request asks for, and what answers it. Encodings
/// are those of CXL 3.x; where 2.0 has the field, it agrees.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tlm>

namespace kvplane::cxl {

/// The message classes: master (host) to subordinate (card), and back.
enum class Channel : std::uint8_t { kReq, kRwD, kBiRsp, kBiSnp, kNdr, kDrs };

/// Every opcode: the channel in the high four bits, its encoding on that channel in the low four.
enum class Opcode : std::uint8_t {
    // M2S Req: no data
    kMemInv = 0x00,
    kMemRd = 0x01,
    kMemRdData = 0x02,
    kMemRdFwd = 0x03,  ///< type 2 devices only
    kMemWrFwd = 0x04,  ///< type 2 devices only
    kMemSpecRd = 0x08,
    kMemInvNt = 0x09,
    kMemClnEvct = 0x0A,
    // M2S RwD: with data, except the conflict
    kMemWr = 0x11,
    kMemWrPtl = 0x12,
    kBiConflict = 0x14,
    // M2S BIRsp
    kBiRspI = 0x20,
    kBiRspS = 0x21,
    kBiRspE = 0x22,
    kBiRspIBlk = 0x24,
    kBiRspSBlk = 0x25,
    kBiRspEBlk = 0x26,
    // S2M BISnp
    kBiSnpCur = 0x30,
    kBiSnpData = 0x31,
    kBiSnpInv = 0x32,
    kBiSnpCurBlk = 0x34,
    kBiSnpDataBlk = 0x35,
    kBiSnpInvBlk = 0x36,
    // S2M NDR
    kCmp = 0x40,
    kCmpS = 0x41,
    kCmpE = 0x42,
    kCmpM = 0x43,
    kBiConflictAck = 0x44,
    // S2M DRS
    kMemData = 0x50,
    kMemDataNxm = 0x51,
};

[[nodiscard]] constexpr Channel channel_of(Opcode opcode) {
    return static_cast<Channel>(static_cast<std::uint8_t>(opcode) >> 4U);
}
/// The bits on the wire.
[[nodiscard]] constexpr std::uint8_t encoding_of(Opcode opcode) {
    return static_cast<std::uint8_t>(opcode) & 0xFU;
}

enum class MetaField : std::uint8_t { kMeta0State = 0b00, kNoOp = 0b11 };
enum class MetaValue : std::uint8_t { kInvalid = 0b00, kAny = 0b10, kShared = 0b11 };
enum class SnpType : std::uint8_t {
    kNoOp = 0b000,
    kSnpData = 0b001,
    kSnpCur = 0b010,
    kSnpInv = 0b011
};
/// How loaded the device is, told in every NDR and DRS.
enum class DevLoad : std::uint8_t {
    kLight = 0b00,
    kOptimal = 0b01,
    kModerateOverload = 0b10,
    kSevereOverload = 0b11
};

/// The fields that have encodings.
enum class Field : std::uint8_t {
    kReqOpcode,
    kRwDOpcode,
    kBiRspOpcode,
    kBiSnpOpcode,
    kNdrOpcode,
    kDrsOpcode,
    kMetaField,
    kMetaValue,
    kSnpType,
    kDevLoad,
};

/// One row of the table of encodings.
struct Encoding {
    Field field;
    std::string_view name;
    std::uint8_t value;
    std::uint8_t bits;  ///< width of the field
};

/// All encodings, ordered by field, then value. The one table that names and decoders use.
[[nodiscard]] std::span<const Encoding> encodings();
/// The row of a value; nullptr where the value is reserved.
[[nodiscard]] const Encoding* find_encoding(Field field, std::uint8_t value);
/// The opcode of `bits` on a channel; nothing where they are reserved.
[[nodiscard]] std::optional<Opcode> decode_opcode(Channel channel, std::uint8_t bits);
/// "MemRd", "Cmp-S"; "reserved" for a value outside the table.
[[nodiscard]] std::string_view name_of(Opcode opcode);

/// Who keeps a line of device memory coherent.
enum class Region : std::uint8_t {
    kPrivate,  ///< not mapped to the host: the card alone uses it
    kHdmH,     ///< the host alone; the card does not see lines that the host caches
    kHdmDb,    ///< the card, by back-invalidate; needs 256 B flits
};

/// What the host may hold of a line once a request is answered.
enum class HostState : std::uint8_t { kUnchanged, kInvalid, kShared, kExclusive };

/// What answers a request.
struct Answer {
    std::optional<Opcode> ndr;
    std::optional<Opcode> drs;
    HostState host = HostState::kUnchanged;  ///< for the directory of an HDM-DB region

    bool operator==(const Answer&) const = default;
};

/// The answer to a request in a region; nothing where the combination is not defined, or the
/// request is not one that a type 3 device takes. MemSpecRd has an answer with neither part.
[[nodiscard]] std::optional<Answer> answer_to(Opcode request, Region region, MetaField field,
                                              MetaValue value, SnpType snoop);

/// What a TLM payload carries when its initiator speaks CXL.mem. Absent, reads are MemRd and
/// writes are MemWr or MemWrPtl, without metadata. The card fills the part of the answer.
struct MemExtension final : tlm::tlm_extension<MemExtension> {
    // request
    Opcode opcode = Opcode::kMemRd;
    MetaField meta_field = MetaField::kNoOp;
    MetaValue meta_value = MetaValue::kInvalid;
    SnpType snoop = SnpType::kNoOp;
    std::uint16_t tag = 0;
    std::uint8_t ld_id = 0;          ///< 4 bits
    std::uint8_t traffic_class = 0;  ///< 2 bits
    bool poison = false;             ///< of the data, either way

    // answer
    std::optional<Opcode> ndr;
    std::optional<Opcode> drs;
    MetaField answer_meta_field = MetaField::kNoOp;
    MetaValue answer_meta_value = MetaValue::kInvalid;
    DevLoad dev_load = DevLoad::kLight;

    /// Back to a fresh extension, for pools.
    void reset() { *this = MemExtension(); }

    [[nodiscard]] tlm::tlm_extension_base* clone() const override {
        return new MemExtension(*this);
    }
    void copy_from(const tlm::tlm_extension_base& other) override {
        *this = static_cast<const MemExtension&>(other);
    }
};

}  // namespace kvplane::cxl
