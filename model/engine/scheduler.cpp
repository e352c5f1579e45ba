// SPDX-License-Identifier: Apache-2.0
#include "model/engine/scheduler.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::engine {

// --- what waits ---------------------------------------------------------------------------------

void Scheduler::push(const FlowJob& job, Time now) {
    if (job.id >= m_jobs.size()) m_jobs.resize(std::size_t{job.id} + 1);
    Job& entry = m_jobs[job.id];
    if (entry.where != Where::kAbsent) {
        throw InvariantError(fmt::format("the scheduler has job {} already", job.id));
    }
    entry = {.job = job,
             .sequence = m_sequence++,
             .arrived = now,
             .tenant = tenant_of(job.tenant),
             .where = Where::kBacklog,
             .waits = true};
    ++m_waiting;
    ++m_counters[class_of(job.priority)].jobs;
    enter(job.id, false);
}

std::uint32_t Scheduler::tenant_of(std::uint16_t id) {
    const auto found = std::find_if(m_tenants.begin(), m_tenants.end(),
                                    [&](const Tenant& tenant) { return tenant.id == id; });
    if (found != m_tenants.end()) return static_cast<std::uint32_t>(found - m_tenants.begin());
    m_tenants.emplace_back().id = id;
    return static_cast<std::uint32_t>(m_tenants.size() - 1);
}

/// Into its class: the table, or the backlog by order of arrival.
void Scheduler::enter(std::uint32_t id, bool in_table) {
    Class& places = m_classes[place_of(m_jobs[id].job)];
    m_jobs[id].where = in_table ? Where::kTable : Where::kBacklog;
    if (in_table) {
        places.table.push_back(id);
        return;
    }
    std::vector<std::uint32_t>& backlog = places.backlog;
    if (places.head * 2 > backlog.size()) {
        backlog.erase(backlog.begin(), backlog.begin() + static_cast<std::ptrdiff_t>(places.head));
        places.head = 0;
    }
    auto at = backlog.end();
    const auto first = backlog.begin() + static_cast<std::ptrdiff_t>(places.head);
    while (at != first && m_jobs[at[-1]].sequence > m_jobs[id].sequence) --at;
    backlog.insert(at, id);
}

/// What is kept back takes no place in the table from what may go.
void Scheduler::refill(Class& places, Time now) {
    if (places.head == places.backlog.size()) return;
    const auto takes_place = [&](std::uint32_t id) {
        return !m_jobs[id].waits || may_go(m_jobs[id], now);
    };
    auto taken = may_keep_back()
                     ? std::count_if(places.table.begin(), places.table.end(), takes_place)
                     : static_cast<std::ptrdiff_t>(places.table.size());
    while (places.head != places.backlog.size() && taken < m_config.in_flight) {
        const std::uint32_t id = places.backlog[places.head++];
        m_jobs[id].where = Where::kTable;
        places.table.push_back(id);
        if (takes_place(id)) ++taken;
    }
}

void Scheduler::leave(std::uint32_t id) {
    Job& job = m_jobs[id];
    Class& places = m_classes[place_of(job.job)];
    if (job.where == Where::kTable) {
        const auto at = std::find(places.table.begin(), places.table.end(), id);
        *at = places.table.back();
        places.table.pop_back();
    } else {
        const auto first = places.backlog.begin() + static_cast<std::ptrdiff_t>(places.head);
        places.backlog.erase(std::find(first, places.backlog.end(), id));
    }
    if (job.waits) --m_waiting;
    job.waits = false;
    job.where = Where::kAbsent;
}

void Scheduler::ended(std::uint32_t id) {
    if (!has(id) || m_jobs[id].waits) {
        throw InvariantError(fmt::format("job {} ended, and was not granted whole", id));
    }
    leave(id);
}

bool Scheduler::cancel(std::uint32_t id) {
    if (!has(id)) return false;
    leave(id);
    return true;
}

void Scheduler::clear(std::vector<std::uint32_t>& ids) {
    const std::size_t first = ids.size();
    for (std::uint32_t id = 0; id < m_jobs.size(); ++id) {
        if (m_jobs[id].where == Where::kAbsent) continue;
        if (m_jobs[id].waits) ids.push_back(id);
        m_jobs[id].where = Where::kAbsent;
        m_jobs[id].waits = false;
    }
    std::sort(
        ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end(),
        [&](std::uint32_t a, std::uint32_t b) { return m_jobs[a].sequence < m_jobs[b].sequence; });
    m_classes = {};
    m_tenants.clear();
    m_waiting = 0;
}

