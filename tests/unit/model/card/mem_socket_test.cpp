// SPDX-License-Identifier: Apache-2.0
/// CXL.mem: plain loads and stores of the host.
#include "host.h"
#include "model/common/random.h"
#include "tests/support/systemc_test.h"
#include "tests/support/tlm_pool.h"

namespace kvplane::card {
namespace {

using engine::Opcode;

constexpr Bytes kBlock = Bytes::from_kib(64);
constexpr auto kRead = tlm::TLM_READ_COMMAND;
constexpr auto kWrite = tlm::TLM_WRITE_COMMAND;

class MemSocketTest : public test::SystemCTest {
protected:
    static CardConfig config() {
        CardConfig made = baseline(8);
        made.tier_capacity = kBlock * 16;
        return made;
    }
    MemSocketTest() { Bench::drain(); }

    tlm::tlm_response_status access(tlm::tlm_command command, std::uint64_t address,
                                    std::span<std::uint8_t> data) {
        sc_core::sc_time delay;
        return m_bench.host.access(command, address, data, delay);
    }
    /// The time that one access takes on an idle card.
    Time time_of(tlm::tlm_command command, std::uint64_t address, std::size_t length = 64) {
        Bench::drain();
        std::vector<std::uint8_t> data(length);
        sc_core::sc_time delay;
        EXPECT_EQ(m_bench.host.access(command, address, data, delay), tlm::TLM_OK_RESPONSE);
        return from_sc_time(delay);
    }

