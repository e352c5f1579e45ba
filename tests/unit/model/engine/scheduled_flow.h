// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/common/flow_server.h"
#include "model/engine/scheduler.h"

namespace kvplane::engine::test {

/// 52.4288 GB/s: a block of 5 MiB takes 100 us.
inline constexpr Rate kLinkRate{52'428'800'000};
inline constexpr Bytes kBlock = Bytes::from_mib(5);

/// One direction: a link behind a scheduler, and what it tells.
class ScheduledFlow final : private FlowClient {
public:
    struct Drained {
        std::uint32_t id = 0;
        std::uint32_t block = 0;
        Time start;
        Time end;
    };
    struct Ended {
        std::uint32_t id = 0;
        std::uint32_t blocks = 0;
        bool complete = false;
        FlowEnd reason = FlowEnd::kCancelled;
        Time at;
    };

    explicit ScheduledFlow(const SchedulerConfig& config = {}, FlowServerConfig server = {},
                           Rate rate = kLinkRate)
        : scheduler(config), flow({rate.bytes_per_second, 0, 0, 0}, {with(server)}, *this) {}

    void push(const FlowJob& job, Time now = {}) {
        m_jobs.push_back(job);
        flow.push(0, job, now);
    }
    /// Blocks that drained behind their deadline, or not at all.
    [[nodiscard]] std::uint64_t missed() const {
        std::uint64_t count = 0;
        for (const FlowJob& job : m_jobs) {
            if (job.deadline == Time::never()) continue;
            count += job.blocks;
            for (const Drained& block : drained) {
                count -= block.id == job.id && block.end <= job.deadline ? 1 : 0;
            }
        }
        return count;
    }
    /// Plays until nothing more comes.
    Time finish() {
        Time last{};
        while (flow.next_end() != Time::never()) flow.advance(last = flow.next_end());
        return last;
    }
    /// Plays up to `now`, as a card does.
    void until(Time now) {
        while (flow.next_end() <= now) flow.advance(flow.next_end());
        flow.advance(now);
    }
    [[nodiscard]] std::vector<std::uint32_t> order() const {
        std::vector<std::uint32_t> ids;
        for (const Ended& job : ended) ids.push_back(job.id);
        return ids;
    }

    std::vector<Drained> drained;
    std::vector<Ended> ended;
    Scheduler scheduler;
    FlowServers flow;

private:
    FlowServerConfig with(FlowServerConfig server) {
        server.share[0] = std::uint64_t{1} << 32;
        server.queue = &scheduler;
        return server;
    }
    void block_drained(std::uint32_t, std::uint32_t id, std::uint32_t block, Time start,
                       Time end) override {
        drained.push_back({id, block, start, end});
    }
    void job_drained(std::uint32_t, std::uint32_t id, Time end) override {
        std::uint32_t blocks = 0;
        for (const Drained& block : drained) blocks += block.id == id ? 1 : 0;
        ended.push_back({id, blocks, true, {}, end});
    }
    void job_given_up(std::uint32_t, std::uint32_t id, std::uint32_t blocks, FlowEnd reason,
                      Time end) override {
        ended.push_back({id, blocks, false, reason, end});
    }

    std::vector<FlowJob> m_jobs;
};

}  // namespace kvplane::engine::test
