// SPDX-License-Identifier: Apache-2.0
/// Faults in mid-traffic: no hang, no lost or duplicated answer, no wrong data that looks right.
#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <memory>
#include <vector>

#include "model/card/type3_card.h"
#include "model/common/sim_time.h"
#include "model/index/tlm_index.h"
#include "model/management/bytes.h"
#include "tests/support/systemc_test.h"
#include "tests/support/tlm_pool.h"
#include "tests/unit/model/cxl/at_initiator.h"

namespace kvplane {
namespace {

using management::Reset;

constexpr std::uint64_t kSize = 256ULL << 20;
constexpr std::uint64_t kMailbox = 0x10100;

class Firmware final : public sc_core::sc_module {
public:
    explicit Firmware(sc_core::sc_module_name name) : sc_module(name) {}
    tlm_utils::simple_initiator_socket<Firmware> socket{"socket"};
    std::uint64_t access(bool write, std::uint64_t address, std::uint32_t value = 0) {
        std::array<std::uint8_t, 4> data{};
        management::put_le(data, 0, 4, value);
        tlm::tlm_generic_payload payload;
        test::set_up(payload, write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address,
                     data.data(), 4);
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        socket->b_transport(payload, delay);
        EXPECT_TRUE(payload.is_response_ok());
        return management::get_le(data, 0, 4);
    }
};

struct FaultCase {
    const char* name;
    cxl::LinkFidelity link;
    card::DramFidelity dram;
};

class CxlFaultTest : public test::SystemCTest, public testing::WithParamInterface<FaultCase> {
protected:
    void build(bool errors) {
        kvplane::card::CardConfig config;
        config.tier_capacity = {kSize};
        config.management.device.media_ready = Time::from_us(3);
        config.mem.fidelity = GetParam().link;
        config.dram_fidelity = GetParam().dram;
        card =
            std::make_unique<kvplane::card::Type3Card>("card", config, Bytes::from_kib(64), index);
        firmware = std::make_unique<Firmware>("firmware");
        firmware->socket.bind(card->management.socket);
        for (std::uint64_t i = 0; i < 3; ++i) {
            cxl::AtPlan plan;
            plan.requests = 2000;
            plan.base = i * 64 * plan.lines;
            plan.seed = i + 1;
            plan.stall = 20'000;
            plan.expect_errors = errors;
            initiators.push_back(
                std::make_unique<cxl::AtInitiator>(sc_core::sc_gen_unique_name("initiator"), plan));
            initiators.back()->socket.bind(card->mem.socket);
        }
        map();
    }
    void map() {
        firmware->access(true, 0x1218, kSize);
        firmware->access(true, 0x1220, 1U << 12U | 1U << 9U);
        firmware->access(true, 0x1204, 2);
        firmware->access(true, 0x2010C, 1U << 2U);  // Mem_Enable
    }
    static void run(Time span) { sc_core::sc_start(to_sc_time(span)); }
    /// Everything has been answered once and given back.
    std::uint64_t finish() {
        run(Time::from_ms(20));
        std::uint64_t errors = 0;
        for (const auto& initiator : initiators) {
            EXPECT_TRUE(initiator->finished()) << initiator->answered;
            EXPECT_EQ(initiator->held(), 0U);
            errors += initiator->errors;
        }
        EXPECT_EQ(card->mem.in_flight(), 0U);
        EXPECT_EQ(card->mem.answers(), 6000U);
        return errors;
    }

