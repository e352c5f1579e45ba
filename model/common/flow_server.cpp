// SPDX-License-Identifier: Apache-2.0
#include "model/common/flow_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane {
namespace {

/// A job gives way at multiples of this, from its start.
constexpr Uint128 kCutGrain = Uint128{4096} * kFlowWork;
constexpr std::size_t kNowhere = SIZE_MAX;

Uint128 round_up(Uint128 work, Uint128 grain) { return (work + grain - 1) / grain * grain; }

/// How long `work` takes, rounded up.
Time duration(Uint128 work, std::uint64_t rate) {
    return {static_cast<std::int64_t>((work + rate - 1) / rate)};
}

}  // namespace

FlowServers::FlowServers(std::array<std::uint64_t, kFlowResources> capacity,
                         std::vector<FlowServerConfig> servers, FlowClient& client)
    : m_client(client), m_capacity(capacity) {
    if (servers.size() > kFlowServers) throw InvariantError("too many flow servers");
    for (const FlowServerConfig& config : servers) {
        Server& server = m_servers.emplace_back();
        server.config = config;
        server.queue = config.queue;
        if (server.queue == nullptr) {
            server.queue = m_fifos.emplace_back(std::make_unique<FlowFifo>()).get();
        }
    }
}

void FlowServers::limit_cap(std::uint32_t server, Rate cap) {
    Rate& current = m_servers[server].config.cap;
    current = std::min(current, cap);
    m_known.fill(false);
}

// --- from outside -------------------------------------------------------------------------------

void FlowServers::push(std::uint32_t server, const FlowJob& job, Time now) {
    advance(now);
    Server& target = m_servers[server];
    if (target.busy) {
        commit_window(server);
        target.queue->push(job, now);
        give_way(server, job);
    } else {
        target.queue->push(job, now);
    }
    run(server);
}

bool FlowServers::cancel(std::uint32_t server, std::uint32_t id, Time now) {
    advance(now);
    Server& target = m_servers[server];
    for (;;) {
        const std::size_t place = place_of(target, id);
        if (place == kNowhere) {
            if (!target.queue->cancel(id)) return false;
            give_up(server, id, FlowEnd::kCancelled);
            break;
        }
        Stretch& last = stretch(target, place);
        if (last.given_up) break;
        const Uint128 until = reached(target, place);
        if (place != 0 && until <= last.grant.from) {  // nothing of it is under way
            target.queue->put_back(last.grant);
            target.committed.erase(target.committed.begin() +
                                   static_cast<std::ptrdiff_t>(place - 1));
            continue;
        }
        last.grant.until = std::min(until, last.grant.until);
        if (last.grant.until == last.grant.job.work()) break;  // all of it is
        target.queue->cancel(id);
        give_up(server, id, FlowEnd::kCancelled);
        break;
    }
    run(server);
    return true;
}

bool FlowServers::raise(std::uint32_t server, std::uint32_t id, const FlowUrgency& urgency,
                        Time now) {
    advance(now);
    Server& target = m_servers[server];
    const std::size_t place = place_of(target, id);
    if (place != kNowhere && stretch(target, place).given_up) return false;
    const auto lift = [&](FlowJob& job) {
        if (job.id == id) job.priority = std::min(job.priority, urgency.priority);
    };
    if (target.busy) lift(target.current.grant.job);
    for (Stretch& committed : target.committed) lift(committed.grant.job);
    const FlowJob* waiting = target.queue->raise(id, urgency);
    if (waiting != nullptr && target.busy) give_way(server, *waiting);
    run(server);
    return true;
}

void FlowServers::stall(std::uint32_t server, std::uint16_t destination, bool stalled, Time now) {
    advance(now);
    Server& target = m_servers[server];
    const FlowJob* waiting = target.queue->stall(destination, stalled, now);
    if (stalled) {
        put_back_stalled(server, destination);
    } else if (waiting != nullptr && target.busy) {
        give_way(server, *waiting);
    }
    run(server);
}

void FlowServers::stop(std::uint32_t server, bool stopped, Time now) {
    advance(now);
    m_servers[server].stopped = stopped;
    rerate();
}

void FlowServers::set_host_load(const std::array<std::uint64_t, kFlowResources>& load, Time now) {
    advance(now);
    m_host_load = load;
    m_known.fill(false);
    rerate();
}

