// SPDX-License-Identifier: Apache-2.0
/// Moves line by line: DRAM commands and TLPs beside the host's lines and flits.
#include <memory>
#include <vector>

#include "host.h"
#include "model_check.h"
#include "tests/support/systemc_test.h"
#include "tests/unit/model/cxl/at_initiator.h"

namespace kvplane::card {
namespace {

using engine::Opcode;

class LineMovesTest : public test::SystemCTest {
protected:
    static CardConfig line() {
        CardConfig config;
        config.tier_capacity = Bytes::from_mib(256);
        config.link.width = 16;
        config.mem.fidelity = cxl::LinkFidelity::kLine;
        config.dram_fidelity = DramFidelity::kLine;
        config.dram = memory::burst_config(line_dram(config));
        return config;
    }
    static CardConfig burst() {
        CardConfig config = line();
        config.mem.fidelity = cxl::LinkFidelity::kBurst;
        config.dram_fidelity = DramFidelity::kBurst;
        return config;
    }
    /// Demotes and then promotes `blocks` blocks in one run each; how long either takes.
    static std::pair<Time, Time> both_ways(const CardConfig& config, Bytes block,
                                           std::uint32_t blocks) {
        fresh_kernel();
        Bench bench(config, block);
        const Time begin = now();
        bench.load(keys_of(0, blocks));
        const Time demoted = bench.host.done.back().at;
        const Time again = now();
        bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, blocks)));
        Bench::drain();
        EXPECT_EQ(bench.host.done.back().argument, blocks);
        return {demoted - begin, bench.host.done.back().at - again};
    }
};

TEST_F(LineMovesTest, TakeWhatFlowsTake) {
    for (const auto& [block, blocks] : {std::pair{Bytes::from_kib(4), 64U},
                                        {Bytes::from_kib(64), 16U},
                                        {Bytes::from_mib(5), 4U}}) {
        const auto [demoted, promoted] = both_ways(line(), block, blocks);
        const auto [demoted_flow, promoted_flow] = both_ways(burst(), block, blocks);
        EXPECT_NEAR(demoted.us(), demoted_flow.us(), 0.02 * demoted.us()) << block.count;
        EXPECT_NEAR(promoted.us(), promoted_flow.us(), 0.05 * promoted.us()) << block.count;
    }
}

TEST_F(LineMovesTest, StagingOfOneReadIsEnough) {
    CardConfig config = line();
    config.link.mrrs = config.engine.read_size = config.engine.staging = Bytes::from_kib(4);
    for (const Bytes block : {Bytes::from_kib(4), Bytes::from_kib(64)}) {
        const auto [demoted, promoted] = both_ways(config, block, 16);
        EXPECT_GT(demoted, Time{});
        EXPECT_GT(promoted, Time{});
    }
}

/// The stages of every block of both ways, which add up whatever holds it back.
TEST_F(LineMovesTest, SmallStagingHoldsMovesBackAndNoMore) {
    for (const Bytes block : {Bytes::from_kib(4), Bytes::from_kib(64)}) {
        Time last = Time::never();
        for (const std::uint64_t staging : {4U, 8U, 16U, 512U}) {
            CardConfig config = line();
            config.engine.staging = Bytes::from_kib(staging);
            const Time demoted = both_ways(config, block, 16).first;
            EXPECT_LT(demoted, last) << block.count << " " << staging;
            last = demoted;
        }
    }
}

/// What a promotion has read, and not sent, is bounded alike.
TEST_F(LineMovesTest, FlowsFeelStagingAndQuotaAsLinesDo) {
    for (const std::uint32_t width : {8U, 16U}) {
        for (const std::uint64_t kib : {4U, 8U, 16U, 32U}) {
            for (const bool quota : {true, false}) {
                CardConfig lines = line();
                CardConfig flows = burst();
                for (CardConfig* config : {&lines, &flows}) {
                    config->link.width = width;
                    Bytes& bound =
                        quota ? config->engine.destination_quota : config->engine.staging;
                    bound = Bytes::from_kib(kib);
                }
                const Time by_line = both_ways(lines, Bytes::from_kib(64), 64).second;
                const Time by_flow = both_ways(flows, Bytes::from_kib(64), 64).second;
                EXPECT_NEAR(by_flow.us(), by_line.us(), 0.04 * by_line.us())
                    << "x" << width << ", " << kib << " KiB, quota " << quota;
            }
        }
    }
}

TEST_F(LineMovesTest, ARateCapHoldsDemotionsAndNothingElse) {
    constexpr Bytes kBlock = Bytes::from_mib(1);
    for (CardConfig config : {line(), burst()}) {
        const auto [demoted, promoted] = both_ways(config, kBlock, 8);
        config.engine.demotion_rate_cap = Rate::from_gb_s(5);
        const auto [capped, promoted_too] = both_ways(config, kBlock, 8);
        const double at_cap = static_cast<double>((kBlock * 8).count) / 5e3;  // us
        EXPECT_LT(demoted.us(), 0.2 * at_cap);
        EXPECT_NEAR(capped.us(), at_cap, 0.01 * at_cap);
        EXPECT_NEAR(promoted_too.us(), promoted.us(), 0.005 * promoted.us());
    }
}

