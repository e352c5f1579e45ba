// SPDX-License-Identifier: Apache-2.0
/// Admission against exhaustive search, and what it does to victims; the reuse predictor.
#include "host_driver/control/admission.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <stdexcept>

#include "host_driver/control/replay.h"
#include "tests/unit/host_driver/control/chains.h"
#include "tests/unit/host_driver/control/policy_twins.h"

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

TEST(ReusePredictorTest, ItsBytesGrowWithTheBlocksSeen) {
    ReusePredictor reuse(8);
    const Bytes empty = reuse.bytes();
    for (int i = 0; i < 3; ++i) {
        for (std::uint32_t b = 0; b < 5; ++b) reuse.on_access({b}, Time{});
    }
    EXPECT_EQ(reuse.bytes(), empty + ReusePredictor::kBlockBytes * 5);
}

/// LRU behind an admission: what is not admitted leaves first. Every admission is decided anew from
/// the records.
class AdmissionTwin final : public RankTwin {
public:
    AdmissionTwin(const AdmissionSpec& spec, std::uint64_t capacity,
                  const std::vector<workload::BlockEntry>& blocks)
        : RankTwin([](const Record&, const Moment&) { return 0; }),
          m_spec(spec),
          m_capacity(capacity),
          m_blocks(blocks),
          m_admitted(blocks.size(), false),
          m_reuse(blocks.size()),
          m_next(spec.horizon) {}

    BlockIndex victim(const Moment& now) override {
        BlockIndex refused = kNoBlock;
        for (std::uint32_t b = 0; b < TinyHost::kBlocks; ++b) {
            if (!m_records[b].eligible || m_admitted[b]) continue;
            if (refused == kNoBlock ||
                m_records[b].last_touch < m_records[refused.value].last_touch) {
                refused = {b};
            }
        }
        return refused == kNoBlock ? RankTwin::victim(now) : refused;
    }

private:
    void accessed(const Access& access) override {
        const std::uint32_t b = access.block.value;
        if (m_spec.admission == Admission::kCounter) {
            // The sketch of the test neither collides nor ages; it counts to 15.
            if (m_records[b].references.size() >= m_spec.references) admit(access.block);
            return;
        }
        const Time now = access.now.wall;
        m_reuse.on_access(access.block, now);
        if (now >= m_next) {
            std::vector<std::uint64_t> density;
            for (std::uint32_t i = 0; i < TinyHost::kBlocks; ++i) {
                density.push_back(m_reuse.probability({i}, now, m_spec.horizon));
            }
            m_marginal = admit_densest(density, m_blocks, m_capacity, m_admitted);
            m_next = now + m_spec.horizon;
        }
        if (m_reuse.probability(access.block, now, m_spec.horizon) >= m_marginal) {
            admit(access.block);
        }
    }
    void admit(BlockIndex b) {
        for (; b != kNoBlock; b = m_blocks[b.value].parent) m_admitted[b.value] = true;
    }
    void removed(BlockIndex b) override {
        if (m_spec.admission == Admission::kCounter) m_admitted[b.value] = false;
    }

    AdmissionSpec m_spec;
    std::uint64_t m_capacity;
    std::vector<workload::BlockEntry> m_blocks;
    std::vector<bool> m_admitted;
    ReusePredictor m_reuse;
    Time m_next;
    std::uint64_t m_marginal = 0;
};

TEST(AdmissionTest, EqualsItsTwinInFrontOfLru) {
    const std::vector<AdmissionSpec> specs{
        {.admission = Admission::kCounter, .references = 2, .sketch = Bytes::from_mib(1)},
        {.admission = Admission::kCounter, .references = 9, .sketch = Bytes::from_mib(1)},
        {.admission = Admission::kHorizon, .horizon = Time::from_ms(50)},
        {.admission = Admission::kHorizon, .horizon = Time::from_ms(300)}};
    for (const AdmissionSpec& spec : specs) {
        int evictions = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const std::uint64_t capacity = 15 + seed % 15;
            const auto blocks = TinyHost::forest(seed);
            const auto policy =
                with_admission(spec, make_policy({}, capacity, blocks.size()), capacity, blocks);
            AdmissionTwin twin(spec, capacity, blocks);
            TinyHost host(seed, capacity, *policy, twin);
            host.run(300);
            ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
            evictions += host.evictions();
        }
        EXPECT_GT(evictions, 1000);
    }
}

TEST(AdmissionTest, TheCountersVerdictFallsWithTheBlock) {
    // A sketch of 64 B halves its counts first after 320 references, then after 160 more.
    const std::vector<workload::BlockEntry> blocks(2);
    const auto policy = with_admission({.admission = Admission::kCounter, .sketch = Bytes{64}},
                                       make_policy({}, 2, 2), 2, blocks);
    const auto read = [&](std::uint32_t b, int times) {
        policy->on_insert({b}, {});
        for (int i = 0; i < times; ++i) policy->on_access({.block = {b}, .now = {}});
        policy->set_eligible({b}, true);
    };
    read(0, 2);
    policy->on_remove({0});
    read(1, 600);
    read(0, 1);
    EXPECT_EQ(policy->victim({}), BlockIndex{0}) << "read once since it was forgotten";
    policy->set_eligible({0}, false);
    read(0, 1);
    EXPECT_EQ(policy->victim({}), BlockIndex{1}) << "admitted again, and used last";
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
