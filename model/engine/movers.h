// SPDX-License-Identifier: Apache-2.0
/// The four movers of a card and what they share: the wire each way, DRAM and codec lanes. A mover
/// drains one job at a time. The card's own take theirs from a Scheduler each, a host-side mover's
/// copies run in order of arrival.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/codec/unit.h"
#include "model/common/flow_server.h"
#include "model/cxl/link.h"
#include "model/engine/config.h"
#include "model/engine/scheduler.h"
#include "model/memory/ddr5_interleave.h"
#include "model/memory/dram.h"

namespace kvplane::engine {

enum Mover : std::uint32_t {
    kPush = 0,       ///< the card's DMA writes: promotions
    kPull = 1,       ///< the card's DMA reads: demotions
    kBulkRead = 2,   ///< CXL.mem reads by a copy engine
    kBulkWrite = 3,  ///< CXL.mem writes by a copy engine
    kMove = 4,       ///< from one place of the tier to another
};

enum MoverResource : std::size_t { kUplink = 0, kDownlink = 1, kDram = 2, kLanes = 3 };

struct MoversConfig {
    EngineConfig engine;
    cxl::LinkConfig link;
    codec::UnitConfig codec;
    memory::DramConfig dram;
    Time flight;  ///< one way
    /// Where the lines of the card's memory are: LineMovers instead of flows.
    std::optional<memory::Ddr5Interleave> lines;
};

/// A DMA read of the card: request, access, data.
[[nodiscard]] inline Time dma_round_trip(const MoversConfig& config) {
    return config.flight * 2 + config.engine.host_memory;
}

/// Jobs go in, and a FlowClient hears what becomes of them. Ids of one mover's jobs are small and
/// differ; `now` never lies before that of an earlier call.
class Movers {
public:
    virtual ~Movers() = default;

    /// Lowers the cap of a mover that has had no job yet.
    virtual void limit_cap(std::uint32_t mover, Rate cap) = 0;
    /// Whether push() comes before the first data is read (promotions) or asked for (demotions),
    /// or once it is there.
    [[nodiscard]] virtual bool reads_ahead() const { return false; }
    /// Queues a job.
    virtual void push(std::uint32_t mover, const FlowJob& job, Time now) = 0;
    /// Gives up a job. What is under way of it still drains; with all of it under way, it ends as
    /// if nothing had been said. False for an id that is not there.
    virtual bool cancel(std::uint32_t mover, std::uint32_t id, Time now) = 0;
    /// Makes a job as urgent as `urgency`, where it is less, in class and deadline, and drops it no
    /// sooner: a prefetch becomes demand, a demotion inherits from the promotion that waits for it.
    /// False where the job is given up already, and what is under way of it drains.
    virtual bool raise(std::uint32_t mover, std::uint32_t id, const FlowUrgency& urgency,
                       Time now) = 0;
    /// A destination takes nothing more, or does so again: its jobs wait, and are given up after
    /// SchedulerConfig::stall_timeout.
    virtual void stall(std::uint32_t mover, std::uint16_t destination, bool stalled, Time now) = 0;
    /// Stops a mover where it is (its link is down), or lets it go on.
    virtual void stop(std::uint32_t mover, bool stopped, Time now) = 0;
    /// Gives up all jobs of a mover, without telling the client; returns their ids, those under way
    /// first.
    virtual std::vector<std::uint32_t> drop(std::uint32_t mover, Time now) = 0;

    /// What the host's lines take of each resource before any mover, in units per second.
    virtual void set_host_load(const std::array<std::uint64_t, kFlowResources>& load, Time now) = 0;
    /// Lets all happen that is due by `now`.
    virtual void advance(Time now) = 0;
    /// When to call advance() next; Time::never() where nothing comes.
    [[nodiscard]] virtual Time next_end() const = 0;

    /// The payload rate of a mover now; zero while it is idle.
    [[nodiscard]] virtual Rate rate(std::uint32_t mover) const = 0;
    [[nodiscard]] virtual bool busy(std::uint32_t mover) const = 0;
    /// Time for which a mover has had something to drain, up to the last call.
    [[nodiscard]] virtual Time busy_time(std::uint32_t mover) const = 0;
    [[nodiscard]] virtual Bytes drained(std::uint32_t mover) const = 0;
    /// Units of a resource that the movers use per second.
    [[nodiscard]] virtual std::uint64_t transfers(std::size_t resource) const = 0;
    /// The same, what the host takes included.
    [[nodiscard]] virtual std::uint64_t in_use(std::size_t resource) const = 0;
    /// kPush or kPull.
    [[nodiscard]] virtual const Scheduler& scheduler(std::uint32_t mover) const = 0;
};

/// Movers as flows.
class FlowMovers final : public Movers {
public:
    FlowMovers(const MoversConfig& config, FlowClient& client);

    void limit_cap(std::uint32_t mover, Rate cap) override { m_flows.limit_cap(mover, cap); }
    void push(std::uint32_t mover, const FlowJob& job, Time now) override {
        m_flows.push(mover, job, now);
    }
    bool cancel(std::uint32_t mover, std::uint32_t id, Time now) override {
        return m_flows.cancel(mover, id, now);
    }
    bool raise(std::uint32_t mover, std::uint32_t id, const FlowUrgency& urgency,
               Time now) override {
        return m_flows.raise(mover, id, urgency, now);
    }
    void stall(std::uint32_t mover, std::uint16_t destination, bool stalled, Time now) override {
        m_flows.stall(mover, destination, stalled, now);
    }
    void stop(std::uint32_t mover, bool stopped, Time now) override {
        m_flows.stop(mover, stopped, now);
    }
    std::vector<std::uint32_t> drop(std::uint32_t mover, Time now) override {
        return m_flows.drop(mover, now);
    }
    void set_host_load(const std::array<std::uint64_t, kFlowResources>& load, Time now) override {
        m_flows.set_host_load(load, now);
    }
    void advance(Time now) override { m_flows.advance(now); }
    [[nodiscard]] Time next_end() const override { return m_flows.next_end(); }
    [[nodiscard]] Rate rate(std::uint32_t mover) const override { return m_flows.rate(mover); }
    [[nodiscard]] bool busy(std::uint32_t mover) const override { return m_flows.busy(mover); }
    [[nodiscard]] Time busy_time(std::uint32_t mover) const override {
        return m_flows.busy_time(mover);
    }
    [[nodiscard]] Bytes drained(std::uint32_t mover) const override {
        return m_flows.drained(mover);
    }
    [[nodiscard]] std::uint64_t transfers(std::size_t resource) const override {
        return m_flows.transfers(resource);
    }
    [[nodiscard]] std::uint64_t in_use(std::size_t resource) const override {
        return m_flows.in_use(resource);
    }
    [[nodiscard]] const Scheduler& scheduler(std::uint32_t mover) const override {
        return m_schedulers[mover];
    }

    [[nodiscard]] const FlowServers& flows() const { return m_flows; }

private:
    std::array<Scheduler, 2> m_schedulers;  ///< of kPush, kPull
    FlowServers m_flows;
};

}  // namespace kvplane::engine
