// SPDX-License-Identifier: Apache-2.0
/// HDM-DB: the card takes lines back with snoops, and meets requests of the host for the same line.
#include "mem_target_bench.h"
#include "model/common/errors.h"

namespace kvplane::cxl {
namespace {

class SnoopedHost final : public SnoopedHostIf {
public:
    void snooped(const Snoop& snoop) override { snoops.push_back(snoop); }
    std::vector<Snoop> snoops;
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
    /// The host sends BIConflict; what answers it.
    std::optional<Opcode> conflict(std::uint16_t tag, std::uint64_t address = kBase,
                                   std::uint8_t ld_id = 0) {
        MemExtension extension;
        extension.ld_id = ld_id;
        extension.opcode = Opcode::kBiConflict;
        extension.tag = tag;
        access(tlm::TLM_IGNORE_COMMAND, address, line.data(), 64, &extension);
        return status == tlm::TLM_OK_RESPONSE ? extension.ndr : std::nullopt;
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
    EXPECT_FALSE(conflict(tag, kBase + 64)) << "of another line";
    EXPECT_FALSE(conflict(tag, kBase, 1)) << "of a device that is not there";
    EXPECT_TRUE(m_target->core().directory().blocks({0}, Channel::kReq)) << "refused is unchanged";
    EXPECT_EQ(conflict(tag), Opcode::kBiConflictAck);
    EXPECT_EQ(status, tlm::TLM_OK_RESPONSE);
    EXPECT_FALSE(conflict(tag)) << "one conflict a snoop";
    EXPECT_EQ(status, tlm::TLM_GENERIC_ERROR_RESPONSE);
    EXPECT_FALSE(m_target->core().directory().blocks({0}, Channel::kReq));
    EXPECT_TRUE(m_target->respond(tag, Opcode::kBiRspI));
    wait();
    EXPECT_EQ(m_target->core().directory().conflicts(), 1U);
    EXPECT_EQ(m_target->core().directory().under_way(), 0U);
    EXPECT_FALSE(conflict(tag)) << "nothing is snooped";
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

/// An initiator whose requests wait behind a snoop, and which then says so on the same channel.
class ConflictingHost final : public sc_core::sc_module {
public:
    explicit ConflictingHost(sc_core::sc_module_name name) : sc_module(name) {
        socket.register_nb_transport_bw(this, &ConflictingHost::backward);
    }
    tlm_utils::simple_initiator_socket<ConflictingHost> socket{"socket"};
    std::vector<Opcode> answered;
    std::vector<std::uint16_t> tags;

    void send(Opcode opcode, std::uint64_t address, std::uint16_t tag) {
        auto& payload = m_pool.take(
            opcode == Opcode::kMemRd ? tlm::TLM_READ_COMMAND : tlm::TLM_IGNORE_COMMAND, address);
        auto* extension = payload.get_extension<MemExtension>();
        extension->opcode = opcode;
        extension->tag = tag;
        tlm::tlm_phase phase = tlm::BEGIN_REQ;
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        EXPECT_EQ(socket->nb_transport_fw(payload, phase, delay), tlm::TLM_UPDATED);
    }

private:
    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time&) {
        EXPECT_EQ(phase, tlm::BEGIN_RESP);
        answered.push_back(payload.get_extension<MemExtension>()->opcode);
        tags.push_back(payload.get_extension<MemExtension>()->tag);
        payload.release();
        return tlm::TLM_COMPLETED;
    }
    test::LinePool m_pool{true};
};

class ConflictTest : public CoherentTest, public testing::WithParamInterface<LinkFidelity> {
protected:
    void start() {
        MemTargetConfig config;
        config.fidelity = GetParam();
        build_coherent(false, config);
        other = std::make_unique<ConflictingHost>("other");
        other->socket.bind(m_target->socket);
        m_target->core().directory().granted({0}, HostState::kExclusive);
        ASSERT_TRUE(m_target->claim({0}, true));
        wait();
        ASSERT_EQ(host.snoops.size(), 1U);
        for (std::uint16_t tag = 1; tag <= 3; ++tag) other->send(Opcode::kMemRd, kBase, tag);
        wait();
        EXPECT_TRUE(other->answered.empty());
    }
    std::unique_ptr<ConflictingHost> other;
};

/// BIConflict is a write for credits and blocking: it passes the requests that the snoop holds up,
/// and lets them through in their order.
TEST_P(ConflictTest, LetsBlockedRequestsThrough) {
    start();
    other->send(Opcode::kBiConflict, kBase, host.snoops[0].tag);
    wait();
    EXPECT_EQ(other->answered.size(), 4U);
    std::vector<std::uint16_t> reads;
    for (std::size_t i = 0; i < other->answered.size(); ++i) {
        if (other->answered[i] == Opcode::kMemRd) reads.push_back(other->tags[i]);
    }
    EXPECT_EQ(reads, (std::vector<std::uint16_t>{1, 2, 3}));
    EXPECT_EQ(m_target->core().directory().conflicts(), 1U);
    EXPECT_TRUE(m_target->respond(host.snoops[0].tag, Opcode::kBiRspI));
}

TEST_P(ConflictTest, AResetAnswersBlockedRequestsOnce) {
    start();
    m_target->reset();
    map(HdmDecoders::kBackInvalidate);
    wait();
    EXPECT_EQ(other->tags, (std::vector<std::uint16_t>{1, 2, 3}));
    m_target->core().directory().granted({0}, HostState::kExclusive);
    ASSERT_TRUE(m_target->claim({0}, true));
    wait();
    ASSERT_TRUE(m_target->respond(host.snoops.back().tag, Opcode::kBiRspI));
    wait();
    EXPECT_EQ(other->answered.size(), 3U) << "nothing of before is let in again";
    EXPECT_EQ(m_target->in_flight(), 0U);
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

std::string name_of(const testing::TestParamInfo<LinkFidelity>& row) {
    return row.param == LinkFidelity::kBurst ? "Burst" : "Line";
}

INSTANTIATE_TEST_SUITE_P(Fidelity, SnoopTest,
                         testing::Values(LinkFidelity::kBurst, LinkFidelity::kLine), name_of);
INSTANTIATE_TEST_SUITE_P(Fidelity, ConflictTest,
                         testing::Values(LinkFidelity::kBurst, LinkFidelity::kLine), name_of);

TEST_F(MemTargetTest, BackInvalidateIsRefusedOn68ByteFlits) {
    build();
    HdmDecoders& decoders = m_target->core().decoders();
    decoders.write(HdmDecoders::kFirst + 0x10, 0);
    decoders.write(HdmDecoders::kFirst + 0x10, HdmDecoders::kBackInvalidate | HdmDecoders::kCommit);
    EXPECT_EQ(decoders.error(0), CommitError::kBackInvalidate);
}

TEST(DirectoryTest, SnoopsAreOfOneLine) {
    Directory directory;
    EXPECT_THROW((void)directory.start({0}, Opcode::kBiSnpInvBlk), InvariantError);
    const auto snoop = directory.start({0}, Opcode::kBiSnpInv);
    ASSERT_TRUE(snoop);
    EXPECT_FALSE(directory.takes(snoop->tag, Opcode::kBiRspIBlk));
    EXPECT_TRUE(directory.takes(snoop->tag, Opcode::kBiRspI));
}

}  // namespace
}  // namespace kvplane::cxl
