// SPDX-License-Identifier: Apache-2.0
/// One block of 5 MiB is promoted while nothing else moves: what each constant adds, exactly, and
/// which way the rest goes.
#include "explore/study.h"
#include "model/index/tlm_index.h"
#include "small_run.h"
#include "tests/support/shared_data.h"

namespace kvplane::test {
namespace {

class ZeroLoadTest : public RunTest {
protected:
    /// The latency of the one promotion.
    Time latency(const Sets& sets) {
        // The second request drives the block of the first out; the third loads it.
        const std::vector<HandRequest> requests{
            {.arrival = {}, .ids = {1}},
            {.arrival = Time::from_s(1), .ids = {11, 12, 13}, .more_tokens = 1},
            {.arrival = Time::from_s(2), .ids = {1}, .more_tokens = 1}};
        Time latency;
        simulate(Sets{"host.node.kv_budget=20 MiB"} + sets, requests,
                 [&](explore::Platform& platform) {
                     EXPECT_EQ(platform.moves().promotion().count(), 1U);
                     latency = platform.moves().promotion().max();
                 });
        return latency;
    }

    /// By how much `more` prolongs the promotion in the setting `in`.
    std::int64_t added_ps(const Sets& in, const Sets& more) {
        return (latency(in + more) - latency(in)).ps;
    }
};

const Sets kCard{"driver.mechanism=card"};
const Sets kCopy{"driver.mechanism=copy-engine"};

TEST_F(ZeroLoadTest, EachConstantOfTheCardCountsAsOftenAsItIsMet) {
    EXPECT_EQ(added_ps(kCard, {"card.completion.fence=read_flush"}), 741'000);
    EXPECT_EQ(added_ps(kCard, {"driver.submit=120 ns"}), 10'000);
    EXPECT_EQ(added_ps(kCard, {"driver.poll_interval=120 ns"}), 10'000);  // half of it
    EXPECT_EQ(added_ps(kCard, {"card.check=26 ns"}), 10'000);
    EXPECT_EQ(added_ps(kCard, {"card.schedule=14 ns"}), 10'000);
    EXPECT_EQ(added_ps(kCard, {"card.host_memory=110 ns"}), 10'000);  // the descriptor
    EXPECT_EQ(added_ps(kCard, {"card.codec.fill=14 ns"}), 10'000);
    // Doorbell, descriptor there and back, payload, completion.
    EXPECT_EQ(added_ps(kCard, {"card.flight=380 ns"}), 5 * 10'000);
    // Record, then data.
    EXPECT_EQ(added_ps(kCard, {"card.dram.controller=30 ns"}), 2 * 10'000);
    EXPECT_EQ(added_ps(kCard, {"card.dram.closed_row=46.6 ns"}), 2 * 10'000);
    // Lookup 4 + 2 cycles, commit 4.
    EXPECT_EQ(added_ps(kCard, {"card.index.clock=500 MHz"}), 10 * 1'000);
}

// What the studies hold a lookup against is what the whole card takes.
TEST_F(ZeroLoadTest, TheFormulaOfTheStudiesIsTheLatencyOfTheCard) {
    for (const Sets& sets :
         {Sets{}, Sets{"card.link.width=8"}, Sets{"card.completion.fence=read_flush"},
          Sets{"card.index.node=22 nm", "card.index.clock=500 MHz"}, Sets{"card.flight=500 ns"},
          Sets{"card.dram.closed_row=60 ns", "card.codec.fill=40 ns"}}) {
        const explore::RunConfig config =
            explore::load((source_dir() / "configs/baseline.yaml").string(), kCard + sets).run;
        const index::TlmIndex index(config.card.index);
        const Time lookup = config.card.index.clock.cycles(index.lookup_cycles());
        const Time formula =
            explore::zero_load_promotion(config, config.block.bytes(), lookup, index.commit_time());
        // The descriptor's own bytes on the wire, 1.5 to 3 ns, are not in the formula.
        const Time measured = latency(kCard + sets);
        EXPECT_GE(measured, formula);
        EXPECT_LE(measured, formula + Time::from_ns(5));
    }
}

TEST_F(ZeroLoadTest, EachConstantOfTheCopyEngineCountsOnce) {
    EXPECT_EQ(added_ps(kCopy, {"driver.copy_engine.launch_latency=7.01 us"}), 10'000);
    EXPECT_EQ(added_ps(kCopy, {"driver.copy_engine.card_latency=143 ns"}), 10'000);
    // One copy on its own is not in a loop.
    EXPECT_EQ(added_ps(kCopy, {"driver.copy_engine.issue_interval=6 us"}), 0);
}

TEST_F(ZeroLoadTest, LatencyGoesTheRightWay) {
    for (const Sets& mechanism : {kCard, kCopy}) {
        EXPECT_GT(added_ps(mechanism, {"card.link.width=8"}), 90'000'000);
        EXPECT_GT(added_ps(mechanism, {"card.link.rate=16 GT/s"}), 90'000'000);
        // 8 bytes x 1,600 MT/s x 0.91: 11.65 GB/s.
        EXPECT_GT(added_ps(mechanism, {"card.dram.channels=1", "card.dram.speed=1600"}),
                  340'000'000);
        EXPECT_EQ(added_ps(mechanism, {"card.dram.channels=8"}), 0);  // the link limits
    }
    EXPECT_LT(added_ps(kCard, {"card.link.mps=512 B"}), -1'000'000);
    EXPECT_GT(added_ps(kCard, {"card.link.mps=128 B"}), 1'000'000);
    EXPECT_GT(added_ps(kCard, {"card.codec.lanes=1", "card.codec.clock=100 MHz"}), 700'000'000);
    EXPECT_GT(added_ps(kCopy, {"driver.copy_engine.window=32 KiB"}), 50'000'000);
    EXPECT_GT(added_ps(kCopy, {"driver.copy_engine.bandwidth=25.9 GB/s"}), 100'000'000);
}

TEST_F(RunTest, MoreHbmFindsMoreAndMovesLess) {
    for (const Sets& mechanism : {kCard, kCopy}) {
        double hit_rate = 0;
        std::uint64_t promotions = UINT64_MAX;
        for (const char* budget : {"1 MiB", "2 MiB", "4 MiB", "32 MiB"}) {
            const auto result = simulate(small_setting() + mechanism +
                                         Sets{std::string("host.node.kv_budget=") + budget,
                                              "workload.zipf_sessions.turns=200"});
            EXPECT_EQ(result["serving"]["infeasible"], 0);
            const auto& placement = result["placement"];
            EXPECT_GE(placement["hit_rate"].get<double>(), hit_rate) << budget;
            EXPECT_LE(placement["promotions"].get<std::uint64_t>(), promotions) << budget;
            hit_rate = placement["hit_rate"].get<double>();
            promotions = placement["promotions"].get<std::uint64_t>();
        }
        EXPECT_EQ(promotions, 0U);  // all of it fits
    }
}

}  // namespace
}  // namespace kvplane::test
