// SPDX-License-Identifier: Apache-2.0
/// Faults with intents, copies and host lines under way: what a reset keeps, what poison and viral
/// stop. No hang, no completion of an intent that ended, no block with wrong bytes.
#include <array>
#include <string_view>
#include <utility>

#include "host.h"
#include "model/common/random.h"
#include "model/management/bytes.h"
#include "tests/support/systemc_test.h"
#include "tests/support/tlm_pool.h"
#include "tests/unit/model/cxl/at_initiator.h"

namespace kvplane::card {
namespace {

using engine::Opcode;
using engine::Status;
using management::Reset;

constexpr Bytes kBlock = Bytes::from_kib(64);

class FaultsTest : public test::SystemCTest {
protected:
    static CardConfig config() {
        CardConfig made = baseline(8);
        made.tier_capacity = kBlock * 64;
        made.payload = Payload::kBytes;
        return made;
    }
    /// A block whose bytes follow from its number, demoted.
    static void load(Bench& bench, std::uint64_t first, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            bench.host.fill_slot(i, pattern(first + i, kBlock));
        }
        bench.load(keys_of(first, count));
    }
    static void inject(Bench& bench, std::uint64_t line) {
        std::vector<std::uint8_t> input;
        management::append_le(input, 8, line);
        const auto code = static_cast<std::uint16_t>(management::Command::kInjectPoison);
        EXPECT_EQ(bench.card.management.mailbox().execute(code, input, now()).code,
                  management::ReturnCode::kSuccess);
    }
    static void run(Time span) { sc_core::sc_start(to_sc_time(span)); }
    /// Two bytes of configuration space.
    static std::uint64_t shown(Bench& bench, std::uint64_t offset) {
        std::uint64_t value = 0;
        EXPECT_TRUE(bench.card.management.config_space().read(offset, 2, value));
        return value;
    }
};

TEST_F(FaultsTest, APromotionThatMeetsPoisonIsNotDeliveredAndLogged) {
    Bench bench(config(), kBlock);
    load(bench, 0, 3);
    inject(bench, kBlock.count + 640);  // in the second block
    const auto before = bench.host.slot(101);
    const Done done = bench.finish(bench.host.run(Opcode::kPromote, keys_of(0, 3), 100));
    EXPECT_EQ(done.status, Status::kPoisoned);
    EXPECT_EQ(done.argument, 1U) << "a run ends at its first bad block";
    EXPECT_EQ(bench.host.slot(100), pattern(0, kBlock));
    EXPECT_EQ(bench.host.slot(101), before);
    const auto events = bench.card.events().oldest(management::Severity::kFailure, 9);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].event, management::MediaEvent::kPoisonMoved);
    EXPECT_EQ(events[0].address.value, kBlock.count + 640);
    // A block that is written there heals it.
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kDiscard, key_of(1))).status, Status::kOk);
    load(bench, 10, 1);
    EXPECT_EQ(bench.card.poison().size(), 0U);
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(10), 101)).status,
              Status::kOk);
    EXPECT_EQ(bench.host.slot(101), pattern(10, kBlock));
}

