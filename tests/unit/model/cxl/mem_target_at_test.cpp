// SPDX-License-Identifier: Apache-2.0
/// The front end with four phases, its faults, and device-coherent memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/unit/model/cxl/mem_target_bench.h"

namespace kvplane::cxl {
namespace {

// --- four phases ------------------------------------------------------------------------------

struct AtCase {
    LinkFidelity fidelity;
    std::uint64_t stall;
    std::uint32_t depth;
};

class AtTest : public MemTargetTest, public testing::WithParamInterface<AtCase> {
protected:
    void run_to_the_end() {
        sc_core::sc_start(sc_core::sc_time(20, sc_core::SC_MS));
        for (const auto& initiator : m_initiators) {
            EXPECT_TRUE(initiator->finished()) << initiator->answered;
            EXPECT_EQ(initiator->errors, 0U);
            EXPECT_EQ(initiator->held(), 0U) << "payloads that nobody released";
        }
        EXPECT_EQ(m_target->in_flight(), 0U);
    }
};

/// Several initiators, requests to one line at a time, random stalls of every phase, few slots.
TEST_P(AtTest, EveryRequestIsAnsweredOnceWithTheRightData) {
    MemTargetConfig config;
    config.fidelity = GetParam().fidelity;
    config.depth = GetParam().depth;
    build(config);
    for (int i = 0; i < 3; ++i) {
        AtPlan plan;
        plan.stall = GetParam().stall;
        plan.extension = i != 1;
        add(plan);
    }
    run_to_the_end();
    EXPECT_EQ(m_target->answers(), 3000U);
}

TEST_P(AtTest, AResetInMidTrafficAnswersEverythingOnce) {
    MemTargetConfig config;
    config.fidelity = GetParam().fidelity;
    config.depth = GetParam().depth;
    build(config);
    for (int i = 0; i < 3; ++i) {
        AtPlan plan;
        plan.stall = GetParam().stall;
        plan.expect_errors = true;
        add(plan);
    }
    for (int reset = 0; reset < 20; ++reset) {
        sc_core::sc_start(sc_core::sc_time(777 + 13 * reset, sc_core::SC_NS));
        m_target->reset();
        if (reset % 2 == 0) map();
    }
    map();
    sc_core::sc_start(sc_core::sc_time(20, sc_core::SC_MS));
    std::uint64_t errors = 0;
    for (const auto& initiator : m_initiators) {
        EXPECT_TRUE(initiator->finished()) << initiator->answered;
        EXPECT_EQ(initiator->held(), 0U);
        errors += initiator->errors;
    }
    EXPECT_GT(errors, 0U);
    EXPECT_EQ(m_target->in_flight(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, AtTest,
    testing::Values(AtCase{LinkFidelity::kBurst, 0, 64}, AtCase{LinkFidelity::kBurst, 50'000, 64},
                    AtCase{LinkFidelity::kBurst, 50'000, 2}, AtCase{LinkFidelity::kLine, 0, 64},
                    AtCase{LinkFidelity::kLine, 50'000, 64}, AtCase{LinkFidelity::kLine, 50'000, 2},
                    AtCase{LinkFidelity::kLine, 5'000'000, 1}));

TEST_F(MemTargetTest, ACrcStormReachesNobodysData) {
    MemTargetConfig config;
    config.fidelity = LinkFidelity::kLine;
    build(config);
    m_target->set_faults({200'000, 3});
    for (int i = 0; i < 2; ++i) add({});
    sc_core::sc_start(sc_core::sc_time(20, sc_core::SC_MS));
    for (const auto& initiator : m_initiators) {
        EXPECT_TRUE(initiator->finished());
        EXPECT_EQ(initiator->errors, 0U);
    }
}

TEST_F(MemTargetTest, StarvedOfCreditsItStillAnswers) {
    MemTargetConfig config;
    config.fidelity = LinkFidelity::kLine;
    LinkConfig link;
    link.request_credits = link.write_credits = link.response_credits = 1;
    build(config, link);
    add({});
    sc_core::sc_start(sc_core::sc_time(20, sc_core::SC_MS));
    EXPECT_TRUE(m_initiators[0]->finished());
}

/// A host that never takes an answer: what is accepted stays within the response buffers.
TEST_F(MemTargetTest, AcceptanceReservesAResponseBuffer) {
    MemTargetConfig config;
    config.depth = 4;
    build(config);
    AtPlan plan;
    plan.stall = 1'000'000'000'000;  // about a second
    plan.lines = 64;
    plan.seed = 5;
    add(plan);
    add({});
    sc_core::sc_start(sc_core::sc_time(100, sc_core::SC_US));
    EXPECT_LE(m_target->in_flight(), 4U);
}

TEST_F(MemTargetTest, PhasesOutOfOrderAreReported) {
    build();
    bind_loose();
    test::LinePool pool(false);
    auto& first = pool.take(tlm::TLM_READ_COMMAND, kBase);
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    EXPECT_THROW(m_loose->socket->nb_transport_fw(first, phase, delay), sc_core::sc_report);
    phase = tlm::BEGIN_REQ;
    delay = sc_core::sc_time(5, sc_core::SC_NS);
    EXPECT_EQ(m_loose->socket->nb_transport_fw(first, phase, delay), tlm::TLM_ACCEPTED);
    auto& second = pool.take(tlm::TLM_READ_COMMAND, kBase);
    phase = tlm::BEGIN_REQ;
    EXPECT_THROW(m_loose->socket->nb_transport_fw(second, phase, delay), sc_core::sc_report);
    tlm::tlm_generic_payload stack;
    stack.set_address(kBase);
    phase = tlm::BEGIN_REQ;
    EXPECT_THROW(m_loose->socket->nb_transport_fw(stack, phase, delay), sc_core::sc_report);
}

/// Said twice, the second time with a delay: the first one counts.
TEST_F(MemTargetTest, ASecondEndOfAResponseIsReported) {
    build();
    bind_loose();
    test::LinePool pool(false);
    auto& payload = pool.take(tlm::TLM_READ_COMMAND, kBase);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    EXPECT_EQ(m_loose->socket->nb_transport_fw(payload, phase, delay), tlm::TLM_UPDATED);
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_US));
    phase = tlm::END_RESP;
    delay = sc_core::sc_time(5, sc_core::SC_NS);
    EXPECT_EQ(m_loose->socket->nb_transport_fw(payload, phase, delay), tlm::TLM_COMPLETED);
    phase = tlm::END_RESP;
    EXPECT_THROW(m_loose->socket->nb_transport_fw(payload, phase, delay), sc_core::sc_report);
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_US));
    EXPECT_EQ(m_target->in_flight(), 0U);
}

/// Nothing comes and nothing goes while it is down; then all goes on.
TEST_P(AtTest, ALinkThatIsDownHoldsRequestsAndAnswers) {
    MemTargetConfig config;
    config.fidelity = GetParam().fidelity;
    config.depth = GetParam().depth;
    build(config);
    for (int i = 0; i < 3; ++i) {
        AtPlan plan;
        plan.stall = GetParam().stall;
        add(plan);
    }
    const auto answered = [&] {
        std::uint64_t sum = 0;
        for (const auto& initiator : m_initiators) sum += initiator->answered;
        return sum;
    };
    for (int stop = 0; stop < 10; ++stop) {
        sc_core::sc_start(sc_core::sc_time(777 + 13 * stop, sc_core::SC_NS));
        m_target->stop_link(true);
        // Answers that are on the response channel end.
        sc_core::sc_start(sc_core::sc_time(20, sc_core::SC_US));
        const std::uint64_t before = answered();
        sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
        EXPECT_EQ(answered(), before);
        m_target->stop_link(false);
    }
    run_to_the_end();
}

TEST_F(MemTargetTest, AResetOfALinkThatIsDownAnswersWhatIsHeld) {
    build();
    AtPlan plan;
    plan.expect_errors = true;
    AtInitiator& host = add(plan);
    sc_core::sc_start(sc_core::sc_time(500, sc_core::SC_NS));
    m_target->stop_link(true);
    sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_US));
    const std::uint64_t before = host.answered;
    const std::uint32_t out = host.held();
    EXPECT_GT(out, 4U);
    m_target->reset();
    map();
    sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_US));
    EXPECT_EQ(host.answered, before + out);
    EXPECT_EQ(host.errors, out);
    m_target->stop_link(false);
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
    EXPECT_TRUE(host.finished());
}