    Bench m_bench{config(), kBlock};
};

TEST_F(MemSocketTest, StoresAreLoadedBackAnyWidthInsideALine) {
    std::vector<std::uint8_t> twin(4'096);
    RandomStream random(41, "mem socket");
    for (int i = 0; i < 5'000; ++i) {
        const std::uint64_t address = random.uniform(4'096);
        std::vector<std::uint8_t> data(random.uniform(1, 64 - address % 64));
        if (random.uniform(2) == 0) {
            for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random.bits());
            ASSERT_EQ(access(kWrite, address, data), tlm::TLM_OK_RESPONSE);
            std::copy(data.begin(), data.end(),
                      twin.begin() + static_cast<std::ptrdiff_t>(address));
        } else {
            ASSERT_EQ(access(kRead, address, data), tlm::TLM_OK_RESPONSE);
            ASSERT_TRUE(std::equal(data.begin(), data.end(),
                                   twin.begin() + static_cast<std::ptrdiff_t>(address)));
        }
    }
}

TEST_F(MemSocketTest, ByteEnablesMaskBothWays) {
    std::vector<std::uint8_t> data(8, 0x11);
    ASSERT_EQ(access(kWrite, 128, data), tlm::TLM_OK_RESPONSE);
    std::array<unsigned char, 2> enables{TLM_BYTE_ENABLED, TLM_BYTE_DISABLED};  // repeats
    tlm::tlm_generic_payload payload;
    const auto go = [&](tlm::tlm_command command, std::uint8_t fill, unsigned enable_length) {
        std::fill(data.begin(), data.end(), fill);
        test::set_up(payload, command, 128, data.data(), 8);
        payload.set_byte_enable_ptr(enables.data());
        payload.set_byte_enable_length(enable_length);
        payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        sc_core::sc_time delay;
        m_bench.host.mem->b_transport(payload, delay);
        return payload.get_response_status();
    };
    ASSERT_EQ(go(kWrite, 0xEE, 2), tlm::TLM_OK_RESPONSE);
    ASSERT_EQ(go(kRead, 0x77, 2), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(data, (std::vector<std::uint8_t>{0xEE, 0x77, 0xEE, 0x77, 0xEE, 0x77, 0xEE, 0x77}));
    ASSERT_EQ(access(kRead, 128, data), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(data, (std::vector<std::uint8_t>{0xEE, 0x11, 0xEE, 0x11, 0xEE, 0x11, 0xEE, 0x11}));
    EXPECT_EQ(go(kRead, 0, 0), tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
}

TEST_F(MemSocketTest, WhatALineCannotCarryIsRefused) {
    std::vector<std::uint8_t> data(128);
    const std::span<std::uint8_t> all(data);
    EXPECT_EQ(access(kRead, 0, all.first(64)), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(access(kRead, 0, all.first(65)), tlm::TLM_BURST_ERROR_RESPONSE);
    EXPECT_EQ(access(kWrite, 32, all.first(33)), tlm::TLM_BURST_ERROR_RESPONSE);
    EXPECT_EQ(access(kRead, 63, all.first(1)), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(access(kRead, 63, all.first(2)), tlm::TLM_BURST_ERROR_RESPONSE);
    EXPECT_EQ(access(kRead, 0, all.first(0)), tlm::TLM_BURST_ERROR_RESPONSE);
    EXPECT_EQ(access(tlm::TLM_IGNORE_COMMAND, 0, all.first(8)), tlm::TLM_COMMAND_ERROR_RESPONSE);
    const std::uint64_t end = mapped_capacity(config()).count;
    EXPECT_EQ(end, 256ULL << 20) << "the tier, filled up";
    EXPECT_EQ(access(kRead, end - 64, all.first(64)), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(access(kRead, end, all.first(1)), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    EXPECT_EQ(access(kRead, ~std::uint64_t{0} - 63, all.first(64)),
              tlm::TLM_ADDRESS_ERROR_RESPONSE);

    tlm::tlm_generic_payload narrow;
    narrow.set_command(kRead);
    narrow.set_address(0);
    narrow.set_data_ptr(data.data());
    narrow.set_data_length(16);
    narrow.set_streaming_width(8);
    sc_core::sc_time delay;
    m_bench.host.mem->b_transport(narrow, delay);
    EXPECT_EQ(narrow.get_response_status(), tlm::TLM_BURST_ERROR_RESPONSE);
}

TEST_F(MemSocketTest, AWriteIntoABlockIsRefusedAndCountedAReadIsNot) {
    std::vector<std::uint8_t> data(64, 0xAB);
    ASSERT_EQ(access(kWrite, 100 * 64, data), tlm::TLM_OK_RESPONSE);
    m_bench.load({key_of(1)});
    EXPECT_EQ(access(kWrite, 100 * 64, data), tlm::TLM_GENERIC_ERROR_RESPONSE);
    EXPECT_EQ(access(kRead, 100 * 64, data), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(access(kWrite, kBlock.count, data), tlm::TLM_OK_RESPONSE) << "the frame behind it";
    EXPECT_EQ(m_bench.card.mem.core().counters().refused_writes, 1U);
    ASSERT_EQ(m_bench.finish(m_bench.host.intent(Opcode::kDiscard, key_of(1))).status,
              engine::Status::kOk);
    EXPECT_EQ(access(kWrite, 100 * 64, data), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(m_bench.card.mem.core().counters().refused_writes, 1U);
}

TEST_F(MemSocketTest, DebugAccessTakesNoTimeAndCrossesLines) {
    std::vector<std::uint8_t> data = pattern(5, {1'000});
    tlm::tlm_generic_payload payload;
    payload.set_command(kWrite);
    payload.set_address(777);
    payload.set_data_ptr(data.data());
    payload.set_data_length(1'000);
    EXPECT_EQ(m_bench.host.mem->transport_dbg(payload), 1'000U);
    std::vector<std::uint8_t> back(1'000);
    payload.set_command(kRead);
    payload.set_data_ptr(back.data());
    EXPECT_EQ(m_bench.host.mem->transport_dbg(payload), 1'000U);
    EXPECT_EQ(back, data);
    payload.set_address(mapped_capacity(config()).count - 999);
    EXPECT_EQ(m_bench.host.mem->transport_dbg(payload), 999U) << "up to the end of the map";
    payload.set_address(mapped_capacity(config()).count);
    EXPECT_EQ(m_bench.host.mem->transport_dbg(payload), 0U);
    payload.set_address(0);
    payload.set_command(tlm::TLM_IGNORE_COMMAND);
    EXPECT_EQ(m_bench.host.mem->transport_dbg(payload), 0U);
    EXPECT_FALSE(sc_core::sc_pending_activity()) << "no side effects";
}

TEST_F(MemSocketTest, DmiIsRefused) {
    tlm::tlm_generic_payload payload;
    std::vector<std::uint8_t> data(8);
    test::set_up(payload, kRead, 0, data.data(), 8);
    payload.set_dmi_allowed(true);
    sc_core::sc_time delay;
    m_bench.host.mem->b_transport(payload, delay);
    EXPECT_FALSE(payload.is_dmi_allowed());
    tlm::tlm_dmi dmi;
    EXPECT_FALSE(m_bench.host.mem->get_direct_mem_ptr(payload, dmi));
}

TEST_F(MemSocketTest, AnIdleReadIsRequestDramAndData) {
    // A flit up, 56.6 ns, and the two flits that hold five slots back; each way protocol layers and
    // wire, 25 ns.
    const cxl::Link link(config().link);
    const Time fixed = Time{56'600} + Time::from_ns(50);
    const Time expected = fixed + link.serialisation(68 + 2 * 68);
    const Time read = time_of(kRead, 0);
    EXPECT_NEAR(static_cast<double>(read.ps), static_cast<double>(expected.ps), 20);
    EXPECT_EQ(time_of(kRead, 128, 1), read) << "a byte costs a line";
    EXPECT_NEAR(time_of(kWrite, 320).us() * 1e3,
                (fixed + link.serialisation(2 * 68 + 68)).us() * 1e3, 0.02);
}

TEST_F(MemSocketTest, TheAnnotatedDelayIsWhenTheAccessBegins) {
    std::vector<std::uint8_t> data(64);
    sc_core::sc_time delay = to_sc_time(Time::from_us(3));
    const Time idle = time_of(kRead, 0);
    Bench::drain();
    ASSERT_EQ(m_bench.host.access(kRead, 64, data, delay), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(from_sc_time(delay), Time::from_us(3) + idle);
}

TEST_F(MemSocketTest, ReadsInARowReachTheWiresBandwidth) {
    constexpr std::uint64_t kLines = 1'000;
    sc_core::sc_time last;
    sc_core::sc_time first;
    std::vector<std::uint8_t> data(64);
    for (std::uint64_t i = 0; i < kLines; ++i) {
        sc_core::sc_time delay;
        (void)m_bench.host.access(kRead, i * 64, data, delay);
        EXPECT_GT(delay, last);
        last = delay;
        if (i == 0) first = delay;
    }
    const Time span = from_sc_time(last - first);
    EXPECT_NEAR(64.0 * (kLines - 1) / static_cast<double>(span.ps) * 1e3, 26.36, 0.2636);
}

TEST_F(MemSocketTest, NothingIsPendingOnceTheHostIsQuiet) {
    (void)time_of(kRead, 0);
    EXPECT_TRUE(sc_core::sc_pending_activity()) << "its share of the link is measured";
    Bench::drain();
    EXPECT_FALSE(sc_core::sc_pending_activity());
    EXPECT_LT(now(), Time::from_us(10));
}

TEST_F(MemSocketTest, RegistersAreEightBytesWide) {
    std::uint64_t value = 0;
    tlm::tlm_generic_payload payload;
    const auto read = [&](std::uint64_t offset, unsigned length) {
        test::set_up(payload, kRead, offset, &value, length);
        sc_core::sc_time delay;
        m_bench.host.mmio->b_transport(payload, delay);
        if (payload.is_response_ok()) {
            EXPECT_EQ(from_sc_time(delay), Time::from_ns(740));
        }
        return payload.get_response_status();
    };
    EXPECT_EQ(read(0, 8), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(value, management::kRegisterId);
    EXPECT_EQ(read(0x10, 8), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(value, kBlock.count * 16);
    EXPECT_EQ(read(0, 4), tlm::TLM_BURST_ERROR_RESPONSE);
    EXPECT_EQ(read(0x40, 8), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    EXPECT_FALSE(m_bench.host.write_register(0, 1));
    // A bad doorbell is posted: the card refuses it when it gets there.
    EXPECT_TRUE(m_bench.host.write_register(
        management::queue_register(0, management::QueueRegister::kSubmissionTail), 1u << 20));
    EXPECT_EQ(m_bench.card.refused_doorbells(), 0U);
    Bench::drain();
    EXPECT_EQ(m_bench.card.refused_doorbells(), 1U);
}

}  // namespace
}  // namespace kvplane::card