TEST_F(FaultsTest, AHostReadOfPoisonSaysSoAndIsLogged) {
    Bench bench(config(), kBlock);
    Bench::drain();
    inject(bench, 128);
    std::vector<std::uint8_t> data(64);
    sc_core::sc_time delay;
    EXPECT_EQ(bench.host.access(tlm::TLM_READ_COMMAND, 128, data, delay),
              tlm::TLM_GENERIC_ERROR_RESPONSE);
    EXPECT_EQ(bench.card.events().size(management::Severity::kFailure), 1U);
    EXPECT_EQ(bench.host.access(tlm::TLM_READ_COMMAND, 192, data, delay), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(bench.card.events().size(management::Severity::kFailure), 1U);
}

/// The list that the host is shown has a bound, what it poisons has none.
TEST_F(FaultsTest, PoisonThatTheHostWritesIsReceivedAndHonoured) {
    CardConfig made = config();
    made.management.mailbox.poison_records = 3;
    Bench bench(made, kBlock);
    Bench::drain();
    const auto access = [&](tlm::tlm_command command, std::uint64_t address, bool poison) {
        std::array<std::uint8_t, 64> line{};
        cxl::MemExtension extension;
        extension.poison = poison;
        extension.opcode =
            command == tlm::TLM_WRITE_COMMAND ? cxl::Opcode::kMemWr : cxl::Opcode::kMemRd;
        tlm::tlm_generic_payload payload;
        test::set_up(payload, command, address, line.data(), 64);
        payload.set_extension(&extension);
        sc_core::sc_time delay;
        bench.host.mem->b_transport(payload, delay);
        EXPECT_EQ(payload.get_response_status(), tlm::TLM_OK_RESPONSE);
        payload.clear_extension(&extension);
        return extension.poison;
    };
    const auto received = [&] {
        std::uint64_t status = 0;
        EXPECT_TRUE(bench.card.management.component().read(0x1100, 4, status));
        return status;
    };
    EXPECT_FALSE(access(tlm::TLM_READ_COMMAND, 0, false));
    EXPECT_EQ(received(), 0U);
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(bench.card.poison().overflow().has_value(), i > 3);
        access(tlm::TLM_WRITE_COMMAND, 64 * i, true);
        EXPECT_EQ(received(), management::ComponentRegisters::kPoisonReceived);
    }
    for (std::uint64_t i = 0; i < 5; ++i) EXPECT_TRUE(access(tlm::TLM_READ_COMMAND, 64 * i, false));
    EXPECT_EQ(bench.card.events().size(management::Severity::kFailure), 5U);
    access(tlm::TLM_WRITE_COMMAND, 0, false);
    access(tlm::TLM_WRITE_COMMAND, 64, false);
    EXPECT_FALSE(bench.card.poison().overflow().has_value());
}

