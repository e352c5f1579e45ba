// SPDX-License-Identifier: Apache-2.0
// The placement micro-scenarios, by name. Blocks are numbered in order of first use.
#include "host_driver/control/replay.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_workload.h"

namespace kvplane::control {
namespace {

using test::TinyWorkload;

constexpr std::uint32_t kA = 0;
constexpr std::uint32_t kB = 1;
constexpr std::uint32_t kC = 2;

workload::Workload a_b_c_a() {
    return TinyWorkload().read({kA}).read({kB}).read({kC}).read({kA}).make();
}

/// [R a1 a2] [R b1 b2] [R a1 a2]
workload::Workload two_branches() {
    return TinyWorkload().read({0, 1, 2}).read({0, 3, 4}).read({0, 1, 2}).make();
}

TEST(ReplayTest, P1OnEvict) {
    const ReplayResult r = replay(a_b_c_a(), {.frames = 2});
    EXPECT_EQ(r.block_refs, 4U);
    EXPECT_EQ(r.hits, 0U);
    EXPECT_EQ(r.counts.promotions, 1U);
    EXPECT_EQ(r.counts.demotions, 2U);
    EXPECT_EQ(r.counts.clean_discards, 0U);
    EXPECT_EQ(r.dead_writes, 1U);
    EXPECT_DOUBLE_EQ(r.a_read, 1.0 / 3.0);
    EXPECT_DOUBLE_EQ(r.a_traffic, 1.0);
}

TEST(ReplayTest, P1WriteThrough) {
    const ReplayResult r = replay(a_b_c_a(), {.frames = 2, .demotion = Demotion::kWriteThrough});
    EXPECT_EQ(r.counts.promotions, 1U);
    EXPECT_EQ(r.counts.demotions, 3U);
    EXPECT_EQ(r.counts.clean_discards, 2U);
    EXPECT_EQ(r.dead_writes, 2U);
    EXPECT_DOUBLE_EQ(r.a_traffic, 4.0 / 3.0);
}

TEST(ReplayTest, P2OnEvict) {
    const workload::Workload w =
        TinyWorkload().read({kA}).read({kB}).read({kA}).read({kB}).read({kA}).make();
    const ReplayResult r = replay(w, {.frames = 1});
    EXPECT_EQ(r.counts.promotions, 3U);
    EXPECT_EQ(r.counts.demotions, 2U);
    EXPECT_EQ(r.counts.clean_discards, 2U);
    EXPECT_EQ(r.dead_writes, 0U);
    EXPECT_DOUBLE_EQ(r.a_read, 1.5);
    EXPECT_DOUBLE_EQ(r.a_traffic, 2.5);
}

TEST(ReplayTest, P3CapacityFour) {
    const ReplayResult r = replay(two_branches(), {.frames = 4});
    EXPECT_EQ(r.block_refs, 9U);
    EXPECT_EQ(r.hits, 3U);
    EXPECT_EQ(r.counts.promotions, 1U);
    EXPECT_EQ(r.counts.demotions, 2U);
    EXPECT_EQ(r.dead_writes, 1U);
    EXPECT_DOUBLE_EQ(r.a_read, 0.2);
    EXPECT_DOUBLE_EQ(r.a_traffic, 0.6);
}

TEST(ReplayTest, P3CapacityThree) {
    const ReplayResult r = replay(two_branches(), {.frames = 3});
    EXPECT_EQ(r.hits, 2U);
    EXPECT_EQ(r.counts.promotions, 2U);
    EXPECT_EQ(r.counts.demotions, 4U);
    EXPECT_EQ(r.dead_writes, 2U);
    EXPECT_DOUBLE_EQ(r.a_read, 0.4);
    EXPECT_DOUBLE_EQ(r.a_traffic, 1.2);
}

TEST(ReplayTest, P3CapacityTwoIsInfeasible) {
    const ReplayResult r = replay(two_branches(), {.frames = 2});
    EXPECT_FALSE(r.feasible);
    EXPECT_EQ(r.largest_read_set, 3U);
    EXPECT_EQ(r.counts.lives, 0U);
}

TEST(ReplayTest, P4Loop) {
    TinyWorkload loop;
    for (int i = 0; i < 3; ++i) loop.read({kA}).read({kB}).read({kC});
    const ReplayResult r = replay(loop.make(), {.frames = 2});
    EXPECT_EQ(r.hits, 0U);
    EXPECT_EQ(r.counts.promotions, 6U);
    EXPECT_EQ(r.counts.demotions, 3U);
    EXPECT_EQ(r.counts.clean_discards, 4U);
    EXPECT_DOUBLE_EQ(r.a_read, 2.0);
    EXPECT_DOUBLE_EQ(r.a_traffic, 3.0);
}

TEST(ReplayTest, P5TierEvictionBeginsANewLife) {
    // One HBM frame, a tier of one block: B's demotion drops A's copy, so A is made again.
    const workload::Workload w =
        TinyWorkload().read({kA}).read({kB}).read({kC}).read({kA}).read({kB}).make();
    const ReplayResult r = replay(w, {.frames = 1, .tier_blocks = 1});
    EXPECT_EQ(r.counts.promotions, 0U);
    EXPECT_EQ(r.counts.recomputed, 2U);
    EXPECT_EQ(r.counts.lives, 5U);
    EXPECT_EQ(r.counts.distinct, 3U);
    EXPECT_EQ(r.counts.demotions, 4U);
    EXPECT_EQ(r.counts.violations, 0U);
}

}  // namespace
}  // namespace kvplane::control