std::vector<std::uint32_t> FlowServers::drop(std::uint32_t server, Time now) {
    advance(now);
    Server& target = m_servers[server];
    std::vector<std::uint32_t> ids;
    const auto add = [&](std::uint32_t id) {
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    };
    if (target.busy) add(target.current.grant.job.id);
    for (const Stretch& committed : target.committed) add(committed.grant.job.id);
    std::vector<std::uint32_t> waiting;
    target.queue->clear(waiting);
    for (const std::uint32_t id : waiting) add(id);
    target.committed.clear();
    target.suspended.clear();
    target.busy = false;
    target.busy_since = target.end = target.wake = target.timeout = Time::never();
    rerate();
    return ids;
}

// --- time ---------------------------------------------------------------------------------------

void FlowServers::advance(Time now) {
    if (now < m_now) throw InvariantError("flow servers asked to run backwards");
    for (;;) {
        std::uint32_t next = 0;
        Time at = Time::never();
        for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
            const Server& server = m_servers[i];
            const Time due = std::min({server.end, server.wake, server.timeout});
            if (due >= at) continue;
            next = i;
            at = due;
        }
        if (at > now || at == Time::never()) break;
        if (m_servers[next].end == at) {
            finish(next);
        } else {
            wake_up(next, at);
        }
    }
    settle(now);
}

/// After a change to what waits or drains: starts what may, and lets happen what is due at once.
void FlowServers::run(std::uint32_t index) {
    Server& server = m_servers[index];
    if (!server.busy) start_next(index);
    server.timeout = server.queue->next_timeout();
    rerate();
    tell();
    if (std::min({server.end, server.wake, server.timeout}) <= m_now) advance(m_now);
}

void FlowServers::finish(std::uint32_t index) {
    Server& server = m_servers[index];
    settle(server.end);
    const FlowJob& job = server.current.grant.job;
    if (server.current.given_up) {
        m_ended.push_back(
            {index, job.id, server.progress.blocks, false, server.current.reason, m_now});
    } else if (server.current.grant.until == job.work()) {
        if (server.progress.blocks != job.blocks) {
            throw InvariantError(fmt::format("flow job {} ended after {} of {} blocks", job.id,
                                             server.progress.blocks, job.blocks));
        }
        server.queue->ended(job.id);
        m_ended.push_back({index, job.id, job.blocks, true, {}, m_now});
    } else {
        suspend(server);
    }
    server.busy = false;
    start_next(index);
    rerate();
    tell();
}

void FlowServers::wake_up(std::uint32_t index, Time at) {
    settle(at);
    Server& server = m_servers[index];
    server.queue->expire(at);
    collect_given_up(index);
    server.timeout = server.queue->next_timeout();
    if (server.timeout <= at) throw InvariantError("a flow queue does not let go");
    if (!server.busy) start_next(index);
    rerate();
    tell();
}

/// Of an idle server.
void FlowServers::start_next(std::uint32_t index) {
    Server& server = m_servers[index];
    server.end = server.wake = Time::never();
    if (!server.committed.empty()) {
        const Stretch next = server.committed.front();
        server.committed.erase(server.committed.begin());
        begin(server, next);
        return;
    }
    Stretch next;
    if (take(index, m_now, next.grant)) {
        begin(server, next);
        return;
    }
    server.busy_since = Time::never();
    server.wake = server.queue->next_eligible(m_now);
    if (server.wake <= m_now) throw InvariantError("a flow queue keeps back what may go");
}

void FlowServers::begin(Server& server, const Stretch& stretch) {
    server.busy = true;
    server.busy_since = std::min(server.busy_since, m_now);
    server.current = stretch;
    server.done = stretch.grant.from;
    const FlowJob& job = stretch.grant.job;
    if (server.done == 0) {
        server.progress = {job.id, 0, m_now};
        return;
    }
    const auto found = std::find_if(server.suspended.begin(), server.suspended.end(),
                                    [&](const Progress& p) { return p.id == job.id; });
    if (found == server.suspended.end()) {
        throw InvariantError(fmt::format("flow job {} goes on without having begun", job.id));
    }
    server.progress = *found;
    *found = server.suspended.back();
    server.suspended.pop_back();
    if (server.done == job.work_of(server.progress.blocks)) server.progress.block_start = m_now;
}

