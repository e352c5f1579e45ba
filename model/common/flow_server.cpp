// SPDX-License-Identifier: Apache-2.0
#include "model/common/flow_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane {
namespace {

constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;
/// Rounds of "overhead first": four come within 3 % of the limit.
constexpr int kOverheadRounds = 4;

struct RunsLater {
    bool operator()(const auto& a, const auto& b) const {
        if (a.job.priority != b.job.priority) return a.job.priority > b.job.priority;
        if (a.job.deadline != b.job.deadline) return a.job.deadline > b.job.deadline;
        return a.sequence > b.sequence;
    }
};

/// What `rate` uses at `share`, rounded up, so that what is granted never exceeds what is there.
std::uint64_t units_at(std::uint64_t rate, std::uint64_t share) {
    return static_cast<std::uint64_t>((static_cast<Uint128>(rate) * share + UINT32_MAX) >> 32);
}

}  // namespace

FlowServers::FlowServers(std::array<std::uint64_t, kFlowResources> capacity,
                         std::vector<FlowServerConfig> servers, FlowClient& client)
    : m_client(client), m_capacity(capacity) {
    if (servers.size() > kFlowServers) throw InvariantError("too many flow servers");
    for (const FlowServerConfig& config : servers) {
        m_servers.emplace_back().config = config;
        m_servers.back().ready.reserve(64);
    }
}

void FlowServers::limit_cap(std::uint32_t server, Rate cap) {
    Rate& current = m_servers[server].config.cap;
    current = std::min(current, cap);
    m_known.fill(false);
}

void FlowServers::push(std::uint32_t server, const FlowJob& job, Time now) {
    advance(now);
    Server& target = m_servers[server];
    target.ready.push_back({job, m_sequence++});
    std::push_heap(target.ready.begin(), target.ready.end(), RunsLater{});
    if (target.busy) return;
    start_next(server, now);
    rerate();
}

std::vector<std::uint32_t> FlowServers::drop(std::uint32_t server, Time now) {
    advance(now);
    Server& target = m_servers[server];
    std::sort(target.ready.begin(), target.ready.end(),
              [](const Waiting& a, const Waiting& b) { return a.sequence < b.sequence; });
    std::vector<std::uint32_t> ids;
    if (target.busy) ids.push_back(target.job.id);
    for (const Waiting& waiting : target.ready) ids.push_back(waiting.job.id);
    target.ready.clear();
    target.busy = false;
    target.end = Time::never();
    rerate();
    return ids;
}

void FlowServers::set_host_load(const std::array<std::uint64_t, kFlowResources>& load, Time now) {
    advance(now);
    m_host_load = load;
    m_known.fill(false);
    rerate();
}

void FlowServers::advance(Time now) {
    if (now < m_now) throw InvariantError("flow servers asked to run backwards");
    for (;;) {
        std::uint32_t next = 0;
        for (std::uint32_t i = 1; i < m_servers.size(); ++i) {
            if (m_servers[i].end < m_servers[next].end) next = i;
        }
        if (m_servers[next].end > now) break;
        finish(next);
    }
    settle(now);
}

void FlowServers::finish(std::uint32_t index) {
    Server& server = m_servers[index];
    const Time end = server.end;
    settle(end);
    if (server.blocks_done != server.job.blocks) {
        throw InvariantError(fmt::format("flow job {} ended after {} of {} blocks", server.job.id,
                                         server.blocks_done, server.job.blocks));
    }
    const std::uint32_t id = server.job.id;
    server.busy = false;
    server.end = Time::never();
    start_next(index, end);
    rerate();
    m_client.job_drained(index, id, end);
}

void FlowServers::start_next(std::uint32_t index, Time at) {
    Server& server = m_servers[index];
    if (server.ready.empty()) return;
    std::pop_heap(server.ready.begin(), server.ready.end(), RunsLater{});
    server.job = server.ready.back().job;
    server.ready.pop_back();
    server.busy = true;
    server.blocks_done = 0;
    server.work_done = 0;
    server.block_start = at;
}

void FlowServers::settle(Time to) {
    for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
        Server& server = m_servers[i];
        if (!server.busy) continue;
        emit_blocks(i, to);
        const Time span = to - m_now;
        const Uint128 total =
            static_cast<Uint128>(server.job.blocks) * server.job.block_bytes.count * kPsPerSecond;
        const Uint128 work =
            std::min(static_cast<Uint128>(server.rate) * static_cast<std::uint64_t>(span.ps),
                     total - server.work_done);
        server.work_done += work;
        server.drained += work;
        server.busy_time += span;
    }
    m_now = to;
}

void FlowServers::emit_blocks(std::uint32_t index, Time to) {
    Server& server = m_servers[index];
    const Uint128 block = static_cast<Uint128>(server.job.block_bytes.count) * kPsPerSecond;
    while (server.rate != 0 && server.blocks_done < server.job.blocks) {
        const Uint128 left = block * (server.blocks_done + 1) - server.work_done;
        const Time end{m_now.ps +
                       static_cast<std::int64_t>((left + server.rate - 1) / server.rate)};
        if (end > to) return;
        const std::uint32_t done = server.blocks_done++;
        const Time start = server.block_start;
        server.block_start = end;
        m_client.block_drained(index, server.job.id, done, start, end);
    }
}