TEST_F(FaultsTest, CrcErrorsShowInTheComponentRegisters) {
    CardConfig made = config();
    made.mem.fidelity = cxl::LinkFidelity::kLine;
    index::TlmIndex index(made.index);
    Type3Card card("card", made, kBlock, index);
    cxl::AtPlan plan;
    plan.requests = 500;
    plan.expect_errors = true;  // nothing is mapped
    cxl::AtInitiator initiator("initiator", plan);
    initiator.socket.bind(card.mem.socket);
    std::uint64_t status = 0;
    const auto read = [&] {
        EXPECT_TRUE(card.management.component().read(0x110C, 4, status));
        return status;
    };
    run(Time::from_ns(200));
    EXPECT_EQ(read(), 0U);
    card.mem.set_faults({200'000, 3});
    run(Time::from_ms(1));
    EXPECT_TRUE(initiator.finished());
    EXPECT_EQ(read(), management::ComponentRegisters::kCrcThreshold);
    card.reset(Reset::kHot);
    EXPECT_EQ(read(), management::ComponentRegisters::kCrcThreshold) << "sticky";
    card.reset(Reset::kCold);
    EXPECT_EQ(read(), 0U);
}

/// Traffic of all kinds, and what must hold of it whatever happens.
class Traffic {
public:
    Traffic(Bench& bench, std::uint64_t seed) : m_bench(bench), m_random(seed, "faults") {}

    /// Some of everything, under way at once.
    void start() {
        m_bench.host.submit(m_bench.host.run(Opcode::kPromote, keys_of(0, 8), 100), 0);
        m_bench.host.submit(m_bench.host.intent(Opcode::kPromote, key_of(9), 120), 0);
        for (std::uint32_t i = 0; i < 6; ++i) {
            const std::uint64_t number = m_next++;
            m_bench.host.fill_slot(200 + i, pattern(number, kBlock));
            m_bench.host.submit(m_bench.host.intent(Opcode::kDemote, key_of(number), 200 + i), 1);
            m_coming.push_back(number);
        }
        for (const auto direction : {engine::BulkDirection::kRead, engine::BulkDirection::kWrite}) {
            m_bench.host.bulk->start_bulk(direction, 1, kBlock * 4);
            m_bench.host.bulk->start_bulk(direction, 2, kBlock);
            m_copies += 2;
        }
        std::vector<std::uint8_t> data(64);
        for (std::uint64_t i = 0; i < 20; ++i) {
            sc_core::sc_time delay;
            (void)m_bench.host.access(tlm::TLM_READ_COMMAND, 64 * i, data, delay);
        }
    }
    /// A time at which some of it is still under way.
    Time moment() { return Time{static_cast<std::int64_t>(m_random.uniform(30'000'000))}; }

    [[nodiscard]] std::uint64_t copies() const { return m_copies; }
    /// Blocks of demotions that were under way; each is there whole, or not at all.
    std::vector<std::uint64_t> take_coming() { return std::exchange(m_coming, {}); }

private:
    Bench& m_bench;
    RandomStream m_random;
    std::uint64_t m_next = 1'000;
    std::uint64_t m_copies = 0;
    std::vector<std::uint64_t> m_coming;
};

std::string_view name_of(Reset kind) {
    constexpr std::array<std::string_view, 6> kNames{"Function", "Hot", "Warm",
                                                     "Cold",     "Cxl", "CxlMemClear"};
    return kNames.at(static_cast<std::size_t>(kind));
}

class ResetTest : public FaultsTest, public testing::WithParamInterface<Reset> {};

TEST_P(ResetTest, InMidTraffic) {
    const Reset kind = GetParam();
    const management::ResetEffect effect = management::effect_of(kind);
    Bench bench(config(), kBlock);
    Traffic traffic(bench, 7 + static_cast<std::uint64_t>(kind));
    for (int round = 0; round < 12; ++round) {
        if (round == 0 || !effect.index) load(bench, 0, 10);
        Bench::drain();
        traffic.start();
        run(traffic.moment());
        bench.card.reset(kind);
        const std::size_t heard = bench.host.done.size();
        run(Time::from_ms(2));
        EXPECT_EQ(bench.host.done.size(), heard) << "a completion of before the reset";
        EXPECT_EQ(bench.host.bulk_ends.size() + bench.host.bulk_failures, traffic.copies());
        if (kind == Reset::kFunction) {
            EXPECT_EQ(bench.host.bulk_failures, 0U);
        }

        bench.host.set_up();
        if (!effect.decoders) bench.map();
        // What the index still has is whole; what it has not is missing.
        std::uint64_t present = 0;
        const auto check = [&](std::uint64_t number, bool must) {
            const Done done =
                bench.finish(bench.host.intent(Opcode::kPromote, key_of(number), 300));
            if (done.status == Status::kOk) {
                EXPECT_EQ(bench.host.slot(300), pattern(number, kBlock)) << number;
                ++present;
            } else {
                EXPECT_EQ(done.status, Status::kMissing);
                EXPECT_FALSE(must) << number;
            }
            return done.status;
        };
        for (std::uint64_t number = 0; number < 10; ++number) check(number, effect.index);
        std::vector<std::uint64_t> arrived;
        for (const std::uint64_t number : traffic.take_coming()) {
            if (check(number, false) == Status::kOk) arrived.push_back(number);
        }
        EXPECT_EQ(bench.card.data_plane().tier().blocks(), present) << "frames that leaked";
        if (!effect.index) {
            EXPECT_EQ(present, 0U);
        }
        for (const std::uint64_t number : arrived) {
            EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kDiscard, key_of(number))).status,
                      Status::kOk)
                << "nothing reads it any more";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ResetTest,
                         testing::Values(Reset::kFunction, Reset::kHot, Reset::kWarm, Reset::kCold,
                                         Reset::kCxl, Reset::kCxlMemClear),
                         [](const auto& row) { return std::string(name_of(row.param)); });

TEST_F(FaultsTest, AResetWithMemoryClearLeavesZeroes) {
    Bench bench(config(), kBlock);
    load(bench, 0, 1);
    std::vector<std::uint8_t> data(64);
    sc_core::sc_time delay;
    for (const Reset kind : {Reset::kWarm, Reset::kCxlMemClear}) {
        bench.card.reset(kind);
        bench.map();
        ASSERT_EQ(bench.host.access(tlm::TLM_READ_COMMAND, 0, data, delay), tlm::TLM_OK_RESPONSE);
        const std::vector<std::uint8_t> zero(64);
        EXPECT_EQ(data == zero, kind == Reset::kCxlMemClear);
    }
}

TEST_F(FaultsTest, HandlesOfBeforeAPowerCycleAreStale) {
    Bench bench(config(), kBlock);
    load(bench, 0, 1);
    const engine::Intent old = bench.host.intent(Opcode::kPromote, key_of(0), 5);
    bench.card.reset(Reset::kCold);
    run(Time::from_ms(2));
    bench.host.set_up();
    load(bench, 0, 1);
    EXPECT_EQ(bench.finish(old).status, Status::kMissing);
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(0), 5)).status, Status::kOk);
}

