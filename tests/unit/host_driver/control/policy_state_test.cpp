// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/policy_state.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <stdexcept>

namespace kvplane::control {
namespace {

constexpr std::uint32_t kBlocks = 1000;

TEST(HistoryTest, ResetForgetsAtOnce) {
    History history({}, kBlocks, 8);
    history.save({1}, 7);
    EXPECT_EQ(history.load({1}), 0U);
    EXPECT_EQ(history.bytes(), Bytes{0});
}

TEST(HistoryTest, FullNeverForgets) {
    History history({Lifetime::kFull, {}}, kBlocks, 8);
    for (std::uint32_t b = 0; b < kBlocks; ++b) history.save({b}, b + 1);
    for (std::uint32_t b = 0; b < kBlocks; ++b) EXPECT_EQ(history.load({b}), b + 1);
    EXPECT_EQ(history.bytes(), kGhostBytes * kBlocks);
}

TEST(HistoryTest, GhostsAreTheLastToHaveLeft) {
    History history({Lifetime::kGhosts, kGhostBytes * 3}, kBlocks, 8);
    EXPECT_EQ(history.bytes(), kGhostBytes * 3);
    for (std::uint32_t b = 0; b < 5; ++b) history.save({b}, b + 1);
    EXPECT_EQ(history.load({1}), 0U);
    EXPECT_EQ(history.load({3}), 4U);
    EXPECT_EQ(history.load({3}), 0U) << "a ghost is gone once it is back";
    history.save({8}, 9);  // takes the free entry
    EXPECT_EQ(history.load({2}), 3U);
    EXPECT_EQ(history.load({4}), 5U);
    EXPECT_EQ(history.load({8}), 9U);
}

TEST(HistoryTest, ASketchNeverFallsBelowTheTruthAndStaysInItsBytes) {
    for (const std::uint32_t cell : {1U, 8U}) {
        const Bytes budget{4096};
        History history({Lifetime::kSketch, budget}, kBlocks, cell);
        EXPECT_LE(history.bytes(), budget);
        EXPECT_GT(history.bytes(), Bytes{4000});
        std::map<std::uint32_t, std::uint64_t> truth;
        std::mt19937_64 random(3);
        for (int i = 0; i < 2000; ++i) {
            const auto b = static_cast<std::uint32_t>(random() % kBlocks);
            truth[b] = std::max<std::uint64_t>(truth[b], random() % 300);
            history.save({b}, truth[b]);
        }
        std::uint64_t exact = 0;
        for (const auto& [b, value] : truth) {
            const std::uint64_t capped = cell == 1 ? std::min<std::uint64_t>(value, 255) : value;
            EXPECT_GE(history.load({b}), capped);
            exact += history.load({b}) == capped ? 1 : 0;
        }
        EXPECT_LT(exact, truth.size()) << "so small a sketch must collide";
    }
}

TEST(StateSpecTest, SketchesHaveASensibleSize) {
    for (const Bytes bytes : {Bytes{1}, Bytes{63}, Bytes::from_gib(1) + Bytes{1}}) {
        EXPECT_THROW(check(StateSpec{Lifetime::kSketch, bytes}), std::invalid_argument);
    }
    for (const Bytes bytes : {Bytes{64}, Bytes::from_gib(1)}) {
        check(StateSpec{Lifetime::kSketch, bytes});
    }
    check(StateSpec{Lifetime::kGhosts, Bytes{16}});
}

TEST(FrequencySketchTest, CountsWithoutCollisionsAndAges) {
    FrequencySketch sketch(Bytes::from_kib(64));
    EXPECT_LE(sketch.bytes(), Bytes::from_kib(64));
    for (std::uint32_t b = 0; b < 30; ++b) {
        for (std::uint32_t n = 0; n < b; ++n) sketch.add({b});
    }
    for (std::uint32_t b = 0; b < 30; ++b) EXPECT_EQ(sketch.count({b}), std::min(b, 15U));
    // 32,768 columns: all counters are halved after ten times as many references.
    for (std::uint32_t i = 435; i < 327'680 - 1; ++i) sketch.add({1'000'000});
    EXPECT_EQ(sketch.count({12}), 12U);
    sketch.add({1'000'000});
    EXPECT_EQ(sketch.count({12}), 6U);
    EXPECT_EQ(sketch.count({29}), 7U);
}

}  // namespace
}  // namespace kvplane::control