void FlowServers::rerate() {
    const std::uint32_t active = active_mask();
    m_active = active;
    if (!m_known[active]) {
        m_rates[active] = arbitrate(active);
        for (std::size_t r = 0; r < kFlowResources; ++r) {
            m_transfers[active][r] = use(m_rates[active], active, r);
        }
        m_known[active] = true;
    }
    for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
        Server& server = m_servers[i];
        if (!server.busy) continue;
        server.rate = m_rates[active][i];
        if (server.rate == 0) {  // the host takes it all for now
            server.end = Time::never();
            continue;
        }
        const Uint128 total =
            static_cast<Uint128>(server.job.blocks) * server.job.block_bytes.count * kPsPerSecond;
        const Uint128 left = total - server.work_done;
        server.end = {m_now.ps + static_cast<std::int64_t>((left + server.rate - 1) / server.rate)};
    }
}

std::uint32_t FlowServers::active_mask() const {
    std::uint32_t mask = 0;
    for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
        mask |= m_servers[i].busy ? 1U << i : 0U;
    }
    return mask;
}

FlowShare FlowServers::share_of(const Server& server, std::uint32_t active) const {
    FlowShare share = server.config.share;
    bool mixed = (active & server.config.mixed_with) != 0;
    for (const std::uint64_t load : m_host_load) mixed = mixed || load != 0;
    if (!mixed) return share;
    for (std::size_t r = 0; r < kFlowResources; ++r) share[r] += server.config.mixed_share[r];
    return share;
}

FlowServers::Rates FlowServers::fill(Capacity capacity, std::uint32_t active) const {
    Rates rates{};
    std::uint32_t rising = active;
    std::uint64_t level = 0;
    while (rising != 0) {
        Capacity asked{};
        std::uint64_t step = UINT64_MAX - level;
        for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
            if ((rising >> i & 1U) == 0) continue;
            const FlowShare share = share_of(m_servers[i], active);
            for (std::size_t r = 0; r < kFlowResources; ++r) asked[r] += share[r];
            step = std::min(step, m_servers[i].config.cap.bytes_per_second - level);
        }
        for (std::size_t r = 0; r < kFlowResources; ++r) {
            if (asked[r] == 0) continue;
            const Uint128 room = (static_cast<Uint128>(capacity[r]) << 32) / asked[r];
            step = static_cast<std::uint64_t>(std::min<Uint128>(step, room));
        }
        level += step;
        std::uint32_t stopped = 0;
        for (std::size_t r = 0; r < kFlowResources; ++r) {
            capacity[r] -= std::min(capacity[r], units_at(step, asked[r]));
        }
        for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
            if ((rising >> i & 1U) == 0) continue;
            const FlowShare share = share_of(m_servers[i], active);
            bool full = level >= m_servers[i].config.cap.bytes_per_second;
            for (std::size_t r = 0; r < kFlowResources; ++r) {
                // Less is left than one more byte per second of every riser would take.
                full = full || (share[r] != 0 && capacity[r] <= (asked[r] >> 32) + 1);
            }
            if (!full) continue;
            rates[i] = level;
            stopped |= 1U << i;
        }
        if (stopped == 0) throw InvariantError("the arbiter's filling does not end");
        rising &= ~stopped;
    }
    return rates;
}

FlowServers::Capacity FlowServers::left_by_overhead(const Rates& rates) const {
    Capacity left = m_capacity;
    for (std::size_t r = 0; r < kFlowResources; ++r) {
        left[r] -= std::min(left[r], m_host_load[r]);
        for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
            left[r] -= std::min(left[r], units_at(rates[i], m_servers[i].config.overhead[r]));
        }
    }
    return left;
}

FlowServers::Rates FlowServers::arbitrate(std::uint32_t active) const {
    Rates rates = fill(left_by_overhead(Rates{}), active);
    for (int round = 0; round < kOverheadRounds - 1; ++round) {
        rates = fill(left_by_overhead(rates), active);
    }
    fit(rates, active);
    return rates;
}

void FlowServers::fit(Rates& rates, std::uint32_t active) const {
    for (std::size_t r = 0; r < kFlowResources; ++r) {
        const std::uint64_t used = use(rates, active, r);
        const std::uint64_t left = m_capacity[r] - std::min(m_capacity[r], m_host_load[r]);
        if (used <= left) continue;
        for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
            if (share_of(m_servers[i], active)[r] + m_servers[i].config.overhead[r] == 0) continue;
            rates[i] = static_cast<std::uint64_t>(static_cast<Uint128>(rates[i]) * left / used);
        }
    }
}

std::uint64_t FlowServers::use(const Rates& rates, std::uint32_t active, std::size_t r) const {
    Uint128 used = 0;  // x 2^32
    for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
        const FlowServerConfig& config = m_servers[i].config;
        used += static_cast<Uint128>(rates[i]) *
                (share_of(m_servers[i], active)[r] + config.overhead[r]);
    }
    return static_cast<std::uint64_t>((used + UINT32_MAX) >> 32);
}

Time FlowServers::next_end() const {
    Time next = Time::never();
    for (const Server& server : m_servers) next = std::min(next, server.end);
    return next;
}

Rate FlowServers::rate(std::uint32_t server) const {
    return {m_servers[server].busy ? m_servers[server].rate : 0};
}

Bytes FlowServers::drained(std::uint32_t server) const {
    return {static_cast<std::uint64_t>(m_servers[server].drained / kPsPerSecond)};
}

}  // namespace kvplane
