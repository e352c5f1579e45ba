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

class AtTest : public MemTargetTest, public testing::WithParamInterface<AtCase> {};

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
    sc_core::sc_start(sc_core::sc_time(20, sc_core::SC_MS));
    for (const auto& initiator : m_initiators) {
        EXPECT_TRUE(initiator->finished()) << initiator->answered;
        EXPECT_EQ(initiator->errors, 0U);
        EXPECT_EQ(initiator->held(), 0U) << "payloads that nobody released";
    }
    EXPECT_EQ(m_target->answers(), 3000U);
    EXPECT_EQ(m_target->in_flight(), 0U);
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

// --- HDM-DB -----------------------------------------------------------------------------------

class SnoopedHost final : public SnoopedHostIf {
public:
    void snooped(const Snoop& snoop) override { snoops.push_back(snoop); }
    void conflict_acknowledged(std::uint16_t tag) override { acknowledged.push_back(tag); }
    std::vector<Snoop> snoops;
    std::vector<std::uint16_t> acknowledged;
};

class CoherentTest : public MemTargetTest {
protected:
    void build_coherent(bool loose = true, const MemTargetConfig& config = {}) {
        LinkConfig link;
        link.flit = FlitLayout::k256BStandardHbr;
        build(config, link, HdmDecoders::kBackInvalidate);
        m_target->connect(host);
        if (loose) bind_loose();
    }
    /// The host takes a line exclusively.
    void take(std::uint64_t address) {
        MemExtension extension;
        extension.meta_field = MetaField::kMeta0State;
        extension.meta_value = MetaValue::kAny;
        extension.snoop = SnpType::kSnpInv;
        read(address, 64, &extension);
        EXPECT_EQ(extension.ndr, Opcode::kCmpE);
        EXPECT_EQ(extension.drs, Opcode::kMemData);
    }
    void wait() { sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_US)); }

    SnoopedHost host;
};

TEST_F(CoherentTest, TheCardTakesALineBackWithASnoop) {
    build_coherent();
    EXPECT_TRUE(m_target->claim({64}, true));
    wait();
    EXPECT_TRUE(host.snoops.empty()) << "the host never had the line";
    take(kBase + 64);
    EXPECT_EQ(m_target->core().directory().host_state({64}), HostState::kExclusive);
    EXPECT_TRUE(m_target->claim({64}, true));
    EXPECT_TRUE(host.snoops.empty());
    wait();
    ASSERT_EQ(host.snoops.size(), 1U);
    EXPECT_EQ(host.snoops[0].opcode, Opcode::kBiSnpInv);
    EXPECT_FALSE(m_target->claim({64}, true)) << "one snoop a line";
    read(kBase + 64);
    EXPECT_EQ(status, tlm::TLM_GENERIC_ERROR_RESPONSE) << "loosely timed, behind a snoop";
    EXPECT_FALSE(m_target->respond(host.snoops[0].tag, Opcode::kBiRspS)) << "Inv leaves nothing";
    EXPECT_TRUE(m_target->respond(host.snoops[0].tag, Opcode::kBiRspI));
    EXPECT_FALSE(m_target->respond(host.snoops[0].tag, Opcode::kBiRspI)) << "answered twice";
    EXPECT_EQ(m_target->core().directory().host_state({64}), HostState::kExclusive) << "on its way";
    wait();
    EXPECT_FALSE(m_target->respond(host.snoops[0].tag, Opcode::kBiRspI)) << "and later";
    EXPECT_EQ(m_target->core().directory().host_state({64}), HostState::kInvalid);
}

