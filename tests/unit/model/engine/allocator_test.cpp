// SPDX-License-Identifier: Apache-2.0
#include "model/engine/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"
#include "model/engine/chunk_table.h"
#include "model/engine/stage_clock.h"

namespace kvplane::engine {
namespace {

TEST(TierAllocatorTest, HoldsAsManyBlocksAsFitInWholeGranules) {
    EXPECT_EQ(TierAllocator(Bytes::from_mib(64), Bytes::from_mib(5)).capacity(), 12U);
    EXPECT_EQ(TierAllocator(Bytes::from_kib(64), {4'097}).capacity(), 8U);
    EXPECT_EQ(TierAllocator(Bytes::from_kib(3), Bytes::from_kib(4)).capacity(), 0U);
    EXPECT_EQ(granules({1}), 1U);
    EXPECT_EQ(granules({4'096}), 1U);
    EXPECT_EQ(granules({4'097}), 2U);
}

TEST(TierAllocatorTest, GivesLowAddressesFirstAndTheLastFreedAgain) {
    TierAllocator frames(Bytes::from_kib(80), Bytes::from_kib(16));
    std::vector<TierFrame> taken;
    for (std::uint64_t i = 0; i < 5; ++i) {
        taken.push_back(frames.allocate().value());
        EXPECT_EQ(frames.address(taken.back()), Dpa{i * 16'384});
        EXPECT_EQ(frames.number(taken.back()), i);
    }
    EXPECT_FALSE(frames.allocate());
    EXPECT_EQ(frames.used(), 5U);
    frames.free(taken[1]);
    frames.free(taken[3]);
    EXPECT_EQ(frames.used(), 3U);
    EXPECT_EQ(frames.allocate()->granule, taken[3].granule);
    EXPECT_EQ(frames.allocate()->granule, taken[1].granule);
    EXPECT_FALSE(frames.allocate());
}

TEST(TierAllocatorTest, FreeingTwiceOrWhatWasNeverTakenThrows) {
    TierAllocator frames(Bytes::from_kib(64), Bytes::from_kib(8));
    const TierFrame frame = frames.allocate().value();
    EXPECT_THROW(frames.free({frame.granule + 1}), InvariantError);  // inside a frame
    EXPECT_THROW(frames.free({4}), InvariantError);
    frames.free(frame);
    EXPECT_THROW(frames.free(frame), InvariantError);
    EXPECT_EQ(frames.used(), 0U);
}

TEST(TierAllocatorTest, KnowsWhichAddressesHoldBlocks) {
    TierAllocator frames(Bytes::from_kib(64), Bytes::from_kib(8));
    const TierFrame first = frames.allocate().value();
    (void)frames.allocate();
    EXPECT_TRUE(frames.allocated({0}));
    EXPECT_TRUE(frames.allocated({8'191}));
    EXPECT_TRUE(frames.allocated({8'192}));
    EXPECT_FALSE(frames.allocated({16'384}));
    frames.free(first);
    EXPECT_FALSE(frames.allocated({8'191}));
}

TEST(TierAllocatorTest, RandomUseNeverHandsAFrameOutTwice) {
    TierAllocator frames(Bytes::from_mib(1), Bytes::from_kib(12));
    std::set<std::uint32_t> out;
    RandomStream random(21, "allocator");
    for (int i = 0; i < 50'000; ++i) {
        if (random.uniform(2) == 0) {
            const std::optional<TierFrame> frame = frames.allocate();
            ASSERT_EQ(frame.has_value(), out.size() < frames.capacity());
            if (frame) {
                ASSERT_TRUE(out.insert(frame->granule).second);
                ASSERT_EQ(frame->granule % 3, 0U);
                ASSERT_LE(frames.address(*frame).value + 12'288, Bytes::from_mib(1).count);
            }
        } else if (!out.empty()) {
            auto victim = out.begin();
            std::advance(victim, static_cast<std::ptrdiff_t>(random.uniform(out.size())));
            frames.free({*victim});
            out.erase(victim);
        }
        ASSERT_EQ(frames.used(), out.size());
    }
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