TEST_F(LineMovesTest, EveryLineIsReadOrWrittenOnce) {
    constexpr Bytes kBlock = Bytes::from_kib(64);
    Bench bench(line(), kBlock);
    bench.load(keys_of(0, 8));
    EXPECT_EQ(bench.card.lines()->counters().requests, 8 * kBlock.count / 64);
    bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 8)));
    Bench::drain();
    EXPECT_EQ(bench.card.lines()->counters().requests, 16 * kBlock.count / 64);
    EXPECT_EQ(bench.card.lines()->counters().reads, 8 * kBlock.count / 64);
    EXPECT_EQ(bench.card.lines()->in_flight(), 0U);
    EXPECT_EQ(bench.card.data_plane().movers().drained(engine::kPush), kBlock * 8);
    EXPECT_EQ(bench.card.data_plane().movers().drained(engine::kPull), kBlock * 8);
    EXPECT_FALSE(bench.card.data_plane().movers().busy(engine::kPush));
}

TEST_F(LineMovesTest, DemandPassesAPrefetchBehindWhatIsStaged) {
    constexpr Bytes kBlock = Bytes::from_mib(5);
    CardConfig config = line();
    for (const Bytes quota : {Bytes::from_kib(64), Bytes::from_kib(512)}) {
        fresh_kernel();
        config.engine.destination_quota = quota;
        Bench bench(config, kBlock);
        bench.load(keys_of(0, 2));
        const Time begin = now();
        const double alone =
            (bench.finish(bench.host.intent(Opcode::kPromote, key_of(1), 1)).at - begin).us();
        Bench::drain();
        engine::Intent prefetch = bench.host.intent(Opcode::kPrefetch, key_of(0), 0);
        prefetch.transfer_class = static_cast<std::uint8_t>(engine::TransferClass::kPrefetch);
        bench.host.submit(prefetch);
        sc_core::sc_start(50, sc_core::SC_US);
        const Time asked = now();
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(1), 1));
        Bench::drain();
        ASSERT_EQ(bench.host.promoted.size(), 3U);
        // The demanded one first; it waited for what had been read, up to 4 KiB more.
        const double took = (bench.host.done[bench.host.done.size() - 2].at - asked).us();
        EXPECT_GT(took, alone + 0.6 * static_cast<double>(quota.count) / 54'220);
        EXPECT_LT(took, alone + static_cast<double>(quota.count + 8'192) / 54'220);
    }
}

/// The mean time of a host's line, one at a time, beside moves both ways or nothing.
Time mean_access(const CardConfig& config, bool moves) {
    test::SystemCTest::fresh_kernel();
    constexpr Bytes kBlock = Bytes::from_mib(1);
    Bench bench(config, kBlock);
    bench.map();
    cxl::AtPlan plan;
    plan.requests = 20'000;
    plan.outstanding = 1;
    plan.base = Bytes::from_mib(128).count;
    plan.lines = 4'096;
    cxl::AtInitiator initiator("initiator", plan);
    initiator.socket.bind(bench.card.mem.socket);
    sc_core::sc_start(1, sc_core::SC_US);
    bench.host.submit(bench.host.run(Opcode::kDemote, keys_of(0, 16)), 1);
    while (bench.host.done.empty()) sc_core::sc_start(1, sc_core::SC_US);
    if (moves) {
        bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 16)), 0);
        bench.host.submit(bench.host.run(Opcode::kDemote, keys_of(50, 16)), 1);
    }
    sc_core::sc_start(20, sc_core::SC_US);
    const std::uint64_t before = initiator.answered;
    sc_core::sc_start(200, sc_core::SC_US);
    for (const engine::Mover mover : {engine::kPush, engine::kPull}) {
        EXPECT_EQ(bench.card.data_plane().movers().busy(mover), moves);
    }
    return {Time::from_us(200).ps / static_cast<std::int64_t>(initiator.answered - before)};
}

TEST_F(LineMovesTest, AHostsLinesMeetMovesInBanksAndOnTheWireAndStayShort) {
    const Time idle = mean_access(line(), false);
    const Time beside = mean_access(line(), true);
    EXPECT_GT(beside, idle + Time::from_ns(5));
    EXPECT_LT(beside, idle + Time::from_ns(250));
}

TEST_F(LineMovesTest, RandomIntentsEndInTheStateOfASequentialReference) {
    for (const std::uint64_t seed : {13U, 14U}) {
        CardConfig config = model_card(seed);
        config.mem.fidelity = cxl::LinkFidelity::kLine;
        config.dram_fidelity = DramFidelity::kLine;
        const ModelOutcome outcome = run_model(config, model_steps(seed, 2'000));
        EXPECT_EQ(outcome.failure, "");
        EXPECT_GT(outcome.intents, 800U);
        EXPECT_GT(outcome.resets, 0U);
    }
}

}  // namespace
}  // namespace kvplane::card
