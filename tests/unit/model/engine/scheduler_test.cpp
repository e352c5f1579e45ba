// SPDX-License-Identifier: Apache-2.0
/// The transfer scheduler against a twin that keeps one list and works everything out anew.
#include "model/engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/common/errors.h"
#include "model/common/random.h"
#include "scheduler_twin.h"

namespace kvplane::engine {
namespace {

constexpr Rate kRate = test::kTwinRate;
using Twin = test::SchedulerTwin;

SchedulerConfig random_config(RandomStream& random) {
    SchedulerConfig config;
    if (random.uniform(5) == 0) config.policy = SchedulerPolicy::kFifo;
    config.in_flight = static_cast<std::uint32_t>(random.uniform(1, 6));
    config.quantum = {random.uniform(1, 300)};
    config.late_drop = random.uniform(2) == 0;
    if (random.uniform(2) == 0) {
        config.tenant_rate = kRate;
        config.tenant_burst = {random.uniform(0, 400)};
        if (random.uniform(2) == 0) {
            config.tenant_aging = Time::from_ns(static_cast<std::int64_t>(random.uniform(1, 300)));
        }
    }
    config.stall_timeout = Time::from_ns(static_cast<std::int64_t>(random.uniform(50, 500)));
    return config;
}

/// A scheduler and its twin side by side, and a server that holds up to two grants.
class Pair {
public:
    Pair(const SchedulerConfig& config, RandomStream& random)
        : m_scheduler(config), m_twin(config), m_random(random) {}

    void step() {
        m_now += Time::from_ns(static_cast<std::int64_t>(m_random.uniform(40)));
        const std::uint64_t what = m_random.uniform(20);
        if (what < 6) push();
        if (what >= 6 && what < 11 && m_held.size() < 2) take();
        if (what >= 11 && what < 15 && !m_held.empty()) end_first();
        if (what == 15 && !m_held.empty()) put_back_last();
        if (what == 16) cancel();
        if (what == 17) raise();
        if (what == 18) stall();
        if (what == 19) expire();
        compare();
    }
    int granted = 0;
    int partly = 0;
    int given_up = 0;

private:
    void push() {
        std::uint32_t id = 0;
        while (m_twin.find(id) != nullptr || held(id)) ++id;
        FlowJob job{.id = id,
                    .priority = static_cast<std::uint8_t>(m_random.uniform(4)),
                    .tenant = static_cast<std::uint16_t>(m_random.uniform(3) * 7),
                    .destination = static_cast<std::uint16_t>(m_random.uniform(3)),
                    .blocks = static_cast<std::uint32_t>(m_random.uniform(1, 5)),
                    .block_bytes = {m_random.uniform(1, 150)}};
        if (m_random.uniform(3) == 0) job.last_bytes = {m_random.uniform(1, 150)};
        if (m_random.uniform(4) != 0) {
            job.deadline = m_now + Time::from_ns(static_cast<std::int64_t>(m_random.uniform(800)));
            if (m_random.uniform(2) == 0) job.drop_after = job.deadline;
        }
        m_scheduler.push(job, m_now);
        m_twin.push(job, m_now);
    }
    void take() {
        const Time begins = m_now + Time::from_ns(static_cast<std::int64_t>(m_random.uniform(50)));
        FlowGrant grant;
        const bool taken = m_scheduler.take(m_now, begins, kRate, grant);
        const auto twin = m_twin.take(m_now, begins, kRate.bytes_per_second);
        collect_given_up();
        ASSERT_EQ(taken, twin.has_value());
        if (!taken) return;
        EXPECT_EQ((Twin::Grant{grant.job.id, bytes(grant.from), bytes(grant.until)}), *twin);
        ++granted;
        partly += grant.until != grant.job.work() ? 1 : 0;
        m_held.push_back(grant);
    }
    void end_first() {
        const FlowGrant grant = m_held.front();
        m_held.erase(m_held.begin());
        if (m_gone.contains(grant.job.id)) {
            if (!held(grant.job.id)) m_gone.erase(grant.job.id);
            return;
        }
        if (grant.until != grant.job.work()) return;
        m_scheduler.ended(grant.job.id);
        m_twin.erase(grant.job.id);
    }
    void put_back_last() {
        FlowGrant& last = m_held.back();
        if (m_gone.contains(last.job.id)) return;
        const std::uint64_t from =
            m_random.uniform(bytes(last.from), std::max(bytes(last.from), bytes(last.until) - 1));
        m_scheduler.put_back({last.job, Uint128{from} * kFlowWork, last.until});
        m_twin.put_back(last.job.id, from);
        last.until = Uint128{from} * kFlowWork;
        if (last.until == last.from) m_held.pop_back();
    }
    void cancel() {
        const auto id = static_cast<std::uint32_t>(m_random.uniform(12));
        const bool there = m_twin.find(id) != nullptr;
        EXPECT_EQ(m_scheduler.cancel(id), there);
        m_twin.erase(id);
        if (there && held(id)) m_gone.insert(id);
    }
    void raise() {
        const auto id = static_cast<std::uint32_t>(m_random.uniform(12));
        FlowUrgency urgency{.priority = static_cast<std::uint8_t>(m_random.uniform(5))};
        if (m_random.uniform(2) == 0) {
            urgency.deadline =
                m_now + Time::from_ns(static_cast<std::int64_t>(m_random.uniform(800)));
            if (m_random.uniform(2) == 0) urgency.drop_after = urgency.deadline;
        }
        const FlowJob* raised = m_scheduler.raise(id, urgency);
        EXPECT_EQ(raised != nullptr, m_twin.raise(id, urgency));
    }
    void stall() {
        const auto destination = static_cast<std::uint16_t>(m_random.uniform(3));
        const bool on = m_random.uniform(3) == 0;
        (void)m_scheduler.stall(destination, on, m_now);
        m_twin.stall(destination, on, m_now);
    }
    void expire() {
        EXPECT_EQ(m_scheduler.next_timeout(), m_twin.next_timeout());
        m_scheduler.expire(m_now);
        m_twin.expire(m_now);
        collect_given_up();
    }
    void collect_given_up() {
        FlowQueue::GivenUp job;
        std::vector<std::pair<std::uint32_t, FlowEnd>> told;
        while (m_scheduler.pop_given_up(job)) {
            told.emplace_back(job.id, job.reason);
            if (held(job.id)) m_gone.insert(job.id);
        }
        EXPECT_EQ(told, m_twin.given_up);
        given_up += static_cast<int>(told.size());
        m_twin.given_up.clear();
    }
    void compare() {
        const auto waiting = std::count_if(m_twin.jobs().begin(), m_twin.jobs().end(),
                                           [](const Twin::Job& job) { return job.waits; });
        EXPECT_EQ(m_scheduler.waiting(), waiting);
        const Time eligible = m_scheduler.next_eligible(m_now);
        if (eligible == Time::never()) return;
        EXPECT_TRUE(m_twin.anything_may_go(eligible));
        EXPECT_FALSE(eligible > m_now && m_twin.anything_may_go(eligible - Time{1}));
    }
    [[nodiscard]] bool held(std::uint32_t id) const {
        return std::any_of(m_held.begin(), m_held.end(),
                           [&](const FlowGrant& grant) { return grant.job.id == id; });
    }
    static std::uint64_t bytes(Uint128 work) {
        EXPECT_EQ(work % kFlowWork, 0U);
        return static_cast<std::uint64_t>(work / kFlowWork);
    }