TEST_F(CoherentTest, RequestsWaitBehindASnoopAndWritesDoNot) {
    build_coherent();
    take(kBase);
    ASSERT_TRUE(m_target->claim({0}, true));
    // A write-back passes the snoop; a read of the line does not.
    EXPECT_TRUE(m_target->core().directory().blocks({0}, Channel::kReq));
    EXPECT_FALSE(m_target->core().directory().blocks({0}, Channel::kRwD));
    EXPECT_FALSE(m_target->core().directory().blocks({64}, Channel::kReq));
    wait();
    ASSERT_EQ(host.snoops.size(), 1U);
    const std::uint16_t tag = host.snoops[0].tag;
    EXPECT_TRUE(m_target->conflict(tag));
    EXPECT_FALSE(m_target->conflict(tag)) << "one conflict a snoop";
    EXPECT_FALSE(m_target->respond(tag, Opcode::kBiRspI)) << "not before the acknowledgement";
    sc_core::sc_start(sc_core::sc_time(50, sc_core::SC_NS));
    EXPECT_TRUE(host.acknowledged.empty());
    EXPECT_FALSE(m_target->core().directory().blocks({0}, Channel::kReq));
    wait();
    EXPECT_EQ(host.acknowledged, std::vector<std::uint16_t>{tag});
    EXPECT_TRUE(m_target->respond(tag, Opcode::kBiRspI));
    wait();
    EXPECT_EQ(m_target->core().directory().conflicts(), 1U);
    EXPECT_EQ(m_target->core().directory().under_way(), 0U);
}

TEST_F(CoherentTest, FourPhaseRequestsGoOnOnceTheSnoopIsAnswered) {
    build_coherent(false);
    m_target->core().directory().granted({0}, HostState::kExclusive);
    AtPlan plan;
    plan.lines = 1;
    plan.requests = 50;
    AtInitiator& initiator = add(plan);
    ASSERT_TRUE(m_target->claim({0}, true));
    wait();
    ASSERT_EQ(host.snoops.size(), 1U);
    EXPECT_FALSE(initiator.finished());
    EXPECT_TRUE(m_target->respond(host.snoops[0].tag, Opcode::kBiRspI));
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
    EXPECT_TRUE(initiator.finished());
}

/// Snoops travel on the wire, in each fidelity, behind what is on it; a reset loses them.
class SnoopTest : public CoherentTest, public testing::WithParamInterface<LinkFidelity> {};

TEST_P(SnoopTest, TravelsAsMessagesDo) {
    MemTargetConfig config;
    config.fidelity = GetParam();
    build_coherent(false, config);
    m_target->core().directory().granted({0}, HostState::kExclusive);
    ASSERT_TRUE(m_target->claim({0}, true));
    const Time begin = now();
    while (host.snoops.empty() && now() - begin < Time::from_us(1)) {
        sc_core::sc_start(sc_core::sc_time(100, sc_core::SC_PS));
    }
    ASSERT_EQ(host.snoops.size(), 1U);
    // Processing and propagation, and a flit at most.
    EXPECT_GT(now() - begin, Time::from_ns(25));
    EXPECT_LT(now() - begin, Time::from_ns(25 + 5));
    ASSERT_TRUE(m_target->conflict(host.snoops[0].tag));
    wait();
    ASSERT_EQ(host.acknowledged.size(), 1U);
    ASSERT_TRUE(m_target->respond(host.snoops[0].tag, Opcode::kBiRspI));
    m_target->reset();
    map(HdmDecoders::kBackInvalidate);
    m_target->core().directory().granted({0}, HostState::kExclusive);
    ASSERT_TRUE(m_target->claim({0}, true)) << "the tag is free again";
    ASSERT_TRUE(m_target->core().directory().takes(host.snoops[0].tag, Opcode::kBiRspI));
    wait();
    EXPECT_EQ(host.snoops.size(), 2U);
    EXPECT_EQ(m_target->core().directory().under_way(), 1U) << "the old answer is lost";
    ASSERT_TRUE(m_target->respond(host.snoops[1].tag, Opcode::kBiRspI));
    wait();
    EXPECT_EQ(m_target->core().directory().under_way(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Fidelity, SnoopTest,
                         testing::Values(LinkFidelity::kBurst, LinkFidelity::kLine),
                         [](const auto& row) {
                             return row.param == LinkFidelity::kBurst ? "Burst" : "Line";
                         });

TEST_F(MemTargetTest, BackInvalidateIsRefusedOn68ByteFlits) {
    build();
    HdmDecoders& decoders = m_target->core().decoders();
    decoders.write(HdmDecoders::kFirst + 0x10, 0);
    decoders.write(HdmDecoders::kFirst + 0x10, HdmDecoders::kBackInvalidate | HdmDecoders::kCommit);
    EXPECT_EQ(decoders.error(0), CommitError::kBackInvalidate);
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
