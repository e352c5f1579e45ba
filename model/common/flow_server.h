// SPDX-License-Identifier: Apache-2.0
/// Transfers as flows. Each server drains one job at a time, drawn from its queue, at a rate that
/// the arbiter sets from what all servers ask of the shared resources. Between two changes of rate
/// everything is arithmetic: a job of a thousand blocks costs one event. All state is integer, so
/// results do not depend on the machine.
///
/// Arbiter: max-min. The rates of all busy servers rise together until a resource is full or a cap
/// is met; the servers that meet it stop there and the others rise on. What a server needs of a
/// resource only as overhead (read requests, completions without data) is served first there.
///
/// Pre-emption. A server reads ahead of what it drains, by up to its window; what it has read is
/// under way and cannot be cut. So a job that gives way does so behind its window, at a multiple of
/// 4 KiB, and the rest waits in the queue as the same job. Jobs whose first bytes lie within the
/// window when another arrives are under way too, and stay ahead of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/common/flow_queue.h"
#include "model/common/units.h"

namespace kvplane {

/// The shared resources of a set of servers, by index: wires, DRAM, lanes.
inline constexpr std::size_t kFlowResources = 4;
/// The most servers of one set.
inline constexpr std::size_t kFlowServers = 5;

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

    FlowQueue* queue =
        nullptr;     ///< where its jobs wait; must outlive the servers; null: a FlowFifo
    Bytes window{};  ///< the most that it reads ahead of what it drains
    Time fill{};     ///< from reading to draining; a job is pushed after it
    /// The resource that bounds the reading ahead; kFlowResources: it is as far as the window goes
    /// from the start.
    std::size_t source = kFlowResources;
};

/// Hears what left a server. Called with times that may lie before now, in order of time within one
/// server.
class FlowClient {
public:
    virtual ~FlowClient() = default;
    /// Block `block` of job `id` drained over [start, end]; between, it may have given way. Must
    /// not call back.
    virtual void block_drained(std::uint32_t server, std::uint32_t id, std::uint32_t block,
                               Time start, Time end) = 0;
    /// All blocks of the job have drained. May call back.
    virtual void job_drained(std::uint32_t server, std::uint32_t id, Time end) = 0;
    /// The job ended at `end` after only `blocks` blocks, which were told. May call back.
    virtual void job_given_up(std::uint32_t server, std::uint32_t id, std::uint32_t blocks,
                              FlowEnd reason, Time end) = 0;
};

class FlowServers {
public:
    /// Resource capacities in units per second (bytes per second where the unit is a byte).
    FlowServers(std::array<std::uint64_t, kFlowResources> capacity,
                std::vector<FlowServerConfig> servers, FlowClient& client);

    /// Lowers the cap of a server that has had no job yet.
    void limit_cap(std::uint32_t server, Rate cap);

    // Calls of one set come in order of time: `now` must not lie before the last call's.

    /// Queues a job. Its id must not be that of another job of this server.
    void push(std::uint32_t server, const FlowJob& job, Time now);
    /// Gives up a job, told as kCancelled: at once where it waits, else once what is under way of
    /// it has drained, and not at all if that is all of it. False for an id that is not there.
    bool cancel(std::uint32_t server, std::uint32_t id, Time now);
    /// Makes a job as urgent as `urgency`, where it is less. False where it is given up already,
    /// and what is under way of it drains.
    bool raise(std::uint32_t server, std::uint32_t id, const FlowUrgency& urgency, Time now);
    /// A destination takes nothing more, or does so again. What drains to it stops where it is.
    void stall(std::uint32_t server, std::uint16_t destination, bool stalled, Time now);
    /// Stops a server where it is (its link is down), or lets it go on.
    void stop(std::uint32_t server, bool stopped, Time now);

    /// What the host takes of each resource before any server, in units per second.
    void set_host_load(const std::array<std::uint64_t, kFlowResources>& load, Time now);

    /// Gives up all jobs of a server: what has drained by `now` is emitted first. Returns their
    /// ids, those under way first, then those that wait in order of arrival.
    std::vector<std::uint32_t> drop(std::uint32_t server, Time now);

    /// Emits all that has drained by `now` and starts what waits.
    void advance(Time now);

    /// When to call advance() next: a job gives way or ends at today's rates, or one that waits may
    /// start or is given up. Time::never() while nothing of that comes.
    [[nodiscard]] Time next_end() const;

