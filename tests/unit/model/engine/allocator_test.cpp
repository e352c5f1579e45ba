// SPDX-License-Identifier: Apache-2.0
#include "model/engine/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"
#include "model/engine/chunk_table.h"
#include "model/engine/stage_clock.h"

namespace kvplane::engine {
namespace {

/// Gives back what was allocated, with the length to free it by.
struct Taken {
    Extents extents;
    std::uint32_t count = 0;
};

TEST(TierAllocatorTest, CountsInWholeGranules) {
    EXPECT_EQ(TierAllocator(Bytes::from_mib(64)).capacity(), 16'384U);
    EXPECT_EQ(TierAllocator(Bytes::from_kib(7)).capacity(), 1U);
    EXPECT_FALSE(TierAllocator(Bytes::from_kib(3)).allocate(1));
    EXPECT_EQ(granules({1}), 1U);
    EXPECT_EQ(granules({4'096}), 1U);
    EXPECT_EQ(granules({4'097}), 2U);
}

TEST(TierAllocatorTest, ABlockOfAnySizeThatFitsInOnePieceIsOnePiece) {
    for (std::uint32_t count = 1; count <= 1'280; ++count) {
        TierAllocator room(kGranule * 1'280);
        const Extents made = room.allocate(count).value();
        ASSERT_EQ(made.count, 1U);
        ASSERT_EQ(made.first[0], 0U);
        ASSERT_EQ(room.used(), count);
        ASSERT_EQ(room.fragmentation().free, 1'280U - count);
        ASSERT_EQ(room.fragmentation().external(), 0);
    }
}

TEST(TierAllocatorTest, BlocksOfOneSizeFillItAndTheLastFreedGoesFirst) {
    TierAllocator room(Bytes::from_kib(80));
    std::vector<Extents> taken;
    for (std::uint32_t i = 0; i < 5; ++i) {
        taken.push_back(room.allocate(4).value());
        EXPECT_EQ(taken.back().first[0], i * 4);
        EXPECT_EQ(TierAllocator::address(taken.back().first[0]), Dpa{i * 16'384ULL});
    }
    EXPECT_FALSE(room.allocate(1));
    room.free(taken[1], 4);
    room.free(taken[3], 4);
    EXPECT_EQ(room.used(), 12U);
    EXPECT_EQ(room.fragmentation().extents, 2U);
    EXPECT_EQ(room.fragmentation().external(), 0.5);
    EXPECT_EQ(room.allocate(4), taken[3]);
    EXPECT_EQ(room.allocate(4), taken[1]);
    EXPECT_FALSE(room.allocate(1));
}

TEST(TierAllocatorTest, NeighboursGrowTogether) {
    TierAllocator room(kGranule * 12);
    std::vector<Extents> taken;
    for (int i = 0; i < 4; ++i) taken.push_back(room.allocate(3).value());
    for (const std::size_t i : {0U, 2U, 1U}) room.free(taken[i], 3);
    EXPECT_EQ(room.fragmentation().extents, 1U);
    EXPECT_EQ(room.fragmentation().largest, 9U);
    EXPECT_EQ(room.allocate(9)->count, 1U);
}

TEST(TierAllocatorTest, WithoutOnePieceItTakesUpToSixOfOneClass) {
    // Every second granule of 14 is free: seven pieces of one.
    const auto combed = [] {
        auto room = std::make_unique<TierAllocator>(kGranule * 14);
        std::vector<Extents> taken;
        for (int i = 0; i < 14; ++i) taken.push_back(room->allocate(1).value());
        for (std::size_t i = 0; i < 14; i += 2) room->free(taken[i], 1);
        return room;
    };
    for (std::uint32_t count = 1; count <= 6; ++count) {
        const auto room = combed();
        const Extents made = room->allocate(count).value();
        EXPECT_EQ(made.count, count);
        for (std::size_t i = 0; i < made.count; ++i) EXPECT_EQ(made.length(i, count), 1U);
        room->free(made, count);
        EXPECT_EQ(room->used(), 7U);
    }
    const auto room = combed();
    EXPECT_FALSE(room->allocate(7)) << "seven pieces, and a record names six";
    EXPECT_EQ(room->used(), 7U) << "what was tried is free again";
    EXPECT_EQ(room->fragmentation().extents, 7U);
}

TEST(TierAllocatorTest, TheLengthRuleCoversEveryGranuleOnce) {
    for (std::uint32_t count = 1; count < 200; ++count) {
        for (std::uint8_t parts = 1; parts <= kMostExtents; ++parts) {
            const std::uint32_t size_class = (count + parts - 1) / parts;
            if (size_class * (parts - 1U) >= count) continue;
            const Extents made{.count = parts};
            std::uint32_t sum = 0;
            for (std::size_t i = 0; i < parts; ++i) sum += made.length(i, count);
            ASSERT_EQ(sum, count) << int{parts};
        }
    }
}

TEST(TierAllocatorTest, FreeingTwiceOrWhatWasNeverTakenThrows) {
    TierAllocator room(Bytes::from_kib(64));
    const Extents taken = room.allocate(2).value();
    EXPECT_THROW(room.free({.first = {4}, .count = 1}, 2), InvariantError);
    EXPECT_THROW(room.free(taken, 3), InvariantError);
    room.free(taken, 2);
    EXPECT_THROW(room.free(taken, 2), InvariantError);
    EXPECT_EQ(room.used(), 0U);
}

TEST(TierAllocatorTest, KnowsWhichAddressesHoldBlocks) {
    TierAllocator room(Bytes::from_kib(64));
    const Extents first = room.allocate(2).value();
    (void)room.allocate(2);
    for (const std::uint64_t taken : {0U, 8'191U, 8'192U, 16'383U}) {
        EXPECT_TRUE(room.allocated({taken})) << taken;
    }
    EXPECT_FALSE(room.allocated({16'384}));
    room.free(first, 2);
    EXPECT_FALSE(room.allocated({8'191}));
    room.clear();
    EXPECT_FALSE(room.allocated({8'192}));
}

TEST(TierAllocatorTest, RandomUseNeverHandsAGranuleOutTwiceAndLosesNone) {
    constexpr std::uint64_t kGranules = 700;
    TierAllocator room(kGranule * kGranules);
    std::vector<bool> used(kGranules);
    std::vector<Taken> out;
    RandomStream random(21, "allocator");
    std::uint64_t in_pieces = 0;
    const auto mark = [&](const Taken& one, bool taken) {
        for (std::size_t i = 0; i < one.extents.count; ++i) {
            for (std::uint32_t g = 0; g < one.extents.length(i, one.count); ++g) {
                ASSERT_EQ(used.at(one.extents.first[i] + g), !taken);
                used[one.extents.first[i] + g] = taken;
            }
        }
    };
    for (int i = 0; i < 50'000 && !testing::Test::HasFatalFailure(); ++i) {
        if (random.uniform(2) == 0) {
            const auto count = static_cast<std::uint32_t>(random.uniform(1, 40));
            const std::optional<Extents> made = room.allocate(count);
            if (!made) {
                // Nothing that would fit in one piece was overlooked.
                ASSERT_LT(room.fragmentation().largest, count);
                continue;
            }
            in_pieces += made->count > 1 ? 1 : 0;
            out.push_back({*made, count});
            mark(out.back(), true);
        } else if (!out.empty()) {
            std::swap(out[random.uniform(out.size())], out.back());
            room.free(out.back().extents, out.back().count);
            mark(out.back(), false);
            out.pop_back();
        }
        std::uint64_t runs = 0;
        for (std::size_t g = 0; g < kGranules; ++g) runs += !used[g] && (g == 0 || used[g - 1]);
        ASSERT_EQ(room.fragmentation().extents, runs) << "free neighbours are one";
        ASSERT_EQ(room.used(),
                  static_cast<std::uint64_t>(std::count(used.begin(), used.end(), true)));
    }
    EXPECT_GT(in_pieces, 1'000U);
}

TEST(ChunkTableTest, NoticesEveryFlippedBit) {
    ChunkTable table(Bytes::from_kib(1));
    std::vector<std::uint8_t> payload(2'500);
    RandomStream random(22, "chunks");
    for (std::uint8_t& byte : payload) byte = static_cast<std::uint8_t>(random.bits());
    std::vector<std::uint8_t> other(payload.rbegin(), payload.rend());
    table.record(3, payload);
    table.record(0, other);
    EXPECT_TRUE(table.intact(3, payload));
    EXPECT_TRUE(table.intact(0, other));
    EXPECT_FALSE(table.intact(0, payload));
    for (std::size_t byte = 0; byte < payload.size(); ++byte) {
        payload[byte] ^= 0x10;
        ASSERT_FALSE(table.intact(3, payload)) << byte;
        payload[byte] ^= 0x10;
    }
    table.record(3, other);
    EXPECT_TRUE(table.intact(3, other));
    EXPECT_FALSE(table.intact(3, payload));
}

TEST(StageTimesTest, U14StagesSumExactly) {
    StageTimes stages;
    stages[Stage::kSubmit] = Time::from_ns(100);
    stages[Stage::kFetch] = Time::from_ns(741);
    stages[Stage::kLookup] = Time::from_ns(4);
    stages[Stage::kDram] = Time::from_ns(60);
    stages[Stage::kLink] = Time::from_ns(100'000);
    stages[Stage::kComplete] = Time::from_ns(500);
    EXPECT_EQ(stages.total(), Time::from_ns(101'405));
}

TEST(StageTimesTest, EveryStageIsCountedOnceUnderItsName) {
    std::int64_t expected = 0;
    StageTimes stages;
    for (std::size_t i = 0; i < kStages; ++i) {
        stages[static_cast<Stage>(i)] = Time{std::int64_t{1} << i};
        expected += std::int64_t{1} << i;
    }
    EXPECT_EQ(stages.total(), Time{expected});
    EXPECT_EQ(kStageNames[static_cast<std::size_t>(Stage::kFrameWait)], "frame_wait");
    EXPECT_EQ(kStageNames[static_cast<std::size_t>(Stage::kQueueOther)], "queue_other");
    EXPECT_EQ(kStageNames[static_cast<std::size_t>(Stage::kComplete)], "complete");
    EXPECT_EQ(std::set(kStageNames.begin(), kStageNames.end()).size(), kStages);
}

}  // namespace
}  // namespace kvplane::engine
