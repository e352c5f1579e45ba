// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <vector>

#include "model/common/flow_server.h"

namespace kvplane {

/// One thing that left a server: a block, or the end of a job.
struct FlowEvent {
    std::uint32_t id = 0;
    std::int64_t block = -1;  ///< -1: the job's end
    Time start{};
    Time end{};
    auto operator<=>(const FlowEvent&) const = default;
};

inline void PrintTo(const FlowEvent& event, std::ostream* out) {
    *out << event.id << '.' << event.block << " [" << event.start.ps << ' ' << event.end.ps << ']';
}

/// A job that ended early.
struct FlowGivenUp {
    std::uint32_t id = 0;
    std::uint32_t blocks = 0;
    FlowEnd reason = FlowEnd::kCancelled;
    Time end{};
    auto operator<=>(const FlowGivenUp&) const = default;
};

/// Writes down what leaves each server, in the order in which it is told.
class FlowRecorder final : public FlowClient {
public:
    void block_drained(std::uint32_t server, std::uint32_t id, std::uint32_t block, Time start,
                       Time end) override {
        events[server].push_back({id, block, start, end});
    }
    void job_drained(std::uint32_t server, std::uint32_t id, Time end) override {
        events[server].push_back({id, -1, {}, end});
        if (on_end) on_end(server, end);
    }

    void job_given_up(std::uint32_t server, std::uint32_t id, std::uint32_t blocks, FlowEnd reason,
                      Time end) override {
        given_up[server].push_back({id, blocks, reason, end});
        if (on_end) on_end(server, end);
    }

    std::array<std::vector<FlowEvent>, kFlowServers> events;
    std::array<std::vector<FlowGivenUp>, kFlowServers> given_up;
    std::function<void(std::uint32_t server, Time end)> on_end;
};

}  // namespace kvplane
