// SPDX-License-Identifier: Apache-2.0
/// The card under load: what shares a resource waits for it, and by how much.
#include <algorithm>

#include "host.h"
#include "model/common/random.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Opcode;
using engine::Stage;

constexpr Bytes kBlock = Bytes::from_mib(5);

class LoadTest : public test::SystemCTest {
protected:
    static CardConfig config(std::uint32_t width = 8) {
        CardConfig made = baseline(width);
        made.tier_capacity = kBlock * 256;
        return made;
    }
    /// Cards of one kernel: all are made before any runs.
    class Benches {
    public:
        Benches(const CardConfig& config, Bytes block, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) {
                m_benches.push_back(
                    std::make_unique<Bench>(config, block, "bench" + std::to_string(i)));
            }
        }
        Bench& operator[](std::size_t i) const { return *m_benches.at(i); }

    private:
        std::vector<std::unique_ptr<Bench>> m_benches;
    };
    /// Time on x8 that a promotion holds the wire: 5 MiB at 27.11 GB/s.
    static constexpr double kWireUs = 193.375;
};

TEST_F(LoadTest, PromotionsAtOnceQueueOneBehindTheOther) {
    Bench bench(config(), kBlock);
    bench.load(keys_of(0, 8));
    const Time begin = now();
    for (std::uint64_t i = 0; i < 8; ++i) {
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(i)));
    }
    Bench::drain();
    ASSERT_EQ(bench.host.done.size(), 1U + 8);
    for (std::size_t i = 0; i < 8; ++i) {
        const Time latency = bench.host.done[1 + i].at - begin;
        EXPECT_NEAR(latency.us(), 195.64 - 0.16 + kWireUs * static_cast<double>(i), 0.2);
        const engine::BlockMove& move = bench.host.promoted[i];
        EXPECT_EQ(move.stages.total(), bench.host.done[1 + i].at - move.arrived);
        EXPECT_NEAR(move.stages[Stage::kQueueOther].us(), kWireUs * static_cast<double>(i), 0.2);
        EXPECT_EQ(move.stages[Stage::kQueueOwn], Time{});
    }
}

TEST_F(LoadTest, BlocksOfARunWaitForTheirSiblings) {
    Bench bench(config(), kBlock);
    bench.load(keys_of(0, 8));
    const Time begin = now();
    const Done done = bench.finish(bench.host.run(Opcode::kPromote, keys_of(0, 8)));
    EXPECT_NEAR((done.at - begin).us(), 8 * kWireUs + 2.10 + 0.84, 0.1) << "and its gather list";
    ASSERT_EQ(bench.host.promoted.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i) {
        const engine::StageTimes& stages = bench.host.promoted[i].stages;
        // What overlaps with siblings on the wire is not paid again.
        EXPECT_NEAR(stages[Stage::kQueueOwn].us() + stages[Stage::kLookup].us() +
                        stages[Stage::kRecord].us() + stages[Stage::kDram].us(),
                    kWireUs * static_cast<double>(i) + 0.13, 0.15);
        EXPECT_EQ(stages[Stage::kLookup], Time::from_ns(6)) << "its own, not its siblings'";
        EXPECT_LT(stages[Stage::kQueueOther], Time::from_ns(100));
    }
    // The completion tells of the run: it is the last block's.
    const engine::BlockMove& last = bench.host.promoted.back();
    EXPECT_EQ(last.stages.total(), done.at - last.arrived);
}

