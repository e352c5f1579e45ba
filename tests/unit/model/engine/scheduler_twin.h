// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "model/engine/scheduler.h"

namespace kvplane::engine::test {

inline constexpr Rate kTwinRate{1'000'000'000};  // a byte a nanosecond
inline constexpr std::int64_t kPsPerByte = 1'000;

/// The same rules, naively: bytes instead of work, tokens that trickle in, rounds one by one.
class SchedulerTwin {
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

    explicit SchedulerTwin(const SchedulerConfig& config) : m_config(config) {}

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
    bool raise(std::uint32_t id, const FlowUrgency& urgency) {
        Job* job = find(id);
        if (job == nullptr) return false;
        if (urgency.deadline < job->job.deadline) job->job.deadline = urgency.deadline;
        if (urgency.drop_after > job->job.drop_after) job->job.drop_after = urgency.drop_after;
        if (urgency.priority >= job->job.priority) return false;
        job->job.priority = urgency.priority;
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
        if (fifo() || !m_config.late_drop) return false;
        if (job.job.drop_after == Time::never() || rate == 0) return false;
        const Uint128 left = Uint128{job.job.bytes().count - job.from} * kFlowWork;
        return begins.ps + static_cast<std::int64_t>((left + rate - 1) / rate) >
               job.job.drop_after.ps;
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

}  // namespace kvplane::engine::test
