// SPDX-License-Identifier: Apache-2.0
/// Traffic for one subchannel that is meant to find trouble: phases of streams, hot rows, hot banks
/// and scattered lines, reads, writes and partial writes, bursts and idle gaps from a cycle to
/// milliseconds. Each request must be answered once, and not at once.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "model/common/random.h"
#include "model/memory/ddr5_subchannel.h"

namespace kvplane::test {

class RandomTraffic {
public:
    RandomTraffic(const memory::Ddr5Config& config, std::uint64_t seed,
                  memory::DramObserver* observer = nullptr, Time step = Time::never())
        : m_config(config),
          m_channel(config, observer),
          m_random(seed, "random traffic"),
          m_step(step) {}

    /// Sends `requests`, waits for all answers, and returns when the last one came.
    Time run(std::uint32_t requests) {
        for (std::uint32_t i = 0; i < requests; ++i) {
            if (m_random.uniform(64) == 0) new_phase();
            wait(gap());
            const memory::LineRequest request{next_line(), next_op(), i};
            while (!m_channel.can_accept(request.op)) take_answers(look(true));
            m_sent.push_back(m_now);
            m_is_read.push_back(request.op == memory::LineOp::kRead);
            m_answered.push_back(0);
            m_channel.submit(m_now, request);
        }
        for (Time at; (at = m_channel.next_event(false)) != Time::never();) take_answers(at);
        for (std::uint32_t i = 0; i < requests; ++i) {
            EXPECT_EQ(m_answered[i], 1) << "request " << i;
        }
        EXPECT_EQ(m_channel.counters().answers, requests);
        return m_now;
    }

    [[nodiscard]] memory::Ddr5Subchannel& channel() { return m_channel; }
    /// Sum of all answer times: two runs that differ anywhere differ here.
    [[nodiscard]] std::uint64_t digest() const { return m_digest; }

private:
    enum class Phase : std::uint8_t { kStream, kHotRow, kHotBank, kScattered };

    void new_phase() {
        m_phase = static_cast<Phase>(m_random.uniform(4));
        m_base = m_random.uniform(m_config.data_lines());
        m_write_share = m_random.uniform(101);
        m_gap_kind = m_random.uniform(40);
    }
    std::uint64_t next_line() {
        const std::uint64_t lines = m_config.data_lines();
        switch (m_phase) {
            case Phase::kStream:
                return ++m_base % lines;
            case Phase::kHotRow:
                return (m_base + m_random.uniform(32)) % lines;
            case Phase::kHotBank:  // lines a power of two apart
                return (m_base + (m_random.uniform(16) << 18U)) % lines;
            case Phase::kScattered:
                return m_random.uniform(lines);
        }
        return 0;
    }
    memory::LineOp next_op() {
        if (m_random.uniform(100) >= m_write_share) return memory::LineOp::kRead;
        return m_random.uniform(8) == 0 ? memory::LineOp::kPartialWrite : memory::LineOp::kWrite;
    }
    /// When to look at the channel next: when it asks for it, and a `step` from now.
    Time look(bool blocked) {
        const Time event = m_channel.next_event(blocked);
        return m_step == Time::never() ? event : std::min(event, m_now + m_step);
    }
    Time gap() {
        if (m_gap_kind < 20) return {};
        if (m_gap_kind < 38) {
            return {static_cast<std::int64_t>(m_random.uniform(20'000))};
        }
        // Long enough for refreshes to pile up; rarely, else runs take all day.
        if (m_random.uniform(8) != 0) return {};
        return m_random.exponential(Time::from_us(m_gap_kind == 38 ? 5 : 500));
    }
    void wait(Time gap) {
        const Time until = m_now + gap;
        while (true) {
            const Time event = look(false);
            if (event >= until) break;
            take_answers(event);
        }
        take_answers(until);
    }
    void take_answers(Time at) {
        if (at < m_now || at == Time::never()) throw std::logic_error("time runs backwards");
        m_now = at;
        m_channel.advance(at);
        while (const auto answer = m_channel.pop_answer(at)) {
            ++m_answered[answer->tag];
            m_digest = m_digest * 0x9E3779B97F4A7C15ULL +
                       static_cast<std::uint64_t>(answer->at.ps) + answer->tag;
            const memory::DramTiming& t = m_config.timing;
            // A read takes at least its burst, from wherever; a write is taken in the next cycle.
            const memory::Cycle least = m_is_read[answer->tag] ? t.burst : 1;
            EXPECT_GE(answer->at, m_sent[answer->tag] + m_channel.clock().at(least));
        }
    }

    memory::Ddr5Config m_config;
    memory::Ddr5Subchannel m_channel;
    RandomStream m_random;
    Time m_step;
    Phase m_phase = Phase::kStream;
    std::uint64_t m_base = 0;
    std::uint64_t m_write_share = 30;
    std::uint64_t m_gap_kind = 0;
    Time m_now;
    std::vector<Time> m_sent;
    std::vector<bool> m_is_read;
    std::vector<int> m_answered;
    std::uint64_t m_digest = 0;
};

}  // namespace kvplane::test
