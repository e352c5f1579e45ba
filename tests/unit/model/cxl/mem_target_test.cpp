// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/mem_target.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/support/systemc_test.h"
#include "tests/unit/model/cxl/at_initiator.h"

namespace kvplane::cxl {
namespace {

constexpr std::uint64_t kBase = 4ULL << 30;  // HPA of the window
constexpr std::uint64_t kSize = 256ULL << 20;
constexpr Time kLatency = Time::from_ns(60);

/// A memory of fixed latency.
class PlainMemory final : public LineMemoryIf {
public:
    Time access_line(Time at, Dpa, bool) override {
        ++accesses;
        return at + kLatency;
    }
    void read(Dpa address, std::span<std::uint8_t> data) const override {
        for (std::size_t i = 0; i < data.size(); ++i) {
            const auto found = m_bytes.find(address.value + i);
            data[i] = found == m_bytes.end() ? 0 : found->second;
        }
    }
    void write(Dpa address, std::span<const std::uint8_t> data) override {
        for (std::size_t i = 0; i < data.size(); ++i) m_bytes[address.value + i] = data[i];
    }
    [[nodiscard]] bool poisoned(Dpa line) const override { return m_poison.count(line.value) != 0; }
    void set_poison(Dpa line, bool poisoned) override {
        if (poisoned) {
            m_poison.insert(line.value);
        } else {
            m_poison.erase(line.value);
        }
    }
    [[nodiscard]] bool writable(Dpa line) const override { return line.value != protected_line; }
    [[nodiscard]] Ratio other_load() const override { return load; }
    void clear() override {
        m_bytes.clear();
        m_poison.clear();
    }

    std::uint64_t accesses = 0;
    std::uint64_t protected_line = UINT64_MAX;
    Ratio load{};

private:
    std::map<std::uint64_t, std::uint8_t> m_bytes;
    std::set<std::uint64_t> m_poison;
};

class LooseInitiator final : public sc_core::sc_module {
public:
    explicit LooseInitiator(sc_core::sc_module_name name) : sc_module(name) {}
    tlm_utils::simple_initiator_socket<LooseInitiator> socket{"socket"};
};

class MemTargetTest : public test::SystemCTest {
protected:
    void build(const MemTargetConfig& config = {}, std::uint32_t region = HdmDecoders::kHostOnly) {
        MemTargetConfig full = config;
        full.hdm.capacity = {kSize};
        full.hdm.back_invalidate = config.link.flit != FlitLayout::k68B;
        m_target = std::make_unique<MemTarget>("target", full, memory);
        map(region);
    }
    void map(std::uint32_t region = HdmDecoders::kHostOnly) {
        HdmDecoders& decoders = m_target->core().decoders();
        decoders.commit_bi_id(true);
        decoders.write(HdmDecoders::kFirst + 0x04, static_cast<std::uint32_t>(kBase >> 32));
        decoders.write(HdmDecoders::kFirst + 0x08, static_cast<std::uint32_t>(kSize));
        decoders.write(HdmDecoders::kFirst + 0x10, region | HdmDecoders::kCommit);
        decoders.write(HdmDecoders::kGlobal, HdmDecoders::kEnable);
        ASSERT_EQ(decoders.error(0), CommitError::kNone);
    }
    void bind_loose() {
        m_loose = std::make_unique<LooseInitiator>("loose");
        m_loose->socket.bind(m_target->socket);
        sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_PS));
    }
    AtInitiator& add(const AtPlan& plan) {
        AtPlan mine = plan;
        mine.base = kBase + m_initiators.size() * 64 * plan.lines;
        mine.seed = plan.seed + m_initiators.size();
        m_initiators.push_back(
            std::make_unique<AtInitiator>(sc_core::sc_gen_unique_name("initiator"), mine));
        m_initiators.back()->socket.bind(m_target->socket);
        return *m_initiators.back();
    }

    /// One b_transport of `length` bytes; the time it takes.
    Time access(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data,
                unsigned length, MemExtension* extension = nullptr) {
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(data);
        payload.set_data_length(length);
        payload.set_streaming_width(length);
        if (extension != nullptr) payload.set_extension(extension);
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        m_loose->socket->b_transport(payload, delay);
        status = payload.get_response_status();
        if (extension != nullptr) payload.clear_extension(extension);
        return from_sc_time(delay);
    }
    Time read(std::uint64_t address, unsigned length = 64, MemExtension* extension = nullptr) {
        line.fill(0);
        return access(tlm::TLM_READ_COMMAND, address, line.data(), length, extension);
    }
    Time write(std::uint64_t address, std::uint8_t value, unsigned length = 64,
               MemExtension* extension = nullptr) {
        std::array<std::uint8_t, 128> data{};
        data.fill(value);
        return access(tlm::TLM_WRITE_COMMAND, address, data.data(), length, extension);
    }

    PlainMemory memory;
    std::unique_ptr<MemTarget> m_target;
    std::unique_ptr<LooseInitiator> m_loose;
    std::vector<std::unique_ptr<AtInitiator>> m_initiators;
    std::array<std::uint8_t, 128> line{};
    tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
};

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
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    payload.set_address(kBase);
    payload.set_data_ptr(data.data());
    payload.set_data_length(64);
    payload.set_streaming_width(64);
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
    for (int i = 0; i < 64; ++i) {
        read(kBase, 64, &host);  // all leave at time zero
        levels.push_back(host.dev_load);
    }
    EXPECT_EQ(levels.front(), DevLoad::kLight);
    EXPECT_EQ(levels.back(), DevLoad::kSevereOverload);
    EXPECT_TRUE(std::is_sorted(levels.begin(), levels.end()));
}

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
    config.link.request_credits = config.link.write_credits = config.link.response_credits = 1;
    build(config);
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
    void build_coherent() {
        MemTargetConfig config;
        config.link.flit = FlitLayout::k256BStandardHbr;
        build(config, HdmDecoders::kBackInvalidate);
        m_target->connect(host);
        bind_loose();
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
    EXPECT_FALSE(m_target->core().directory().blocks({0}, Channel::kReq));
    wait();
    EXPECT_EQ(host.acknowledged, std::vector<std::uint16_t>{tag});
    EXPECT_TRUE(m_target->respond(tag, Opcode::kBiRspI));
    EXPECT_EQ(m_target->core().directory().conflicts(), 1U);
}

TEST_F(CoherentTest, FourPhaseRequestsGoOnOnceTheSnoopIsAnswered) {
    MemTargetConfig config;
    config.link.flit = FlitLayout::k256BStandardHbr;
    build(config, HdmDecoders::kBackInvalidate);
    m_target->connect(host);
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
