// SPDX-License-Identifier: Apache-2.0
#include "model/memory/ddr5_memory.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"
#include "model/common/sim_time.h"
#include "tests/support/systemc_test.h"
#include "tests/support/tlm_pool.h"

namespace kvplane::memory {
namespace {

/// Sends a list of requests, each as soon as the port takes it, and ends responses at once or late.
class Initiator final : public sc_core::sc_module {
public:
    struct Item {
        tlm::tlm_command command = tlm::TLM_READ_COMMAND;
        std::uint64_t address = 0;
        unsigned length = 64;
        Time delay;  ///< annotated to BEGIN_REQ
    };
    explicit Initiator(sc_core::sc_module_name name) : sc_module(name) {
        socket.register_nb_transport_bw(this, &Initiator::backward);
        SC_HAS_PROCESS(Initiator);
        SC_METHOD(send);
        sensitive << m_go;
        SC_METHOD(end);
        sensitive << m_end;
        dont_initialize();
    }
    tlm_utils::simple_initiator_socket<Initiator> socket{"socket"};

    std::vector<Item> items;
    std::uint32_t outstanding = 1;
    Time end_after;  ///< END_RESP follows BEGIN_RESP by so much; zero: at once
    Time end_delay;  ///< annotated to END_RESP, which is then said again
    int reports = 0;

    test::LinePool pool{false};
    std::vector<Time> answered;
    std::vector<tlm::tlm_response_status> statuses;
    std::uint32_t held_back = 0;  ///< requests whose END_REQ came later

private:
    void send() {
        while (!m_requesting && m_in_flight < outstanding && m_sent < items.size()) {
            const Item& item = items[m_sent++];
            tlm::tlm_generic_payload& payload = pool.take(item.command, item.address);
            payload.set_data_length(item.length);
            ++m_in_flight;
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            sc_core::sc_time delay = to_sc_time(item.delay);
            const auto status = socket->nb_transport_fw(payload, phase, delay);
            m_requesting = status == tlm::TLM_ACCEPTED;
            if (m_requesting) ++held_back;
        }
    }
    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time&) {
        if (phase == tlm::END_REQ) {
            EXPECT_TRUE(m_requesting);
            m_requesting = false;
            m_go.notify();
            return tlm::TLM_ACCEPTED;
        }
        EXPECT_EQ(phase, tlm::BEGIN_RESP);
        EXPECT_EQ(m_ending, nullptr) << "one response at a time";
        answered.push_back(now());
        statuses.push_back(payload.get_response_status());
        --m_in_flight;
        m_go.notify(sc_core::SC_ZERO_TIME);
        if (end_after != Time{}) {
            m_ending = &payload;
            m_end.notify(to_sc_time(end_after));
            return tlm::TLM_ACCEPTED;
        }
        payload.release();
        phase = tlm::END_RESP;
        return tlm::TLM_COMPLETED;
    }
    void end() {
        tlm::tlm_generic_payload& payload = *m_ending;
        m_ending = nullptr;
        tlm::tlm_phase phase = tlm::END_RESP;
        sc_core::sc_time delay = to_sc_time(end_delay);
        EXPECT_EQ(socket->nb_transport_fw(payload, phase, delay), tlm::TLM_COMPLETED);
        if (end_delay != Time{}) {
            phase = tlm::END_RESP;
            EXPECT_THROW(socket->nb_transport_fw(payload, phase, delay), sc_core::sc_report);
            ++reports;
        }
        payload.release();
    }

