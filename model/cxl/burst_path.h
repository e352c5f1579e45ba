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
        // A message is there with the last of the flits that hold its slots.
        const std::uint64_t flit = a_line({link.flit_bytes(), kLine.count});
        const std::uint64_t line = config.flit == FlitLayout::k68B ? 2 * flit : flit;
        m_request = {a_line(link.mem_read_request()), flit};
        m_write = {a_line(link.mem_write_data()), line};
        m_data = {a_line(link.mem_read_data()), line};
        m_completion = {a_line(link.mem_write_response()), flit, true};
    }

    /// A message without data (BISnp, BIRsp) that is sent at `at` is there at the returned time.
    [[nodiscard]] Time message(Direction direction, Time at) {
        return cross(direction, m_request, at) + m_flight;
    }

    /// When a request that the host sends at `at` is in the card. Wires serve in the order of the
    /// calls.
    [[nodiscard]] Time request(const MemOutcome& outcome, Time at) {
        return cross(Direction::kToCard, message_there(outcome), at) + m_flight;
    }
    struct Answer {
        Time waited;    ///< for the wire
        Time answered;  ///< back at the host
    };
    /// The answer of a request that the memory is done with at `done`.
    [[nodiscard]] Answer answer(const MemOutcome& outcome, Time done) {
        if (!outcome.answered) return {{}, done};
        const Message& message = outcome.data ? m_data : m_completion;
        const Time left = cross(Direction::kToHost, message, done);
        return {left - done - time_of(message.flits), left + m_flight};
    }

private:
    /// Units of a picosecond: rates stay exact to 10^-4.
    static constexpr std::uint64_t kUnits = 64;

    /// In units on the wire.
    struct Message {
        std::uint64_t cost = 0;    ///< beside others
        std::uint64_t flits = 0;   ///< from its first slot to the end of its last flit, alone
        bool beside_data = false;  ///< finds a place in the next flit, whatever data waits
    };

    [[nodiscard]] const Message& message_there(const MemOutcome& outcome) const {
        return channel_of(outcome.opcode) == Channel::kRwD ? m_write : m_request;
    }
    [[nodiscard]] static Time time_of(std::uint64_t cost) {
        return {static_cast<std::int64_t>((cost + kUnits - 1) / kUnits)};
    }
    [[nodiscard]] Time cross(Direction direction, const Message& message, Time at) {
        std::uint64_t& free_at = m_free_at[static_cast<std::size_t>(direction)];
        const Time ready = at + m_memory.wire_wait(direction);
        const std::uint64_t earliest = static_cast<std::uint64_t>(ready.ps) * kUnits;
        std::uint64_t start = std::max(free_at, earliest);
        free_at = start + message.cost;
        if (message.beside_data) start = std::min(start, earliest + message.flits);
        return time_of(start + message.flits);
    }

    LineMemoryIf& m_memory;
    Time m_flight;
    Message m_request;
    Message m_write;
    Message m_data;
    Message m_completion;
    std::array<std::uint64_t, 2> m_free_at{};  ///< by direction, in units
};

}  // namespace kvplane::cxl
