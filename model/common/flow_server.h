// SPDX-License-Identifier: Apache-2.0
/// Transfers as flows. Each server drains one job at a time, by class, then deadline, then order of
/// arrival, at a rate that the arbiter sets from what all servers ask of the shared resources.
/// Between two changes of rate everything is arithmetic: a job of a thousand blocks costs one
/// event. All state is integer, so results do not depend on the machine.
///
/// Arbiter: max-min. The rates of all busy servers rise together until a resource is full or a cap
/// is met; the servers that meet it stop there and the others rise on. What a server needs of a
/// resource only as overhead (read requests, completions without data) is served first there.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/common/units.h"

namespace kvplane {

/// The shared resources of a set of servers, by index: wires, DRAM, lanes.
inline constexpr std::size_t kFlowResources = 4;
/// The most servers of one set.
inline constexpr std::size_t kFlowServers = 4;

/// Units of a resource per payload byte, in 2^-32.
using FlowShare = std::array<std::uint64_t, kFlowResources>;

/// `units` of a resource for each `payload` bytes.
[[nodiscard]] constexpr std::uint64_t flow_share(std::uint64_t units, std::uint64_t payload) {
    return static_cast<std::uint64_t>((static_cast<Uint128>(units) << 32) / payload);
}

/// What one server asks of the resources.
struct FlowServerConfig {
    FlowShare share{};             ///< competes for these
    FlowShare overhead{};          ///< served before those who compete
    Rate cap{UINT64_MAX};          ///< payload rate of its own
    std::uint32_t mixed_with = 0;  ///< bit set of servers whose activity adds `mixed_share`
    FlowShare mixed_share{};
};

/// A job: `blocks` blocks of `block_bytes` each, drained in order without a gap.
struct FlowJob {
    std::uint32_t id = 0;
    std::uint8_t priority = 0;  ///< lower first
    Time deadline{};            ///< earlier first within a priority
    std::uint32_t blocks = 1;
    Bytes block_bytes{};
};

/// Hears what left a server. Called from FlowServers::advance with times that may lie before now,
/// in order of time within one server.
class FlowClient {
public:
    virtual ~FlowClient() = default;
    /// Block `block` of job `id` drained over [start, end]. Must not push.
    virtual void block_drained(std::uint32_t server, std::uint32_t id, std::uint32_t block,
                               Time start, Time end) = 0;
    /// All blocks of the job have drained. May push new jobs.
    virtual void job_drained(std::uint32_t server, std::uint32_t id, Time end) = 0;
};

class FlowServers {
public:
    /// Resource capacities in units per second (bytes per second where the unit is a byte).
    FlowServers(std::array<std::uint64_t, kFlowResources> capacity,
                std::vector<FlowServerConfig> servers, FlowClient& client);

    /// Lowers the cap of a server that has had no job yet.
    void limit_cap(std::uint32_t server, Rate cap);

    /// Queues a job at `now`, which must not lie before the last call's time.
    void push(std::uint32_t server, const FlowJob& job, Time now);

    /// What the host takes of each resource before any server, in units per second.
    void set_host_load(const std::array<std::uint64_t, kFlowResources>& load, Time now);

    /// Gives up all jobs of a server, running and waiting: what has drained by `now` is emitted
    /// first. Returns their ids, in the order in which they were pushed.
    std::vector<std::uint32_t> drop(std::uint32_t server, Time now);

    /// Emits all that has drained by `now` and starts what waits.
    void advance(Time now);

    /// When the next job ends at today's rates; Time::never() while all are idle.
    [[nodiscard]] Time next_end() const;

    /// The payload rate of a server now; zero while it is idle.
    [[nodiscard]] Rate rate(std::uint32_t server) const;
    [[nodiscard]] bool busy(std::uint32_t server) const { return m_servers[server].busy; }
    /// Time for which a server has drained, up to the last call of advance.
    [[nodiscard]] Time busy_time(std::uint32_t server) const { return m_servers[server].busy_time; }
    [[nodiscard]] Bytes drained(std::uint32_t server) const;
    /// Units of a resource that the servers use per second.
    [[nodiscard]] std::uint64_t transfers(std::size_t resource) const {
        return m_transfers[m_active][resource];
    }
    /// The same, what the host takes included.
    [[nodiscard]] std::uint64_t in_use(std::size_t resource) const {
        return m_host_load[resource] + transfers(resource);
    }

private:
    struct Waiting {
        FlowJob job;
        std::uint64_t sequence;
    };
    struct Server {
        FlowServerConfig config;
        std::vector<Waiting> ready;  ///< heap
        bool busy = false;
        FlowJob job;
        std::uint32_t blocks_done = 0;
        Uint128 work_done = 0;  ///< of this job, in bytes x 10^12
        Time block_start;
        std::uint64_t rate = 0;  ///< payload bytes per second
        Time end = Time::never();
        Time busy_time;
        Uint128 drained = 0;  ///< of all jobs, in bytes x 10^12
    };
    using Rates = std::array<std::uint64_t, kFlowServers>;
    using Capacity = std::array<std::uint64_t, kFlowResources>;

    [[nodiscard]] std::uint32_t active_mask() const;
    [[nodiscard]] FlowShare share_of(const Server& server, std::uint32_t active) const;
    [[nodiscard]] Rates fill(Capacity capacity, std::uint32_t active) const;
    [[nodiscard]] Capacity left_by_overhead(const Rates& rates) const;
    [[nodiscard]] Rates arbitrate(std::uint32_t active) const;
    void fit(Rates& rates, std::uint32_t active) const;
    [[nodiscard]] std::uint64_t use(const Rates& rates, std::uint32_t active, std::size_t r) const;
    void settle(Time to);
    void emit_blocks(std::uint32_t index, Time to);
    void start_next(std::uint32_t index, Time at);
    void finish(std::uint32_t index);
    void rerate();

    std::vector<Server> m_servers;
    FlowClient& m_client;
    Capacity m_capacity;
    Capacity m_host_load{};
    std::array<Rates, 1U << kFlowServers> m_rates{};
    std::array<bool, 1U << kFlowServers> m_known{};
    std::array<Capacity, 1U << kFlowServers> m_transfers{};
    std::uint32_t m_active = 0;  ///< servers that are busy, at today's rates
    Time m_now;
    std::uint64_t m_sequence = 0;
};

}  // namespace kvplane
