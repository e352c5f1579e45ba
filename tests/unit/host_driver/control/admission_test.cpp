// SPDX-License-Identifier: Apache-2.0
/// Admission against exhaustive search, and what it does to victims; the reuse predictor.
#include "host_driver/control/admission.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <stdexcept>

#include "host_driver/control/replay.h"
#include "tests/unit/host_driver/control/chains.h"

namespace kvplane::control {
namespace {

/// The most value of at most `capacity` blocks that hold their ancestors.
std::uint64_t best_value(const std::vector<std::uint64_t>& value,
                         const std::vector<workload::BlockEntry>& blocks, std::uint64_t capacity) {
    std::uint64_t best = 0;
    for (std::uint32_t set = 0; set < 1U << value.size(); ++set) {
        if (static_cast<std::uint64_t>(std::popcount(set)) > capacity) continue;
        std::uint64_t sum = 0;
        bool closed = true;
        for (std::uint32_t b = 0; b < value.size(); ++b) {
            if ((set >> b & 1) == 0) continue;
            sum += value[b];
            const BlockIndex parent = blocks[b].parent;
            closed = closed && (parent == kNoBlock || (set >> parent.value & 1) != 0);
        }
        if (closed) best = std::max(best, sum);
    }
    return best;
}

TEST(AdmitDensestTest, IsExactWhereNoBlockIsDenserThanItsParent) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 300; ++i) {
        std::vector<workload::BlockEntry> blocks(10);
        std::vector<std::uint64_t> value(10);
        for (std::uint32_t b = 0; b < 10; ++b) {
            const bool root = b == 0 || random() % 3 == 0;
            if (!root) blocks[b].parent = {static_cast<std::uint32_t>(random() % b)};
            value[b] = random() % 20;
            if (!root) value[b] = std::min(value[b], value[blocks[b].parent.value]);
        }
        const std::uint64_t capacity = random() % 10;
        std::vector<std::uint64_t> density = value;
        std::vector<bool> admitted;
        const std::uint64_t marginal = admit_densest(density, blocks, capacity, admitted);
        std::uint64_t sum = 0;
        for (std::uint32_t b = 0; b < 10; ++b) {
            if (!admitted[b]) {
                EXPECT_LE(value[b], marginal) << "a denser block is left out";
                continue;
            }
            sum += value[b];
            EXPECT_GE(value[b], marginal);
            EXPECT_TRUE(blocks[b].parent == kNoBlock || admitted[blocks[b].parent.value]);
        }
        EXPECT_EQ(sum, best_value(value, blocks, capacity));
    }
}

TEST(AdmitDensestTest, RaisesAncestorsOfADenseBlock) {
    std::vector<workload::BlockEntry> blocks(3);
    blocks[1].parent = {0};
    std::vector<std::uint64_t> density{1, 9, 5};
    std::vector<bool> admitted;
    EXPECT_EQ(admit_densest(density, blocks, 2, admitted), 5U);
    EXPECT_EQ(admitted, (std::vector<bool>{true, true, false}));
}

TEST(ReusePredictorTest, IsTheShareOfObservedIntervals) {
    ReusePredictor reuse(8);
    // Four blocks read twice, 100 s apart; four read once.
    for (std::uint32_t b = 0; b < 8; ++b) reuse.on_access({b}, Time{});
    for (std::uint32_t b = 0; b < 4; ++b) reuse.on_access({b}, Time::from_s(100));
    const auto share = [&](std::int64_t age, std::int64_t horizon) {
        return static_cast<double>(
                   reuse.probability({7}, Time::from_s(age), Time::from_s(horizon))) /
               static_cast<double>(ReusePredictor::kCertain);
    };
    EXPECT_DOUBLE_EQ(share(1, 200), .5);
    EXPECT_DOUBLE_EQ(share(1, 20), 0);
    EXPECT_DOUBLE_EQ(share(300, 200), 0) << "what did not return by then did not return";
    EXPECT_EQ(reuse.references({0}), 2U);
    EXPECT_EQ(reuse.probability({0}, Time::from_s(101), Time::from_s(500)), 0U)
        << "no third reference was ever seen";
}

TEST(AdmissionTest, CounterLetsOneTimersLeaveFirst) {
    // A and B are read twice; the scan behind them must not push them out.
    std::vector<std::vector<std::string>> requests{{"A"}, {"A"}, {"B"}, {"B"}};
    for (int i = 0; i < 5; ++i) requests.push_back({"scan" + std::to_string(i)});
    requests.push_back({"A"});
    requests.push_back({"B"});
    ReplayConfig config{.frames = 3};
    EXPECT_EQ(replay(chains(requests), config).hits, 2U);
    config.control.admission.admission = Admission::kCounter;
    EXPECT_EQ(replay(chains(requests), config).hits, 4U);
    config.control.admission.references = 16;
    EXPECT_THROW((void)replay(chains(requests), config), std::invalid_argument);
}

TEST(AdmissionTest, HorizonHoldsWhatReturnsWithinIt) {
    // Each round a hot chain returns and a cold one passes; requests are a second apart.
    std::vector<std::vector<std::string>> requests;
    for (int i = 0; i < 60; ++i) {
        requests.push_back({"h1", "h2"});
        for (int k = 0; k < 3; ++k) {
            const std::string cold = "c" + std::to_string(i) + "_" + std::to_string(k);
            requests.push_back({cold + "a", cold + "b"});
        }
    }
    ReplayConfig config{.frames = 4};
    EXPECT_EQ(replay(chains(requests), config).hits, 0U);
    config.control.admission = {.admission = Admission::kHorizon, .horizon = Time::from_s(20)};
    const ReplayResult result = replay(chains(requests), config);
    EXPECT_GT(result.hits, 90U);
    EXPECT_EQ(result.unreachable_blocks, 0U);
    config.control.admission.horizon = Time{};
    EXPECT_THROW((void)replay(chains(requests), config), std::invalid_argument);
}

}  // namespace
}  // namespace kvplane::control
