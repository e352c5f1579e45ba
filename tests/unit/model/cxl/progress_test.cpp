// SPDX-License-Identifier: Apache-2.0
/// The progress rules of the link, each with receivers that stall at random: what may not wait for
/// what else.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "model/common/random.h"
#include "model/cxl/line_link.h"

namespace kvplane::cxl {
namespace {

/// Takes what arrives, and frees each buffer after a random time, or never where a channel is shut.
class StallingEnd final : public LinkClient {
public:
    explicit StallingEnd(std::uint64_t seed) : m_random(seed, "stalls") {}

    void arrived(Direction direction, const FlitMessage& message, Time at) override {
        ++messages[static_cast<std::size_t>(message.channel)];
        if (shut[static_cast<std::size_t>(message.channel)]) return;
        const Time free = at + Time{static_cast<std::int64_t>(m_random.uniform(300'000))};
        m_held.push_back({free, direction, message.channel});
    }
    void arrived(Direction direction, const Tlp& tlp, Time at) override {
        ++tlps[static_cast<std::size_t>(direction)];
        payload += tlp.payload.count;
        if (link == nullptr || (shut_reads && tlp.kind == TlpKind::kRead)) return;
        const Time free = at + Time{static_cast<std::int64_t>(m_random.uniform(tlp_stall + 1))};
        m_held_tlps.push_back({free, direction, tlp});
    }
    LineLink* link = nullptr;     ///< gives the credits of TLPs back
    bool shut_reads = false;      ///< but not those of reads
    std::uint64_t tlp_stall = 0;  ///< each TLP is drained up to so late, ps

    /// Runs until nothing happens any more, or `end`.
    void run(LineLink& over, Time end) {
        for (;;) {
            const auto first =
                std::min_element(m_held.begin(), m_held.end(),
                                 [](const Held& a, const Held& b) { return a.at < b.at; });
            const auto tlp =
                std::min_element(m_held_tlps.begin(), m_held_tlps.end(),
                                 [](const auto& a, const auto& b) { return a.at < b.at; });
            const Time own = first == m_held.end() ? Time::never() : first->at;
            const Time drained = tlp == m_held_tlps.end() ? Time::never() : tlp->at;
            const Time next = std::min({own, drained, over.next_event()});
            if (next > end || next == Time::never()) return;
            if (drained == next) {
                const HeldTlp held = *tlp;
                m_held_tlps.erase(tlp);
                over.consumed(held.direction, held.tlp, next);
                continue;
            }
            over.advance(next);
            if (own != next) continue;
            const Held held = *first;
            m_held.erase(first);
            over.consumed(held.direction, held.channel, next);
        }
    }

    std::array<bool, 6> shut{};
    std::array<std::uint64_t, 6> messages{};
    std::array<std::uint64_t, 2> tlps{};
    std::uint64_t payload = 0;

private:
    struct Held {
        Time at;
        Direction direction;
        Channel channel;
    };
    struct HeldTlp {
        Time at;
        Direction direction;
        Tlp tlp;
    };
    RandomStream m_random;
    std::vector<Held> m_held;
    std::vector<HeldTlp> m_held_tlps;
};

LinkConfig small(FlitLayout layout = FlitLayout::k256BStandardHbr) {
    LinkConfig config;
    config.flit = layout;
    config.request_credits = 4;
    config.write_credits = 4;
    config.response_credits = 4;
    return config;
}

constexpr std::uint64_t kCount = 200;

void push_all(LineLink& link, Channel channel) {
    const bool to_card =
        channel == Channel::kReq || channel == Channel::kRwD || channel == Channel::kBiRsp;
    for (std::uint32_t id = 0; id < kCount; ++id) {
        link.push(to_card ? Direction::kToCard : Direction::kToHost, FlitMessage{id, channel}, {});
    }
}

std::uint64_t arrived(const StallingEnd& end, Channel channel) {
    return end.messages[static_cast<std::size_t>(channel)];
}

/// For each channel that is shut for good: all others get through, whatever stalls.
TEST(ProgressTest, AShutChannelStopsNoOther) {
    const std::array all{Channel::kReq, Channel::kRwD, Channel::kBiRsp,
                         Channel::kNdr, Channel::kDrs, Channel::kBiSnp};
    for (const Channel shut : {Channel::kReq, Channel::kRwD, Channel::kNdr, Channel::kDrs}) {
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            StallingEnd end(seed);
            end.shut[static_cast<std::size_t>(shut)] = true;
            end.tlp_stall = seed * 100'000;
            LineLink link(small(), end);
            end.link = &link;
            for (const Channel channel : all) push_all(link, channel);
            for (std::uint32_t id = 0; id < kCount; ++id) {
                for (const Direction direction : {Direction::kToCard, Direction::kToHost}) {
                    link.push(direction, Tlp{TlpKind::kWrite, {256}, id}, {});
                }
            }
            end.run(link, Time::from_ms(10));
            for (const Channel channel : all) {
                EXPECT_EQ(arrived(end, channel), channel == shut ? 4U : kCount)
                    << "shut " << static_cast<int>(shut) << " channel "
                    << static_cast<int>(channel);
            }
            EXPECT_EQ(end.tlps[0], kCount);
            EXPECT_EQ(end.tlps[1], kCount);
        }
    }
}

/// RwD and BIRsp pass Req that wait behind a snoop: the Req channel gives no credit back.
TEST(ProgressTest, WriteBacksAndSnoopAnswersPassBlockedRequests) {
    StallingEnd end(3);
    end.shut[static_cast<std::size_t>(Channel::kReq)] = true;
    LineLink link(small(), end);
    push_all(link, Channel::kReq);  // in front
    push_all(link, Channel::kRwD);
    push_all(link, Channel::kBiRsp);
    end.run(link, Time::from_ms(10));
    EXPECT_EQ(arrived(end, Channel::kReq), 4U);
    EXPECT_EQ(arrived(end, Channel::kRwD), kCount);
    EXPECT_EQ(arrived(end, Channel::kBiRsp), kCount);
}

/// CXL.mem goes on beside a CXL.io stream that never ends, in every arbitration, and the other way
/// round: inbound posted writes are always sunk.
TEST(ProgressTest, MemAndIoDoNotStarveEachOther) {
    for (const Arbitration arbitration : {Arbitration::kFlit, Arbitration::kTlp}) {
        for (const FlitLayout layout : {FlitLayout::k68B, FlitLayout::k256BStandardHbr}) {
            StallingEnd end(5);
            LinkConfig config = small(layout);
            config.arbitration = arbitration;
            config.mem_weight = 2;
            LineLink link(config, end, {50'000, 2});  // and CRC errors
            end.link = &link;
            constexpr std::uint32_t kTlps = 20'000;
            for (std::uint32_t id = 0; id < kTlps; ++id) {
                link.push(Direction::kToHost, Tlp{TlpKind::kWrite, {256}, id}, {});
            }
            push_all(link, Channel::kDrs);
            push_all(link, Channel::kNdr);
            // Long before the stream ends, all of CXL.mem is through.
            end.run(link, Time::from_us(60));
            EXPECT_EQ(arrived(end, Channel::kDrs), kCount);
            EXPECT_EQ(arrived(end, Channel::kNdr), kCount);
            EXPECT_GT(end.tlps[1], 100U);
            EXPECT_LT(end.tlps[1], kTlps);
            end.run(link, Time::from_ms(10));
            EXPECT_EQ(end.tlps[1], kTlps);
            EXPECT_EQ(end.payload, 256ULL * kTlps);
        }
    }
}

/// Reads whose buffers are never freed stop neither posted writes nor completions.
TEST(ProgressTest, PostedWritesAndCompletionsPassReads) {
    StallingEnd end(9);
    end.tlp_stall = 50'000;
    LinkConfig config;
    LineLink link(config, end);
    end.link = &link;
    end.shut_reads = true;
    for (std::uint32_t id = 0; id < 1000; ++id) {
        link.push(Direction::kToHost, Tlp{TlpKind::kRead, {}, id}, {});
        link.push(Direction::kToHost, Tlp{TlpKind::kWrite, {256}, id}, {});
        link.push(Direction::kToHost, Tlp{TlpKind::kCompletion, {256}, id}, {});
    }
    end.run(link, Time::from_ms(1));
    EXPECT_EQ(end.tlps[1], 2000U + config.io_credits[1].headers);
    EXPECT_EQ(end.payload, 2000U * 256);
}

/// While CXL.mem always has more, a TLP leaves after mem_weight flits at the latest.
TEST(ProgressTest, IoGetsItsTurnBesideSaturatingMem) {
    StallingEnd end(7);
    LinkConfig config;
    config.response_credits = 100'000;
    config.mem_weight = 16;
    LineLink link(config, end);
    for (std::uint32_t id = 0; id < 20'000; ++id) {
        link.push(Direction::kToHost, FlitMessage{id, Channel::kDrs}, {});
    }
    link.push(Direction::kToHost, Tlp{TlpKind::kWrite, {32}, 0}, {});
    end.run(link, Time::from_ns(40));
    EXPECT_EQ(end.tlps[1], 1U);
}

}  // namespace
}  // namespace kvplane::cxl
