// SPDX-License-Identifier: Apache-2.0
/// Each rule, kept and broken.
#include "model/engine/invariant_checker.h"

#include <gtest/gtest.h>

#include "model/common/errors.h"

namespace kvplane::engine {
namespace {

constexpr TierFrame kFirst{0};
constexpr TierFrame kSecond{1};
const block::BlockKey kKey{1, 2};

Extents at(std::uint32_t granule) {
    Extents extents;
    extents.first[0] = granule;
    extents.count = 1;
    return extents;
}

MoveJob job(std::uint64_t serial, Opcode opcode) {
    MoveJob made;
    made.serial = serial;
    made.intent.opcode = static_cast<std::uint8_t>(opcode);
    made.blocks.resize(1);
    made.blocks[0].key = kKey;
    return made;
}

class InvariantCheckerTest : public testing::Test {
protected:
    /// A copy of four granules at `granule`, committed.
    void bring(TierFrame frame, std::uint32_t granule) {
        checker.allocated(frame, at(granule), 4);
        checker.committed(kKey, frame, std::nullopt, 0);
    }

    InvariantChecker checker{kGranule * 16};
};

TEST_F(InvariantCheckerTest, ALifeByTheRules) {
    MoveJob demotion = job(1, Opcode::kDemote);
    checker.taken_in(demotion);
    bring(kFirst, 0);
    checker.crossed(demotion, kPull, 0, {}, Time::from_us(1));
    demotion.done = 1;
    checker.completed(demotion);
    checker.read_begun(kFirst);
    checker.version_changed(kFirst, 1);
    checker.version_changed(kFirst, 2);
    checker.allocated(kSecond, at(4), 4);
    checker.committed(kKey, kSecond, kFirst, 3);
    checker.read_begun(kSecond);
    checker.freed(kFirst, at(0), 4);
    checker.allocated(kFirst, at(2), 2);
    EXPECT_EQ(checker.checks(), 13U);
}

TEST_F(InvariantCheckerTest, RoomIsGivenOnceAndInsideTheTier) {
    bring(kFirst, 0);
    EXPECT_THROW(checker.allocated(kSecond, at(3), 2), InvariantError);
    EXPECT_THROW(checker.allocated({2}, at(15), 2), InvariantError);
    EXPECT_THROW(checker.allocated(kFirst, at(8), 2), InvariantError);
    checker.freed(kFirst, at(0), 4);
    EXPECT_THROW(checker.freed(kFirst, at(0), 4), InvariantError);
}

TEST_F(InvariantCheckerTest, OnlyCommittedCopiesAreRead) {
    EXPECT_THROW(checker.read_begun(kFirst), InvariantError);
    checker.allocated(kFirst, at(0), 4);
    EXPECT_THROW(checker.read_begun(kFirst), InvariantError);
    checker.committed(kKey, kFirst, std::nullopt, 0);
    checker.read_begun(kFirst);
    EXPECT_THROW(checker.committed(kKey, kFirst, std::nullopt, 0), InvariantError);
}

TEST_F(InvariantCheckerTest, AMovesSourceIsNotReadAfterItsCommit) {
    bring(kFirst, 0);
    checker.allocated(kSecond, at(4), 4);
    checker.read_begun(kFirst);
    checker.committed(kKey, kSecond, kFirst, 1);
    EXPECT_THROW(checker.read_begun(kFirst), InvariantError);
}

TEST_F(InvariantCheckerTest, VersionsGoUpByOne) {
    bring(kFirst, 0);
    for (std::uint64_t version = 1; version <= 300; ++version) {
        checker.version_changed(kFirst, version & 0xFFU);
    }
    EXPECT_THROW(checker.version_changed(kFirst, 44), InvariantError);  // 300 again
    EXPECT_THROW(checker.version_changed(kFirst, 46), InvariantError);
    checker.allocated(kSecond, at(4), 4);
    EXPECT_THROW(checker.committed(kKey, kSecond, kFirst, 44), InvariantError);
}

TEST_F(InvariantCheckerTest, EveryIntentHasOneCompletion) {
    const MoveJob promotion = job(1, Opcode::kPromote);
    EXPECT_THROW(checker.completed(promotion), InvariantError);
    checker.taken_in(promotion);
    EXPECT_THROW(checker.taken_in(promotion), InvariantError);
    checker.completed(promotion);
    EXPECT_THROW(checker.completed(promotion), InvariantError);
    EXPECT_THROW(checker.crossed(promotion, kPush, 0, {}, {}), InvariantError);
}

TEST_F(InvariantCheckerTest, NoCompletionBeforeTheCommit) {
    bring(kFirst, 0);  // an earlier life of the key does not count
    MoveJob demotion = job(1, Opcode::kDemote);
    demotion.done = 1;
    checker.taken_in(demotion);
    EXPECT_THROW(checker.completed(demotion), InvariantError);
    demotion.done = 0;  // nothing is claimed
    checker.completed(demotion);
}

TEST_F(InvariantCheckerTest, AResetEndsIntentsAndCopies) {
    const MoveJob promotion = job(1, Opcode::kPromote);
    checker.taken_in(promotion);
    bring(kFirst, 0);
    checker.dropped();
    checker.cleared();
    EXPECT_THROW(checker.completed(promotion), InvariantError);
    bring(kFirst, 0);
}

}  // namespace
}  // namespace kvplane::engine