/// One place in the card and four hosts that always want it: each gets its turn.
TEST_F(MemTargetTest, HostsAreLetInByTurns) {
    MemTargetConfig config;
    config.depth = 1;
    build(config);
    for (int i = 0; i < 4; ++i) add({});
    while (std::none_of(m_initiators.begin(), m_initiators.end(),
                        [](const auto& initiator) { return initiator->answered > 400; })) {
        sc_core::sc_start(sc_core::sc_time(100, sc_core::SC_NS));
    }
    for (const auto& initiator : m_initiators) EXPECT_GT(initiator->answered, 380U);
}

/// What the host told the card of its lines is gone with a reset that takes the link down.
TEST_F(MemTargetTest, AResetForgetsMetaData) {
    build();
    bind_loose();
    MemExtension host;
    host.meta_field = MetaField::kMeta0State;
    host.meta_value = MetaValue::kShared;
    read(kBase, 64, &host);
    read(kBase, 64, &host);
    EXPECT_EQ(host.answer_meta_value, MetaValue::kShared);
    m_target->reset();
    map();
    read(kBase, 64, &host);
    EXPECT_EQ(host.answer_meta_value, MetaValue::kAny);
}

/// Errors that are put on the wire stay on it through a reset.
TEST_F(MemTargetTest, AResetKeepsTheLinkAsBadAsItIs) {
    MemTargetConfig config;
    config.fidelity = LinkFidelity::kLine;
    build(config);
    struct Errors final : LinkErrorListener {
        void crc_errors(std::uint64_t count) override { seen += count; }
        std::uint64_t seen = 0;
    } errors;
    m_target->listen(errors);
    m_target->set_faults({200'000, 3});
    m_target->reset();
    map();
    add({});
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
    EXPECT_TRUE(m_initiators[0]->finished());
    EXPECT_GT(errors.seen, 10U);
}

/// On the wire a partial write carries its byte enables: 200 of them take more flits than as many
/// whole lines.
TEST_F(MemTargetTest, PartialWritesCarryTheirByteEnables) {
    MemTargetConfig config;
    config.fidelity = LinkFidelity::kLine;
    std::array<Time, 2> ends{};
    for (const bool partial : {false, true}) {
        m_target.reset();
        fresh_kernel();
        memory = test::PlainMemory(kLatency);
        build(config);
        class Writer final : public sc_core::sc_module {
        public:
            explicit Writer(sc_core::sc_module_name name) : sc_module(name) {
                socket.register_nb_transport_bw(this, &Writer::backward);
            }
            tlm_utils::simple_initiator_socket<Writer> socket{"socket"};
            std::uint64_t answers = 0;
            Time last;

        private:
            tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                        sc_core::sc_time&) {
                EXPECT_EQ(phase, tlm::BEGIN_RESP);
                EXPECT_TRUE(payload.is_response_ok());
                ++answers;
                last = now();
                return tlm::TLM_COMPLETED;
            }
        } writer("writer");
        writer.socket.bind(m_target->socket);
        sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_PS));
        test::LinePool pool(false);
        std::array<unsigned char, 2> enables{TLM_BYTE_ENABLED, TLM_BYTE_DISABLED};
        for (std::uint64_t i = 0; i < 60; ++i) {
            auto& payload = pool.take(tlm::TLM_WRITE_COMMAND, kBase + 64 * i);
            if (partial) {
                payload.set_byte_enable_ptr(enables.data());
                payload.set_byte_enable_length(2);
            }
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
            EXPECT_EQ(writer.socket->nb_transport_fw(payload, phase, delay), tlm::TLM_UPDATED);
        }
        sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_US));
        EXPECT_EQ(writer.answers, 60U);
        ends[partial ? 1 : 0] = writer.last;
        m_target.reset();
    }
    // A slot more for each: at 63 GB/s on x16, 60 x 17 B are 16 ns.
    EXPECT_GT(ends[1] - ends[0], Time::from_ns(8));
}

TEST(FlushCostTest, LinesCostOneAfterAnother) {
    const FlushCost cost;
    EXPECT_EQ(cost.of({0}), Time{});
    EXPECT_EQ(cost.of({1}), Time::from_ns(346));
    EXPECT_EQ(cost.of({64}), Time::from_ns(346));
    EXPECT_EQ(cost.of({65}), Time::from_ns(346) + Time{18'286});
    // 1 MiB at about 3.5 GB/s.
    EXPECT_NEAR(1048576 / cost.of(Bytes::from_mib(1)).us() / 1e3, 3.5, 0.01);
    EXPECT_TRUE(host_must_flush(Region::kHdmH));
    EXPECT_FALSE(host_must_flush(Region::kHdmDb));
    EXPECT_FALSE(host_must_flush(Region::kPrivate));
}

}  // namespace
}  // namespace kvplane::cxl