/// A job that gives way before its first byte has not begun.
void FlowServers::suspend(Server& server) {
    if (server.done != 0) server.suspended.push_back(server.progress);
}

void FlowServers::settle(Time to) {
    const Time span = to - m_now;
    for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
        Server& server = m_servers[i];
        if (!server.busy) continue;
        emit_blocks(i, to);
        const Uint128 work =
            std::min(static_cast<Uint128>(server.rate) * static_cast<std::uint64_t>(span.ps),
                     server.current.grant.until - server.done);
        server.done += work;
        server.drained += work;
        server.busy_time += span;
    }
    m_now = to;
}

void FlowServers::emit_blocks(std::uint32_t index, Time to) {
    Server& server = m_servers[index];
    const FlowJob& job = server.current.grant.job;
    Progress& progress = server.progress;
    while (server.rate != 0 && progress.blocks < job.blocks) {
        const Uint128 border = job.work_of(progress.blocks + 1);
        if (border > server.current.grant.until) return;
        const Time end = m_now + duration(border - server.done, server.rate);
        if (end > to) return;
        const std::uint32_t block = progress.blocks++;
        const Time start = progress.block_start;
        progress.block_start = end;
        server.queue->block_drained(job);
        m_client.block_drained(index, job.id, block, start, end);
    }
}

/// Tells of the jobs that have ended. Clients may call back.
void FlowServers::tell() {
    while (m_told < m_ended.size()) {
        const Ended ended = m_ended[m_told++];
        if (ended.complete) {
            m_client.job_drained(ended.server, ended.id, ended.end);
        } else {
            m_client.job_given_up(ended.server, ended.id, ended.blocks, ended.reason, ended.end);
        }
    }
    m_ended.clear();
    m_told = 0;
}

// --- who goes next ------------------------------------------------------------------------------

bool FlowServers::take(std::uint32_t index, Time begins, FlowGrant& grant) {
    Server& server = m_servers[index];
    const Rate rate{rates_of(m_active | 1U << index)[index]};
    const bool taken = server.queue->take(m_now, begins, rate, grant);
    collect_given_up(index);
    return taken;
}

void FlowServers::collect_given_up(std::uint32_t index) {
    FlowQueue::GivenUp job;
    while (m_servers[index].queue->pop_given_up(job)) give_up(index, job.id, job.reason);
}

/// A job ends early: once what is under way of it has drained, or now.
void FlowServers::give_up(std::uint32_t index, std::uint32_t id, FlowEnd reason) {
    Server& server = m_servers[index];
    const std::size_t place = place_of(server, id);
    if (place != kNowhere) {
        stretch(server, place).given_up = true;
        stretch(server, place).reason = reason;
        return;
    }
    const auto begun = std::find_if(server.suspended.begin(), server.suspended.end(),
                                    [&](const Progress& p) { return p.id == id; });
    std::uint32_t blocks = 0;
    if (begun != server.suspended.end()) {
        blocks = begun->blocks;
        server.suspended.erase(begun);
    }
    m_ended.push_back({index, id, blocks, false, reason, m_now});
}

/// The last place of a job among the stretches of a server.
std::size_t FlowServers::place_of(const Server& server, std::uint32_t id) {
    for (std::size_t place = server.committed.size(); place > 0; --place) {
        if (server.committed[place - 1].grant.job.id == id) return place;
    }
    return server.busy && server.current.grant.job.id == id ? 0 : kNowhere;
}

/// Work of the server that is under way beyond what has drained.
Uint128 FlowServers::lead(const Server& server) const {
    if (!server.busy) return 0;
    const auto ps = [](Time time) { return static_cast<std::uint64_t>(time.ps); };
    const Uint128 window = static_cast<Uint128>(server.config.window.count) * kFlowWork;
    const Uint128 in_fill = static_cast<Uint128>(server.rate) * ps(server.config.fill);
    Uint128 ahead = window;
    if (server.config.source < kFlowResources) {
        const std::size_t source = server.config.source;
        const std::uint64_t used = std::min(in_use(source), m_capacity[source]);
        const std::uint64_t share = std::max<std::uint64_t>(1, server.config.share[source]);
        const Uint128 spare = (static_cast<Uint128>(m_capacity[source] - used) << 32) / share;
        ahead = spare * ps(m_now - server.busy_since) + in_fill;
    }
    ahead = std::min(ahead, window);
    return ahead > in_fill ? ahead - in_fill : 0;
}

