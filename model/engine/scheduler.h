// SPDX-License-Identifier: Apache-2.0
/// Who moves next in one direction. Of what waits, the order is: what its tenant's regulator and
/// its destination let go; class; tenants in turn (deficit round robin); what has begun; earliest
/// deadline; order of arrival. A deadline is seen by that order once its job is in the in-flight
/// table, which has so many places for each class; the rest waits in order of arrival.
///
/// Grants. A job that nobody contends with is granted whole, and gives way when somebody comes. A
/// contended one is granted block by block: as many as its tenant's turn and regulator allow. A
/// block is charged whole when its first byte is granted, into debt if need be; what was granted
/// and comes back unbegun is credited again.
///
/// No allocation per job once as many have waited as ever will.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/common/flow_queue.h"
#include "model/common/units.h"

namespace kvplane::engine {

enum class SchedulerPolicy : std::uint8_t {
    kEdf,   ///< as above
    kFifo,  ///< order of arrival, whole jobs, nothing gives way; to compare
};

struct SchedulerConfig {
    SchedulerPolicy policy = SchedulerPolicy::kEdf;
    std::uint32_t in_flight = 32;        ///< places of each class in the in-flight table
    Bytes quantum = Bytes::from_mib(1);  ///< of a tenant's turn
    bool late_drop = true;               ///< gives up jobs that will be late (FlowJob::drop_after)
    std::optional<Rate> tenant_rate{};   ///< of each tenant's token bucket; none: no regulator
    Bytes tenant_burst = Bytes::from_mib(16);  ///< what a tenant saves up while idle
    /// So long a tenant waits for its next block at the most, however deep its debt; zero: for as
    /// long as the debt takes.
    Time tenant_aging{};
    /// A job whose destination has stalled for so long, since it came, is given up.
    Time stall_timeout = Time::from_ms(10);
};

/// What became of the blocks of one class.
struct ClassCounters {
    std::uint64_t jobs = 0;        ///< pushed
    std::uint64_t drained = 0;     ///< blocks
    std::uint64_t late_drops = 0;  ///< jobs given up because they would be late
    std::uint64_t timeouts = 0;    ///< jobs given up because their destination stalled
};

class Scheduler final : public FlowQueue {
public:
    /// Classes are below this; anything above counts as the last.
    static constexpr std::size_t kClasses = 8;

    explicit Scheduler(const SchedulerConfig& config) : m_config(config) {}

    // FlowQueue. Ids index a table.
    void push(const FlowJob& job, Time now) override;
    [[nodiscard]] bool take(Time now, Time begins, Rate rate, FlowGrant& grant) override;
    void put_back(const FlowGrant& rest) override;
    void ended(std::uint32_t id) override;
    bool cancel(std::uint32_t id) override;
    void clear(std::vector<std::uint32_t>& ids) override;
    [[nodiscard]] FlowCut cut(const FlowGrant& running, const FlowJob& arrived,
                              Time now) const override;
    const FlowJob* raise(std::uint32_t id, const FlowUrgency& urgency) override;
    const FlowJob* stall(std::uint16_t destination, bool stalled, Time now) override;
    [[nodiscard]] Time next_eligible(Time now) const override;
    [[nodiscard]] Time next_timeout() const override;
    void expire(Time now) override;
    [[nodiscard]] bool pop_given_up(GivenUp& job) override;
    void block_drained(const FlowJob& job) override;

    [[nodiscard]] const ClassCounters& counters(std::uint8_t priority) const {
        return m_counters[class_of(priority)];
    }
    [[nodiscard]] bool has(std::uint32_t id) const {
        return id < m_jobs.size() && m_jobs[id].where != Where::kAbsent;
    }
    /// Whether some of a job waits.
    [[nodiscard]] bool waits(std::uint32_t id) const { return has(id) && m_jobs[id].waits; }
    /// Jobs that wait, or of which some does.
    [[nodiscard]] std::uint32_t waiting() const { return m_waiting; }

private:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    enum class Where : std::uint8_t { kAbsent, kBacklog, kTable };
    struct Job {
        FlowJob job;
        std::uint64_t sequence = 0;
        Time arrived;
        Uint128 from = 0;          ///< granted up to here
        std::uint32_t tenant = 0;  ///< its place in m_tenants
        std::uint32_t paid = 0;    ///< blocks charged to the tenant's bucket
        std::uint32_t turn = 0;    ///< of these the last so many were charged to its turn
        Where where = Where::kAbsent;
        bool waits = false;  ///< some of it
    };
    struct Tenant {
        std::uint16_t id = 0;
        Time paid_until;  ///< the bucket is full from then on
        Time last_grant;
        std::array<std::int64_t, kClasses> credit{};  ///< of its turn, in bytes
    };
    struct Class {
        std::vector<std::uint32_t> table;  ///< ids, in no order
        std::vector<std::uint32_t>
            backlog;  ///< ids in order of arrival; those before head are gone
        std::size_t head = 0;
        std::uint32_t turn = 0;  ///< the tenant that was served last
        [[nodiscard]] bool empty() const { return table.empty() && head == backlog.size(); }
    };
    struct Stalled {
        std::uint16_t destination = 0;
        Time since;
    };
    /// The most urgent job of a tenant that may go.
    struct Candidate {
        std::uint32_t tenant = 0;
        std::uint32_t id = kNone;
    };

    [[nodiscard]] static std::size_t class_of(std::uint8_t priority) {
        return priority < kClasses ? priority : kClasses - 1;
    }
    [[nodiscard]] std::size_t place_of(const FlowJob& job) const {
        return m_config.policy == SchedulerPolicy::kFifo ? 0 : class_of(job.priority);
    }
    [[nodiscard]] const Stalled* stalled(std::uint16_t destination) const;
    [[nodiscard]] Time eligible_at(const Job& job) const;
    [[nodiscard]] bool may_keep_back() const {
        return m_config.tenant_rate.has_value() || !m_stalled.empty();
    }
    [[nodiscard]] bool may_go(const Job& job, Time now) const {
        return stalled(job.job.destination) == nullptr && eligible_at(job) <= now;
    }
    [[nodiscard]] bool before(const Job& a, const Job& b) const;
    [[nodiscard]] std::uint32_t tenant_of(std::uint16_t id);
    void enter(std::uint32_t id, bool in_table);
    void refill(Class& places, Time now);
    [[nodiscard]] std::uint32_t choose(Class& places, std::size_t index, Time now);
    void find_candidates(const Class& places, Time now);
    void new_round(std::size_t index);
    [[nodiscard]] bool given_up_as_late(const Job& job, Time begins, Rate rate);
    void grant(Job& job, std::size_t index, Time now, FlowGrant& grant);
    [[nodiscard]] bool pay(Job& job, std::uint32_t block, Time now, bool only_if_free);
    void leave(std::uint32_t id);
    void give_up(std::uint32_t id, FlowEnd reason);

    SchedulerConfig m_config;
    std::vector<Job> m_jobs;  ///< by id
    std::array<Class, kClasses> m_classes;
    std::vector<Tenant> m_tenants;
    std::vector<Stalled> m_stalled;
    std::vector<Candidate> m_candidates;  ///< scratch: by the last choose()
    bool m_held_back = false;             ///< the same: a regulator keeps one back
    std::vector<GivenUp> m_given_up;
    std::size_t m_popped = 0;
    std::array<ClassCounters, kClasses> m_counters{};
    std::uint64_t m_sequence = 0;
    std::uint32_t m_waiting = 0;
};

}  // namespace kvplane::engine
