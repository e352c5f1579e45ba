// SPDX-License-Identifier: Apache-2.0
#include "model/management/management_target.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <memory>
#include <vector>

#include "model/common/sim_time.h"
#include "model/cxl/mem_core.h"
#include "model/management/bytes.h"
#include "tests/support/systemc_test.h"
#include "tests/unit/model/management/plain_memory.h"

namespace kvplane::management {
namespace {

constexpr std::uint64_t kUnit = 256ULL << 20;
constexpr std::uint64_t kDevice = ManagementTarget::kDeviceBlock;
constexpr std::uint64_t kConfig = ManagementTarget::kConfigBlock;
constexpr std::uint64_t kMailbox = kDevice + DeviceRegisters::kMailbox;

class Host final : public sc_core::sc_module {
public:
    explicit Host(sc_core::sc_module_name name) : sc_module(name) {}
    tlm_utils::simple_initiator_socket<Host> socket{"socket"};
};

class Listener final : public ManagementListener {
public:
    void media_ready(bool is_ready) override { ready.push_back(is_ready); }
    void reset_done(Reset kind) override { resets.push_back(kind); }
    std::vector<bool> ready;
    std::vector<Reset> resets;
};

class ManagementTargetTest : public test::SystemCTest {
protected:
    ManagementTargetTest() : memory(&poison), core({2, {4 * kUnit}, true}, memory) {
        ManagementConfig config;
        config.mailbox.capacity = {4 * kUnit};
        target = std::make_unique<ManagementTarget>("target", config, core.decoders(), memory,
                                                    poison, events);
        host = std::make_unique<Host>("host");
        host->socket.bind(target->socket);
        target->listen(listener);
        run(Time::from_us(1));
    }
    static void run(Time span) { sc_core::sc_start(to_sc_time(span)); }

    bool access(bool write, std::uint64_t address, unsigned size, std::uint64_t& value) {
        std::array<std::uint8_t, 8> data{};
        put_le(data, 0, 8, value);
        tlm::tlm_generic_payload payload;
        payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        payload.set_address(address);
        payload.set_data_ptr(data.data());
        payload.set_data_length(size);
        payload.set_streaming_width(size);
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        host->socket->b_transport(payload, delay);
        value = get_le(data, 0, 8);
        return payload.is_response_ok();
    }
    std::uint64_t read(std::uint64_t address, unsigned size = 4) {
        std::uint64_t value = 0;
        EXPECT_TRUE(access(false, address, size, value)) << std::hex << address;
        return size == 4 ? value & UINT32_MAX : value;
    }
    void write(std::uint64_t address, std::uint64_t value, unsigned size = 4) {
        EXPECT_TRUE(access(true, address, size, value)) << std::hex << address;
    }
    /// A command as a driver runs it; the return code.
    std::uint64_t command(std::uint16_t opcode, const std::vector<std::uint8_t>& input = {}) {
        for (std::size_t i = 0; i < input.size(); i += 4) {
            std::uint32_t word = 0;
            for (std::size_t b = 0; b < 4 && i + b < input.size(); ++b) {
                word |= std::uint32_t{input[i + b]} << (8 * b);
            }
            write(kMailbox + 0x20 + i, word);
        }
        write(kMailbox + 0x08, opcode | static_cast<std::uint64_t>(input.size()) << 16U, 8);
        write(kMailbox + 0x04, 1);
        int polls = 0;
        while (read(kMailbox + 0x04) != 0) {
            run(Time::from_us(1));
            EXPECT_LT(++polls, 100);
        }
        return read(kMailbox + 0x10, 8) >> 32U & 0xFFFFU;
    }
    static std::vector<std::uint8_t> address(std::uint64_t value) {
        std::vector<std::uint8_t> bytes;
        append_le(bytes, 8, value);
        return bytes;
    }

