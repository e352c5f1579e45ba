// SPDX-License-Identifier: Apache-2.0
/// The performance section of the engine's design, line by line.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "model/common/random.h"
#include "tb/unit/twin.h"

namespace kvplane::rtl {
namespace {

using index::Operation;
using index::Status;

/// An engine at a load of 0.80 and requests back to back.
class LoadedBench {
public:
    LoadedBench() : m_bench(make_small_dut(), kSmallShape) {
        while (m_keys.size() < kSmallShape.capacity() * 8 / 10) insert();
        m_bench.settle_down();
    }

    void lookup() { m_bench.issue({.operation = Operation::kLookup, .key = any()}); }
    void update(std::uint64_t key) {
        m_bench.issue({.operation = Operation::kUpdate, .key = key, .entry = entry_of(1)});
    }
    void update() { update(any()); }
    void insert() {
        m_keys.push_back(m_random.bits());
        m_bench.issue(
            {.operation = Operation::kInsert, .key = m_keys.back(), .entry = entry_of(2)});
    }
    void erase() {
        const std::size_t i = m_random.uniform(m_keys.size());
        m_bench.issue({.operation = Operation::kDelete, .key = m_keys[i]});
        m_keys[i] = m_keys.back();
        m_keys.pop_back();
    }
    /// Deletes and inserts by turns.
    void churn() {
        m_turn = !m_turn;
        m_turn ? erase() : insert();
    }
    /// Requests a cycle while `request` is called `count` times.
    template <class Request>
    double rate(std::uint32_t count, Request request) {
        const std::uint64_t start = m_bench.cycles();
        for (std::uint32_t i = 0; i < count; ++i) request(i);
        const double rate =
            static_cast<double>(count) / static_cast<double>(m_bench.cycles() - start);
        m_bench.settle_down();
        for (const Response& response : m_bench.responses()) {
            EXPECT_TRUE(response.answer.status == Status::kHit ||
                        response.answer.status == Status::kDone);
        }
        m_bench.responses().clear();
        return rate;
    }
    std::uint64_t any() { return m_keys[m_random.uniform(m_keys.size())]; }
    Bench& bench() { return m_bench; }

private:
    Bench m_bench;
    RandomStream m_random{7, "performance"};
    std::vector<std::uint64_t> m_keys;
    bool m_turn = false;
};

TEST(EnginePerformance, TakesARandomLookupEveryCycle) {
    LoadedBench loaded;
    EXPECT_EQ(loaded.rate(20'000, [&](std::uint32_t) { loaded.lookup(); }), 1.0);
}

TEST(EnginePerformance, TakesLookupsWithChurnEveryCycleWhileKicking) {
    LoadedBench loaded;
    const std::uint32_t kicks = loaded.bench().read(Register::kKicks);
    const double rate = loaded.rate(
        20'000, [&](std::uint32_t i) { i % 10 == 9 ? loaded.churn() : loaded.lookup(); });
    EXPECT_GE(rate, 0.9995);
    EXPECT_GT(loaded.bench().read(Register::kKicks), kicks + 300);
}

TEST(EnginePerformance, TakesAMixOfLookupsUpdatesAndChurnEveryCycleWhileKicking) {
    LoadedBench loaded;
    const std::uint32_t kicks = loaded.bench().read(Register::kKicks);
    const double rate = loaded.rate(40'000, [&](std::uint32_t i) {
        if (i % 10 < 6) {
            loaded.lookup();
        } else if (i % 10 < 9) {
            loaded.update();
        } else {
            loaded.churn();
        }
    });
    std::cout << "mix: " << rate << " a cycle\n";
    EXPECT_GE(rate, 0.9995);
    EXPECT_GT(loaded.bench().read(Register::kKicks), kicks + 600);
}

TEST(EnginePerformance, TakesUpdatesOfRandomKeysNearlyEveryCycle) {
    LoadedBench loaded;
    const double rate = loaded.rate(40'000, [&](std::uint32_t) { loaded.update(); });
    std::cout << "updates of random keys: " << rate << " a cycle\n";
    EXPECT_GE(rate, 0.99);
}

TEST(EnginePerformance, TakesUpdatesOfOneHotKeyNearlyEveryCycle) {
    LoadedBench loaded;
    const std::uint64_t key = loaded.any();
    const double rate = loaded.rate(20'000, [&](std::uint32_t) { loaded.update(key); });
    std::cout << "updates of one key: " << rate << " a cycle\n";
    EXPECT_GE(rate, 0.99);
}

TEST(EnginePerformance, TakesAnInsertEveryFiveCyclesAtALoadOf80Percent) {
    LoadedBench loaded;
    double cycles = 0;
    constexpr std::uint32_t kBurst = 16;
    constexpr std::uint32_t kBursts = 300;
    // Bursts of inserts at the load; deletes in between hold it.
    for (std::uint32_t i = 0; i < kBursts; ++i) {
        for (std::uint32_t n = 0; n < kBurst; ++n) loaded.erase();
        loaded.bench().settle_down();
        cycles += kBurst / loaded.rate(kBurst, [&](std::uint32_t) { loaded.insert(); });
    }
    EXPECT_GE(kBurst * kBursts / cycles, 0.2);
    // And without a pause, from 0.75 to 0.80.
    for (std::uint32_t n = 0; n < 100; ++n) loaded.erase();
    loaded.bench().settle_down();
    const double rate = loaded.rate(100, [&](std::uint32_t) { loaded.insert(); });
    std::cout << "inserts: " << rate << " a cycle\n";
    EXPECT_GE(rate, 0.2);
}

TEST(EnginePerformance, KicksPerInsertAreThoseOfTheTable) {
    LoadedBench loaded;
    Bench& bench = loaded.bench();
    std::vector<std::uint32_t> kicks;
    double mean = 0;
    std::uint32_t before = bench.read(Register::kKicks);
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        loaded.erase();
        loaded.insert();
        bench.settle_down();
        bench.responses().clear();
        const std::uint32_t after = bench.read(Register::kKicks);
        kicks.push_back(after - before);
        mean += after - before;
        before = after;
    }
    mean /= static_cast<double>(kicks.size());
    std::sort(kicks.begin(), kicks.end());
    const std::uint32_t p99 = kicks[kicks.size() * 99 / 100];
    const std::uint32_t p999 = kicks[kicks.size() * 999 / 1000];
    std::cout << "kicks an insert: mean " << mean << ", p99 " << p99 << ", p99.9 " << p999 << "\n";
    EXPECT_NEAR(mean, 0.47, 0.05);
    EXPECT_NEAR(p99, 6, 1);
    EXPECT_NEAR(p999, 10, 2);
}

void expect_latency(std::unique_ptr<MetaLookupDut> dut, const DutShape& shape) {
    Bench bench(std::move(dut), shape);
    std::uint64_t key = 1;
    for (const Operation operation :
         {Operation::kLookup, Operation::kInsert, Operation::kLookup, Operation::kUpdate,
          Operation::kDelete, Operation::kEvict, Operation::kScrub}) {
        const std::uint64_t accepted =
            bench.issue({.operation = operation, .key = key << 40U, .entry = entry_of(1)});
        while (bench.responses().empty()) bench.step();
        EXPECT_EQ(bench.responses().front().cycle - accepted - 1, shape.latency())
            << "operation " << static_cast<int>(operation);
        bench.responses().clear();
        bench.settle_down();
    }
}

TEST(EnginePerformance, AnswersAfterTheFourthEdgeAndOneMoreForEachOfTheSram) {
    expect_latency(make_small_dut(), kSmallShape);
    expect_latency(make_latency3_dut(), kLatency3Shape);
    EXPECT_EQ(kSmallShape.latency(), 4U);
    EXPECT_EQ(kLatency3Shape.latency(), 6U);
}

TEST(EnginePerformance, AStreamWithASlowSramIsAsFastButLater) {
    Bench bench(make_latency3_dut(), kLatency3Shape);
    const std::uint64_t start = bench.cycles();
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        bench.issue({.operation = Operation::kLookup, .key = TwinBench::key_of(i)});
    }
    EXPECT_EQ(bench.cycles() - start, 1'000U);
}

}  // namespace
}  // namespace kvplane::rtl
