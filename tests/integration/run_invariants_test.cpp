// SPDX-License-Identifier: Apache-2.0
/// What must hold in every run, over random small workloads and settings, and in the corners where
/// room is tightest.
#include <fmt/format.h>

#include <algorithm>

#include "model/common/errors.h"
#include "model/common/random.h"
#include "small_run.h"

namespace kvplane::test {
namespace {

using explore::Platform;

constexpr std::uint64_t kTokens = 16;     // of a block of the small setting
constexpr std::uint64_t kBlockKib = 16;   // its size
constexpr std::uint64_t kIdsOfRests = 1;  // ids of hand-made chains start behind it

std::string pick(RandomStream& random, const std::vector<std::string>& values) {
    return values[random.uniform(values.size())];
}

/// How a run goes about it, without its workload and its budgets.
Sets random_ways(RandomStream& random) {
    const auto one_of = [&](const char* key, const std::vector<std::string>& values) {
        return fmt::format("{}={}", key, pick(random, values));
    };
    // A run selects what to store only where blocks are written as they leave, or selectively.
    const std::string store = pick(random, {"all", "all", "threshold", "predicted"});
    const std::string when = pick(random, {"write-through", "on-evict"});
    const std::vector<std::string> policies{"lru",   "fifo", "sieve", "s3-fifo", "arc",
                                            "lru-2", "slru", "lfu",   "ema",     "w-tinylfu",
                                            "gdsf",  "lru",  "lru",   "priority"};
    return {
        "control.store=" + store,
        "host.demotion=" + (store == "all" ? when : pick(random, {"on-evict", "selective"})),
        one_of("control.replacement", policies),
        one_of("control.tier_eviction", policies),
        one_of("control.admission", {"none", "none", "counter", "horizon"}),
        one_of("driver.mechanism", {"card", "copy-engine"}),
        one_of("driver.ring_entries", {"2", "4", "1024"}),
        one_of("driver.copy_engine.bandwidth", {"51.8 GB/s", "10 MB/s"}),
        one_of("driver.copy_engine.bandwidth_d2h", {"49.8 GB/s", "10 MB/s"}),
        one_of("host.reserve", {"prompt", "full"}),
        one_of("host.watermark", {"0 %", "1 %", "10 %", "50 %"}),
        one_of("host.batch.sequences", {"1", "2", "3", "8", "256"}),
        one_of("host.batch.tokens_per_step", {"1", "16", "40", "256", "2048"}),
        one_of("host.node.fixed", {"1 us", "50 us", "5 ms"}),
        one_of("card.payload", {"sizes", "bytes"}),
        one_of("card.link.width", {"1", "16"}),
        one_of("card.link.push_rate_limit", {"null", "100 MB/s", "1 MB/s"}),
        one_of("card.dma.read_outstanding", {"1", "128"}),
        fmt::format(
            "card.tier.capacity={} KiB",
            kBlockKib * (random.uniform(3) == 0 ? random.uniform(1, 3) : random.uniform(1, 200))),
    };
}

Sets random_sessions(RandomStream& random, std::uint64_t seed) {
    return {
        fmt::format("seed={}", seed),
        "workload.zipf_sessions.requests_per_second=" + pick(random, {"50", "1000", "100000"}),
        "workload.zipf_sessions.output_max=" + pick(random, {"1", "32", "200"}),
        "workload.zipf_sessions.appended_max=" + pick(random, {"64", "200"}),
        fmt::format("host.node.kv_budget={} KiB", kBlockKib * random.uniform(20, 90)),
    };
}

/// Chains that branch from a few roots, some whole blocks long, in bursts.
std::vector<HandRequest> random_tree(RandomStream& random) {
    std::vector<HandRequest> requests(random.uniform(2, 40));
    const std::uint64_t depth = random.uniform(1, 12);
    const std::uint64_t fan = random.uniform(1, 3);
    Time arrival;
    for (HandRequest& request : requests) {
        std::uint64_t id = 0;
        for (std::uint64_t left = random.uniform(0, depth); left != 0; --left) {
            id = id * 4 + kIdsOfRests + random.uniform(fan);
            request.ids.push_back(id);
        }
        if (request.ids.empty() || random.uniform(2) == 0) {
            request.more_tokens = static_cast<std::uint32_t>(random.uniform(1, kTokens - 1));
        }
        request.output_tokens = static_cast<std::uint32_t>(
            random.uniform(3) == 0 ? random.uniform(1, 100) : random.uniform(1, 3));
        request.arrival = arrival;
        if (random.uniform(3) == 0) continue;
        arrival += Time::from_us(static_cast<std::int64_t>(random.uniform(1, 20'000)));
    }
    return requests;
}

std::uint64_t blocks_of(const HandRequest& request) {
    const std::uint64_t tokens =
        request.ids.size() * kTokens + request.more_tokens + request.output_tokens;
    return (tokens + kTokens - 1) / kTokens;
}

class RunInvariantsTest : public RunTest {
protected:
    /// What any run must leave behind, beside what Platform::run() checks itself.
    void check(const Platform& platform) {
        const serving::ServingMetrics& metrics = platform.engine().metrics();
        const block::LedgerCounts& ledger = platform.ledger().counts();
        const control::PlacementCounts& control = platform.control().counts();
        const workload::Workload& workload = platform.workload();
        std::uint64_t tokens = 0;
        for (const workload::Request& request : workload.requests) tokens += request.output_tokens;
        for (const std::uint32_t i : platform.engine().infeasible()) {
            tokens -= workload.requests[i].output_tokens;
        }
        EXPECT_EQ(metrics.requests + metrics.infeasible, workload.requests.size());
        EXPECT_EQ(metrics.output_tokens, tokens);
        EXPECT_EQ(metrics.ttft.count(), metrics.requests);
        EXPECT_EQ(metrics.itl.count(), tokens - metrics.requests);

        EXPECT_EQ(ledger.violations, 0U);
        EXPECT_EQ(ledger.lives, ledger.distinct + ledger.recomputed);
        EXPECT_EQ(ledger.demotions - ledger.tier_evictions, platform.control().tier_used());
        // Each reference was found, loaded, computed, kept private, or given up with a preemption.
        const std::uint64_t known =
            control.hits + ledger.promotions + control.private_copies + ledger.lives;
        if (metrics.preemptions == 0) {
            EXPECT_EQ(control.block_refs, known);
        } else {
            EXPECT_GE(control.block_refs, known);
        }
        const Time end = std::max(metrics.finished, metrics.last_arrival);
        const auto span = static_cast<std::uint64_t>(end.ps);
        EXPECT_LE(platform.hbm().frame_ps(), static_cast<Uint128>(platform.hbm().frames()) * span);
        check_tier(platform);

        m_preemptions += metrics.preemptions;
        m_infeasible += metrics.infeasible;
        m_recomputed += ledger.recomputed;
        m_promotions += ledger.promotions;
        m_skipped += control.stores_skipped;
    }

    static void check_tier(const Platform& platform) {
        const std::uint64_t capacity = platform.card().data_plane().tier().room().capacity() /
                                       engine::granules(platform.hbm().block());
        EXPECT_LE(platform.control().tier_used(), capacity);
        EXPECT_LE(platform.card().data_plane().counters().tier_high_water, capacity);
    }

    std::uint64_t m_preemptions = 0;
    std::uint64_t m_infeasible = 0;
    std::uint64_t m_recomputed = 0;
    std::uint64_t m_promotions = 0;
    std::uint64_t m_skipped = 0;
};

TEST_F(RunInvariantsTest, TheCardsBooksAreKeptWhereAskedFor) {
    simulate(small_setting(), [](Platform& p) {
        const auto& counters = p.card().data_plane().counters();
        ASSERT_NE(p.checker(), nullptr);
        // Taken in, crossed, completed; room and commit of what came, version of what was read.
        EXPECT_GE(p.checker()->checks(), 2 * counters.intents + 3 * counters.demoted_blocks +
                                             3 * counters.promoted_blocks);
        EXPECT_GT(counters.promoted_blocks, 0U);
    });
}

TEST_F(RunInvariantsTest, ARunWhoseMovesDoNotEndIsBroken) {
    // One turn each: nothing is promoted, and no request waits for a demotion.
    const Sets sets = small_setting() +
                      Sets{"workload.zipf_sessions.turns=4", "workload.zipf_sessions.sessions=4"};
    const Inspect cut = [](Platform&) {
        auto* plane = dynamic_cast<engine::DataPlane*>(sc_core::sc_find_object("card.data_plane"));
        ASSERT_NE(plane, nullptr);
        plane->stop_link(true);
    };
    try {
        simulate(sets, Inspect{}, cut);
        ADD_FAILURE() << "ended well";
    } catch (const InvariantError& error) {
        EXPECT_NE(std::string(error.what()).find("runs of moves unfinished"), std::string::npos)
            << error.what();
    }
}

TEST_F(RunInvariantsTest, HoldInRandomSessions) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        RandomStream random(seed, "run_invariants/sessions");
        const Sets sets = random_ways(random) + random_sessions(random, seed);
        ASSERT_NO_THROW(simulate(small_setting() + sets, [&](Platform& p) { check(p); }));
    }
    EXPECT_GT(m_infeasible, 0U);
    EXPECT_GT(m_recomputed, 0U);
    EXPECT_GT(m_promotions, 0U);
}

// HBM holds the largest request and at most two blocks more: nothing may get stuck.
TEST_F(RunInvariantsTest, HoldWhereRoomIsTightest) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        SCOPED_TRACE(seed);
        RandomStream random(seed, "run_invariants/tree");
        const std::vector<HandRequest> requests = random_tree(random);
        std::uint64_t largest = 0;
        for (const HandRequest& request : requests) {
            largest = std::max(largest, blocks_of(request));
        }
        const Sets sets =
            random_ways(random) + Sets{fmt::format("host.node.kv_budget={} KiB",
                                                   kBlockKib * (largest + random.uniform(3)))};
        ASSERT_NO_THROW(simulate(small_setting() + sets, requests, [&](Platform& p) { check(p); }));
    }
    EXPECT_EQ(m_infeasible, 0U);
    EXPECT_GT(m_preemptions, 0U);
    EXPECT_GT(m_recomputed, 0U);
    EXPECT_GT(m_promotions, 0U);
    EXPECT_GT(m_skipped, 0U);
}

TEST_F(RunInvariantsTest, HoldWhereTheIndexOverflows) {
    const Sets sets{"card.index.sram=4 KiB", "card.index.stash=1",
                    "workload.zipf_sessions.sessions=64", "workload.zipf_sessions.turns=200"};
    simulate(small_setting() + sets, [&](Platform& platform) {
        check(platform);
        const index::ResidentIndex& index = platform.index();
        EXPECT_GT(index.overflow_entries(), 0U);
        EXPECT_EQ(index.sram_entries() + index.overflow_entries(), platform.control().tier_used());
    });
}

// The last request to arrive is too large for HBM: the run still ends when the first is served.
TEST_F(RunInvariantsTest, InfeasibleRequestAtTheEnd) {
    const std::vector<HandRequest> requests{
        {.arrival = Time::from_ms(5), .ids = {1, 2}, .output_tokens = 4},
        {.arrival = Time::from_ms(900), .ids = {1, 2, 3, 4, 5, 6, 7, 8}}};
    const Sets small{"host.node.kv_budget=64 KiB"};
    const auto result = simulate(small_setting() + small, requests, [&](Platform& platform) {
        EXPECT_EQ(platform.engine().infeasible(), std::vector<std::uint32_t>{1});
        EXPECT_LT(platform.engine().metrics().finished, Time::from_ms(10));
    });
    EXPECT_EQ(result["serving"]["infeasible"], 1);
    EXPECT_GT(result["serving"]["throughput_tok_s"], 400);
    // Nothing at all can be served.
    const auto nothing = simulate(small_setting() + small, {requests[1]});
    EXPECT_EQ(nothing["serving"]["requests"], 0);
    EXPECT_EQ(nothing["serving"]["throughput_tok_s"], 0);
    EXPECT_EQ(nothing["serving"]["simulated_s"], 0);
    EXPECT_EQ(nothing["placement"]["reuse_per_moved_byte"], nullptr);
}

// Blocks of any size, to the byte: the tier's granules and the descriptor's length are 4 KiB.
TEST_F(RunInvariantsTest, HoldForBlocksOfOddSizes) {
    for (const char* mechanism : {"card", "copy-engine"}) {
        const Sets odd{"block.tokens=3",
                       "block.layers=3",
                       "host.node.layers=3",
                       "block.kv_heads=5",
                       "block.head_dim=91",
                       "block.bytes_per_value=1",
                       "host.node.kv_budget=2 MiB",
                       "card.tier.capacity=2 MiB",
                       "card.payload=bytes",
                       fmt::format("driver.mechanism={}", mechanism)};
        simulate(small_setting() + odd, [&](Platform& platform) {
            check(platform);
            EXPECT_EQ(platform.hbm().block(), Bytes{8190});
            EXPECT_EQ(platform.card().data_plane().tier().room().capacity() /
                          engine::granules(platform.hbm().block()),
                      256U);
        });
    }
    EXPECT_GT(m_promotions, 0U);
    EXPECT_GT(m_recomputed, 0U);
}

// Host tables against ledger and counts, every 200 us instead of once at the end.
TEST_F(RunInvariantsTest, TablesAgreeAtEveryMoment) {
    allow_warning(sc_core::SC_ID_NO_SC_START_ACTIVITY_);  // nothing is left to Platform::run()
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        SCOPED_TRACE(seed);
        RandomStream random(seed, "run_invariants/tables");
        const Sets sets = random_ways(random) + random_sessions(random, seed);
        int audits = 0;
        const Inspect audit = [&](Platform& platform) {
            do {
                sc_core::sc_start(200, sc_core::SC_US);
                platform.control().audit();
                check_tier(platform);
                ++audits;
            } while (platform.engine().unfinished() != 0 && audits < 20'000);
        };
        ASSERT_NO_THROW(simulate(
            small_setting() + sets, [&](Platform& p) { check(p); }, audit));
        EXPECT_GT(audits, 10);
    }
}

TEST_F(RunInvariantsTest, SameSeedSameResultOtherSeedAnother) {
    for (const char* mechanism : {"card", "copy-engine"}) {
        const Sets sets = small_setting() + Sets{fmt::format("driver.mechanism={}", mechanism)};
        const auto first = simulate(sets);
        EXPECT_EQ(first.dump(), simulate(sets).dump());
        const auto other = simulate(sets + Sets{"seed=2"});
        EXPECT_NE(first["serving"], other["serving"]);
        EXPECT_NE(first["placement"], other["placement"]);
    }
}

std::vector<std::uint64_t> ids(std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < count; ++i) out.push_back(first + i);
    return out;
}