    PoisonList poison;
    PlainMemory memory;
    EventLog events{16};
    cxl::MemCore core;
    Listener listener;
    std::unique_ptr<ManagementTarget> target;
    std::unique_ptr<Host> host;
};

TEST_F(ManagementTargetTest, AHostFindsTheBlocksThroughConfigurationSpace) {
    EXPECT_EQ(read(kConfig + 0x08) >> 8U, 0x050210U);  // class of CXL memory
    std::uint64_t at = 0x100;
    std::vector<std::uint64_t> found;
    while (at != 0) {
        EXPECT_EQ(read(kConfig + at) & 0xFFFFU, 0x23U);
        EXPECT_EQ(read(kConfig + at + 4) & 0xFFFFU, 0x1E98U);
        found.push_back(read(kConfig + at + 8) & 0xFFFFU);
        at = read(kConfig + at) >> 20U;
    }
    EXPECT_EQ(found, (std::vector<std::uint64_t>{0, 7, 5, 8}));
    EXPECT_EQ(read(kConfig + 0x18C), 0x100U);             // component registers at 0
    EXPECT_EQ(read(kConfig + 0x194), 0x300U | 0x10000U);  // memory device at 64 KiB
    EXPECT_EQ(read(kConfig + 0x11C) & 0xF000'0000U, 4 * kUnit & 0xF000'0000U);
}

TEST_F(ManagementTargetTest, CapabilitiesLeadToTheRegisters) {
    EXPECT_EQ(read(0x1000) & 0xFFFFU, 1U);
    const std::uint64_t count = read(0x1000) >> 24U;
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 1; i <= count; ++i) ids.push_back(read(0x1000 + 4 * i) & 0xFFFFU);
    EXPECT_EQ(ids, (std::vector<std::uint64_t>{2, 5}));
    const std::uint64_t hdm = 0x1000 + (read(0x1008) >> 20U);
    EXPECT_EQ(hdm, ComponentRegisters::kHdm);
    write(hdm + 0x18, kUnit);
    write(hdm + 0x20, cxl::HdmDecoders::kHostOnly | cxl::HdmDecoders::kCommit);
    EXPECT_NE(read(hdm + 0x20) & cxl::HdmDecoders::kCommitted, 0U);
    EXPECT_EQ(read(kDevice) & 0xFFFFU, 0U);
    const std::uint64_t caps = read(kDevice + 4) & 0xFFFFU;
    std::vector<std::uint64_t> device;
    for (std::uint64_t i = 1; i <= caps; ++i) device.push_back(read(kDevice + 16 * i) & 0xFFFFU);
    EXPECT_EQ(device, (std::vector<std::uint64_t>{1, 2, 0x4000}));
    EXPECT_EQ(read(kDevice + 32 + 4), DeviceRegisters::kMailbox);
    EXPECT_EQ(read(kMailbox) & 0x1FU, 11U);  // 2 KiB
}

TEST_F(ManagementTargetTest, MediaBecomeReadyAfterTheirDelay) {
    const std::uint64_t status = kDevice + DeviceRegisters::kMemdev;
    EXPECT_EQ(read(status) >> 2U & 3U, 0U);
    EXPECT_EQ(read(status) >> 4U & 1U, 1U);
    EXPECT_EQ(read(kConfig + 0x11C) & 3U, 0U);
    EXPECT_EQ(command(0x4301, address(0)), 7U) << "media disabled";
    EXPECT_EQ(listener.ready, std::vector<bool>{false});
    run(Time::from_ms(1));
    EXPECT_EQ(read(status) >> 2U & 3U, 1U);
    EXPECT_EQ(read(kConfig + 0x11C) & 3U, 3U);
    EXPECT_EQ(listener.ready, (std::vector<bool>{false, true}));
    EXPECT_EQ(command(0x4301, address(0)), 0U);
}

/// Poison by mailbox is what a read of the host meets, and a whole write of the host heals it.
TEST_F(ManagementTargetTest, RealReadsHonourThePoisonList) {
    run(Time::from_ms(2));
    write(0x1218, kUnit);
    write(0x1220, cxl::HdmDecoders::kHostOnly | cxl::HdmDecoders::kCommit);
    write(0x1204, cxl::HdmDecoders::kEnable);
    ASSERT_EQ(command(0x4301, address(640)), 0U);
    EXPECT_EQ(read(kDevice + DeviceRegisters::kStatus), 1U) << "an informational event";
    std::array<std::uint8_t, 64> line{};
    tlm::tlm_generic_payload payload;
    cxl::MemExtension extension;
    payload.set_extension(&extension);
    payload.set_address(640);
    payload.set_data_ptr(line.data());
    payload.set_data_length(64);
    payload.set_streaming_width(64);
    payload.set_command(tlm::TLM_READ_COMMAND);
    core.execute(payload);
    EXPECT_TRUE(extension.poison);
    extension.reset();
    extension.opcode = cxl::Opcode::kMemWr;
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    core.execute(payload);
    EXPECT_FALSE(poison.contains({640}));
    extension.poison = true;
    core.execute(payload);
    EXPECT_EQ(poison.within({0}, {kUnit}).front().source, PoisonSource::kExternal);
    payload.clear_extension(&extension);
}

TEST_F(ManagementTargetTest, TheMailboxBelongsToTheCardWhileItsDoorbellIsSet) {
    write(kMailbox + 0x08, 0x4000, 8);
    write(kMailbox + 0x04, 1);
    EXPECT_EQ(read(kMailbox + 0x04), 1U);
    write(kMailbox + 0x08, 0x4200, 8);
    write(kMailbox + 0x20, 0xFFFF'FFFF);
    write(kMailbox + 0x04, 1);
    run(Time::from_us(11));
    EXPECT_EQ(read(kMailbox + 0x04), 0U);
    EXPECT_EQ(read(kMailbox + 0x08) & 0xFFFFU, 0x4000U);
    EXPECT_EQ(read(kMailbox + 0x08, 8) >> 16U & 0x1F'FFFFU, 67U);
    EXPECT_EQ(read(kMailbox + 0x20), 0x6C70'766BU);  // "kvpl"
}

TEST_F(ManagementTargetTest, OddAccessesAreRefused) {
    std::uint64_t value = 0;
    EXPECT_FALSE(access(false, 0x1002, 4, value));
    EXPECT_FALSE(access(false, 0x1004, 8, value));
    EXPECT_FALSE(access(false, 0x1000, 2, value));
    EXPECT_FALSE(access(true, kDevice + 0x8000, 4, value));
    EXPECT_FALSE(access(false, kConfig + 0x1000, 4, value));
    EXPECT_TRUE(access(false, kConfig + 1, 1, value));
}

/// Every reset, value by value, and what the registers show of it.
TEST_F(ManagementTargetTest, ResetsLeaveWhatTheTableSays) {
    const std::vector<std::pair<Reset, ResetEffect>> expected{
        {Reset::kFunction, {true, true, false, true}},
        {Reset::kHot, {true, true, false, false}},
        {Reset::kCxl, {true, true, false, false}},
        {Reset::kWarm, {false, true, false, false}},
        {Reset::kCold, {false, false, false, false}},
        {Reset::kCxlMemClear, {false, false, false, false}}};
    run(Time::from_ms(2));
    for (const auto& [kind, effect] : expected) {
        EXPECT_EQ(effect_of(kind), effect) << static_cast<int>(kind);
        EXPECT_EQ(new_boot_generation(kind), !effect.index);
        write(0x1218, kUnit);
        write(0x1220, cxl::HdmDecoders::kHostOnly | cxl::HdmDecoders::kCommit);
        ASSERT_NE(read(0x1220) & cxl::HdmDecoders::kCommitted, 0U);
        poison.add({0}, PoisonSource::kInternal);
        write(kMailbox + 0x08, 0x4000, 8);
        write(kMailbox + 0x04, 1);  // a command under way
        target->reset(kind);
        EXPECT_EQ(listener.resets.back(), kind);
        EXPECT_EQ((read(0x1220) & cxl::HdmDecoders::kCommitted) != 0, effect.decoders);
        EXPECT_EQ(poison.contains({0}), effect.dram);
        EXPECT_EQ(read(kMailbox + 0x04), kind == Reset::kFunction ? 1U : 0U);
        EXPECT_EQ(listener.ready.back(), kind != Reset::kCold);
        run(Time::from_ms(2));
        EXPECT_TRUE(listener.ready.back());
        EXPECT_EQ(command(0x4000), 0U);
    }
}

TEST_F(ManagementTargetTest, RasStatusClearsByWritingOnes) {
    target->component().uncorrectable(0b101);
    target->component().correctable(ComponentRegisters::kCrcThreshold);
    EXPECT_EQ(read(0x1100), 0b101U);
    write(0x1100, 0b001);
    EXPECT_EQ(read(0x1100), 0b100U);
    write(0x1104, 7);
    EXPECT_EQ(read(0x1104), 7U);
    EXPECT_EQ(read(0x110C), 4U);
}

TEST_F(ManagementTargetTest, DebugReadsAndRingsNoDoorbell) {
    std::array<std::uint8_t, 4> data{1, 0, 0, 0};
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    payload.set_address(kMailbox + 0x04);
    payload.set_data_ptr(data.data());
    payload.set_data_length(4);
    EXPECT_EQ(host->socket->transport_dbg(payload), 0U);
    EXPECT_EQ(read(kMailbox + 0x04), 0U);
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_address(0x1000);
    EXPECT_EQ(host->socket->transport_dbg(payload), 4U);
    EXPECT_EQ(get_le(data, 0, 2), 1U);
}

}  // namespace
}  // namespace kvplane::management