    index::TlmIndex index{{.sram = Bytes::from_kib(64)}};
    std::unique_ptr<kvplane::card::Type3Card> card;
    std::unique_ptr<Firmware> firmware;
    std::vector<std::unique_ptr<cxl::AtInitiator>> initiators;
};

TEST_P(CxlFaultTest, EveryResetInMidTraffic) {
    build(true);
    std::uint64_t generation = 0;
    for (const Reset kind : {Reset::kFunction, Reset::kHot, Reset::kWarm, Reset::kCold, Reset::kCxl,
                             Reset::kCxlMemClear, Reset::kCold, Reset::kHot}) {
        run(Time{1'234'567 + static_cast<std::int64_t>(generation++) * 77'777});
        card->reset(kind);
        run(Time::from_ns(300));
        if (!management::effect_of(kind).decoders) map();
        run(Time::from_us(4));
    }
    EXPECT_GT(finish(), 0U);
}

TEST_P(CxlFaultTest, AFunctionLevelResetDoesNotTouchMemory) {
    build(false);
    for (int i = 0; i < 5; ++i) {
        run(Time::from_us(2));
        card->reset(Reset::kFunction);
    }
    EXPECT_EQ(finish(), 0U);
}

TEST_P(CxlFaultTest, ACrcStorm) {
    build(false);
    card->mem.set_faults({300'000, 5});
    EXPECT_EQ(finish(), 0U);
    // Only formed flits can be hit; burst is the same run without.
    const bool hit = GetParam().link == cxl::LinkFidelity::kLine;
    EXPECT_EQ(firmware->access(false, 0x110C),
              hit ? management::ComponentRegisters::kCrcThreshold : 0U);
}

TEST_P(CxlFaultTest, DecodersThatGoAwayAndComeBack) {
    build(true);
    for (int i = 0; i < 10; ++i) {
        run(Time::from_us(1));
        firmware->access(true, 0x1204, 0);
        run(Time::from_ns(200));
        firmware->access(true, 0x1204, 2);
    }
    EXPECT_GT(finish(), 0U);
    EXPECT_GT(card->mem.core().counters().unmapped, 0U);
}

TEST_P(CxlFaultTest, ViralContainsEverything) {
    build(true);
    run(Time::from_us(2));
    card->raise_viral();
    finish();
    std::uint64_t poisoned = 0;
    for (const auto& initiator : initiators) poisoned += initiator->poisoned;
    EXPECT_EQ(poisoned, card->mem.core().counters().poisoned);
    EXPECT_GT(poisoned, 1000U);
}

/// Poison comes and goes by mailbox while the host reads; its reads say so, each of them.
TEST_P(CxlFaultTest, AMailboxFloodAndPoisonedReads) {
    build(false);
    run(Time::from_us(4));
    std::uint64_t commands = 0;
    for (std::uint32_t n = 0; n < 60; ++n) {
        firmware->access(true, kMailbox + 0x20, n % 24 * 64);
        firmware->access(true, kMailbox + 0x24, 0);
        firmware->access(true, kMailbox + 0x08, 0x4301);
        firmware->access(true, kMailbox + 0x0C, 0);
        firmware->access(true, kMailbox + 0x08, 0x4301U | 8U << 16U);
        // Rung many times while the first is under way.
        for (int i = 0; i < 20; ++i) firmware->access(true, kMailbox + 0x04, 1);
        run(Time::from_us(1));
        commands += firmware->access(false, kMailbox + 0x04) == 0 ? 1 : 0;
    }
    EXPECT_EQ(finish(), 0U);
    EXPECT_GT(commands, 3U);
    EXPECT_GT(card->events().size(management::Severity::kInformational), 0U);
    std::uint64_t poisoned = 0;
    for (const auto& initiator : initiators) poisoned += initiator->poisoned;
    EXPECT_EQ(poisoned, card->mem.core().counters().poisoned);
    EXPECT_GT(poisoned, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Fidelity, CxlFaultTest,
    testing::Values(
        FaultCase{"Burst", cxl::LinkFidelity::kBurst, card::DramFidelity::kBurst},
        FaultCase{"Line", cxl::LinkFidelity::kLine, card::DramFidelity::kBurst},
        FaultCase{"BurstOverLines", cxl::LinkFidelity::kBurst, card::DramFidelity::kLine},
        FaultCase{"LineOverLines", cxl::LinkFidelity::kLine, card::DramFidelity::kLine}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace kvplane