Sets frames(std::uint64_t hbm, std::uint64_t tier) {
    return {fmt::format("host.node.kv_budget={} KiB", kBlockKib * hbm),
            fmt::format("card.tier.capacity={} KiB", kBlockKib * tier)};
}

const std::vector<Sets> kEveryWay{
    {"driver.mechanism=card", "host.demotion=write-through"},
    {"driver.mechanism=card", "host.demotion=on-evict"},
    {"driver.mechanism=copy-engine", "host.demotion=write-through"},
    {"driver.mechanism=copy-engine", "host.demotion=on-evict"},
};

TEST_F(RunInvariantsTest, ConvoyLoadsItsPrefixOnce) {
    // The second request drives the prefix of the first out; then two want it at once.
    const std::vector<HandRequest> requests{
        {.arrival = {}, .ids = ids(1, 8)},
        {.arrival = Time::from_ms(20), .ids = ids(101, 11), .more_tokens = 1},
        {.arrival = Time::from_ms(40), .ids = ids(1, 8), .more_tokens = 1},
        {.arrival = Time::from_ms(40), .ids = ids(1, 8), .more_tokens = 2},
    };
    for (const Sets& way : kEveryWay) {
        SCOPED_TRACE(way[0] + " " + way[1]);
        simulate(small_setting() + frames(12, 100) + way, requests, [&](Platform& platform) {
            check(platform);
            EXPECT_EQ(platform.ledger().counts().promotions, 8U);
            EXPECT_EQ(platform.moves().first_block().count(), 1U);
            EXPECT_EQ(platform.control().counts().hits, 8U);
        });
    }
}

