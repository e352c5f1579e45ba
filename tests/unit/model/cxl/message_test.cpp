// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/message.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace kvplane::cxl {
namespace {

struct Known {
    Opcode opcode;
    Channel channel;
    std::string name;
    std::uint8_t bits;
};

/// The wire, written down a second time by hand from the published register and trace headers.
const std::vector<Known>& known_opcodes() {
    static const std::vector<Known> rows{
        {Opcode::kMemInv, Channel::kReq, "MemInv", 0},
        {Opcode::kMemRd, Channel::kReq, "MemRd", 1},
        {Opcode::kMemRdData, Channel::kReq, "MemRdData", 2},
        {Opcode::kMemRdFwd, Channel::kReq, "MemRdFwd", 3},
        {Opcode::kMemWrFwd, Channel::kReq, "MemWrFwd", 4},
        {Opcode::kMemSpecRd, Channel::kReq, "MemSpecRd", 8},
        {Opcode::kMemInvNt, Channel::kReq, "MemInvNT", 9},
        {Opcode::kMemClnEvct, Channel::kReq, "MemClnEvct", 10},
        {Opcode::kMemWr, Channel::kRwD, "MemWr", 1},
        {Opcode::kMemWrPtl, Channel::kRwD, "MemWrPtl", 2},
        {Opcode::kBiConflict, Channel::kRwD, "BIConflict", 4},
        {Opcode::kBiRspI, Channel::kBiRsp, "BIRspI", 0},
        {Opcode::kBiRspS, Channel::kBiRsp, "BIRspS", 1},
        {Opcode::kBiRspE, Channel::kBiRsp, "BIRspE", 2},
        {Opcode::kBiRspIBlk, Channel::kBiRsp, "BIRspIBlk", 4},
        {Opcode::kBiRspSBlk, Channel::kBiRsp, "BIRspSBlk", 5},
        {Opcode::kBiRspEBlk, Channel::kBiRsp, "BIRspEBlk", 6},
        {Opcode::kBiSnpCur, Channel::kBiSnp, "BISnpCur", 0},
        {Opcode::kBiSnpData, Channel::kBiSnp, "BISnpData", 1},
        {Opcode::kBiSnpInv, Channel::kBiSnp, "BISnpInv", 2},
        {Opcode::kBiSnpCurBlk, Channel::kBiSnp, "BISnpCurBlk", 4},
        {Opcode::kBiSnpDataBlk, Channel::kBiSnp, "BISnpDataBlk", 5},
        {Opcode::kBiSnpInvBlk, Channel::kBiSnp, "BISnpInvBlk", 6},
        {Opcode::kCmp, Channel::kNdr, "Cmp", 0},
        {Opcode::kCmpS, Channel::kNdr, "Cmp-S", 1},
        {Opcode::kCmpE, Channel::kNdr, "Cmp-E", 2},
        {Opcode::kCmpM, Channel::kNdr, "Cmp-M", 3},
        {Opcode::kBiConflictAck, Channel::kNdr, "BIConflictAck", 4},
        {Opcode::kMemData, Channel::kDrs, "MemData", 0},
        {Opcode::kMemDataNxm, Channel::kDrs, "MemData-NXM", 1},
    };
    return rows;
}

TEST(MessageTest, EveryOpcodeHasItsChannelBitsAndName) {
    for (const Known& row : known_opcodes()) {
        EXPECT_EQ(channel_of(row.opcode), row.channel) << row.name;
        EXPECT_EQ(encoding_of(row.opcode), row.bits) << row.name;
        EXPECT_EQ(name_of(row.opcode), row.name);
        EXPECT_EQ(decode_opcode(row.channel, row.bits), row.opcode) << row.name;
    }
}

TEST(MessageTest, EveryOtherOpcodeIsReserved) {
    std::size_t decoded = 0;
    for (unsigned channel = 0; channel <= static_cast<unsigned>(Channel::kDrs); ++channel) {
        for (unsigned bits = 0; bits < 16; ++bits) {
            const auto opcode =
                decode_opcode(static_cast<Channel>(channel), static_cast<std::uint8_t>(bits));
            decoded += opcode.has_value() ? 1 : 0;
        }
    }
    EXPECT_EQ(decoded, known_opcodes().size());
    EXPECT_EQ(name_of(static_cast<Opcode>(0x05)), "reserved");
}

TEST(MessageTest, EveryFieldValueIsTheWires) {
    const auto value = [](Field field, std::string_view name) -> int {
        for (const Encoding& row : encodings()) {
            if (row.field == field && row.name == name) return row.value;
        }
        return -1;
    };
    EXPECT_EQ(value(Field::kMetaField, "Meta0-State"), static_cast<int>(MetaField::kMeta0State));
    EXPECT_EQ(value(Field::kMetaField, "Meta0-State"), 0);
    EXPECT_EQ(value(Field::kMetaField, "No-Op"), 3);
    EXPECT_EQ(static_cast<int>(MetaField::kNoOp), 3);
    EXPECT_EQ(value(Field::kMetaValue, "Invalid"), 0);
    EXPECT_EQ(value(Field::kMetaValue, "Any"), 2);
    EXPECT_EQ(value(Field::kMetaValue, "Shared"), 3);
    EXPECT_EQ(static_cast<int>(MetaValue::kAny), 2);
    EXPECT_EQ(static_cast<int>(MetaValue::kShared), 3);
    EXPECT_EQ(value(Field::kSnpType, "No-Op"), 0);
    EXPECT_EQ(value(Field::kSnpType, "SnpData"), static_cast<int>(SnpType::kSnpData));
    EXPECT_EQ(value(Field::kSnpType, "SnpData"), 1);
    EXPECT_EQ(value(Field::kSnpType, "SnpCur"), 2);
    EXPECT_EQ(static_cast<int>(SnpType::kSnpCur), 2);
    EXPECT_EQ(value(Field::kSnpType, "SnpInv"), 3);
    EXPECT_EQ(static_cast<int>(SnpType::kSnpInv), 3);
    EXPECT_EQ(value(Field::kDevLoad, "Light"), static_cast<int>(DevLoad::kLight));
    EXPECT_EQ(value(Field::kDevLoad, "Optimal"), 1);
    EXPECT_EQ(value(Field::kDevLoad, "Moderate Overload"), 2);
    EXPECT_EQ(static_cast<int>(DevLoad::kModerateOverload), 2);
    EXPECT_EQ(value(Field::kDevLoad, "Severe Overload"), 3);
    EXPECT_EQ(encodings().size(), known_opcodes().size() + 13);
}

TEST(MessageTest, ValuesFitTheirFieldAndAreThereOnce) {
    std::set<std::pair<Field, std::uint8_t>> seen;
    for (const Encoding& row : encodings()) {
        EXPECT_LT(row.value, 1U << row.bits) << row.name;
        EXPECT_TRUE(seen.insert({row.field, row.value}).second) << row.name;
        EXPECT_EQ(find_encoding(row.field, row.value), &row);
    }
    EXPECT_EQ(find_encoding(Field::kMetaValue, 1), nullptr);
    EXPECT_EQ(find_encoding(Field::kMetaField, 1), nullptr);
}

TEST(MessageTest, HostCoherentRegionsAnswerReadsWithDataAloneAndWritesWithCmp) {
    const auto answer = [](Opcode opcode) {
        return answer_to(opcode, Region::kHdmH, MetaField::kNoOp, MetaValue::kInvalid,
                         SnpType::kNoOp);
    };
    for (const Opcode opcode : {Opcode::kMemRd, Opcode::kMemRdData}) {
        ASSERT_TRUE(answer(opcode)) << name_of(opcode);
        EXPECT_EQ(*answer(opcode), (Answer{std::nullopt, Opcode::kMemData}));
    }
    for (const Opcode opcode :
         {Opcode::kMemInv, Opcode::kMemInvNt, Opcode::kMemWr, Opcode::kMemWrPtl}) {
        ASSERT_TRUE(answer(opcode)) << name_of(opcode);
        EXPECT_EQ(*answer(opcode), (Answer{Opcode::kCmp, std::nullopt}));
    }
    ASSERT_TRUE(answer(Opcode::kMemSpecRd));
    EXPECT_EQ(*answer(Opcode::kMemSpecRd), Answer{});
    for (const Opcode opcode : {Opcode::kMemRdFwd, Opcode::kMemWrFwd, Opcode::kMemClnEvct,
                                Opcode::kBiConflict, Opcode::kCmp, Opcode::kBiRspI}) {
        EXPECT_FALSE(answer(opcode)) << name_of(opcode);
    }
    EXPECT_FALSE(answer_to(Opcode::kMemRd, Region::kHdmH, MetaField::kNoOp, MetaValue::kInvalid,
                           SnpType::kSnpInv));
}

/// Every combination of the fields: a defined answer obeys what the request's name promises.
TEST(MessageTest, DeviceCoherentAnswersMatchWhatTheRequestAllows) {
    int defined = 0;
    for (const Known& row : known_opcodes()) {
        for (const MetaValue value : {MetaValue::kInvalid, MetaValue::kAny, MetaValue::kShared}) {
            for (const SnpType snoop :
                 {SnpType::kNoOp, SnpType::kSnpData, SnpType::kSnpCur, SnpType::kSnpInv}) {
                const auto answer =
                    answer_to(row.opcode, Region::kHdmDb, MetaField::kMeta0State, value, snoop);
                if (!answer) continue;
                ++defined;
                const bool reads = row.opcode == Opcode::kMemRd || row.opcode == Opcode::kMemRdData;
                EXPECT_EQ(answer->drs.has_value(), reads) << row.name;
                // A grant is Cmp-E for Any and Cmp-S for Shared, and the directory knows it.
                if (answer->ndr == Opcode::kCmpE) {
                    EXPECT_EQ(value, MetaValue::kAny) << row.name;
                    EXPECT_EQ(answer->host, HostState::kExclusive) << row.name;
                }
                if (answer->ndr == Opcode::kCmpS) {
                    EXPECT_EQ(answer->host, HostState::kShared) << row.name;
                }
                if (answer->ndr && row.channel == Channel::kReq && snoop == SnpType::kSnpInv &&
                    value == MetaValue::kInvalid) {
                    EXPECT_EQ(answer->host, HostState::kInvalid) << row.name;
                }
                EXPECT_TRUE(row.channel == Channel::kReq || row.channel == Channel::kRwD);
            }
        }
    }
    EXPECT_EQ(defined, 40);  // 16 rows of the rule, and MemSpecRd and BIConflict in 12 ways each
}

TEST(MessageTest, PrivateMemoryAnswersNothing) {
    for (const Known& row : known_opcodes()) {
        EXPECT_FALSE(answer_to(row.opcode, Region::kPrivate, MetaField::kNoOp, MetaValue::kInvalid,
                               SnpType::kNoOp));
    }
}

TEST(MessageTest, ExtensionClonesCopiesAndResets) {
    MemExtension extension;
    extension.opcode = Opcode::kMemInv;
    extension.tag = 0xBEEF;
    extension.poison = true;
    extension.dev_load = DevLoad::kSevereOverload;
    auto* clone = static_cast<MemExtension*>(extension.clone());
    EXPECT_EQ(clone->tag, 0xBEEF);
    EXPECT_TRUE(clone->poison);
    MemExtension copy;
    copy.copy_from(*clone);
    clone->free();
    EXPECT_EQ(copy.opcode, Opcode::kMemInv);
    EXPECT_EQ(copy.dev_load, DevLoad::kSevereOverload);
    copy.reset();
    EXPECT_EQ(copy.opcode, Opcode::kMemRd);
    EXPECT_EQ(copy.tag, 0);
    EXPECT_FALSE(copy.poison);
}

}  // namespace
}  // namespace kvplane::cxl
