// SPDX-License-Identifier: Apache-2.0
/// When a single CXL.mem access is answered, in closed form: both wires and the memory as servers,
/// without forming flits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "model/cxl/line_memory_if.h"
#include "model/cxl/link.h"
#include "model/cxl/mem_core.h"

namespace kvplane::cxl {

class BurstPath {
public:
    BurstPath(const LinkConfig& config, Time processing, LineMemoryIf& memory)
        : m_memory(memory), m_flight(config.propagation + processing) {
        const Link link(config);
        const auto a_line = [&](WireCost cost) {
            const Uint128 work =
                static_cast<Uint128>(cost.wire) * kLine.count * kUnits * 1'000'000'000'000ULL;
            return static_cast<std::uint64_t>(work / cost.payload /
                                              link.wire_rate().bytes_per_second);
        };
        m_request = a_line(link.mem_read_request());
        m_write = a_line(link.mem_write_data());
        m_data = a_line(link.mem_read_data());
        m_completion = a_line(link.mem_write_response());
    }

    /// A message without data (BISnp, BIRsp) that is sent at `at` is there at the returned time.
    [[nodiscard]] Time message(Direction direction, Time at) {
        return cross(direction, m_request, at) + m_flight;
    }

    /// What becomes of a request.
    struct Passage {
        Time arrived;       ///< in the card
        Time waited_until;  ///< it waits in the card's queues, for memory and wire, until then
        Time answered;      ///< its answer is back at the host
    };
    /// A request that the host sends at `at`. Wires serve in the order of the calls.
    [[nodiscard]] Passage access(const MemOutcome& outcome, Time at) {
        Passage passage;
        passage.arrived = cross(Direction::kToCard, cost_there(outcome), at) + m_flight;
        Time done = passage.arrived;
        passage.waited_until = passage.arrived;
        if (outcome.access) {
            done = m_memory.access_line(passage.arrived, outcome.line, outcome.write);
            passage.waited_until = done - m_memory.idle_latency();
        }
        passage.answered = done;
        if (!outcome.answered) return passage;
        const std::uint64_t cost = outcome.data ? m_data : m_completion;
        const Time left = cross(Direction::kToHost, cost, done);
        passage.waited_until += left - done - time_of(cost);
        passage.answered = left + m_flight;
        return passage;
    }

private:
    /// Units of a picosecond: rates stay exact to 10^-4.
    static constexpr std::uint64_t kUnits = 64;

    [[nodiscard]] std::uint64_t cost_there(const MemOutcome& outcome) const {
        return channel_of(outcome.opcode) == Channel::kRwD ? m_write : m_request;
    }
    [[nodiscard]] static Time time_of(std::uint64_t cost) {
        return {static_cast<std::int64_t>((cost + kUnits - 1) / kUnits)};
    }
    [[nodiscard]] Time cross(Direction direction, std::uint64_t cost, Time at) {
        std::uint64_t& free_at = m_free_at[static_cast<std::size_t>(direction)];
        const Time ready = at + m_memory.wire_wait(direction);
        free_at = std::max(free_at, static_cast<std::uint64_t>(ready.ps) * kUnits) + cost;
        return {static_cast<std::int64_t>((free_at + kUnits - 1) / kUnits)};
    }

    LineMemoryIf& m_memory;
    Time m_flight;
    std::uint64_t m_request = 0;  ///< units on the wire
    std::uint64_t m_write = 0;
    std::uint64_t m_data = 0;
    std::uint64_t m_completion = 0;
    std::array<std::uint64_t, 2> m_free_at{};  ///< by direction, in units
};

}  // namespace kvplane::cxl