TEST_F(RunInvariantsTest, ConvoyComputesItsPrefixOnceUnderItsName) {
    const std::vector<HandRequest> requests{{.arrival = {}, .ids = ids(1, 8), .more_tokens = 1},
                                            {.arrival = {}, .ids = ids(1, 8), .more_tokens = 2}};
    for (const Sets& way : kEveryWay) {
        SCOPED_TRACE(way[0] + " " + way[1]);
        simulate(small_setting() + way, requests, [&](Platform& platform) {
            check(platform);
            EXPECT_EQ(platform.ledger().counts().lives, 8U);
            EXPECT_EQ(platform.control().counts().private_copies, 8U);
        });
    }
}

TEST_F(RunInvariantsTest, TierEvictionBringsBlocksToLifeAgain) {
    std::vector<HandRequest> requests;
    for (int i = 0; i < 9; ++i) {
        requests.push_back({.arrival = Time::from_ms(20 * i),
                            .ids = ids(1 + 100 * static_cast<std::uint64_t>(i % 3), 5)});
    }
    for (const Sets& way : kEveryWay) {
        SCOPED_TRACE(way[0] + " " + way[1]);
        simulate(small_setting() + frames(6, 4) + way, requests, [&](Platform& platform) {
            check(platform);
            const block::LedgerCounts& counts = platform.ledger().counts();
            EXPECT_GT(counts.tier_evictions, 0U);
            EXPECT_GT(counts.recomputed, 0U);
            EXPECT_EQ(counts.distinct, 15U);
        });
        // With room for all of it nothing is computed twice.
        simulate(small_setting() + frames(6, 15) + way, requests, [&](Platform& platform) {
            EXPECT_EQ(platform.ledger().counts().tier_evictions, 0U);
            EXPECT_EQ(platform.ledger().counts().lives, 15U);
        });
    }
}