TEST_F(LoadTest, TheFirstBlockOfALongRunDoesNotWaitForItsSiblingsRecords) {
    CardConfig small = config(16);
    Bench bench(small, Bytes::from_kib(64));
    bench.load(keys_of(0, 1'024));
    (void)bench.finish(bench.host.intent(Opcode::kPromote, key_of(0)));
    (void)bench.finish(bench.host.run(Opcode::kPromote, keys_of(0, 1'024)));
    const engine::StageTimes& alone = bench.host.promoted[0].stages;
    const engine::StageTimes& first = bench.host.promoted[1].stages;
    EXPECT_EQ(first[Stage::kDram], alone[Stage::kDram]);
    EXPECT_EQ(first[Stage::kRecord], alone[Stage::kRecord]);
    EXPECT_EQ(first[Stage::kQueueOther], alone[Stage::kQueueOther]);
}

TEST_F(LoadTest, LatencyGrowsWithLoadAndThroughputStaysAtTheWire) {
    // Open arrivals at a share of the wire; mean waits grow as those of an M/D/1 queue do.
    const Benches benches(config(), Bytes::from_kib(256), 3);
    std::size_t next = 0;
    double before = 0;
    for (const std::int64_t percent : {30, 60, 80}) {
        Bench& bench = benches[next++];
        bench.load(keys_of(0, 64));
        const double service = 262'144 / 27.11e3;  // us
        RandomStream random(static_cast<std::uint64_t>(percent), "open load");
        const Time mean{static_cast<std::int64_t>(service * 1e8 / static_cast<double>(percent))};
        for (int i = 0; i < 40'000; ++i) {
            const Time gap = random.exponential(mean);
            sc_core::sc_start(to_sc_time(gap + Time{1}));
            bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(random.uniform(64)),
                                                static_cast<std::uint32_t>(i) % Host::kSlots));
        }
        Bench::drain();
        double waited = 0;
        for (const engine::BlockMove& move : bench.host.promoted) {
            waited += move.stages[Stage::kQueueOther].us();
        }
        waited /= static_cast<double>(bench.host.promoted.size());
        const double rho = static_cast<double>(percent) / 100;
        const double expected = rho / (2 * (1 - rho)) * service;
        EXPECT_NEAR(waited, expected, 0.08 * expected + 0.05) << percent << " %";
        EXPECT_GT(waited, before);
        before = waited;
        EXPECT_EQ(bench.host.promoted.size(), 40'000U);
    }
}

TEST_F(LoadTest, PromotionsAndDemotionsShareAsTheMoversDo) {
    Bench bench(config(), kBlock);
    bench.load(keys_of(0, 16));
    const Time begin = now();
    bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 16)), 0);
    bench.host.submit(bench.host.run(Opcode::kDemote, keys_of(100, 16)), 1);
    Bench::drain();
    const double mib80 = 16 * 5.24288e6;
    ASSERT_EQ(bench.host.done.size(), 3U);
    // The demotion ends first, at its own rate; the promotion ran beside it almost throughout.
    EXPECT_NEAR((bench.host.done[1].at - begin).us(), mib80 / 27.51e3 + 3, 3);
    EXPECT_NEAR((bench.host.done[2].at - begin).us(), mib80 / 25.93e3, 15);
    EXPECT_EQ(bench.card.data_plane().counters().written_to_tier, kBlock * 32);
}

TEST_F(LoadTest, MoreUrgentClassesGoFirstThenEarlierDeadlines) {
    Bench bench(config(), kBlock);
    bench.load(keys_of(0, 8));
    const auto submit = [&](std::uint64_t key, engine::TransferClass c, std::uint64_t deadline) {
        engine::Intent intent = bench.host.intent(Opcode::kPromote, key_of(key));
        intent.transfer_class = static_cast<std::uint8_t>(c);
        intent.deadline_ns = deadline;
        return bench.host.submit(intent);
    };
    using enum engine::TransferClass;
    std::vector<std::uint32_t> ids{submit(0, kPrefetch, 1), submit(1, kPrefetch, 9),
                                   submit(2, kPrefetch, 5), submit(3, kDemand, 9),
                                   submit(4, kDemand, 3),   submit(5, kPrefetch, 5)};
    Bench::drain();
    std::vector<std::uint32_t> order;
    for (std::size_t i = 1; i < bench.host.done.size(); ++i) order.push_back(bench.host.done[i].id);
    // The first gives way at once. While what it has read crosses, the fourth and the fifth come.
    EXPECT_EQ(order, (std::vector{ids[4], ids[3], ids[0], ids[2], ids[5], ids[1]}));
}

TEST_F(LoadTest, HostReadsSlowPromotionsAsTheWireSays) {
    struct Row {
        double reads;
        double promotions;
    };
    const Benches benches(config(), kBlock, 4);
    std::size_t next = 0;
    for (const Row& row : {Row{5, 21.97}, Row{10, 16.83}, Row{13.18, 13.56}, Row{20, 6.54}}) {
        Bench& bench = benches[next++];
        bench.load(keys_of(0, 4));
        bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 4)));
        std::vector<std::uint8_t> data(64);
        const auto lines = static_cast<std::uint64_t>(row.reads * 1'000 / 64 + 0.5);  // a us
        std::uint64_t address = 0;
        while (bench.host.promoted.size() < 4) {
            for (std::uint64_t i = 0; i < lines; ++i) {
                sc_core::sc_time delay =
                    to_sc_time(Time{static_cast<std::int64_t>(i * 1'000'000 / lines)});
                address = (address + 64) % (kBlock.count * 4);
                (void)bench.host.access(tlm::TLM_READ_COMMAND, address, data, delay);
            }
            sc_core::sc_start(1, sc_core::SC_US);
        }
        Bench::drain();
        Time wire{};
        for (const engine::BlockMove& move : bench.host.promoted) {
            wire += move.stages[Stage::kLink] - Time::from_ns(370);
        }
        const double actual = static_cast<double>(lines) * 64 / 1'000;
        const double expected = 27.11 * (1 - actual / 26.36);
        EXPECT_NEAR(expected, row.promotions, 0.05 * row.promotions) << "the row, rounded to lines";
        EXPECT_NEAR(4 * 5.24288e6 / wire.us() / 1e3, expected, 0.01 * expected) << row.reads;
    }
}