void Scheduler::give_up(std::uint32_t id, FlowEnd reason) {
    leave(id);
    m_given_up.push_back({id, reason});
}

bool Scheduler::pop_given_up(GivenUp& job) {
    if (m_popped == m_given_up.size()) {
        m_given_up.clear();
        m_popped = 0;
        return false;
    }
    job = m_given_up[m_popped++];
    return true;
}

void Scheduler::block_drained(const FlowJob& job) { ++m_counters[class_of(job.priority)].drained; }

// --- what may go --------------------------------------------------------------------------------

const Scheduler::Stalled* Scheduler::stalled(std::uint16_t destination) const {
    for (const Stalled& stalled : m_stalled) {
        if (stalled.destination == destination) return &stalled;
    }
    return nullptr;
}

/// When the tenant's bucket lets the job's next byte go.
Time Scheduler::eligible_at(const Job& job) const {
    if (!m_config.tenant_rate || job.job.work_of(job.paid) > job.from) return {};
    const Tenant& tenant = m_tenants[job.tenant];
    const Time out_of_debt =
        tenant.paid_until - transfer_time(m_config.tenant_burst, *m_config.tenant_rate);
    if (m_config.tenant_aging == Time{}) return out_of_debt;
    return std::min(out_of_debt, std::max(tenant.last_grant, job.arrived) + m_config.tenant_aging);
}

Time Scheduler::next_eligible(Time now) const {
    Time next = Time::never();
    if (!m_config.tenant_rate || m_waiting == 0) return next;
    for (const Job& job : m_jobs) {
        if (!job.waits || stalled(job.job.destination) != nullptr) continue;
        next = std::min(next, std::max(eligible_at(job), now));
    }
    return next;
}

bool Scheduler::before(const Job& a, const Job& b) const {
    if (m_config.policy == SchedulerPolicy::kFifo) return a.sequence < b.sequence;
    if ((a.from != 0) != (b.from != 0)) return a.from != 0;
    if (a.job.deadline != b.job.deadline) return a.job.deadline < b.job.deadline;
    return a.sequence < b.sequence;
}

/// The most urgent job of each tenant that may go.
void Scheduler::find_candidates(const Class& places, Time now) {
    const bool fifo = m_config.policy == SchedulerPolicy::kFifo;
    const bool keeps_back = may_keep_back();
    m_candidates.clear();
    for (const std::uint32_t id : places.table) {
        const Job& job = m_jobs[id];
        if (!job.waits) continue;
        if (keeps_back) {
            if (stalled(job.job.destination) != nullptr) continue;
            if (eligible_at(job) > now) {
                m_held_back = true;
                continue;
            }
        }
        const std::uint32_t tenant = fifo ? 0 : job.tenant;
        const auto found =
            std::find_if(m_candidates.begin(), m_candidates.end(),
                         [&](const Candidate& candidate) { return candidate.tenant == tenant; });
        if (found == m_candidates.end()) {
            m_candidates.push_back({tenant, id});
        } else if (before(job, m_jobs[found->id])) {
            found->id = id;
        }
    }
}

/// The next job of a class, if any may go.
std::uint32_t Scheduler::choose(Class& places, std::size_t index, Time now) {
    find_candidates(places, now);
    if (m_candidates.empty()) return kNone;
    if (m_candidates.size() == 1) return m_candidates.front().id;
    // In turn, from the tenant served last.
    std::sort(m_candidates.begin(), m_candidates.end(),
              [&](const Candidate& a, const Candidate& b) {
                  const bool a_past = a.tenant < places.turn;
                  const bool b_past = b.tenant < places.turn;
                  return a_past != b_past ? b_past : a.tenant < b.tenant;
              });
    const auto has_credit = [&](const Candidate& candidate) {
        return m_tenants[candidate.tenant].credit[index] > 0;
    };
    auto next = std::find_if(m_candidates.begin(), m_candidates.end(), has_credit);
    if (next == m_candidates.end()) {
        // The one served last has had its turn.
        if (m_candidates.front().tenant == places.turn) {
            std::rotate(m_candidates.begin(), m_candidates.begin() + 1, m_candidates.end());
        }
        new_round(index);
        next = std::find_if(m_candidates.begin(), m_candidates.end(), has_credit);
    }
    places.turn = next->tenant;
    return next->id;
}