TEST_F(FaultsTest, ViralStopsDmaToo) {
    Bench bench(config(), kBlock);
    load(bench, 0, 10);
    Traffic traffic(bench, 3);
    for (int round = 0; round < 8; ++round) {
        traffic.start();
        run(traffic.moment());
        bench.card.raise_viral();
        EXPECT_EQ(shown(bench, management::ConfigSpace::kStatus), management::ConfigSpace::kViral);
        const std::size_t heard = bench.host.done.size();
        const std::uint64_t moved = bench.card.data_plane().counters().promoted_blocks;
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(0), 400));
        bench.host.bulk->start_bulk(engine::BulkDirection::kRead, 9, kBlock);
        std::vector<std::uint8_t> data(64);
        sc_core::sc_time delay;
        EXPECT_EQ(bench.host.access(tlm::TLM_READ_COMMAND, 0, data, delay),
                  tlm::TLM_GENERIC_ERROR_RESPONSE);
        run(Time::from_ms(2));
        EXPECT_EQ(bench.host.done.size(), heard);
        EXPECT_EQ(bench.card.data_plane().counters().promoted_blocks, moved);
        EXPECT_EQ(bench.host.bulk_ends.size() + bench.host.bulk_failures,
                  traffic.copies() + static_cast<std::uint64_t>(round) + 1);
        // The function's own reset does not end it; one of the link does.
        bench.card.reset(Reset::kFunction);
        bench.host.set_up();
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(0), 400));
        run(Time::from_ms(1));
        EXPECT_EQ(bench.host.done.size(), heard);
        bench.card.reset(Reset::kHot);
        bench.host.set_up();
        bench.map();
        EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(0), 400)).status,
                  Status::kOk);
        EXPECT_EQ(bench.host.slot(400), pattern(0, kBlock));
        for (const std::uint64_t number : traffic.take_coming()) {
            (void)bench.finish(bench.host.intent(Opcode::kDiscard, key_of(number)));
        }
    }
}

/// A destination that takes nothing stops promotions alone: demotions, host lines, and a copy
/// engine's writes go on as if it were not there.
TEST_F(FaultsTest, AStalledPromotionStopsNothingElse) {
    RandomStream random(5, "stalls");
    std::vector<std::unique_ptr<Bench>> benches;
    std::vector<Rate> rates{{UINT64_MAX}};  // the first has no promotions at all
    for (int i = 0; i < 6; ++i) rates.push_back({1'000'000 + random.uniform(100'000'000)});
    for (const Rate rate : rates) {
        CardConfig made = config();
        if (rate.bytes_per_second != UINT64_MAX) made.link.push_rate_limit = rate;
        benches.push_back(
            std::make_unique<Bench>(made, kBlock, "bench" + std::to_string(benches.size())));
    }
    std::vector<Time> spans;
    for (std::size_t i = 0; i < benches.size(); ++i) {
        Bench& bench = *benches[i];
        load(bench, 0, 8);
        if (i != 0) {
            bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 8), 100), 0);
            run(Time::from_us(5 + static_cast<std::int64_t>(random.uniform(9))));
            EXPECT_TRUE(bench.card.data_plane().movers().busy(engine::kPush));
        }
        const Time begin = now();
        const std::size_t heard = bench.host.done.size();
        bench.host.submit(bench.host.run(Opcode::kDemote, keys_of(50, 16), 200), 1);
        bench.host.bulk->start_bulk(engine::BulkDirection::kWrite, 1, kBlock);
        run(Time::from_us(100));
        ASSERT_EQ(bench.host.done.size(), heard + 1) << "the demotion waits for the promotion";
        ASSERT_EQ(bench.host.bulk_ends.size(), 1U);
        spans.push_back(bench.host.done.back().at - begin);
        std::vector<std::uint8_t> data(64);
        sc_core::sc_time delay;
        EXPECT_EQ(bench.host.access(tlm::TLM_READ_COMMAND, 0, data, delay), tlm::TLM_OK_RESPONSE);
        EXPECT_LT(from_sc_time(delay), Time::from_ns(150));
        EXPECT_EQ(bench.card.data_plane().movers().busy(engine::kPush), i != 0);
        bench.card.reset(Reset::kFunction);
        Bench::drain();
    }
    for (const Time span : spans) EXPECT_NEAR(span.us(), spans[0].us(), 0.02 * spans[0].us());
}

}  // namespace
}  // namespace kvplane::card