/// What drains before the stretch of a place does.
Uint128 FlowServers::left_before(const Server& server, std::size_t place) {
    if (place == 0 || !server.busy) return 0;
    Uint128 left = server.current.grant.until - server.done;
    for (std::size_t i = 0; i + 1 < place; ++i) {
        left += server.committed[i].grant.until - server.committed[i].grant.from;
    }
    return left;
}

/// How far into its job the window reaches in the stretch of a place, at the grain of cuts; not
/// past its job's end.
Uint128 FlowServers::reached(const Server& server, std::size_t place) const {
    const Uint128 before = left_before(server, place);
    const Uint128 window = lead(server);
    const FlowGrant& grant = place == 0 ? server.current.grant : server.committed[place - 1].grant;
    const Uint128 from = place == 0 ? server.done : grant.from;
    if (window <= before && place != 0) return from;
    const Uint128 keep = window > before ? window - before : 0;
    return std::min(round_up(from + keep, kCutGrain), grant.job.work());
}

/// Jobs that begin within the window are under way already: nothing that arrives goes before them.
void FlowServers::commit_window(std::uint32_t index) {
    Server& server = m_servers[index];
    const Uint128 window = lead(server);
    Uint128 covered = left_before(server, server.committed.size() + 1);
    while (covered < window) {
        const Time begins = server.rate == 0 ? m_now : m_now + duration(covered, server.rate);
        Stretch next;
        if (!take(index, begins, next.grant)) return;
        covered += next.grant.until - next.grant.from;
        server.committed.push_back(next);
    }
}

/// Cuts what `arrived`, which waits, goes before.
void FlowServers::give_way(std::uint32_t index, const FlowJob& arrived) {
    Server& server = m_servers[index];
    for (;;) {
        const std::size_t place = server.committed.size();
        Stretch& last = stretch(server, place);
        const FlowCut cut =
            last.given_up ? FlowCut::kNone : server.queue->cut(last.grant, arrived, m_now);
        if (cut == FlowCut::kNone) return;
        const FlowJob& job = last.grant.job;
        Uint128 until = reached(server, place);
        if (cut == FlowCut::kAtBlock) until = job.work_of(job.blocks_before(until));
        if (until >= last.grant.until) return;
        server.queue->put_back({job, until, last.grant.until});
        last.grant.until = until;
        if (place == 0 || until > last.grant.from) return;
        server.committed.pop_back();
    }
}

void FlowServers::put_back_stalled(std::uint32_t index, std::uint16_t destination) {
    Server& server = m_servers[index];
    const auto stalls = [&](const Stretch& s) { return s.grant.job.destination == destination; };
    for (std::size_t i = server.committed.size(); i > 0; --i) {
        const Stretch& stretch = server.committed[i - 1];
        if (!stalls(stretch)) continue;
        if (stretch.given_up) {
            const auto [id, reason] = std::pair(stretch.grant.job.id, stretch.reason);
            server.committed.erase(server.committed.begin() + static_cast<std::ptrdiff_t>(i - 1));
            give_up(index, id, reason);
            continue;
        }
        server.queue->put_back(stretch.grant);
        server.committed.erase(server.committed.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    if (!server.busy || !stalls(server.current)) return;
    server.busy = false;
    suspend(server);
    if (server.current.given_up) {
        give_up(index, server.current.grant.job.id, server.current.reason);
        return;
    }
    server.queue->put_back({server.current.grant.job, server.done, server.current.grant.until});
}

// --- what can be asked --------------------------------------------------------------------------

Time FlowServers::next_end() const {
    Time next = Time::never();
    for (const Server& server : m_servers) {
        next = std::min({next, server.end, server.wake, server.timeout});
    }
    return next;
}

Rate FlowServers::rate(std::uint32_t server) const {
    return {m_servers[server].busy ? m_servers[server].rate : 0};
}

Bytes FlowServers::drained(std::uint32_t server) const {
    return {static_cast<std::uint64_t>(m_servers[server].drained / kFlowWork)};
}

Bytes FlowServers::under_way(std::uint32_t server) const {
    return {static_cast<std::uint64_t>(lead(m_servers[server]) / kFlowWork)};
}

}  // namespace kvplane
