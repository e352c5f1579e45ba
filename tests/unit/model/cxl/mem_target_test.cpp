// SPDX-License-Identifier: Apache-2.0
/// The front end, loosely timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/unit/model/cxl/mem_target_bench.h"

namespace kvplane::cxl {
namespace {

TEST_F(MemTargetTest, APlainInitiatorWritesAndReads) {
    build();
    bind_loose();
    write(kBase + 64, 0x5A);
    EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
    const Time took = read(kBase + 64);
    EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(line[0], 0x5A);
    EXPECT_EQ(line[63], 0x5A);
    // Two flights, two passes of the protocol layers, the memory, and both wires.
    const Time fixed = Time::from_ns(2 * (10 + 15)) + kLatency;
    EXPECT_GT(took, fixed);
    EXPECT_LT(took, fixed + Time::from_ns(6));
    write(kBase + 64 + 8, 1, 4);
    read(kBase + 64);
    EXPECT_EQ(line[7], 0x5A);
    EXPECT_EQ(line[8], 1);
    EXPECT_EQ(line[11], 1);
    EXPECT_EQ(line[12], 0x5A);
    EXPECT_EQ(m_target->core().counters().partial_writes, 1U);
}

/// As a root port answers for a device that is gone.
TEST_F(MemTargetTest, WhileTheLinkIsDownALooselyTimedReadIsAllOnesAndAnError) {
    build();
    bind_loose();
    write(kBase, 0x5A);
    m_target->stop_link(true);
    EXPECT_EQ(write(kBase, 0x11), Time{});
    EXPECT_EQ(status, tlm::TLM_GENERIC_ERROR_RESPONSE);
    read(kBase);
    EXPECT_EQ(status, tlm::TLM_GENERIC_ERROR_RESPONSE);
    EXPECT_EQ(line[0], 0xFF);
    EXPECT_EQ(line[63], 0xFF);
    MemExtension host;
    read(kBase, 64, &host);
    EXPECT_EQ(status, tlm::TLM_GENERIC_ERROR_RESPONSE);
    EXPECT_TRUE(host.poison);
    read(kBase + 60, 8);
    EXPECT_EQ(status, tlm::TLM_BURST_ERROR_RESPONSE);
    EXPECT_EQ(m_target->core().counters().lost, 3U);
    m_target->stop_link(false);
    read(kBase);
    EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(line[0], 0x5A) << "the write was lost";
}

TEST_F(MemTargetTest, WhatIsNotOneLineIsRefused) {
    build();
    bind_loose();
    write(kBase + 32, 9, 64);
    EXPECT_EQ(status, tlm::TLM_BURST_ERROR_RESPONSE);
    read(kBase + 60, 8);
    EXPECT_EQ(status, tlm::TLM_BURST_ERROR_RESPONSE);
    read(kBase, 128);
    EXPECT_EQ(status, tlm::TLM_BURST_ERROR_RESPONSE);
    read(kBase, 0);
    EXPECT_EQ(status, tlm::TLM_BURST_ERROR_RESPONSE);
    read(kBase + 60, 4);
    EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
    read(kBase - 64);
    EXPECT_EQ(status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
    read(kBase + kSize);
    EXPECT_EQ(status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
    access(tlm::TLM_IGNORE_COMMAND, kBase, line.data(), 64);
    EXPECT_EQ(status, tlm::TLM_COMMAND_ERROR_RESPONSE);
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    payload.set_address(kBase);
    payload.set_data_ptr(line.data());
    payload.set_data_length(64);
    payload.set_streaming_width(4);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    m_loose->socket->b_transport(payload, delay);
    EXPECT_EQ(payload.get_response_status(), tlm::TLM_BURST_ERROR_RESPONSE);
    read(kBase);
    EXPECT_EQ(line[0], 0) << "a refused write changed something";
}

TEST_F(MemTargetTest, ByteEnablesChooseBytesAndRepeat) {
    build();
    bind_loose();
    write(kBase, 0x11);
    std::array<std::uint8_t, 64> data{};
    data.fill(0x22);
    std::array<std::uint8_t, 4> enables{0xFF, 0, 0, 0xFF};
    tlm::tlm_generic_payload payload;
    test::set_up(payload, tlm::TLM_WRITE_COMMAND, kBase, data.data(), 64);
    payload.set_byte_enable_ptr(enables.data());
    payload.set_byte_enable_length(4);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    m_loose->socket->b_transport(payload, delay);
    ASSERT_TRUE(payload.is_response_ok());
    read(kBase);
    for (std::size_t i = 0; i < 64; ++i) {
        EXPECT_EQ(line[i], enables[i % 4] != 0 ? 0x22 : 0x11) << i;
    }
    data.fill(0x77);
    payload.set_command(tlm::TLM_READ_COMMAND);
    m_loose->socket->b_transport(payload, delay);
    EXPECT_EQ(data[0], 0x22);
    EXPECT_EQ(data[1], 0x77) << "a read touched a byte that is not enabled";
}

TEST_F(MemTargetTest, OutsideTheMapTheHostReadsAllOnes) {
    build();
    bind_loose();
    MemExtension extension;
    read(kBase + kSize, 64, &extension);
    EXPECT_EQ(extension.drs, Opcode::kMemDataNxm);
    EXPECT_EQ(line[0], 0xFF);
    EXPECT_EQ(status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
    // The decoder goes away under the host.
    read(kBase, 64, &extension);
    EXPECT_EQ(extension.drs, Opcode::kMemData);
    m_target->core().decoders().write(HdmDecoders::kGlobal, 1);
    read(kBase, 64, &extension);
    EXPECT_EQ(extension.drs, Opcode::kMemDataNxm);
    EXPECT_TRUE(extension.poison) << "poison on decode error is on";
    extension.opcode = Opcode::kMemWr;
    write(kBase, 3, 64, &extension);
    EXPECT_EQ(extension.ndr, Opcode::kCmp);
    map();
    read(kBase);
    EXPECT_EQ(line[0], 0) << "a write outside the map arrived";
}

TEST_F(MemTargetTest, OpcodesGoWithTheirCommands) {
    build();
    bind_loose();
    for (unsigned raw = 0; raw < 0x60; ++raw) {
        const auto opcode = static_cast<Opcode>(raw);
        if (name_of(opcode) == "reserved") continue;
        for (const auto command :
             {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND, tlm::TLM_IGNORE_COMMAND}) {
            MemExtension extension;
            extension.opcode = opcode;
            access(command, kBase, line.data(), 64, &extension);
            const bool reads = opcode == Opcode::kMemRd || opcode == Opcode::kMemRdData;
            const bool writes = opcode == Opcode::kMemWr || opcode == Opcode::kMemWrPtl;
            const bool fits = command == (reads    ? tlm::TLM_READ_COMMAND
                                          : writes ? tlm::TLM_WRITE_COMMAND
                                                   : tlm::TLM_IGNORE_COMMAND);
            const bool known = answer_to(opcode, Region::kHdmH, MetaField::kNoOp,
                                         MetaValue::kInvalid, SnpType::kNoOp)
                                   .has_value();
            const auto expected = !fits   ? tlm::TLM_COMMAND_ERROR_RESPONSE
                                  : known ? tlm::TLM_OK_RESPONSE
                                          : tlm::TLM_GENERIC_ERROR_RESPONSE;
            EXPECT_EQ(status, expected) << name_of(opcode) << " " << command;
        }
    }
    MemExtension partial;
    partial.opcode = Opcode::kMemWr;
    write(kBase, 1, 8, &partial);
    EXPECT_EQ(status, tlm::TLM_COMMAND_ERROR_RESPONSE) << "MemWr of less than a line";
}

TEST_F(MemTargetTest, TheCardKeepsTheMetaValueOfEachLine) {
    build();
    bind_loose();
    const auto exchange = [&](std::uint64_t address, MetaField field, MetaValue value) {
        MemExtension host;
        host.meta_field = field;
        host.meta_value = value;
        read(address, 64, &host);
        EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
        EXPECT_EQ(host.answer_meta_field, field);
        return host.answer_meta_value;
    };
    const auto state = MetaField::kMeta0State;
    EXPECT_EQ(exchange(kBase, state, MetaValue::kShared), MetaValue::kAny);
    EXPECT_EQ(exchange(kBase, state, MetaValue::kInvalid), MetaValue::kShared);
    exchange(kBase, MetaField::kNoOp, MetaValue::kShared);  // changes nothing
    EXPECT_EQ(exchange(kBase + 64, state, MetaValue::kAny), MetaValue::kAny);
    EXPECT_EQ(exchange(kBase + 32 - 32, state, MetaValue::kAny), MetaValue::kInvalid);
    m_target->reset();
    map();
    EXPECT_EQ(exchange(kBase + 64, state, MetaValue::kAny), MetaValue::kAny);
}

TEST_F(MemTargetTest, OnlyLogicalDeviceZeroIsThere) {
    build();
    bind_loose();
    for (std::uint8_t ld = 0; ld < 16; ++ld) {
        MemExtension host;
        host.ld_id = ld;
        host.tag = 0xABC;
        read(kBase, 64, &host);
        EXPECT_EQ(status, ld == 0 ? tlm::TLM_OK_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE);
        EXPECT_EQ(host.tag, 0xABC) << "the tag comes back";
    }
}

TEST_F(MemTargetTest, PoisonTravelsBothWays) {
    build();
    bind_loose();
    MemExtension bad;
    bad.opcode = Opcode::kMemWr;
    bad.poison = true;
    write(kBase, 5, 64, &bad);
    EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
    MemExtension host;
    read(kBase, 64, &host);
    EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
    EXPECT_TRUE(host.poison);
    read(kBase + 64, 64, &host);
    EXPECT_FALSE(host.poison);
    read(kBase, 4);
    EXPECT_EQ(status, tlm::TLM_GENERIC_ERROR_RESPONSE) << "poison without a way to say so";
    write(kBase, 6, 8);
    read(kBase, 64, &host);
    EXPECT_TRUE(host.poison) << "part of a line healed it";
    write(kBase, 6);
    read(kBase, 64, &host);
    EXPECT_FALSE(host.poison);
    EXPECT_EQ(line[0], 6);
}

TEST_F(MemTargetTest, ViralAndMediaNotReadyContain) {
    build();
    bind_loose();
    write(kBase, 5);
    for (const bool viral : {true, false}) {
        m_target->core().set_viral(viral);
        m_target->core().set_media_ready(viral);
        MemExtension host;
        read(kBase, 64, &host);
        EXPECT_TRUE(host.poison);
        write(kBase, 9);
        EXPECT_EQ(status, tlm::TLM_GENERIC_ERROR_RESPONSE);
    }
    m_target->core().set_viral(false);
    m_target->core().set_media_ready(true);
    read(kBase);
    EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(line[0], 5) << "a write got through";
}

TEST_F(MemTargetTest, ProtectedLinesRefuseWrites) {
    build();
    bind_loose();
    memory.protected_line = 128;
    write(kBase + 128 + 8, 1, 8);
    EXPECT_EQ(status, tlm::TLM_GENERIC_ERROR_RESPONSE);
    EXPECT_EQ(m_target->core().counters().refused_writes, 1U);
    read(kBase + 128);
    EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(line[8], 0);
    write(kBase + 192, 1, 8);
    EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
}

TEST_F(MemTargetTest, DebugAccessHasNoTimeAndNoSideEffects) {
    build();
    bind_loose();
    std::vector<std::uint8_t> data(1000, 7);
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    payload.set_address(kBase + 30);
    payload.set_data_ptr(data.data());
    payload.set_data_length(1000);
    EXPECT_EQ(m_loose->socket->transport_dbg(payload), 1000U);
    EXPECT_EQ(memory.accesses, 0U);
    EXPECT_EQ(m_target->core().counters().writes, 0U);
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_address(kBase + kSize - 100);
    EXPECT_EQ(m_loose->socket->transport_dbg(payload), 100U);
    payload.set_address(0);
    EXPECT_EQ(m_loose->socket->transport_dbg(payload), 0U);
    read(kBase + 64);
    EXPECT_EQ(line[0], 7);
}

TEST_F(MemTargetTest, DirectMemoryIsRefusedForTheWholeSpace) {
    build();
    bind_loose();
    tlm::tlm_generic_payload payload;
    payload.set_address(kBase);
    tlm::tlm_dmi dmi;
    EXPECT_FALSE(m_loose->socket->get_direct_mem_ptr(payload, dmi));
    EXPECT_EQ(dmi.get_start_address(), 0U);
    EXPECT_EQ(dmi.get_end_address(), UINT64_MAX);
    EXPECT_TRUE(dmi.is_none_allowed());
    read(kBase);
    EXPECT_FALSE(payload.is_dmi_allowed());
}

TEST_F(MemTargetTest, LoadOfTheEngineShowsInEveryAnswer) {
    build();
    bind_loose();
    MemExtension host;
    read(kBase, 64, &host);
    EXPECT_EQ(host.dev_load, DevLoad::kLight);
    memory.load = {700'000};
    read(kBase, 64, &host);
    EXPECT_EQ(host.dev_load, DevLoad::kModerateOverload);
    memory.load = {900'000};
    read(kBase, 64, &host);
    EXPECT_EQ(host.dev_load, DevLoad::kSevereOverload);
}

TEST_F(MemTargetTest, ManyReadsAtOnceRaiseTheLoad) {
    build();
    bind_loose();
    MemExtension host;
    std::vector<DevLoad> levels;
    for (int i = 0; i < 128; ++i) {
        read(kBase, 64, &host);  // all leave at time zero
        levels.push_back(host.dev_load);
    }
    EXPECT_EQ(levels.front(), DevLoad::kLight);
    EXPECT_EQ(levels.back(), DevLoad::kSevereOverload);
    EXPECT_TRUE(std::is_sorted(levels.begin(), levels.end()));
}

}  // namespace
}  // namespace kvplane::cxl