TEST_F(RunInvariantsTest, PreemptedRequestsComeToTheirEnd) {
    const std::vector<HandRequest> requests{
        {.arrival = {}, .ids = ids(1, 4), .more_tokens = 0, .output_tokens = 80},
        {.arrival = {}, .ids = ids(11, 4), .more_tokens = 0, .output_tokens = 80}};
    for (const Sets& way : kEveryWay) {
        SCOPED_TRACE(way[0] + " " + way[1]);
        simulate(small_setting() + frames(12, 100) + way, requests, [&](Platform& platform) {
            check(platform);
            EXPECT_GE(platform.engine().metrics().preemptions, 1U);
        });
        // Who reserves it all at once is never preempted.
        const Sets full{"host.reserve=full"};
        simulate(small_setting() + frames(12, 100) + way + full, requests, [&](Platform& platform) {
            check(platform);
            EXPECT_EQ(platform.engine().metrics().preemptions, 0U);
        });
    }
}

// A decoding sequence drives block 20 of an idle chain out, which takes 1.6 ms. Meanwhile frames
// come free, and a request that continues the chain is served from begin to end. Block 20 has to
// stay.
TEST_F(RunInvariantsTest, LeavingBlockStaysWhereItIsContinued) {
    std::vector<std::uint64_t> longer = ids(101, 20);
    longer.push_back(201);
    const Time then = Time::from_ms(60);
    const std::vector<HandRequest> requests{
        {.arrival = {}, .ids = ids(101, 20)},
        {.arrival = then, .ids = {31}, .output_tokens = 40},
        {.arrival = then, .ids = {41, 42, 43}, .more_tokens = 1, .output_tokens = 2},
        {.arrival = then, .ids = {41, 42, 43}, .more_tokens = 1, .output_tokens = 2},
        {.arrival = then + Time::from_us(1), .ids = longer}};
    const Sets slow{"driver.mechanism=copy-engine", "host.demotion=on-evict",
                    "driver.copy_engine.bandwidth_d2h=10 MB/s"};
    simulate(small_setting() + frames(29, 100) + slow, requests, [&](Platform& platform) {
        check(platform);
        EXPECT_EQ(platform.ledger().counts().demotions, 1U);
        EXPECT_EQ(platform.ledger().counts().clean_discards, 0U);
        EXPECT_EQ(platform.control().counts().hits, 20U);
    });
}

// The prompt of the second fills whole blocks and is in HBM: all but its last block is reused, that
// one is computed again, and the frame of its copy is needed too.
TEST_F(RunInvariantsTest, RepeatedPromptThatFillsHbmRuns) {
    const std::vector<HandRequest> requests{{.arrival = {}, .ids = ids(1, 8)},
                                            {.arrival = Time::from_ms(20), .ids = ids(1, 8)}};
    for (const char* reserve : {"host.reserve=prompt", "host.reserve=full"}) {
        for (const Sets& way : kEveryWay) {
            SCOPED_TRACE(way[0] + " " + way[1] + " " + reserve);
            const Sets sets = small_setting() + frames(9, 100) + way + Sets{reserve};
            simulate(sets, requests, [&](Platform& platform) {
                check(platform);
                EXPECT_EQ(platform.control().counts().hits, 7U);
            });
        }
    }
}

}  // namespace
}  // namespace kvplane::test