/// Of tenants that contend in a class, none has credit: each gets so many quanta that one has. Who
/// does not contend loses his.
void Scheduler::new_round(std::size_t index) {
    const auto quantum = static_cast<std::int64_t>(m_config.quantum.count);
    std::int64_t rounds = INT64_MAX;
    for (const Candidate& candidate : m_candidates) {
        rounds = std::min(rounds, -m_tenants[candidate.tenant].credit[index] / quantum + 1);
    }
    for (Tenant& tenant : m_tenants) {
        tenant.credit[index] = std::min<std::int64_t>(tenant.credit[index], 0);
    }
    for (const Candidate& candidate : m_candidates) {
        m_tenants[candidate.tenant].credit[index] += rounds * quantum;
    }
}

// --- grants -------------------------------------------------------------------------------------

bool Scheduler::take(Time now, Time begins, Rate rate, FlowGrant& grant) {
    m_held_back = false;
    if (m_waiting == 0) return false;
    for (std::size_t index = 0; index < kClasses; ++index) {
        Class& places = m_classes[index];
        while (!places.empty()) {
            refill(places, now);
            const std::uint32_t id = choose(places, index, now);
            if (id == kNone) break;
            if (given_up_as_late(m_jobs[id], begins, rate)) continue;
            this->grant(m_jobs[id], index, now, grant);
            return true;
        }
    }
    return false;
}

bool Scheduler::given_up_as_late(const Job& job, Time begins, Rate rate) {
    const FlowJob& what = job.job;
    if (!m_config.late_drop || m_config.policy == SchedulerPolicy::kFifo) return false;
    if (what.drop_after == Time::never() || rate.bytes_per_second == 0) return false;
    const Uint128 left = what.work() - job.from;
    const auto needed =
        static_cast<std::int64_t>((left + rate.bytes_per_second - 1) / rate.bytes_per_second);
    if (begins.ps + needed <= what.drop_after.ps) return false;
    ++m_counters[class_of(what.priority)].late_drops;
    give_up(what.id, FlowEnd::kLate);
    return true;
}

void Scheduler::grant(Job& job, std::size_t index, Time now, FlowGrant& grant) {
    const bool fifo = m_config.policy == SchedulerPolicy::kFifo;
    const bool contended = m_candidates.size() > 1;
    std::int64_t& credit = m_tenants[job.tenant].credit[index];
    const std::uint32_t begun = job.job.blocks_before(job.from);
    std::uint32_t until = begun;
    job.turn = 0;
    while (until < job.job.blocks) {
        const bool more = job.job.work_of(until) != job.from;
        if (more && !fifo && m_held_back) break;
        if (more && contended && credit <= 0) break;
        if (!m_config.tenant_rate && !contended && (fifo || !m_held_back)) {
            until = job.job.blocks;
            break;
        }
        if (m_config.tenant_rate && until >= job.paid && !pay(job, until, now, more)) break;
        if (contended) {
            credit -= static_cast<std::int64_t>(job.job.size_of(until).count);
            ++job.turn;
        }
        ++until;
    }
    const Uint128 from = job.from;
    job.from = job.job.work_of(until);
    grant = {job.job, from, job.from};
    m_tenants[job.tenant].last_grant = now;
    job.waits = job.from != job.job.work();
    if (!job.waits) --m_waiting;
}

/// Charges a block to its tenant's bucket. With `only_if_free`, not where that is in debt.
bool Scheduler::pay(Job& job, std::uint32_t block, Time now, bool only_if_free) {
    Tenant& tenant = m_tenants[job.tenant];
    const Time burst = transfer_time(m_config.tenant_burst, *m_config.tenant_rate);
    if (only_if_free && tenant.paid_until - burst > now) return false;
    tenant.paid_until = std::max(tenant.paid_until, now) +
                        transfer_time(job.job.size_of(block), *m_config.tenant_rate);
    job.paid = block + 1;
    return true;
}