/// A host read behind a saturating promotion stream waits for one flit, or for one TLP where CXL.io
/// gives way between TLPs alone.
TEST_F(LoadTest, AHostReadWaitsForOneFlitOrTlpBesidePromotions) {
    struct Row {
        cxl::Arbitration arbitration;
        Time unit;  // on the wire at 31.5 GB/s, sync headers off
    };
    const cxl::Link link(config().link);
    std::vector<std::unique_ptr<Bench>> benches;
    const std::array rows{
        Row{cxl::Arbitration::kFlit, link.serialisation(68)},
        Row{cxl::Arbitration::kTlp, link.serialisation(link.write_tlp_bytes({256}))}};
    for (const Row& row : rows) {
        CardConfig made = config();
        made.link.arbitration = row.arbitration;
        benches.push_back(
            std::make_unique<Bench>(made, kBlock, "bench" + std::to_string(benches.size())));
    }
    for (std::size_t b = 0; b < rows.size(); ++b) {
        Bench& bench = *benches[b];
        bench.load(keys_of(0, 4));
        std::vector<std::uint8_t> data(64);
        const auto read = [&](std::uint64_t address) {
            sc_core::sc_time delay;
            (void)bench.host.access(tlm::TLM_READ_COMMAND, address, data, delay);
            return from_sc_time(delay);
        };
        const Time idle = read(0);
        bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 4)));
        sc_core::sc_start(20, sc_core::SC_US);
        ASSERT_TRUE(bench.card.data_plane().movers().busy(engine::kPush));
        for (std::uint64_t i = 0; i < 50; ++i) {
            sc_core::sc_start(5, sc_core::SC_US);
            const Time waited = read(64 * i) - idle;
            EXPECT_GE(waited, rows[b].unit);
            // A third of the DRAM is the promotion's, which stretches 6.3 ns of a line's service.
            EXPECT_LE(waited, rows[b].unit + Time{4'000});
        }
        Bench::drain();
    }
}

TEST_F(LoadTest, TheMoversWakeOnceForWhatEndsHoweverLongTheyAreBusy) {
    // Ends that come before others that were armed first must not leave events behind.
    const Benches benches(config(), Bytes::from_kib(64), 2);
    const auto events_a_job = [&](std::uint32_t rounds, Bench& bench) {
        bench.load(keys_of(0, 16));
        const engine::DataPlaneCounters& counters = bench.card.data_plane().counters();
        const std::uint64_t before = counters.events;
        std::uint64_t jobs = 0;
        for (std::uint32_t i = 0; i < rounds; ++i) {
            bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 8)), 0);
            bench.host.submit(bench.host.intent(Opcode::kDemote, key_of(100 + i)), 1);
            jobs += 2;
            sc_core::sc_start(15, sc_core::SC_US);
        }
        Bench::drain();
        EXPECT_EQ(bench.host.done.size(), 1 + jobs);
        return static_cast<double>(counters.events - before) / static_cast<double>(jobs);
    };
    // Fetch, admission, entry, commit and completion of each job, and one or two ends of movers.
    EXPECT_LT(events_a_job(20, benches[0]), 7.5);
    EXPECT_LT(events_a_job(400, benches[1]), 7.5);
}

TEST_F(LoadTest, AnIdleCardHasNoEvents) {
    Bench bench(config(), kBlock);
    Bench::drain();
    EXPECT_FALSE(sc_core::sc_pending_activity());
    bench.load(keys_of(0, 2));
    (void)bench.finish(bench.host.run(Opcode::kPromote, keys_of(0, 2)));
    EXPECT_FALSE(sc_core::sc_pending_activity());
    const std::uint64_t deltas = sc_core::sc_delta_count();
    sc_core::sc_start(1, sc_core::SC_SEC);
    EXPECT_EQ(sc_core::sc_delta_count(), deltas);
}

TEST_F(LoadTest, TheSameRunTwiceIsTheSameRun) {
    const Benches benches(config(), Bytes::from_kib(64), 2);
    const auto play = [&](Bench& bench) {
        bench.load(keys_of(0, 32));
        const Time begin = now();
        RandomStream random(51, "again");
        for (int i = 0; i < 200; ++i) {
            bench.host.submit(
                bench.host.run(Opcode::kPromote, keys_of(random.uniform(24), random.uniform(1, 8))),
                static_cast<std::uint32_t>(random.uniform(2)));
            sc_core::sc_start(static_cast<double>(random.uniform(1, 20'000)), sc_core::SC_NS);
        }
        Bench::drain();
        std::vector<std::pair<std::uint32_t, Time>> ends;
        for (const Done& done : bench.host.done) ends.emplace_back(done.id, done.at - begin);
        ends.erase(ends.begin());
        return ends;
    };
    EXPECT_EQ(play(benches[0]), play(benches[1]));
}

}  // namespace
}  // namespace kvplane::card