    /// The payload rate of a server now; zero while it is idle.
    [[nodiscard]] Rate rate(std::uint32_t server) const;
    [[nodiscard]] bool busy(std::uint32_t server) const { return m_servers[server].busy; }
    /// Time for which a server has had a job to drain, up to the last call of advance.
    [[nodiscard]] Time busy_time(std::uint32_t server) const { return m_servers[server].busy_time; }
    [[nodiscard]] Bytes drained(std::uint32_t server) const;
    /// What is under way in a server beyond what has drained, at the last call's time: a job that
    /// gives way does so behind it.
    [[nodiscard]] Bytes under_way(std::uint32_t server) const;
    /// Units of a resource that the servers use per second.
    [[nodiscard]] std::uint64_t transfers(std::size_t resource) const {
        return m_transfers[m_active][resource];
    }
    /// The same, what the host takes included.
    [[nodiscard]] std::uint64_t in_use(std::size_t resource) const {
        return m_host_load[resource] + transfers(resource);
    }

private:
    /// How far a job has come.
    struct Progress {
        std::uint32_t id = 0;
        std::uint32_t blocks = 0;  ///< told
        Time block_start;          ///< of the next
    };
    /// A grant that drains, or does so next.
    struct Stretch {
        FlowGrant grant;
        bool given_up = false;  ///< the job ends with it, for `reason`
        FlowEnd reason = FlowEnd::kCancelled;
    };
    struct Server {
        FlowServerConfig config;
        FlowQueue* queue = nullptr;
        bool busy = false;
        bool stopped = false;
        Stretch current;
        Progress progress;                ///< of the current job
        Uint128 done = 0;                 ///< work of the current job
        std::vector<Stretch> committed;   ///< go next, before anything in the queue
        std::vector<Progress> suspended;  ///< begun jobs that are not current
        Time busy_since = Time::never();
        Time wake = Time::never();     ///< idle: when something may start
        Time timeout = Time::never();  ///< when something that waits is given up
        std::uint64_t rate = 0;        ///< payload bytes per second
        Time end = Time::never();      ///< of the current stretch
        Time busy_time;
        Uint128 drained = 0;  ///< of all jobs, in work
    };
    struct Ended {
        std::uint32_t server = 0;
        std::uint32_t id = 0;
        std::uint32_t blocks = 0;  ///< drained
        bool complete = false;
        FlowEnd reason = FlowEnd::kCancelled;
        Time end;
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
    const Rates& rates_of(std::uint32_t active);

    void settle(Time to);
    void emit_blocks(std::uint32_t index, Time to);
    void start_next(std::uint32_t index);
    void begin(Server& server, const Stretch& stretch);
    void finish(std::uint32_t index);
    void wake_up(std::uint32_t index, Time at);
    void rerate();
    void tell();
    void run(std::uint32_t index);
    [[nodiscard]] bool take(std::uint32_t index, Time begins, FlowGrant& grant);
    void collect_given_up(std::uint32_t index);
    void give_up(std::uint32_t index, std::uint32_t id, FlowEnd reason);
    void commit_window(std::uint32_t index);
    void give_way(std::uint32_t index, const FlowJob& arrived);
    void put_back_stalled(std::uint32_t index, std::uint16_t destination);
    void suspend(Server& server);

    [[nodiscard]] Uint128 lead(const Server& server) const;
    [[nodiscard]] static Uint128 left_before(const Server& server, std::size_t place);
    [[nodiscard]] Uint128 reached(const Server& server, std::size_t place) const;
    /// The stretches of a server by place: 0 is the current one, then those committed.
    [[nodiscard]] static Stretch& stretch(Server& server, std::size_t place) {
        return place == 0 ? server.current : server.committed[place - 1];
    }
    [[nodiscard]] static std::size_t place_of(const Server& server, std::uint32_t id);

    std::vector<Server> m_servers;
    std::vector<std::unique_ptr<FlowFifo>> m_fifos;
    FlowClient& m_client;
    Capacity m_capacity;
    Capacity m_host_load{};
    std::array<Rates, 1U << kFlowServers> m_rates{};
    std::array<bool, 1U << kFlowServers> m_known{};
    std::array<Capacity, 1U << kFlowServers> m_transfers{};
    std::uint32_t m_active = 0;  ///< servers that drain, at today's rates
    Time m_now;
    std::vector<Ended> m_ended;  ///< jobs whose client has not been told
    std::size_t m_told = 0;
};

}  // namespace kvplane
