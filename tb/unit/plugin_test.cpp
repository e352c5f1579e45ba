// SPDX-License-Identifier: Apache-2.0
/// The engine behind TableEngine: alone, and in lockstep with its TLM form.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"
#include "tb/plugin/lockstep_engine.h"
#include "tb/plugin/rtl_engine.h"
#include "tb/unit/requests.h"

namespace kvplane::rtl {
namespace {

using index::IndexConfig;
using index::Operation;
using index::Request;
using index::Status;
using index::TimedAnswer;

constexpr Time kPeriod = Time::from_ns(1);

TEST(RtlEngine, ALoneRequestWaitsForTheNextEdgeAndFourMore) {
    RtlEngine engine(IndexConfig{});
    const TimedAnswer answer = engine.submit({.key = 1}, {5'300});
    EXPECT_EQ(answer.issued, Time{6'000});
    EXPECT_EQ(answer.done, Time{10'000});
    EXPECT_EQ(answer.answer.status, Status::kMiss);
    // At an edge it is taken by that edge; behind another by the next.
    EXPECT_EQ(engine.submit({.key = 1}, {20'000}).issued, Time{20'000});
    EXPECT_EQ(engine.submit({.key = 1}, {20'000}).issued, Time{21'000});
    EXPECT_EQ(engine.counters().lookup_cycles, 4U + 4U + 5U);
    EXPECT_EQ(engine.counters().lookup_ps, 4'700U + 4'000U + 5'000U);
    engine.finish();
    EXPECT_EQ(engine.counters().matched, 3U);
}

TEST(RtlEngine, GatedAndFreeRunningClocksGiveEqualLatencies) {
    RtlEngine gated{IndexConfig{}};
    RtlEngine free{IndexConfig{}};
    free.run_free();
    RandomRequests requests(3, 400);
    Time at;
    for (int i = 0; i < 3'000; ++i) {
        const Request request = requests.draw();
        at.ps += static_cast<std::int64_t>(requests.random().uniform(30'000));
        const TimedAnswer a = gated.submit(request, at);
        const TimedAnswer b = free.submit(request, at);
        ASSERT_EQ(a.issued, b.issued) << "request " << i;
        ASSERT_EQ(a.done, b.done) << "request " << i;
        ASSERT_EQ(a.answer.status, b.answer.status) << "request " << i;
    }
    gated.finish();
    free.finish();
    EXPECT_LT(gated.clocked(), free.clocked() - 20'000);
}

TEST(RtlEngine, ClearForgetsEveryEntry) {
    RtlEngine engine(IndexConfig{});
    Request insert{.operation = Operation::kInsert, .key = 77};
    insert.entry.state = 1;
    EXPECT_EQ(engine.submit(insert, {}).answer.status, Status::kDone);
    engine.clear();
    EXPECT_EQ(engine.size(), 0U);
    EXPECT_EQ(engine.submit({.key = 77}, Time::from_us(1)).answer.status, Status::kMiss);
    EXPECT_EQ(engine.submit(insert, Time::from_us(2)).answer.status, Status::kDone);
    engine.finish();
}

TEST(RtlEngine, SaysWhatItCannotBe) {
    EXPECT_FALSE(misfit(IndexConfig{}));
    const std::vector<IndexConfig> others{{.sram = Bytes::from_mib(4)},
                                          {.slots = 8},
                                          {.banks = 16},
                                          {.stash = 8},
                                          {.kick_limit = 8},
                                          {.store_buffer = 8},
                                          {.fingerprint_bits = 12},
                                          {.clock = {3'000'000'000}}};
    for (const IndexConfig& other : others) {
        const auto why = misfit(other);
        ASSERT_TRUE(why);
        EXPECT_NE(why->find("8 MiB"), std::string::npos) << *why;
        EXPECT_THROW(RtlEngine{other}, InvariantError);
    }
}

/// The waveforms of a hundred lookups, 100 ns apart.
std::uintmax_t traced(const std::string& window) {
    const std::filesystem::path file =
        std::filesystem::path(testing::TempDir()) / "kvplane_waves.fst";
    RtlEngine engine(IndexConfig{});
    engine.trace(WavesOption::parse(file.string() + window));
    for (std::int64_t n = 0; n < 100; ++n) {
        const auto key = RandomRequests::key_of(static_cast<std::uint64_t>(n));
        (void)engine.submit({.key = key}, Time::from_ns(100 * n));
    }
    engine.finish();
    EXPECT_EQ(engine.counters().matched, 100U);
    const std::uintmax_t size = std::filesystem::file_size(file);
    std::filesystem::remove(file);
    return size;
}

TEST(RtlEngine, WavesAreThoseOfTheWindow) {
    const std::uintmax_t all = traced("");
    const std::uintmax_t tenth = traced(":2 us,3 us");
    const std::uintmax_t nothing = traced(":1 s,2 s");
    EXPECT_GT(all, tenth + 1'000);
    EXPECT_GT(tenth, nothing);
}

TEST(RtlEngine, WavesOfNoFileOrNoWindowAreTheUsersMistake) {
    for (const char* text : {"a.fst:1 us", "a.fst:2 us,1 us", "a.fst:1,2", ":1 us,2 us"}) {
        EXPECT_THROW((void)WavesOption::parse(text), UserError) << text;
    }
    const WavesOption option = WavesOption::parse("a.fst:1 us,2 us");
    EXPECT_EQ(option.file, "a.fst");
    EXPECT_EQ(option.from, Time::from_us(1));
    EXPECT_EQ(option.to, Time::from_us(2));
    RtlEngine engine(IndexConfig{});
    EXPECT_THROW(engine.trace(WavesOption::parse("/no/such/folder/a.fst")), UserError);
}

TEST(RtlEngine, VictimsAreInTheBucketsOfTheKeyAndAreEvicted) {
    RtlEngine engine(IndexConfig{});
    RandomStream random(5, "victims");
    Request insert{.operation = Operation::kInsert};
    insert.entry.state = 1;
    Time at;
    std::uint64_t refused = 0;
    for (std::uint32_t i = 0; i < 560'000; ++i) {
        insert.key = random.bits();
        at += kPeriod;
        refused += engine.submit(insert, at).answer.status == Status::kFull ? 1 : 0;
    }
    // Overfull: INSERTs were refused, and requests behind them came before their answers.
    EXPECT_GT(refused, 1'000U);
    EXPECT_GT(engine.counters().run_ahead, refused);
    EXPECT_GT(engine.counters().taken_back, 1'000U);
    EXPECT_EQ(engine.size(), 560'000 - refused);
    std::uint32_t evicted = 0;
    for (std::uint32_t i = 0; i < 200; ++i) {
        const std::uint64_t key = random.bits();
        const auto victim = engine.victim_for(key);
        if (!victim) continue;
        at += Time::from_us(1);
        ASSERT_EQ(engine.peek(*victim).status, Status::kHit);
        ASSERT_EQ(engine.submit({.operation = Operation::kEvict, .key = *victim}, at).answer.status,
                  Status::kDone);
        insert.key = key;
        at += Time::from_us(1);
        EXPECT_EQ(engine.submit(insert, at).answer.status, Status::kDone);
        ++evicted;
    }
    EXPECT_GT(evicted, 100U);
    engine.finish();
    EXPECT_EQ(engine.counters().matched, engine.counters().requests);
}

/// Latencies of both, with requests `gap` periods apart in the mean.
void expect_lockstep(std::uint64_t requests_each, std::uint64_t gap, std::uint64_t keys,
                     std::uint64_t filled = 0) {
    LockstepEngine engine(IndexConfig{});
    RandomRequests requests(11 + gap, keys);
    Time at;
    Request insert{.operation = Operation::kInsert};
    insert.entry.state = 1;
    for (std::uint64_t n = 0; n < filled; ++n) {
        insert.key = RandomRequests::key_of(n);
        at += Time::from_ns(5);  // no more than the engine takes
        (void)engine.submit(insert, at);
    }
    requests_each += filled;
    for (std::uint64_t i = filled; i < requests_each; ++i) {
        at.ps += static_cast<std::int64_t>(requests.random().uniform(2 * gap * 1'000));
        (void)engine.submit(requests.draw(), at);
    }
    engine.finish();
    const LockstepCounters& counters = engine.counters();
    std::cout << "matched " << counters.matched << ", gap " << gap << ": "
              << 100.0 * static_cast<double>(counters.within_a_cycle) /
                     static_cast<double>(counters.matched)
              << " % within a cycle, TLM latency "
              << 100.0 * static_cast<double>(counters.tlm_cycles) /
                         static_cast<double>(counters.rtl_cycles) -
                     100.0
              << " %\n";
    EXPECT_EQ(counters.matched, requests_each);
    EXPECT_EQ(counters.full_differs, 0U);
    EXPECT_GE(counters.within_a_cycle * 100, counters.matched * 99);
    EXPECT_GE(counters.tlm_cycles * 100, counters.rtl_cycles * 98);
    EXPECT_LE(counters.tlm_cycles * 100, counters.rtl_cycles * 102);
}

TEST(Lockstep, AgreesIdle) { expect_lockstep(200'000, 20, 450'000); }

TEST(Lockstep, AgreesAtALoadOf80PercentWhileKicking) {
    expect_lockstep(400'000, 2, 560'000, 419'430);
}

TEST(Lockstep, AgreesOnFewHotKeys) { expect_lockstep(200'000, 1, 50); }

TEST(Lockstep, FollowsWhereOneOfTheTwoRefusesAnInsert) {
    // Overfull: which INSERTs are FULL depends on the victims of kicks, which differ; and one that
    // the table must take back makes room there.
    LockstepEngine engine(IndexConfig{});
    RandomRequests requests(17, 540'000);
    Request insert{.operation = Operation::kInsert};
    insert.entry.state = 1;
    Time at;
    std::uint64_t refused = 0;
    for (std::uint64_t n = 0; n < 540'000; ++n) {
        insert.key = RandomRequests::key_of(n);
        at += kPeriod;
        refused += engine.submit(insert, at).answer.status == Status::kFull ? 1 : 0;
    }
    EXPECT_GT(refused, 1'000U);
    // Room comes and goes; entries that one has and the other refused are asked for.
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        at.ps += static_cast<std::int64_t>(requests.random().uniform(4'000));
        (void)engine.submit(requests.draw(), at);
    }
    engine.finish();
    const LockstepCounters& counters = engine.counters();
    std::cout << "refused " << refused << ", " << counters.full_differs << " by one alone\n";
    EXPECT_EQ(counters.matched, 640'000U);
    EXPECT_GT(counters.full_differs, 100U);
}

TEST(Lockstep, ADifferentAnswerEndsTheRunAndTellsTheState) {
    LockstepEngine engine(IndexConfig{});
    Request insert{.operation = Operation::kInsert, .key = 0xABCDEF};
    insert.entry.state = 1;
    (void)engine.submit(insert, {});
    (void)engine.tlm().table().erase(0xABCDEF);
    try {
        (void)engine.submit({.key = 0xABCDEF}, Time::from_us(1));
        FAIL() << "a lost entry goes unnoticed";
    } catch (const InvariantError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("after 1 matched"), std::string::npos) << text;
        EXPECT_NE(text.find("the RTL says HIT"), std::string::npos) << text;
        EXPECT_NE(text.find("the TLM MISS"), std::string::npos) << text;
        EXPECT_NE(text.find("INSERT 0000000000abcdef"), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace kvplane::rtl
