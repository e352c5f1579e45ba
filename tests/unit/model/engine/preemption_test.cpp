// SPDX-License-Identifier: Apache-2.0
/// Jobs that give way, are given up, stall and stop: a byte a nanosecond unless said.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "model/common/random.h"
#include "scheduled_flow.h"

namespace kvplane::engine {
namespace {

using test::ScheduledFlow;

constexpr Rate kRate{1'000'000'000};
constexpr Bytes kWindow{8'192};

Time ns(std::int64_t n) { return Time::from_ns(n); }

FlowJob job(std::uint32_t id, std::uint8_t priority, std::uint64_t bytes,
            std::uint32_t blocks = 1) {
    return {.id = id, .priority = priority, .blocks = blocks, .block_bytes = {bytes}};
}

class PreemptionTest : public testing::Test {
protected:
    static FlowServerConfig server() {
        FlowServerConfig config;
        config.window = kWindow;
        return config;
    }
    void expect_block(std::size_t at, std::uint32_t id, Time start, Time end,
                      std::uint32_t block = 0) const {
        ASSERT_GT(m_link.drained.size(), at);
        EXPECT_EQ(m_link.drained[at].id, id);
        EXPECT_EQ(m_link.drained[at].block, block);
        EXPECT_EQ(m_link.drained[at].start, start);
        EXPECT_EQ(m_link.drained[at].end, end);
    }

    ScheduledFlow m_link{{}, server(), kRate};
};

TEST_F(PreemptionTest, AJobGivesWayBehindTheWindowAtAMultipleOf4KiB) {
    m_link.push(job(0, 2, 100'000));
    m_link.push(job(1, 1, 4'096), ns(10'000));
    EXPECT_EQ(m_link.flow.next_end(), ns(20'480)) << "10,000 + 8,192, rounded up";
    m_link.finish();
    expect_block(0, 1, ns(20'480), ns(24'576));
    expect_block(1, 0, ns(0), ns(104'096));
    EXPECT_EQ(m_link.order(), (std::vector<std::uint32_t>{1, 0}));
    EXPECT_EQ(m_link.flow.drained(0), Bytes{104'096});
    EXPECT_EQ(m_link.flow.busy_time(0), ns(104'096));
}

TEST_F(PreemptionTest, WhatIsReadAheadGrowsAsFastAsItsSourceLets) {
    FlowServerConfig config = server();
    config.share[1] = std::uint64_t{1} << 32;
    config.source = 1;
    config.fill = ns(500);
    Scheduler scheduler{SchedulerConfig{}};
    config.queue = &scheduler;
    config.share[0] = config.share[1];
    class Deaf final : public FlowClient {
        void block_drained(std::uint32_t, std::uint32_t, std::uint32_t, Time, Time) override {}
        void job_drained(std::uint32_t, std::uint32_t, Time) override {}
        void job_given_up(std::uint32_t, std::uint32_t, std::uint32_t, FlowEnd, Time) override {}
    } deaf;
    FlowServers flow({kRate.bytes_per_second, 3 * kRate.bytes_per_second, 0, 0}, {config}, deaf);
    flow.push(0, job(0, 2, 1'000'000), {});
    EXPECT_EQ(flow.under_way(0), Bytes{0});
    flow.advance(ns(1'000));
    EXPECT_EQ(flow.under_way(0), Bytes{2'000}) << "3 B are read for each that drains";
    flow.advance(ns(3'000));
    EXPECT_EQ(flow.under_way(0), Bytes{6'000});
    flow.advance(ns(100'000));
    EXPECT_EQ(flow.under_way(0), Bytes{8'192 - 500}) << "the window, less what the fill holds";
    flow.push(0, job(1, 1, 4'096), ns(100'000));
    EXPECT_EQ(flow.next_end(), ns(110'592)) << "107,692, rounded up";
}

TEST_F(PreemptionTest, WhatLiesWithinTheWindowIsUnderWayAndOnlyTheLastOfItIsCut) {
    m_link.push(job(0, 2, 10'000));
    m_link.push(job(2, 2, 100'000));
    m_link.push(job(1, 1, 4'096), ns(9'000));
    m_link.finish();
    expect_block(0, 0, ns(0), ns(10'000));
    expect_block(1, 1, ns(18'192), ns(22'288));  // behind 7,192 B, rounded up
    expect_block(2, 2, ns(10'000), ns(114'096));
}

TEST_F(PreemptionTest, AClassIsNotCutByItsOwnAndWhatHasBegunGoesOnFirst) {
    FlowJob late = job(0, 1, 100'000);
    m_link.push(late);
    FlowJob sooner = job(1, 1, 5'000);
    sooner.deadline = ns(1);
    m_link.push(sooner, ns(50'000));
    m_link.push(job(2, 0, 1'000), ns(60'000));
    m_link.finish();
    EXPECT_EQ(m_link.order(), (std::vector<std::uint32_t>{2, 0, 1}));
}

TEST_F(PreemptionTest, ARunIsCutWithinABlockAndTellsEachOnce) {
    m_link.push(job(0, 2, 10'000, 4));
    m_link.push(job(1, 1, 1'000), ns(15'000));
    m_link.finish();
    expect_block(0, 0, ns(0), ns(10'000), 0);
    expect_block(1, 0, ns(10'000), ns(20'000), 1);
    expect_block(2, 1, ns(24'576), ns(25'576));
    expect_block(3, 0, ns(20'000), ns(31'000), 2);
    expect_block(4, 0, ns(31'000), ns(41'000), 3);
    EXPECT_EQ(m_link.drained.size(), 5U);
}

TEST_F(PreemptionTest, ABlockThatBeginsAfterTheCutStartsWhenItGoesOn) {
    m_link.push(job(0, 2, 4'096, 8));
    m_link.push(job(1, 1, 1'000), ns(4'096));
    m_link.finish();
    expect_block(2, 0, ns(8'192), ns(12'288), 2);
    expect_block(3, 1, ns(12'288), ns(13'288));
    expect_block(4, 0, ns(13'288), ns(17'384), 3);
}

TEST_F(PreemptionTest, AnotherTenantHasItsTurnAtTheNextBlockBeyondTheWindow) {
    m_link.push(job(0, 1, 100'000, 50));
    FlowJob other = job(1, 1, 100'000, 2);
    other.tenant = 5;
    m_link.push(other, ns(250'000));
    m_link.until(ns(1'000'000));
    const auto first = std::find_if(m_link.drained.begin(), m_link.drained.end(),
                                    [](const auto& block) { return block.id == 1; });
    ASSERT_NE(first, m_link.drained.end());
    EXPECT_EQ(first->start, ns(300'000)) << "not behind 47 blocks";
}

TEST_F(PreemptionTest, CancelDropsWhatWaitsAtOnceAndWhatRunsBehindItsWindow) {
    m_link.push(job(0, 1, 10'000, 10));
    m_link.push(job(1, 1, 10'000));
    EXPECT_TRUE(m_link.flow.cancel(0, 1, ns(5'000)));
    ASSERT_EQ(m_link.ended.size(), 1U);
    EXPECT_EQ(m_link.ended[0].id, 1U);
    EXPECT_EQ(m_link.ended[0].at, ns(5'000));
    EXPECT_EQ(m_link.ended[0].reason, FlowEnd::kCancelled);
    EXPECT_TRUE(m_link.flow.cancel(0, 0, ns(15'000)));
    EXPECT_FALSE(m_link.flow.cancel(0, 7, ns(15'000)));
    m_link.finish();
    ASSERT_EQ(m_link.ended.size(), 2U);
    EXPECT_EQ(m_link.ended[1].id, 0U);
    EXPECT_EQ(m_link.ended[1].at, ns(24'576)) << "15,000 + 8,192, rounded up";
    EXPECT_EQ(m_link.ended[1].blocks, 2U);
    EXPECT_EQ(m_link.drained.size(), 2U);
    EXPECT_EQ(m_link.flow.drained(0), Bytes{24'576});
    EXPECT_EQ(m_link.scheduler.waiting(), 0U);
    // All of it is under way: it ends as if nothing had been said.
    m_link.push(job(3, 1, 5'000), ns(30'000));
    EXPECT_TRUE(m_link.flow.cancel(0, 3, ns(30'001)));
    m_link.finish();
    EXPECT_TRUE(m_link.ended.back().complete);
}

TEST_F(PreemptionTest, AJobThatGaveWayCanBeCancelledWhileItWaits) {
    m_link.push(job(0, 2, 10'000, 10));
    m_link.push(job(1, 1, 50'000), ns(15'000));  // job 0 stops at 24,576
    EXPECT_TRUE(m_link.flow.cancel(0, 0, ns(30'000)));
    m_link.finish();
    ASSERT_EQ(m_link.ended.size(), 2U);
    EXPECT_EQ(m_link.ended[0].id, 0U);
    EXPECT_EQ(m_link.ended[0].blocks, 2U);
    EXPECT_EQ(m_link.ended[0].at, ns(30'000));
    EXPECT_EQ(m_link.ended[1].at, ns(74'576));
}

TEST_F(PreemptionTest, ARaisedJobPreempts) {
    m_link.push(job(0, 2, 100'000));
    m_link.push(job(1, 3, 1'000), ns(1'000));
    EXPECT_EQ(m_link.flow.next_end(), ns(100'000));
    EXPECT_TRUE(m_link.flow.raise(0, 1, {.priority = 1}, ns(10'000)));
    EXPECT_EQ(m_link.flow.next_end(), ns(20'480));
    // The running one, raised, is not cut by what was above it before.
    EXPECT_TRUE(m_link.flow.raise(0, 0, {.priority = 0}, ns(11'000)));
    m_link.push(job(2, 1, 1'000), ns(12'000));
    m_link.finish();
    EXPECT_EQ(m_link.order(), (std::vector<std::uint32_t>{0, 1, 2}))
        << "cut already, but what is left goes first now";
}

TEST_F(PreemptionTest, AStalledDestinationLetsTheOthersPassAndTimesOut) {
    FlowJob stalls = job(0, 1, 100'000, 2);
    stalls.destination = 4;
    m_link.push(stalls);
    m_link.push(job(1, 3, 50'000), ns(0));
    m_link.flow.stall(0, 4, true, ns(30'000));
    EXPECT_EQ(m_link.flow.next_end(), ns(80'000)) << "the other, at once";
    m_link.flow.stall(0, 4, false, ns(40'000));
    m_link.finish();
    // 10,000 B and the window of the other, rounded to 20,480, went between.
    expect_block(0, 0, ns(0), ns(120'480), 0);
    expect_block(1, 0, ns(120'480), ns(220'480), 1);
    expect_block(2, 1, ns(30'000), ns(250'000));

    stalls.id = 5;
    m_link.push(stalls, ns(300'000));
    m_link.flow.stall(0, 4, true, ns(450'000));
    EXPECT_EQ(m_link.flow.rate(0), Rate{0});
    m_link.finish();
    EXPECT_EQ(m_link.ended.back().id, 5U);
    EXPECT_EQ(m_link.ended.back().reason, FlowEnd::kTimedOut);
    EXPECT_EQ(m_link.ended.back().blocks, 1U);
    EXPECT_EQ(m_link.ended.back().at, ns(450'000) + SchedulerConfig{}.stall_timeout);
    EXPECT_EQ(m_link.scheduler.counters(1).timeouts, 1U);
}

TEST_F(PreemptionTest, AStoppedServerKeepsItsPlace) {
    m_link.push(job(0, 1, 100'000));
    m_link.flow.stop(0, true, ns(40'000));
    EXPECT_EQ(m_link.flow.next_end(), Time::never());
    m_link.push(job(1, 0, 1'000), ns(50'000));
    m_link.until(ns(1'000'000));
    EXPECT_TRUE(m_link.drained.empty());
    m_link.flow.stop(0, false, ns(1'000'000));
    m_link.finish();
    // Cut at 40,000 + 8,192, rounded to 49,152.
    expect_block(0, 1, ns(1'009'152), ns(1'010'152));
    expect_block(1, 0, ns(0), ns(1'061'000));
}

TEST_F(PreemptionTest, TenantsShareEquallyHoweverLargeTheirBlocks) {
    for (const Bytes quantum : {Bytes::from_kib(64), Bytes::from_mib(1), Bytes::from_mib(20)}) {
        ScheduledFlow link(SchedulerConfig{.quantum = quantum}, server());
        constexpr Bytes kSmall = Bytes::from_kib(64);
        constexpr Bytes kLarge = Bytes::from_mib(5);
        for (std::uint32_t i = 0; i < 8; ++i) {
            FlowJob large = job(i, 1, kLarge.count, 10);
            large.tenant = 1;
            link.push(large);
        }
        for (std::uint32_t i = 100; i < 120; ++i) {
            FlowJob small = job(i, 1, kSmall.count, 200);
            small.tenant = 2;
            link.push(small);
        }
        link.finish();
        std::int64_t large = 0;
        std::int64_t small = 0;
        std::int64_t worst = 0;
        for (const auto& block : link.drained) {
            (block.id < 100 ? large : small) +=
                static_cast<std::int64_t>(block.id < 100 ? kLarge.count : kSmall.count);
            if (small < std::int64_t{20} * 200 * 65'536 * 9 / 10) {
                worst = std::max(worst, std::abs(large - small));
            }
        }
        EXPECT_EQ(large, std::int64_t{80} * 5'242'880);
        const auto bound = static_cast<std::int64_t>(quantum.count + kLarge.count + kSmall.count);
        // The first job was alone when it came, and one block of it was under way.
        EXPECT_LE(worst, bound + static_cast<std::int64_t>(kLarge.count)) << quantum.count;
        EXPECT_GT(worst, bound / 4);
    }
}

/// Random jobs, cancels, raises, stalls and stops; and what must hold whatever happens.
class Storm {
public:
    explicit Storm(RandomStream& random, bool calm) : m_random(random), m_calm(calm) {
        FlowServerConfig config;
        config.window = {random.uniform(2) * random.uniform(1, 20'000)};
        m_window = config.window;
        SchedulerConfig scheduler;
        scheduler.quantum = {random.uniform(1, 10'000)};
        scheduler.stall_timeout = ns(200'000);
        m_link.emplace(scheduler, config, kRate);
    }

    void run() {
        for (int i = 0; i < 400; ++i) {
            m_now += ns(static_cast<std::int64_t>(m_random.uniform(4'000)));
            if (m_random.uniform(2) == 0) m_link->until(m_now);
            act();
        }
        for (std::uint16_t d = 0; d < 3; ++d) m_link->flow.stall(0, d, false, m_now);
        m_link->flow.stop(0, false, m_now);
        m_link->finish();
        check();
    }
    int cancelled = 0;
    int preempted = 0;
    int bounded = 0;  ///< jobs that had to start by a time

private:
    void act() {
        const std::uint64_t what = m_random.uniform(m_calm ? 6 : 10);
        const auto id = static_cast<std::uint32_t>(m_random.uniform(m_jobs.size() + 1));
        const auto destination = static_cast<std::uint16_t>(m_random.uniform(3));
        if (what < 6) push();
        if (what == 6) (void)m_link->flow.cancel(0, id, m_now);
        if (what == 7)
            (void)m_link->flow.raise(
                0, id, {.priority = static_cast<std::uint8_t>(m_random.uniform(3))}, m_now);
        if (what == 8) m_link->flow.stall(0, destination, m_random.uniform(2) == 0, m_now);
        if (what == 9) m_link->flow.stop(0, m_random.uniform(3) == 0, m_now);
    }
    void push() {
        FlowJob job{.id = static_cast<std::uint32_t>(m_jobs.size()),
                    .priority = static_cast<std::uint8_t>(m_random.uniform(3)),
                    .tenant = static_cast<std::uint16_t>(m_random.uniform(2)),
                    .destination = static_cast<std::uint16_t>(m_random.uniform(3)),
                    .blocks = static_cast<std::uint32_t>(m_random.uniform(1, 6)),
                    .block_bytes = {m_random.uniform(1, 3'000)},
                    .last_bytes = {m_random.uniform(2) * m_random.uniform(1, 3'000)}};
        bool alone = job.priority == 0;
        for (auto& [earlier, earlier_bound] : m_jobs) {
            if (earlier.priority != 0 || job.priority != 0 || has_ended(earlier.id)) continue;
            alone = false;
            if (earlier_bound >= m_now) earlier_bound = Time::never();  // it may be this one's turn
        }
        // Above all else: no later than what is under way.
        const Time bound = m_now + ns(static_cast<std::int64_t>(m_window.count + 4'096));
        m_link->push(job, m_now);
        m_jobs.emplace_back(job, alone && m_calm ? bound : Time::never());
    }
    [[nodiscard]] bool has_ended(std::uint32_t id) const {
        return std::any_of(m_link->ended.begin(), m_link->ended.end(),
                           [&](const auto& ended) { return ended.id == id; });
    }
    void check() {
        std::map<std::uint32_t, std::vector<ScheduledFlow::Drained>> blocks;
        Time last{};
        for (const auto& block : m_link->drained) {
            EXPECT_GE(block.end, last);  // one at a time
            last = block.end;
            blocks[block.id].push_back(block);
        }
        EXPECT_EQ(m_link->ended.size(), m_jobs.size());
        std::map<std::uint32_t, ScheduledFlow::Ended> ends;
        for (const auto& ended : m_link->ended) EXPECT_TRUE(ends.emplace(ended.id, ended).second);
        std::uint64_t told = 0;
        std::uint64_t all = 0;
        for (const auto& [job, bound] : m_jobs) {
            const auto& mine = blocks[job.id];
            const auto& end = ends[job.id];
            EXPECT_EQ(mine.size(), end.blocks);
            EXPECT_EQ(end.complete, end.blocks == job.blocks);
            cancelled += end.complete ? 0 : 1;
            bounded += bound != Time::never() ? 1 : 0;
            all += end.complete ? 0 : job.bytes().count;
            for (std::uint32_t i = 0; i < mine.size(); ++i) {
                EXPECT_EQ(mine[i].block, i);
                EXPECT_LE(mine[i].start + ns(static_cast<std::int64_t>(job.size_of(i).count)),
                          mine[i].end);
                preempted += mine[i].end - mine[i].start >
                                     ns(static_cast<std::int64_t>(job.size_of(i).count) + 1)
                                 ? 1
                                 : 0;
                EXPECT_FALSE(i > 0 && mine[i].start < mine[i - 1].end);
                told += job.size_of(i).count;
            }
            EXPECT_FALSE(end.complete && mine.back().end != end.at);
            EXPECT_FALSE(!mine.empty() && mine.front().start > bound) << job.id;
        }
        // Bytes: what was told, and of those that ended early no more than there was.
        const std::uint64_t drained = m_link->flow.drained(0).count;
        EXPECT_GE(drained, told);
        EXPECT_LE(drained, told + all);
        // A byte a nanosecond while it drained, never more.
        EXPECT_LE(drained * 1'000, static_cast<std::uint64_t>(m_link->flow.busy_time(0).ps));
        if (m_calm) {
            EXPECT_EQ(drained, told);
            EXPECT_EQ(drained * 1'000, static_cast<std::uint64_t>(m_link->flow.busy_time(0).ps));
            check_order(ends);
        }
        EXPECT_EQ(m_link->scheduler.waiting(), 0U);
    }
    /// Nobody overtakes within a class and a tenant.
    void check_order(std::map<std::uint32_t, ScheduledFlow::Ended>& ends) {
        for (std::size_t i = 0; i < m_jobs.size(); ++i) {
            for (std::size_t k = 0; k < i; ++k) {
                const FlowJob& a = m_jobs[k].first;
                const FlowJob& b = m_jobs[i].first;
                if (a.priority != b.priority || a.tenant != b.tenant) continue;
                EXPECT_LE(ends[a.id].at, ends[b.id].at);
            }
        }
    }

    RandomStream& m_random;
    bool m_calm;
    Bytes m_window;
    std::optional<ScheduledFlow> m_link;
    std::vector<std::pair<FlowJob, Time>> m_jobs;
    Time m_now;
};

TEST_F(PreemptionTest, NothingIsLostDoubledOrOvertakenWhateverHappens) {
    RandomStream random(5, "storm");
    int cancelled = 0;
    int preempted = 0;
    int bounded = 0;
    for (int trial = 0; trial < 60 && !testing::Test::HasFailure(); ++trial) {
        SCOPED_TRACE(trial);
        Storm storm(random, trial % 2 == 0);
        storm.run();
        cancelled += storm.cancelled;
        preempted += storm.preempted;
        bounded += storm.bounded;
    }
    EXPECT_GT(cancelled, 200);
    EXPECT_GT(preempted, 100);
    EXPECT_GT(bounded, 100);
}

}  // namespace
}  // namespace kvplane::engine
