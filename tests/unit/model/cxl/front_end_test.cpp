// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/front_end.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "model/common/random.h"

namespace kvplane::cxl {
namespace {

constexpr Time kRead = Time::from_ns(3);
constexpr Time kWrite = Time::from_ns(10);

FrontEndConfig config(std::uint32_t lanes = 1) {
    return {.lanes = lanes, .interleave = {256}, .read = kRead, .write = kWrite};
}

TEST(FrontEndTest, ALineThatFindsItsLaneFreePassesAtOnce) {
    FrontEnd front_end(config());
    EXPECT_EQ(front_end.pass(Time::from_ns(100), {0}, false), Time::from_ns(100));
    EXPECT_EQ(front_end.pass(Time::from_ns(103), {64}, true), Time::from_ns(103));
    EXPECT_EQ(front_end.pass(Time::from_ns(113), {0}, false), Time::from_ns(113));
}

TEST(FrontEndTest, ABusyLaneTakesALineAnInterval) {
    FrontEnd front_end(config());
    Time expected;
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(front_end.pass({}, {0}, false), expected);
        expected += kRead;
    }
    EXPECT_EQ(front_end.pass({}, {0}, true), expected);
    EXPECT_EQ(front_end.pass({}, {0}, false), expected + kWrite);
}

TEST(FrontEndTest, LanesAreChosenByAddressAndWorkBesideEachOther) {
    FrontEnd front_end(config(4));
    for (std::uint64_t run = 0; run < 4; ++run) {
        EXPECT_EQ(front_end.pass({}, {run * 256}, false), Time{}) << run;
    }
    EXPECT_EQ(front_end.pass({}, {255}, false), kRead) << "the first run again";
    EXPECT_EQ(front_end.pass({}, {4 * 256}, false), kRead * 2) << "and its lane";
    EXPECT_EQ(front_end.pass({}, {256}, false), kRead);
}

/// A twin that asks of each lane what it took before.
TEST(FrontEndTest, MatchesAListOfEveryLine) {
    RandomStream random(7, "front end");
    FrontEnd front_end(config(3));
    struct Line {
        Time start;
        bool write;
    };
    std::array<std::vector<Line>, 3> lanes;
    Time at;
    for (int i = 0; i < 5'000; ++i) {
        at += random.exponential(Time::from_ns(2));
        const Dpa line{random.uniform(1 << 20) * 64};
        const bool write = random.uniform(3) == 0;
        std::vector<Line>& lane = lanes[line.value / 256 % 3];
        Time start = at;
        for (const Line& earlier : lane) {
            start = std::max(start, earlier.start + (earlier.write ? kWrite : kRead));
        }
        ASSERT_EQ(front_end.pass(at, line, write), start) << i;
        lane.push_back({start, write});
    }
}

}  // namespace
}  // namespace kvplane::cxl
