// SPDX-License-Identifier: Apache-2.0
/// The arbiter of FlowServers: rates from what is asked.
#include <fmt/format.h>

#include <algorithm>

#include "model/common/errors.h"
#include "model/common/flow_server.h"

namespace kvplane {
namespace {

/// Rounds of "overhead first": four come within 3 % of the limit.
constexpr int kOverheadRounds = 4;

/// What `rate` uses at `share`, rounded up, so that what is granted never exceeds what is there.
std::uint64_t units_at(std::uint64_t rate, std::uint64_t share) {
    return static_cast<std::uint64_t>((static_cast<Uint128>(rate) * share + UINT32_MAX) >> 32);
}

/// How long `work` takes, rounded up.
Time duration(Uint128 work, std::uint64_t rate) {
    return {static_cast<std::int64_t>((work + rate - 1) / rate)};
}

}  // namespace

const FlowServers::Rates& FlowServers::rates_of(std::uint32_t active) {
    if (m_known[active]) return m_rates[active];
    m_rates[active] = arbitrate(active);
    for (std::size_t r = 0; r < kFlowResources; ++r) {
        m_transfers[active][r] = use(m_rates[active], active, r);
        const std::uint64_t left = m_capacity[r] - std::min(m_capacity[r], m_host_load[r]);
        if (m_transfers[active][r] > left) {
            throw InvariantError(
                fmt::format("flow servers {:b} use {} of resource {}, which has "
                            "{} left",
                            active, m_transfers[active][r], r, left));
        }
    }
    m_known[active] = true;
    return m_rates[active];
}

void FlowServers::rerate() {
    m_active = active_mask();
    const Rates& rates = rates_of(m_active);
    for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
        Server& server = m_servers[i];
        if (!server.busy) continue;
        server.rate = server.stopped ? 0 : rates[i];
        const Uint128 left = server.current.grant.until - server.done;
        if (left == 0) {
            server.end = m_now;
        } else if (server.rate == 0) {  // stopped, or the host takes it all for now
            server.end = Time::never();
        } else {
            server.end = m_now + duration(left, server.rate);
        }
    }
}

std::uint32_t FlowServers::active_mask() const {
    std::uint32_t mask = 0;
    for (std::uint32_t i = 0; i < m_servers.size(); ++i) {
        mask |= m_servers[i].busy && !m_servers[i].stopped ? 1U << i : 0U;
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

}  // namespace kvplane
