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
#include "tests/support/tlm_pool.h"
#include "tests/unit/model/management/plain_memory.h"

namespace kvplane::management {
namespace {

constexpr std::uint64_t kUnit = 256ULL << 20;
constexpr std::uint64_t kDevice = ManagementTarget::kDeviceBlock;
constexpr std::uint64_t kConfig = ManagementTarget::kConfigBlock;
constexpr std::uint64_t kMailbox = kDevice + DeviceRegisters::kMailbox;
constexpr std::uint64_t kControl = kConfig + ConfigSpace::kControl;

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
    ManagementTargetTest() : memory(poison), core({2, {4 * kUnit}, true}, memory) {
        ManagementConfig config;
        config.starts_cold = true;
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
        test::set_up(payload, write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address,
                     data.data(), size);
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

    PoisonList poison{256};
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
    EXPECT_EQ(ids, (std::vector<std::uint64_t>{2, 5, 12}));
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
    write(kControl, ConfigSpace::kMemEnable, 2);
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
    EXPECT_EQ(read(0x1100), 1U << 10U) << "poison received from the peer";
    write(0x1100, ~0U);
    EXPECT_EQ(read(0x1100), 0U);
    core.execute(payload);
    EXPECT_EQ(read(0x1100), 1U << 10U) << "also into a line that is poisoned already";
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

/// The payload takes small accesses, as a copy of 67 bytes ends with them.
TEST_F(ManagementTargetTest, AnAnswerIsCopiedInPiecesOfAnySize) {
    run(Time::from_ms(2));
    ASSERT_EQ(command(0x4000), 0U);
    std::array<std::uint64_t, 4> seen{};
    std::size_t which = 0;
    for (const unsigned size : {1U, 2U, 4U, 8U}) {
        for (std::uint64_t i = 0; i < 64; i += size) {
            std::uint64_t value = 0;
            EXPECT_TRUE(access(false, kMailbox + 0x20 + i, size, value)) << i;
            for (unsigned b = 0; b < size; ++b)
                seen.at(which) = seen.at(which) * 31 + (value >> 8 * b & 0xFF);
        }
        EXPECT_EQ(seen.at(which), seen[0]) << size;
        ++which;
    }
    EXPECT_NE(seen[0], 0U);
    // Input byte by byte: poison at 0x123440.
    const auto input = address(0x12'3440);
    for (std::size_t i = 0; i < 4; ++i) write(kMailbox + 0x20 + i, input[i], 1);
    write(kMailbox + 0x24, 0, 2);
    write(kMailbox + 0x26, 0, 2);
    write(kMailbox + 0x08, 0x4301U | 8U << 16U, 8);
    write(kMailbox + 0x04, 1);
    write(kMailbox + 0x20, 0xEE, 1);  // the card's while the doorbell is set
    run(Time::from_us(11));
    EXPECT_TRUE(poison.contains({0x12'3440}));
    EXPECT_EQ(read(kMailbox + 0x20), 0x12'3440U);
    std::uint64_t value = 0;
    EXPECT_FALSE(access(false, kMailbox + 0x21, 2, value)) << "not aligned";
    EXPECT_FALSE(access(false, kMailbox + 0x1F, 1, value)) << "not the payload";
    EXPECT_FALSE(access(false, kMailbox + 0x20 + 2048, 1, value));
    EXPECT_TRUE(access(false, kMailbox + 0x20 + 2047, 1, value));
}

/// PCIe DVSEC for CXL devices: capability, control, status.
TEST_F(ManagementTargetTest, TheDvsecTellsWhatIsModelled) {
    const std::uint64_t capability = read(kConfig + 0x10A, 2);
    EXPECT_EQ(capability & 1U, 0U) << "CXL.cache";
    EXPECT_EQ(capability >> 1U & 3U, 3U) << "CXL.io, CXL.mem";
    EXPECT_EQ(capability >> 4U & 3U, 1U) << "one range";
    EXPECT_EQ(capability >> 6U & 1U, 0U) << "cache writeback and invalidate";
    EXPECT_EQ(capability >> 7U & 1U, 1U) << "CXL reset";
    EXPECT_EQ(capability >> 11U & 1U, 1U) << "its memory clear";
    EXPECT_EQ(capability >> 14U & 1U, 1U) << "viral";
    EXPECT_EQ(read(kControl, 2), 0b10U);
    write(kControl, 0xFF, 1);
    EXPECT_EQ(read(kControl, 2), 0b110U);
    write(kControl + 1, 0xFF, 1);
    EXPECT_EQ(read(kControl, 2), 0x4006U);
    write(kControl, 0);
    EXPECT_EQ(read(kControl, 2), 0b10U);
}

TEST_F(ManagementTargetTest, WithoutMemEnableNothingIsDecoded) {
    run(Time::from_ms(2));
    write(0x1218, kUnit);
    write(0x1220, cxl::HdmDecoders::kHostOnly | cxl::HdmDecoders::kCommit);
    write(0x1204, cxl::HdmDecoders::kEnable);
    EXPECT_FALSE(core.decoders().to_dpa({640}));
    EXPECT_FALSE(core.decoders().to_hpa({640}));
    write(kControl, ConfigSpace::kMemEnable, 2);
    EXPECT_TRUE(core.decoders().to_dpa({640}));
    EXPECT_TRUE(core.decoders().to_hpa({640}));
    write(0x1204, 0);
    EXPECT_FALSE(core.decoders().to_dpa({640})) << "decoders must be enabled too";
    write(0x1204, cxl::HdmDecoders::kEnable);
    write(kControl, 0);
    EXPECT_FALSE(core.decoders().to_dpa({640}));
    write(kControl, ConfigSpace::kMemEnable, 2);
    target->reset(Reset::kHot);
    write(0x1218, kUnit);
    write(0x1220, cxl::HdmDecoders::kHostOnly | cxl::HdmDecoders::kCommit);
    write(0x1204, cxl::HdmDecoders::kEnable);
    EXPECT_FALSE(core.decoders().to_dpa({640})) << "a reset takes it back";
}

TEST_F(ManagementTargetTest, TheHostAsksForACxlReset) {
    run(Time::from_ms(2));
    const std::uint64_t control2 = kConfig + 0x110;
    const std::uint64_t status2 = kConfig + 0x112;
    EXPECT_EQ(read(status2, 2), 0U);
    write(control2, ConfigSpace::kResetMemClear, 2);
    EXPECT_TRUE(listener.resets.empty());
    write(control2, ConfigSpace::kInitiateReset | ConfigSpace::kResetMemClear, 2);
    EXPECT_EQ(listener.resets, std::vector<Reset>{Reset::kCxlMemClear});
    EXPECT_EQ(read(status2, 2), ConfigSpace::kResetComplete);
    target->reset(Reset::kHot);
    EXPECT_EQ(read(status2, 2), 0U);
    write(control2, ConfigSpace::kInitiateReset, 2);
    EXPECT_EQ(listener.resets.back(), Reset::kCxl);
    EXPECT_EQ(read(control2, 2), 0U) << "initiate reads as zero";
}

/// Fatal in the memory-device status until a reset; in the DVSEC until the host clears it.
TEST_F(ManagementTargetTest, ViralShows) {
    run(Time::from_ms(2));
    const std::uint64_t memdev = kDevice + DeviceRegisters::kMemdev;
    const std::uint64_t status = kConfig + 0x10E;
    const auto health = [&] {
        EXPECT_EQ(command(0x4200), 0U);
        return read(kMailbox + 0x20) & 0xFFU;
    };
    EXPECT_EQ(read(memdev), 0b1'0100U);
    EXPECT_EQ(health(), 0U);
    target->raise_viral();
    EXPECT_EQ(read(memdev), 3U << 5U | 0b1'0101U) << "fatal, hot reset needed";
    EXPECT_EQ(health(), 1U) << "maintenance needed";
    EXPECT_EQ(read(status, 2), ConfigSpace::kViral);
    write(kControl, 0);
    EXPECT_EQ(read(status, 2), ConfigSpace::kViral) << "zeroes clear nothing";
    target->reset(Reset::kHot);
    EXPECT_EQ(read(memdev), 0b1'0100U);
    EXPECT_EQ(health(), 0U);
    EXPECT_EQ(read(status, 2), ConfigSpace::kViral) << "sticky";
    write(status + 1, ConfigSpace::kViral >> 8U, 1);
    EXPECT_EQ(read(status, 2), 0U);
    target->raise_viral();
    target->reset(Reset::kCold);
    EXPECT_EQ(read(status, 2), 0U) << "power went";
}

/// HDM-DB by registers alone: enable BI and commit the BI-ID, then commit the decoder.
TEST_F(ManagementTargetTest, TheBiDecoderOpensDeviceCoherentWindows) {
    const std::uint64_t bi = 0x1000 + (read(0x100C) >> 20U);
    EXPECT_EQ(read(0x100C) & 0xFFFFU, 0x000CU);
    EXPECT_EQ(read(bi), ComponentRegisters::kBiExplicitCommit);
    const auto commits = [&] {
        write(0x1218, kUnit);
        write(0x1220, cxl::HdmDecoders::kBackInvalidate | cxl::HdmDecoders::kCommit);
        const bool committed = (read(0x1220) & cxl::HdmDecoders::kCommitted) != 0;
        write(0x1220, 0);
        return committed;
    };
    EXPECT_FALSE(commits());
    write(bi + 4, ComponentRegisters::kBiEnable);
    EXPECT_FALSE(commits()) << "no BI-ID";
    EXPECT_EQ(read(bi + 8), 0U);
    write(bi + 4, ComponentRegisters::kBiCommit);
    EXPECT_EQ(read(bi + 8), ComponentRegisters::kBiCommitted);
    EXPECT_FALSE(commits()) << "not enabled";
    write(bi + 4, ~0U);
    EXPECT_EQ(read(bi + 4), ComponentRegisters::kBiEnable | ComponentRegisters::kBiCommit);
    EXPECT_TRUE(commits());
    write(bi, ~0U);
    write(bi + 8, 0);
    EXPECT_EQ(read(bi), ComponentRegisters::kBiExplicitCommit);
    EXPECT_EQ(read(bi + 8), ComponentRegisters::kBiCommitted);
    target->reset(Reset::kHot);
    EXPECT_EQ(read(bi + 4), 0U);
    EXPECT_EQ(read(bi + 8), 0U);
    EXPECT_FALSE(commits());
}

TEST(ComponentRegistersTest, ThereIsNoBiDecoderWhereHdmDbIsNotPossible) {
    cxl::HdmDecoders decoders({.decoders = 2, .capacity = {kUnit}, .back_invalidate = false});
    ComponentRegisters registers(decoders);
    std::uint64_t value = 0;
    EXPECT_TRUE(registers.read(0x1000, 4, value));
    EXPECT_EQ(value >> 24U, 2U);
    EXPECT_TRUE(registers.read(0x100C, 4, value));
    EXPECT_EQ(value, 0U);
    EXPECT_TRUE(registers.write(ComponentRegisters::kBi + 4, 4, 6));
    EXPECT_TRUE(registers.read(ComponentRegisters::kBi, 8, value));
    EXPECT_EQ(value, 0U);
    EXPECT_TRUE(registers.read(ComponentRegisters::kBi + 8, 4, value));
    EXPECT_EQ(value, 0U);
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
        poison.add({0}, PoisonSource::kInternal, now());
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

TEST_F(ManagementTargetTest, RasRegistersAreGoneWithThePowerAlone) {
    target->component().uncorrectable(0b101);
    for (const Reset kind :
         {Reset::kFunction, Reset::kHot, Reset::kWarm, Reset::kCxl, Reset::kCxlMemClear}) {
        target->reset(kind);
        EXPECT_EQ(read(0x1100), 0b101U);
    }
    target->reset(Reset::kCold);
    EXPECT_EQ(read(0x1100), 0U);
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
