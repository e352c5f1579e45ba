// SPDX-License-Identifier: Apache-2.0
/// The transfer scheduler against a twin that keeps one list and works everything out anew.
#include "model/engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "model/common/errors.h"
#include "model/common/random.h"

namespace kvplane::engine {
namespace {

constexpr Rate kRate{1'000'000'000};  // a byte a nanosecond
constexpr std::int64_t kPsPerByte = 1'000;

/// The same rules, naively: bytes instead of work, tokens that trickle in, rounds one by one.
class Twin {
public:
    struct Job {
        FlowJob job;
        Time arrived;
        std::uint64_t from = 0;  ///< bytes
        std::uint32_t paid = 0;
        std::uint32_t turn = 0;
        bool waits = true;
        bool seen = false;  ///< in the in-flight table
    };
    struct Grant {
        std::uint32_t id = 0;
        std::uint64_t from = 0;
        std::uint64_t until = 0;
        auto operator<=>(const Grant&) const = default;
    };

    explicit Twin(const SchedulerConfig& config) : m_config(config) {}

    void push(const FlowJob& job, Time now) {
        m_jobs.push_back({.job = job, .arrived = now});
        if (std::find(m_tenants.begin(), m_tenants.end(), job.tenant) == m_tenants.end()) {
            m_tenants.push_back(job.tenant);
        }
    }
    Job* find(std::uint32_t id) {
        for (Job& job : m_jobs) {
            if (job.job.id == id) return &job;
        }
        return nullptr;
    }
    void erase(std::uint32_t id) {
        std::erase_if(m_jobs, [&](const Job& job) { return job.job.id == id; });
    }

    std::optional<Grant> take(Time now, Time begins, std::uint64_t rate) {
        bool held_back = false;
        for (std::uint8_t c = 0; c < Scheduler::kClasses; ++c) {
            for (;;) {
                see(c, now);
                std::vector<Job*> candidates;
                for (Job& job : m_jobs) {
                    if (class_of(job) != c || !job.seen || !job.waits || is_stalled(job)) continue;
                    if (tokens_free(job, now)) {
                        candidates.push_back(&job);
                    } else {
                        held_back = true;
                    }
                }
                if (candidates.empty()) break;
                Job& job = *choose(candidates, c);
                if (late(job, begins, rate)) {
                    given_up.push_back({job.job.id, FlowEnd::kLate});
                    missed[job.job.priority] += job.job.blocks - job.from / block(job);
                    erase(job.job.id);
                    continue;
                }
                return grant(job, c, now, held_back, contended(candidates));
            }
        }
        return std::nullopt;
    }

    void put_back(std::uint32_t id, std::uint64_t from) {
        Job& job = *find(id);
        const std::uint32_t begun = begun_at(job, from);
        while (begun_at(job, job.from) > begun) {
            const std::uint32_t last = begun_at(job, job.from) - 1;
            if (job.turn > 0) {
                m_credit[{class_of(job), job.job.tenant}] += signed_size(job, last);
                --job.turn;
            }
            if (m_config.tenant_rate && job.paid == last + 1) {
                m_tokens[job.job.tenant].debt -= signed_size(job, last) * kPsPerByte;
                --job.paid;
            }
            job.from = std::uint64_t{last} * block(job);
        }
        job.from = from;
        job.waits = true;
    }
    bool raise(std::uint32_t id, std::uint8_t priority) {
        Job* job = find(id);
        if (job == nullptr || priority >= job->job.priority) return false;
        job->job.priority = priority;
        job->job.droppable = false;
        job->turn = 0;
        return job->waits;
    }
    void stall(std::uint16_t destination, bool on, Time now) {
        if (on) m_stalled.try_emplace(destination, now);
        if (!on) m_stalled.erase(destination);
    }
    void expire(Time now) {
        for (std::size_t i = 0; i < m_jobs.size();) {
            if (timeout(m_jobs[i]) > now) {
                ++i;
                continue;
            }
            given_up.push_back({m_jobs[i].job.id, FlowEnd::kTimedOut});
            m_jobs.erase(m_jobs.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    Time next_timeout() const {
        Time next = Time::never();
        for (const Job& job : m_jobs) next = std::min(next, timeout(job));
        return next;
    }
    /// By trying, from picosecond to picosecond of a coarse grid.
    bool anything_may_go(Time at) {
        return std::any_of(m_jobs.begin(), m_jobs.end(), [&](const Job& job) {
            return job.waits && !is_stalled(job) && tokens_free(job, at);
        });
    }
    std::vector<Job>& jobs() { return m_jobs; }

    std::vector<std::pair<std::uint32_t, FlowEnd>> given_up;
    std::map<std::uint8_t, std::uint64_t> missed;

private:
    struct Tokens {
        std::int64_t debt = 0;  ///< ps of the rate's time below a full bucket
        Time at;
        Time last_grant;
    };

    [[nodiscard]] bool fifo() const { return m_config.policy == SchedulerPolicy::kFifo; }
    [[nodiscard]] std::uint8_t class_of(const Job& job) const {
        return fifo() ? std::uint8_t{0} : job.job.priority;
    }
    static std::uint64_t block(const Job& job) { return job.job.block_bytes.count; }
    static std::int64_t signed_size(const Job& job, std::uint32_t n) {
        return static_cast<std::int64_t>(job.job.size_of(n).count);
    }
    static std::uint32_t begun_at(const Job& job, std::uint64_t bytes) {
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(job.job.blocks, (bytes + block(job) - 1) / block(job)));
    }
    static std::uint64_t border(const Job& job, std::uint32_t n) {
        return n == job.job.blocks ? job.job.bytes().count : n * block(job);
    }
    [[nodiscard]] bool is_stalled(const Job& job) const {
        return m_stalled.contains(job.job.destination);
    }
    [[nodiscard]] Time timeout(const Job& job) const {
        const auto found = m_stalled.find(job.job.destination);
        if (!job.waits || found == m_stalled.end()) return Time::never();
        return std::max(found->second, job.arrived) + m_config.stall_timeout;
    }
    std::int64_t debt(std::uint16_t tenant, Time now) {
        Tokens& tokens = m_tokens[tenant];
        tokens.debt = std::max<std::int64_t>(0, tokens.debt - (now - tokens.at).ps);
        tokens.at = now;
        return tokens.debt;
    }
    bool tokens_free(const Job& job, Time now) {
        if (!m_config.tenant_rate) return true;
        if (border(job, std::min(job.paid, job.job.blocks)) > job.from) return true;
        const Tokens tokens = m_tokens[job.job.tenant];
        // Without moving the bucket's clock: `now` may be a guess.
        const std::int64_t owed = std::max<std::int64_t>(
            0, tokens.debt - std::max<std::int64_t>(0, (now - tokens.at).ps));
        if (owed <= static_cast<std::int64_t>(m_config.tenant_burst.count) * kPsPerByte) {
            return true;
        }
        return m_config.tenant_aging != Time{} &&
               now >= std::max(tokens.last_grant, job.arrived) + m_config.tenant_aging;
    }
    void see(std::uint8_t c, Time now) {
        for (;;) {
            std::uint32_t places = 0;
            Job* next = nullptr;
            for (Job& job : m_jobs) {
                if (class_of(job) != c) continue;
                if (!job.seen) {
                    if (next == nullptr) next = &job;
                    continue;
                }
                if (!job.waits || (!is_stalled(job) && tokens_free(job, now))) ++places;
            }
            if (next == nullptr || places >= m_config.in_flight) return;
            next->seen = true;
        }
    }
    [[nodiscard]] bool contended(const std::vector<Job*>& candidates) const {
        std::set<std::uint16_t> tenants;
        for (const Job* job : candidates)
            tenants.insert(fifo() ? std::uint16_t{0} : job->job.tenant);
        return tenants.size() > 1;
    }
    Job* choose(const std::vector<Job*>& candidates, std::uint8_t c) {
        std::uint16_t tenant = candidates.front()->job.tenant;
        if (contended(candidates)) tenant = next_tenant(candidates, c);
        Job* best = nullptr;
        for (Job* job : candidates) {
            if (!fifo() && job->job.tenant != tenant) continue;
            const auto key = [](const Job& j) {
                return std::tuple(j.from == 0 ? 1 : 0, j.job.deadline);
            };
            // Jobs are in order of arrival.
            if (best == nullptr || (!fifo() && key(*job) < key(*best))) best = job;
        }
        return best;
    }
    std::uint16_t next_tenant(const std::vector<Job*>& candidates, std::uint8_t c) {
        const auto contends = [&](std::uint16_t tenant) {
            return std::any_of(candidates.begin(), candidates.end(),
                               [&](const Job* job) { return job->job.tenant == tenant; });
        };
        bool fresh = true;
        const std::size_t last = m_turn[c];
        for (;;) {
            for (std::size_t i = 0; i < m_tenants.size(); ++i) {
                // A new round begins behind the tenant that had the last turn.
                const std::size_t at = (last + i + (fresh ? 0 : 1)) % m_tenants.size();
                if (!contends(m_tenants[at]) || m_credit[{c, m_tenants[at]}] <= 0) continue;
                m_turn[c] = at;
                return m_tenants[at];
            }
            for (const std::uint16_t tenant : m_tenants) {
                std::int64_t& credit = m_credit[{c, tenant}];
                if (fresh) credit = std::min<std::int64_t>(credit, 0);
                if (contends(tenant)) credit += static_cast<std::int64_t>(m_config.quantum.count);
            }
            fresh = false;
        }
    }
    bool late(const Job& job, Time begins, std::uint64_t rate) const {
        if (fifo() || !m_config.late_drop || !job.job.droppable) return false;
        if (job.job.deadline == Time::never() || rate == 0) return false;
        const Uint128 left = Uint128{job.job.bytes().count - job.from} * kFlowWork;
        return begins.ps + static_cast<std::int64_t>((left + rate - 1) / rate) >
               job.job.deadline.ps;
    }
    Grant grant(Job& job, std::uint8_t c, Time now, bool held_back, bool contended) {
        const std::uint64_t from = job.from;
        std::uint32_t until = begun_at(job, from);
        bool any = border(job, until) != from;  // what is left of a block
        job.turn = 0;
        const std::uint64_t burst = m_config.tenant_burst.count * kPsPerByte;
        while (until < job.job.blocks) {
            if (any && held_back && !fifo()) break;
            if (any && contended && m_credit[{c, job.job.tenant}] <= 0) break;
            if (m_config.tenant_rate && until >= job.paid) {
                if (any && static_cast<std::uint64_t>(debt(job.job.tenant, now)) > burst) break;
                (void)debt(job.job.tenant, now);
                m_tokens[job.job.tenant].debt += signed_size(job, until) * kPsPerByte;
                job.paid = until + 1;
            }
            if (contended) {
                m_credit[{c, job.job.tenant}] -= signed_size(job, until);
                ++job.turn;
            }
            ++until;
            any = true;
        }
        m_tokens[job.job.tenant].last_grant = now;
        job.from = border(job, until);
        job.waits = until != job.job.blocks;
        return {job.job.id, from, job.from};
    }

    SchedulerConfig m_config;
    std::vector<Job> m_jobs;  ///< in order of arrival
    std::vector<std::uint16_t> m_tenants;
    std::map<std::pair<std::uint8_t, std::uint16_t>, std::int64_t> m_credit;
    std::map<std::uint16_t, Tokens> m_tokens;
    std::map<std::uint16_t, Time> m_stalled;
    std::array<std::size_t, Scheduler::kClasses> m_turn{};
};

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
                    .droppable = m_random.uniform(2) == 0,
                    .blocks = static_cast<std::uint32_t>(m_random.uniform(1, 5)),
                    .block_bytes = {m_random.uniform(1, 150)}};
        if (m_random.uniform(3) == 0) job.last_bytes = {m_random.uniform(1, 150)};
        if (m_random.uniform(4) != 0) {
            job.deadline = m_now + Time::from_ns(static_cast<std::int64_t>(m_random.uniform(800)));
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
        const auto priority = static_cast<std::uint8_t>(m_random.uniform(4));
        const FlowJob* raised = m_scheduler.raise(id, priority);
        EXPECT_EQ(raised != nullptr, m_twin.raise(id, priority));
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
        prefetch.droppable = true;
        scheduler.push(prefetch, {});
    }
    EXPECT_NE(scheduler.raise(1, 1), nullptr);
    EXPECT_EQ(scheduler.raise(1, 2), nullptr) << "never less urgent";
    EXPECT_EQ(drain(scheduler), (std::vector<std::uint32_t>{1}));
    EXPECT_EQ(scheduler.counters(2).late_drops, 2U);
    EXPECT_EQ(scheduler.counters(2).missed, 2U);
    FlowQueue::GivenUp given_up;
    ASSERT_TRUE(scheduler.pop_given_up(given_up));
    EXPECT_EQ(given_up.id, 0U);
    EXPECT_EQ(given_up.reason, FlowEnd::kLate);
}

TEST(SchedulerTest, RefusesTwoJobsOfOneId) {
    Scheduler scheduler{SchedulerConfig{}};
    scheduler.push(job(3, 1), {});
    EXPECT_THROW(scheduler.push(job(3, 2), {}), InvariantError);
}

}  // namespace
}  // namespace kvplane::engine
