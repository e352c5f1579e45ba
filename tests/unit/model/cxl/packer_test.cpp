// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/packer.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"

namespace kvplane::cxl {
namespace {

constexpr std::array kLayouts{FlitLayout::k68B, FlitLayout::k256BStandardHbr,
                              FlitLayout::k256BLowLatencyHbr, FlitLayout::k256BStandardPbr,
                              FlitLayout::k256BLowLatencyPbr};

/// A second reading of the rules: takes flits apart slot by slot and fails on any breach.
class Inspector {
public:
    Inspector(Direction direction, const PackerConfig& config)
        : m_direction(direction), m_config(config) {}

    void take(const Flit& flit) {
        const bool small = m_config.layout == FlitLayout::k68B;
        std::array<int, 6> headers{};
        int drs_slots = 0;
        for (std::size_t i = 0; i < slots_of(m_config.layout); ++i) {
            const Slot& slot = flit.slots[i];
            if (slot.kind == SlotKind::kData) {
                EXPECT_TRUE(i != 0 || (small && flit.all_data));
                take_chunk(slot);
            } else if (slot.kind == SlotKind::kHeaders) {
                EXPECT_FALSE(flit.all_data);
                unsigned bits = 0;
                bool drs = false;
                for (std::size_t m = 0; m < slot.count; ++m) {
                    const FlitMessage& message = slot.messages[m];
                    ++headers[static_cast<std::size_t>(message.channel)];
                    bits += message_bits(message.channel);
                    drs = drs || message.channel == Channel::kDrs;
                    take_header(message);
                }
                EXPECT_LE(bits, i == 0 ? (small ? 96U : 112U) : 128U);
                drs_slots += drs ? 1 : 0;
            }
        }
        if (small) check_limits(headers, drs_slots);
    }

    std::array<std::vector<std::uint32_t>, 6> complete;

private:
    void check_limits(const std::array<int, 6>& headers, int drs_slots) const {
        EXPECT_LE(headers[static_cast<std::size_t>(Channel::kReq)], 2);
        EXPECT_LE(headers[static_cast<std::size_t>(Channel::kRwD)], 1);
        const int drs = headers[static_cast<std::size_t>(Channel::kDrs)];
        EXPECT_LE(drs, m_config.multi_data_header ? 3 : 1);
        EXPECT_LE(drs_slots, 1);
        if (drs != 0) {
            EXPECT_LE(headers[static_cast<std::size_t>(Channel::kNdr)], 2);
        }
    }
    void take_header(const FlitMessage& message) {
        if (has_data(message.channel)) {
            m_open.push_back({message, 0});
        } else {
            complete[static_cast<std::size_t>(message.channel)].push_back(message.id);
        }
    }
    void take_chunk(const Slot& slot) {
        ASSERT_FALSE(m_open.empty()) << "data before their header";
        auto& [message, chunks] = m_open.front();
        EXPECT_EQ(slot.messages[0], message);
        EXPECT_EQ(slot.count, chunks);
        ++chunks;
        EXPECT_EQ(slot.last, chunks == chunks_of(message));
        if (chunks == chunks_of(message)) {
            complete[static_cast<std::size_t>(message.channel)].push_back(message.id);
            m_open.pop_front();
        }
    }