    Scheduler m_scheduler;
    Twin m_twin;
    RandomStream& m_random;
    Time m_now;
    std::vector<FlowGrant> m_held;
    std::set<std::uint32_t> m_gone;  ///< held, and forgotten by the scheduler
};

TEST(SchedulerTest, EqualsASimpleListOverRandomOperations) {
    RandomStream random(3, "scheduler");
    int granted = 0;
    int partly = 0;
    int given_up = 0;
    for (int trial = 0; trial < 400 && !testing::Test::HasFailure(); ++trial) {
        SCOPED_TRACE(trial);
        Pair pair(random_config(random), random);
        for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) pair.step();
        granted += pair.granted;
        partly += pair.partly;
        given_up += pair.given_up;
    }
    EXPECT_GT(granted, 10'000);
    EXPECT_GT(partly, 2'000);
    EXPECT_GT(given_up, 1'000);
}

FlowJob job(std::uint32_t id, std::uint8_t priority, Time deadline = Time::never()) {
    return {.id = id, .priority = priority, .deadline = deadline, .block_bytes = {100}};
}

std::vector<std::uint32_t> drain(Scheduler& scheduler) {
    std::vector<std::uint32_t> ids;
    FlowGrant grant;
    while (scheduler.take({}, {}, kRate, grant)) ids.push_back(grant.job.id);
    return ids;
}

TEST(SchedulerTest, ClassThenDeadlineThenOrderOfArrival) {
    Scheduler scheduler{SchedulerConfig{}};
    std::uint32_t id = 0;
    for (const auto& [priority, deadline] : std::initializer_list<std::pair<int, int>>{
             {2, 1}, {1, 7}, {1, 5}, {1, 7}, {0, 99}, {1, 5}}) {
        scheduler.push(job(id++, static_cast<std::uint8_t>(priority), {deadline}), {});
    }
    EXPECT_EQ(drain(scheduler), (std::vector<std::uint32_t>{4, 2, 5, 1, 3, 0}));
    Scheduler fifo{SchedulerConfig{.policy = SchedulerPolicy::kFifo}};
    for (std::uint32_t i = 0; i < 4; ++i) {
        fifo.push(job(i, static_cast<std::uint8_t>(4 - i), {4 - i}), {});
    }
    EXPECT_EQ(drain(fifo), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(SchedulerTest, DeadlinesBeyondTheTableAreNotSeenAndClassesDoNotLockEachOtherOut) {
    Scheduler scheduler{SchedulerConfig{.in_flight = 2}};
    for (std::uint32_t i = 0; i < 4; ++i) scheduler.push(job(i, 2, {9 - std::int64_t{i}}), {});
    scheduler.push(job(4, 1), {});
    FlowGrant grant;
    std::vector<std::uint32_t> order;
    while (scheduler.take({}, {}, kRate, grant)) {
        order.push_back(grant.job.id);
        scheduler.ended(grant.job.id);
    }
    // Of 0 and 1 the second is due first; then 2 is seen, then 3.
    EXPECT_EQ(order, (std::vector<std::uint32_t>{4, 1, 2, 3, 0}));
}

TEST(SchedulerTest, AStalledDestinationTakesNoPlaceInTheTable) {
    Scheduler scheduler{SchedulerConfig{.in_flight = 2}};
    for (std::uint32_t i = 0; i < 6; ++i) {
        FlowJob one = job(i, 1);
        one.destination = i < 4 ? 8 : 9;
        scheduler.push(one, {});
    }
    (void)scheduler.stall(8, true, {});
    EXPECT_EQ(drain(scheduler), (std::vector<std::uint32_t>{4, 5}));
    const FlowJob* first = scheduler.stall(8, false, {});
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->id, 0U);
}

TEST(SchedulerTest, ARegulatedTenantGoesIntoDebtAndWaitsForItUnlessItAges) {
    for (const Time aging : {Time{}, Time::from_ns(120)}) {
        Scheduler scheduler{
            SchedulerConfig{.tenant_rate = kRate, .tenant_burst = {50}, .tenant_aging = aging}};
        for (std::uint32_t i = 0; i < 4; ++i) scheduler.push(job(i, 1), {});
        FlowGrant grant;
        EXPECT_TRUE(scheduler.take({}, {}, kRate, grant));
        // 50 B saved up, 100 B taken: 50 ns of debt.
        EXPECT_FALSE(scheduler.take({}, {}, kRate, grant));
        EXPECT_EQ(scheduler.next_eligible({}), Time::from_ns(50));
        EXPECT_FALSE(scheduler.take(Time{49'999}, {}, kRate, grant));
        EXPECT_TRUE(scheduler.take(Time{50'000}, {}, kRate, grant));
        EXPECT_EQ(scheduler.next_eligible(Time{50'000}), Time::from_ns(150));
        FlowJob big = job(9, 0);
        big.block_bytes = {10'000};
        scheduler.push(big, Time::from_ns(150));
        EXPECT_TRUE(scheduler.take(Time::from_ns(150), {}, kRate, grant));
        EXPECT_EQ(grant.job.id, 9U);
        EXPECT_EQ(scheduler.next_eligible(Time::from_ns(150)),
                  aging == Time{} ? Time::from_ns(10'150) : Time::from_ns(270));
    }
}

TEST(SchedulerTest, ARaisedPrefetchIsDemandAndIsNotDropped) {
    Scheduler scheduler{SchedulerConfig{}};
    for (std::uint32_t i = 0; i < 3; ++i) {
        FlowJob prefetch = job(i, 2, {1});
        prefetch.drop_after = prefetch.deadline;
        scheduler.push(prefetch, {});
    }
    EXPECT_NE(scheduler.raise(1, {.priority = 1}), nullptr);
    EXPECT_EQ(scheduler.raise(1, {.priority = 2, .drop_after = {1}}), nullptr)
        << "never less urgent";
    EXPECT_EQ(drain(scheduler), (std::vector<std::uint32_t>{1}));
    EXPECT_EQ(scheduler.counters(2).late_drops, 2U);
    FlowQueue::GivenUp given_up;
    ASSERT_TRUE(scheduler.pop_given_up(given_up));
    EXPECT_EQ(given_up.id, 0U);
    EXPECT_EQ(given_up.reason, FlowEnd::kLate);
}

TEST(SchedulerTest, ARaisedJobHasTheSoonerDeadlineAndIsDroppedAtTheLaterTime) {
    Scheduler scheduler{SchedulerConfig{}};
    for (std::uint32_t i = 0; i < 3; ++i) scheduler.push(job(i, 1, Time::from_us(5 + i)), {});
    EXPECT_EQ(scheduler.raise(2, {.priority = 1, .deadline = Time::from_us(1)}), nullptr);
    EXPECT_EQ(scheduler.raise(0, {.priority = 1, .deadline = Time::from_us(9)}), nullptr);
    EXPECT_EQ(drain(scheduler), (std::vector<std::uint32_t>{2, 0, 1}));
    // 100 B at 1 GB/s: 100 ns.
    for (const std::int64_t later : {99, 100}) {
        Scheduler late{SchedulerConfig{}};
        FlowJob hint = job(0, 2, Time::from_ns(50));
        hint.drop_after = hint.deadline;
        late.push(hint, {});
        const Time due = Time::from_ns(later);
        EXPECT_EQ(late.raise(0, {.priority = 2, .deadline = due, .drop_after = due}), nullptr);
        EXPECT_EQ(drain(late).size(), later == 100 ? 1U : 0U);
    }
}

TEST(SchedulerTest, RefusesTwoJobsOfOneId) {
    Scheduler scheduler{SchedulerConfig{}};
    scheduler.push(job(3, 1), {});
    EXPECT_THROW(scheduler.push(job(3, 2), {}), InvariantError);
}

}  // namespace
}  // namespace kvplane::engine