void Scheduler::put_back(const FlowGrant& rest) {
    Job& job = m_jobs[rest.job.id];
    if (job.where == Where::kAbsent) {
        throw InvariantError(fmt::format("job {} comes back, and is gone", rest.job.id));
    }
    Tenant& tenant = m_tenants[job.tenant];
    const std::uint32_t begun = job.job.blocks_before(rest.from);
    for (std::uint32_t block = job.job.blocks_before(job.from); block > begun; --block) {
        const Bytes bytes = job.job.size_of(block - 1);
        if (job.turn > 0) {
            tenant.credit[place_of(job.job)] += static_cast<std::int64_t>(bytes.count);
            --job.turn;
        }
        if (m_config.tenant_rate && job.paid == block) {
            tenant.paid_until -= transfer_time(bytes, *m_config.tenant_rate);
            --job.paid;
        }
    }
    job.from = rest.from;
    if (!job.waits) ++m_waiting;
    job.waits = true;
}

FlowCut Scheduler::cut(const FlowGrant& running, const FlowJob& arrived, Time now) const {
    if (m_config.policy == SchedulerPolicy::kFifo) return FlowCut::kNone;
    const Job& job = m_jobs[arrived.id];
    if (arrived.id == running.job.id || !job.waits || stalled(arrived.destination) != nullptr) {
        return FlowCut::kNone;
    }
    const std::size_t holder = class_of(running.job.priority);
    const std::size_t comer = class_of(arrived.priority);
    if (comer > holder) return FlowCut::kNone;
    if (eligible_at(job) > now) return FlowCut::kAtBlock;  // it may go when that block ends
    if (comer < holder) return FlowCut::kNow;
    const bool in_turn = m_jobs[running.job.id].turn != 0;
    return running.job.tenant == arrived.tenant || in_turn ? FlowCut::kNone : FlowCut::kAtBlock;
}

// --- changes of mind ----------------------------------------------------------------------------

const FlowJob* Scheduler::raise(std::uint32_t id, const FlowUrgency& urgency) {
    if (!has(id)) return nullptr;
    Job& job = m_jobs[id];
    job.job.deadline = std::min(job.job.deadline, urgency.deadline);
    job.job.drop_after = std::max(job.job.drop_after, urgency.drop_after);
    if (urgency.priority >= job.job.priority) return nullptr;
    const bool waits = job.waits;
    const bool in_table = job.where == Where::kTable;
    leave(id);
    job.job.priority = urgency.priority;
    job.turn = 0;  // it was charged to another class
    job.waits = waits;
    if (waits) ++m_waiting;
    enter(id, in_table);
    return waits ? &job.job : nullptr;
}

const FlowJob* Scheduler::stall(std::uint16_t destination, bool is_stalled, Time now) {
    const bool was = stalled(destination) != nullptr;
    if (is_stalled) {
        if (!was) m_stalled.push_back({destination, now});
        return nullptr;
    }
    std::erase_if(m_stalled, [&](const Stalled& s) { return s.destination == destination; });
    const Job* first = nullptr;
    for (const Job& job : m_jobs) {
        if (!job.waits || job.job.destination != destination) continue;
        const auto rank = [&](const Job& j) { return class_of(j.job.priority); };
        const bool sooner = first == nullptr || rank(job) < rank(*first) ||
                            (rank(job) == rank(*first) && before(job, *first));
        if (sooner) first = &job;
    }
    return was && first != nullptr ? &first->job : nullptr;
}

Time Scheduler::next_timeout() const {
    Time next = Time::never();
    if (m_stalled.empty() || m_config.stall_timeout == Time::never()) return next;
    for (const Job& job : m_jobs) {
        if (!job.waits) continue;
        if (const Stalled* where = stalled(job.job.destination)) {
            next = std::min(next, std::max(where->since, job.arrived) + m_config.stall_timeout);
        }
    }
    return next;
}

void Scheduler::expire(Time now) {
    if (next_timeout() > now) return;
    std::vector<std::uint32_t> late;
    for (const Job& job : m_jobs) {
        const Stalled* where = job.waits ? stalled(job.job.destination) : nullptr;
        if (where == nullptr) continue;
        if (std::max(where->since, job.arrived) + m_config.stall_timeout <= now) {
            late.push_back(job.job.id);
        }
    }
    std::sort(late.begin(), late.end(), [&](std::uint32_t a, std::uint32_t b) {
        return m_jobs[a].sequence < m_jobs[b].sequence;
    });
    for (const std::uint32_t id : late) {
        ++m_counters[class_of(m_jobs[id].job.priority)].timeouts;
        give_up(id, FlowEnd::kTimedOut);
    }
}

}  // namespace kvplane::engine