    Direction m_direction;
    PackerConfig m_config;
    std::deque<std::pair<FlitMessage, std::uint32_t>> m_open;
};

std::vector<Channel> channels(Direction direction, const PackerConfig& config) {
    const FlitPacker packer(direction, config);
    std::vector<Channel> result;
    for (unsigned c = 0; c < 6; ++c) {
        if (packer.carries(static_cast<Channel>(c))) result.push_back(static_cast<Channel>(c));
    }
    return result;
}

/// Random messages at a random pace: what comes out is what went in, in order, within the limits.
TEST(PackerTest, EveryMessageArrivesOnceAndInOrder) {
    RandomStream random(1, "packer");
    for (int round = 0; round < 240; ++round) {
        const auto direction = static_cast<Direction>(round % 2);
        const PackerConfig config{kLayouts[static_cast<std::size_t>(round / 2 % 5)],
                                  static_cast<Packing>(round / 10 % 2), round / 20 % 2 == 0};
        FlitPacker packer(direction, config);
        Inspector inspector(direction, config);
        const std::vector<Channel> all = channels(direction, config);
        std::array<std::vector<std::uint32_t>, 6> sent;
        std::uint32_t id = 0;
        Flit flit;
        const std::uint64_t pace = random.uniform(1, 12);
        for (int step = 0; step < 400; ++step) {
            for (std::uint64_t n = random.uniform(pace); n > 0; --n) {
                const Channel channel = all[random.uniform(all.size())];
                const bool partial = channel == Channel::kRwD && random.uniform(4) == 0;
                packer.push({id, channel, partial});
                sent[static_cast<std::size_t>(channel)].push_back(id++);
            }
            if (packer.pending()) {
                packer.next(flit);
                EXPECT_GT(flit.used, 0);
                inspector.take(flit);
            }
        }
        int drain = 0;
        while (packer.pending()) {
            packer.next(flit);
            inspector.take(flit);
            ASSERT_LT(++drain, 100'000);
        }
        EXPECT_EQ(packer.waiting(), 0U);
        for (std::size_t c = 0; c < 6; ++c) EXPECT_EQ(inspector.complete[c], sent[c]) << c;
    }
}

TEST(PackerTest, UnpackGivesWhatTheInspectorGives) {
    const PackerConfig config;
    FlitPacker packer(Direction::kToHost, config);
    for (std::uint32_t id = 0; id < 1000; ++id) {
        packer.push({id, id % 3 == 0 ? Channel::kNdr : Channel::kDrs});
    }
    Inspector inspector(Direction::kToHost, config);
    std::array<std::vector<std::uint32_t>, 6> seen;
    Flit flit;
    while (packer.pending()) {
        packer.next(flit);
        inspector.take(flit);
        unpack(flit, config.layout, [&](const FlitMessage& message) {
            seen[static_cast<std::size_t>(message.channel)].push_back(message.id);
        });
    }
    EXPECT_EQ(seen, inspector.complete);
}

std::uint64_t flits_of(Direction direction, const PackerConfig& config,
                       const std::vector<FlitMessage>& messages) {
    FlitPacker packer(direction, config);
    for (const FlitMessage& message : messages) packer.push(message);
    std::uint64_t flits = 0;
    Flit flit;
    for (; packer.pending(); ++flits) packer.next(flit);
    return flits;
}

std::vector<FlitMessage> many(std::size_t n, Channel channel, bool partial = false) {
    std::vector<FlitMessage> messages;
    for (std::size_t i = 0; i < n; ++i) {
        messages.push_back({static_cast<std::uint32_t>(i), channel, partial});
    }
    return messages;
}

TEST(PackerTest, CountsOf68ByteFlitsAreThoseOfTheRules) {
    const PackerConfig plain;
    PackerConfig single;
    single.multi_data_header = false;
    EXPECT_EQ(flits_of(Direction::kToHost, plain, many(800, Channel::kDrs)), 900U);
    EXPECT_EQ(flits_of(Direction::kToHost, single, many(800, Channel::kDrs)), 1000U);
    EXPECT_EQ(flits_of(Direction::kToCard, plain, many(800, Channel::kRwD)), 1000U);
    EXPECT_EQ(flits_of(Direction::kToCard, plain, many(800, Channel::kRwD, true)), 1200U);
    EXPECT_EQ(flits_of(Direction::kToCard, plain, many(800, Channel::kReq)), 400U);
    EXPECT_EQ(flits_of(Direction::kToHost, plain, many(800, Channel::kNdr)), 100U);
    // Lone messages.
    EXPECT_EQ(flits_of(Direction::kToHost, plain, many(1, Channel::kDrs)), 2U);
    EXPECT_EQ(flits_of(Direction::kToHost, plain, many(1, Channel::kNdr)), 1U);
    EXPECT_EQ(flits_of(Direction::kToCard, plain, many(1, Channel::kRwD)), 2U);
}

TEST(PackerTest, CountsOf256ByteFlitsAreThoseOfTheRules) {
    const auto reads = [](FlitLayout layout) {
        return flits_of(Direction::kToHost, {layout}, many(44 * 42 * 10, Channel::kDrs));
    };
    const auto writes = [](FlitLayout layout) {
        return flits_of(Direction::kToCard, {layout}, many(3 * 7 * 13 * 20, Channel::kRwD));
    };
    EXPECT_NEAR(static_cast<double>(reads(FlitLayout::k256BStandardHbr)), 18480 / 44.0 * 13, 2);
    EXPECT_NEAR(static_cast<double>(reads(FlitLayout::k256BLowLatencyHbr)), 18480 / 42.0 * 13, 2);
    EXPECT_NEAR(static_cast<double>(reads(FlitLayout::k256BStandardPbr)), 18480 / 30.0 * 9, 2);
    EXPECT_NEAR(static_cast<double>(reads(FlitLayout::k256BLowLatencyPbr)), 18480 / 29.0 * 9, 2);
    EXPECT_EQ(writes(FlitLayout::k256BStandardHbr), 5460U / 3);
    EXPECT_EQ(writes(FlitLayout::k256BLowLatencyHbr), 5460U * 5 / 14);
    EXPECT_EQ(writes(FlitLayout::k256BStandardPbr), 5460U * 5 / 14);
    EXPECT_EQ(writes(FlitLayout::k256BLowLatencyPbr), 5460U * 5 / 13);
}

/// One completion beside an endless stream of data is not held for ever.
TEST(PackerTest, ACompletionBesideDataLeavesInTime) {
    for (const Packing packing : {Packing::kBalanced, Packing::kNaive}) {
        FlitPacker packer(Direction::kToHost, {FlitLayout::k68B, packing, true});
        packer.push({7, Channel::kNdr});
        bool left = false;
        Flit flit;
        int header_flits = 0;
        for (std::uint32_t i = 0; !left; ++i) {
            packer.push({100 + 2 * i, Channel::kDrs});
            packer.push({101 + 2 * i, Channel::kDrs});
            packer.next(flit);
            header_flits += flit.all_data ? 0 : 1;
            unpack(flit, FlitLayout::k68B, [&](const FlitMessage& message) {
                left = left || message.channel == Channel::kNdr;
            });
            ASSERT_LE(header_flits, 16);
        }
    }
}

TEST(PackerTest, BackInvalidateDoesNotFitInto68ByteFlits) {
    FlitPacker narrow(Direction::kToHost, {});
    EXPECT_FALSE(narrow.carries(Channel::kBiSnp));
    EXPECT_THROW(narrow.push({1, Channel::kBiSnp}), InvariantError);
    EXPECT_THROW(narrow.push({1, Channel::kReq}), InvariantError);
    const FlitPacker wide(Direction::kToHost, {FlitLayout::k256BStandardHbr});
    EXPECT_TRUE(wide.carries(Channel::kBiSnp));
}

}  // namespace
}  // namespace kvplane::cxl
