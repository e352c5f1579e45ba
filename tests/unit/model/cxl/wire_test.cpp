// SPDX-License-Identifier: Apache-2.0
/// Credits, replay and faults of the link.
#include "model/cxl/wire.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/cxl/line_link.h"
#include "model/cxl/link_load.h"

namespace kvplane::cxl {
namespace {

TEST(WireTest, CreditCodesAreThoseOfTheFlitHeader) {
    EXPECT_EQ(credit_code(0), 0);
    EXPECT_EQ(credit_code(1), 1);
    EXPECT_EQ(credit_code(2), 2);
    EXPECT_EQ(credit_code(3), 2);
    EXPECT_EQ(credit_code(4), 3);
    EXPECT_EQ(credit_code(63), 6);
    EXPECT_EQ(credit_code(64), 7);
    EXPECT_EQ(credit_code(5000), 7);
    const std::array<std::uint32_t, 8> credits{0, 1, 2, 4, 8, 16, 32, 64};
    for (std::uint8_t code = 0; code < 8; ++code) EXPECT_EQ(credits_of(code), credits[code]);
}

/// Keeps what arrives; gives credits back only when told to.
class Sink final : public LinkClient {
public:
    void arrived(Direction, const FlitMessage& message, Time at) override {
        messages.push_back(message);
        last = at;
    }
    void arrived(Direction, const Tlp& tlp, Time at) override {
        tlps.push_back(tlp);
        last = at;
    }
    std::vector<FlitMessage> messages;
    std::vector<Tlp> tlps;
    Time last;
};

TEST(WireTest, AMessageWithoutCreditWaitsForIt) {
    LinkConfig config;
    config.write_credits = 3;
    Sink sink;
    LineLink link(config, sink);
    for (std::uint32_t id = 0; id < 10; ++id) {
        link.push(Direction::kToCard, FlitMessage{id, Channel::kRwD}, {});
    }
    link.push(Direction::kToCard, FlitMessage{99, Channel::kReq}, {});
    link.advance(Time::from_us(10));
    ASSERT_EQ(sink.messages.size(), 4U);  // three writes, and the read that overtakes the rest
    EXPECT_EQ(link.wire(Direction::kToCard).held(), 7U);
    link.consumed(Direction::kToCard, Channel::kRwD, Time::from_us(10));
    link.advance(Time::from_us(20));
    EXPECT_EQ(sink.messages.size(), 5U);
    EXPECT_EQ(link.wire(Direction::kToHost).counters().control_flits, 1U);
    EXPECT_EQ(link.next_event(), Time::never());
}

TEST(WireTest, CreditsTravelWithOtherFlits) {
    LinkConfig config;
    Sink sink;
    LineLink link(config, sink);
    link.push(Direction::kToCard, FlitMessage{1, Channel::kReq}, {});
    link.advance(Time::from_ns(50));
    link.consumed(Direction::kToCard, Channel::kReq, Time::from_ns(50));
    link.push(Direction::kToHost, FlitMessage{1, Channel::kDrs}, Time::from_ns(50));
    link.advance(Time::from_us(5));
    EXPECT_EQ(sink.messages.size(), 2U);
    EXPECT_EQ(link.wire(Direction::kToHost).counters().control_flits, 0U);
    EXPECT_EQ(link.wire(Direction::kToHost).counters().mem_flits, 2U);
}

/// One credit of each kind still moves everything, only slowly.
TEST(WireTest, StarvedOfCreditsTheLinkIsSlowButNotStuck) {
    LinkConfig config;
    LinkLoad load;
    load.mix = {2, 1, 0};
    load.duration = Time::from_us(50);
    const LinkMeasure rich = measure_link(config, load);
    config.request_credits = 1;
    config.write_credits = 1;
    config.response_credits = 1;
    const LinkMeasure poor = measure_link(config, load);
    EXPECT_EQ(poor.requests, poor.answers);
    EXPECT_GT(poor.answers, load.outstanding);
    EXPECT_LT(poor.reads.gb_s(), rich.reads.gb_s() / 5);
}

/// From a clean wire to one that loses nearly every second flit: every request is answered once.
TEST(WireTest, ACrcStormSlowsButLosesNothing) {
    double before = 1e9;
    for (const std::uint32_t errors : {0U, 10'000U, 100'000U, 450'000U}) {
        LinkLoad load;
        load.mix = {2, 1, 0};
        load.promotions = LoadKind::kSaturating;
        load.demotions = LoadKind::kSaturating;
        load.faults = {errors, 7};
        load.duration = Time::from_us(30);
        const LinkMeasure measure = measure_link({}, load);
        EXPECT_EQ(measure.requests, measure.answers) << errors;
        const double carried = measure.reads.gb_s() + measure.writes.gb_s();
        EXPECT_LT(carried, before) << errors;
        EXPECT_GT(carried, 0) << errors;
        before = carried;
        EXPECT_EQ(errors != 0, measure.to_host.resent_flits != 0);
        EXPECT_EQ(errors != 0, measure.to_host.crc_errors != 0);
    }
}

/// Order and content survive replay, whatever is hit.
TEST(WireTest, ReplayKeepsOrderAndContent) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        LinkConfig config;
        config.retry_depth = 8;
        config.flit = seed % 2 == 0 ? FlitLayout::k68B : FlitLayout::k256BStandardHbr;
        Sink sink;
        LineLink link(config, sink, {300'000, seed});
        constexpr std::uint32_t kCount = 60;
        for (std::uint32_t id = 0; id < kCount; ++id) {
            link.push(Direction::kToHost, FlitMessage{id, Channel::kDrs}, {});
            link.push(Direction::kToHost, Tlp{TlpKind::kWrite, {256}, id}, {});
        }
        link.advance(Time::from_ms(1));
        ASSERT_EQ(sink.messages.size(), kCount) << seed;
        ASSERT_EQ(sink.tlps.size(), kCount) << seed;
        for (std::uint32_t id = 0; id < kCount; ++id) {
            EXPECT_EQ(sink.messages[id].id, id);
            EXPECT_EQ(sink.tlps[id].id, id);
        }
    }
}

/// An error costs the round trip and what was sent in it, no more.
TEST(WireTest, AReplayCostsOneRoundTrip) {
    LinkConfig config;
    config.width = 8;
    config.propagation = Time::from_ns(100);
    Sink clean;
    LineLink reference(config, clean);
    Sink faulty;
    LineLink link(config, faulty, {1'000'000, 1});  // every flit is bad...
    for (LineLink* each : {&reference, &link}) {
        for (std::uint32_t id = 0; id < 8; ++id) {
            each->push(Direction::kToHost, FlitMessage{id, Channel::kDrs}, {});
        }
    }
    link.advance(Time{1});
    link.set_faults({});  // ...but only the first was sent
    reference.advance(Time::from_us(10));
    link.advance(Time::from_us(10));
    ASSERT_EQ(faulty.messages.size(), 8U);
    const Time extra = faulty.last - clean.last;
    EXPECT_NEAR(static_cast<double>(extra.ps), 202'158, 3);  // a flit and two flights
    EXPECT_EQ(link.wire(Direction::kToHost).counters().resent_flits, 9U);
}

/// A short retry buffer caps the link at depth x flit / round trip.
TEST(WireTest, TheRetryBufferBoundsWhatIsUnacknowledged) {
    LinkConfig config;
    config.propagation = Time::from_ns(500);
    config.retry_depth = 16;
    config.request_credits = config.write_credits = config.response_credits = 4096;
    LinkLoad load;
    load.mix = {1, 0, 0};
    load.outstanding = 4096;
    const double expected = 16 * 64.0 * 8 / 9 / 1001.079;
    EXPECT_NEAR(measure_link(config, load).reads.gb_s() / expected, 1, 0.02);
}

TEST(WireTest, CompletionsAloneWaitForAFullFlitBesideTlps) {
    LinkConfig config;
    Sink sink;
    LineLink link(config, sink);
    for (std::uint32_t id = 0; id < 100; ++id) {
        link.push(Direction::kToHost, Tlp{TlpKind::kWrite, {256}, id}, {});
    }
    link.push(Direction::kToHost, FlitMessage{1, Channel::kNdr}, {});
    link.advance(config.completion_hold - Time{1});
    EXPECT_TRUE(sink.messages.empty());
    link.advance(config.completion_hold + Time::from_ns(15));
    EXPECT_EQ(sink.messages.size(), 1U);
}

}  // namespace
}  // namespace kvplane::cxl