    std::size_t m_sent = 0;
    std::uint32_t m_in_flight = 0;
    bool m_requesting = false;
    tlm::tlm_generic_payload* m_ending = nullptr;
    sc_core::sc_event m_go;
    sc_core::sc_event m_end;
};

class Ddr5MemoryTest : public test::SystemCTest {
protected:
    void build(const Ddr5Config& config) {
        memory = std::make_unique<Ddr5Memory>("memory", config, &bytes);
        initiator = std::make_unique<Initiator>("initiator");
        initiator->socket.bind(memory->socket);
    }
    /// For loosely timed calls from outside of a process.
    void build_and_start(const Ddr5Config& config) {
        build(config);
        sc_core::sc_start(1, sc_core::SC_PS);
    }
    void add(tlm::tlm_command command, std::uint64_t address, unsigned length = 64,
             Time delay = {}) {
        initiator->items.push_back({command, address, length, delay});
    }
    SparseStore bytes;
    std::unique_ptr<Ddr5Memory> memory;
    std::unique_ptr<Initiator> initiator;
};

TEST_F(Ddr5MemoryTest, AReadTakesWhatItsSubchannelTakes) {
    build({});
    add(tlm::TLM_READ_COMMAND, 0);
    add(tlm::TLM_READ_COMMAND, 64);
    add(tlm::TLM_READ_COMMAND, 0, 64, Time::from_ns(7));
    sc_core::sc_start();
    const DramClock clock(memory->config().timing.speed);
    const Time controller = memory->config().controller;
    ASSERT_EQ(initiator->answered.size(), 3U);
    EXPECT_EQ(initiator->answered[0], clock.at(1 + 39 + 40 + 8) + controller);
    const auto hit = [&](Time sent) {
        return clock.at(clock.first_at(sent) + 1 + 48) + controller;
    };
    EXPECT_EQ(initiator->answered[1], hit(initiator->answered[0]));
    EXPECT_EQ(initiator->answered[2], hit(initiator->answered[1] + Time::from_ns(7)));
    EXPECT_EQ(initiator->pool.out(), 0U);
    EXPECT_EQ(memory->in_flight(), 0U);
}

TEST_F(Ddr5MemoryTest, EveryRequestIsAnsweredOnceUnderBackPressure) {
    Ddr5Config config;
    config.channels = 2;
    config.read_queue = 4;
    config.write_queue = 4;
    config.write_high = 3;
    config.write_low = 1;
    build(config);
    RandomStream random(1, "memory");
    for (int i = 0; i < 5'000; ++i) {
        const std::uint64_t kind = random.uniform(10);
        add(kind < 6 ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND,
            64 * random.uniform(config.capacity().count / 64), kind == 9 ? 8 : 64,
            {static_cast<std::int64_t>(random.uniform(20) == 0 ? random.uniform(9'000) : 0)});
    }
    initiator->outstanding = 64;
    initiator->end_after = Time{500};
    sc_core::sc_start();
    EXPECT_EQ(initiator->answered.size(), 5'000U);
    for (const auto status : initiator->statuses) EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(initiator->pool.out(), 0U);
    EXPECT_EQ(memory->in_flight(), 0U);
    EXPECT_GT(initiator->held_back, 500U);
    const Ddr5Counters counters = memory->counters();
    EXPECT_EQ(counters.requests, 5'000U);
    EXPECT_EQ(counters.answers, 5'000U);
}

/// A scrub may fall due in the cycle in which a request comes to a queue with one place left.
TEST_F(Ddr5MemoryTest, APatrolScrubTakesNoPlaceOfTheQueue) {
    for (const DramPreset preset : {DramPreset::kDdr5At5600B, DramPreset::kDdr4At3200AA}) {
        for (const std::uint32_t depth : {2U, 4U, 32U}) {
            for (const Time interval : {Time::from_ns(100), Time::from_us(1)}) {
                for (std::uint64_t seed = 1; seed <= 8; ++seed) {
                    Ddr5Config config = Ddr5Config::of(preset);
                    config.read_queue = depth;
                    config.scrub_interval = interval;
                    build(config);
                    RandomStream random(seed, "scrub");
                    for (int i = 0; i < 1'500; ++i) {
                        add(random.uniform(4) == 0 ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                            64 * random.uniform(config.capacity().count / 64), 64,
                            {static_cast<std::int64_t>(random.uniform(3'000))});
                    }
                    initiator->outstanding = 64;
                    ASSERT_NO_THROW(sc_core::sc_start()) << depth << ", seed " << seed;
                    EXPECT_EQ(initiator->answered.size(), 1'500U);
                    EXPECT_GT(memory->counters().scrubs, 0U);
                    initiator.reset();
                    memory.reset();
                    fresh_kernel();
                }
            }
        }
    }
}

TEST_F(Ddr5MemoryTest, SubchannelsWorkAtOnce) {
    const auto time = [&](std::uint32_t channels) {
        Ddr5Config config;
        config.channels = channels;
        config.refresh = DramRefreshMode::kNone;  // subchannels take turns at it
        build(config);
        for (std::uint64_t i = 0; i < 4'000; ++i) add(tlm::TLM_READ_COMMAND, 64 * i);
        initiator->outstanding = 256;
        sc_core::sc_start();
        const Time end = initiator->answered.back();
        initiator.reset();
        memory.reset();
        fresh_kernel();
        return static_cast<double>(end.ps);
    };
    const double one = time(1);
    EXPECT_NEAR(one / time(2), 2, 0.1);
    EXPECT_GT(4'000 * 64 / (one * 1e-3), 38.4 * 0.85);
    EXPECT_LT(4'000 * 64 / (one * 1e-3), 38.4);
}

/// One initiator waits for room in a subchannel; another's lines of the next one pass it.
TEST_F(Ddr5MemoryTest, AnInitiatorThatWaitsHoldsUpNoOther) {
    Ddr5Config config;
    config.interleave = kLine;
    const auto last = [&](bool crowded) {
        build(config);
        Initiator other("other");
        other.socket.bind(memory->socket);
        for (std::uint64_t i = 0; crowded && i < 500; ++i) add(tlm::TLM_READ_COMMAND, 128 * i);
        initiator->outstanding = 500;
        for (std::uint64_t i = 0; i < 10; ++i) {
            other.items.push_back({.address = 128 * i + 64, .delay = {}});
        }
        sc_core::sc_start();
        EXPECT_EQ(initiator->held_back > 100, crowded);
        EXPECT_EQ(other.held_back, 0U);
        const Time end = other.answered.back();
        initiator.reset();
        memory.reset();
        return end;
    };
    const Time alone = last(false);
    fresh_kernel();
    EXPECT_EQ(last(true), alone);
}

/// Where two wait for room, the one that was bound first goes first; of both, all are answered.
TEST_F(Ddr5MemoryTest, TheFirstInitiatorGoesFirst) {
    Ddr5Config config;
    config.channels = 1;
    build(config);
    Initiator other("other");
    other.socket.bind(memory->socket);
    for (std::uint64_t i = 0; i < 2'000; ++i) {
        add(tlm::TLM_READ_COMMAND, 64 * i);
        other.items.push_back({.address = 64 * (2'000 + i), .delay = {}});
    }
    initiator->outstanding = other.outstanding = 200;
    sc_core::sc_start();
    ASSERT_EQ(initiator->answered.size(), 2'000U);
    ASSERT_EQ(other.answered.size(), 2'000U);
    EXPECT_LT(initiator->answered.back() * 5, other.answered.back() * 4);
    EXPECT_EQ(memory->in_flight(), 0U);
}

TEST_F(Ddr5MemoryTest, WhatIsNoLineIsRefused) {
    build({});
    const std::uint64_t end = memory->config().capacity().count;
    add(tlm::TLM_READ_COMMAND, 60, 8);
    add(tlm::TLM_WRITE_COMMAND, end);
    add(tlm::TLM_IGNORE_COMMAND, 0);
    add(tlm::TLM_READ_COMMAND, end - 8, 8);
    sc_core::sc_start();
    const std::vector<tlm::tlm_response_status> expected{
        tlm::TLM_BURST_ERROR_RESPONSE, tlm::TLM_ADDRESS_ERROR_RESPONSE,
        tlm::TLM_COMMAND_ERROR_RESPONSE, tlm::TLM_OK_RESPONSE};
    EXPECT_EQ(initiator->statuses, expected);
    EXPECT_EQ(initiator->pool.out(), 0U);
    EXPECT_EQ(memory->counters().requests, 1U);
}

TEST_F(Ddr5MemoryTest, LooseCallsKeepBytesAndTakeTheSameTime) {
    build_and_start({});
    test::LinePool pool(false);
    const auto call = [&](tlm::tlm_command command, std::uint64_t address, unsigned char fill,
                          std::int64_t at_ns) {
        tlm::tlm_generic_payload& payload = pool.take(command, address);
        std::memset(payload.get_data_ptr(), fill, 64);
        sc_core::sc_time delay(static_cast<double>(at_ns), sc_core::SC_NS);
        initiator->socket->b_transport(payload, delay);
        EXPECT_EQ(payload.get_response_status(), tlm::TLM_OK_RESPONSE);
        const unsigned char first = payload.get_data_ptr()[0];
        payload.release();
        return std::pair{first, from_sc_time(delay) - Time::from_ns(at_ns)};
    };
    EXPECT_EQ(call(tlm::TLM_WRITE_COMMAND, 640, 0x5A, 0).first, 0x5A);
    const auto [byte, latency] = call(tlm::TLM_READ_COMMAND, 640, 0, 1'000);
    EXPECT_EQ(byte, 0x5A);
    EXPECT_NEAR(static_cast<double>(latency.ps), 20'000 + 49 * 416.7, 500) << "the row is open";
    EXPECT_EQ(call(tlm::TLM_READ_COMMAND, 704, 1, 2'000).first, 0);

    tlm::tlm_generic_payload& payload = pool.take(tlm::TLM_READ_COMMAND, 640);
    EXPECT_EQ(initiator->socket->transport_dbg(payload), 64U);
    EXPECT_EQ(payload.get_data_ptr()[63], 0x5A);
    tlm::tlm_dmi dmi;
    EXPECT_FALSE(initiator->socket->get_direct_mem_ptr(payload, dmi));
    payload.release();
    EXPECT_EQ(memory->counters().requests, 3U);
}

/// Said twice, the second time before the first has had its time: reported, and released once.
TEST_F(Ddr5MemoryTest, ASecondEndOfAResponseIsReported) {
    build({});
    initiator->end_after = Time::from_us(1);
    initiator->end_delay = Time::from_ns(5);
    add(tlm::TLM_READ_COMMAND, 0);
    sc_core::sc_start(sc_core::sc_time(2, sc_core::SC_US));
    EXPECT_EQ(initiator->reports, 1);
    EXPECT_EQ(initiator->pool.out(), 0U);
}

TEST_F(Ddr5MemoryTest, HeatDoublesRefreshes) {
    build({});
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
    const std::uint64_t cool = memory->counters().refreshes;
    memory->set_thermal({.double_refresh = true});
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
    const auto hot = static_cast<double>(memory->counters().refreshes - cool);
    EXPECT_GT(cool, 100U);
    EXPECT_NEAR(hot, 2.0 * static_cast<double>(cool), 0.02 * hot);
}

TEST_F(Ddr5MemoryTest, EnablesOfNoLengthAreRefused) {
    build_and_start({});
    test::LinePool pool(false);
    tlm::tlm_generic_payload& payload = pool.take(tlm::TLM_WRITE_COMMAND, 0);
    unsigned char enable = TLM_BYTE_ENABLED;
    payload.set_byte_enable_ptr(&enable);
    sc_core::sc_time delay;
    initiator->socket->b_transport(payload, delay);
    EXPECT_EQ(payload.get_response_status(), tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    payload.release();
}

/// Enables that leave nothing out make no partial write.
TEST_F(Ddr5MemoryTest, AllBytesEnabledAreAWholeLine) {
    build_and_start({});
    test::LinePool pool(false);
    tlm::tlm_generic_payload& payload = pool.take(tlm::TLM_WRITE_COMMAND, 0);
    unsigned char enable = TLM_BYTE_ENABLED;
    payload.set_byte_enable_ptr(&enable);
    payload.set_byte_enable_length(1);
    sc_core::sc_time delay;
    initiator->socket->b_transport(payload, delay);
    payload.release();
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_US));
    EXPECT_EQ(memory->counters().modifies, 0U);
}

TEST_F(Ddr5MemoryTest, ByteEnablesMakeAWritePartial) {
    build_and_start({});
    test::LinePool pool(false);
    tlm::tlm_generic_payload& payload = pool.take(tlm::TLM_WRITE_COMMAND, 0);
    std::memset(payload.get_data_ptr(), 0xFF, 64);
    std::array<unsigned char, 2> enables{0xFF, 0x00};
    payload.set_byte_enable_ptr(enables.data());
    payload.set_byte_enable_length(2);
    sc_core::sc_time delay;
    initiator->socket->b_transport(payload, delay);
    payload.release();
    tlm::tlm_generic_payload& read = pool.take(tlm::TLM_READ_COMMAND, 0);
    EXPECT_EQ(initiator->socket->transport_dbg(read), 64U);
    EXPECT_EQ(read.get_data_ptr()[0], 0xFF);
    EXPECT_EQ(read.get_data_ptr()[1], 0x00);
    read.release();
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_US));
    EXPECT_EQ(memory->counters().modifies, 1U);
}

TEST_F(Ddr5MemoryTest, AnIdleMemoryHasNoEvents) {
    build({});
    add(tlm::TLM_READ_COMMAND, 0);
    add(tlm::TLM_WRITE_COMMAND, 64);
    sc_core::sc_start();
    EXPECT_LE(sc_core::sc_time_stamp(), sc_core::sc_time(1, sc_core::SC_US))
        << "nothing is pending after the last answer";
    EXPECT_LE(memory->events(), 4U);
}

TEST_F(Ddr5MemoryTest, AConfigThatCannotBeIsRefused) {
    Ddr5Config config;
    config.channels = 0;
    EXPECT_THROW(build(config), UserError);
}

}  // namespace
}  // namespace kvplane::memory
