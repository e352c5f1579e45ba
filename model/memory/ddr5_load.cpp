// SPDX-License-Identifier: Apache-2.0
#include "model/memory/ddr5_load.h"

#include <algorithm>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"

namespace kvplane::memory {
namespace {

constexpr std::uint32_t kMostRate = 1'500'000;  ///< ppm of the pins; above, arrivals have no gaps

/// Requests in order, with the time at which each is generated.
class Source {
public:
    Source(const Ddr5Config& config, const DramLoad& load)
        : m_load(load),
          m_lines(std::min(load.span / kLine, config.data_lines())),
          m_random(load.seed, "dram load"),
          m_period(std::uint64_t{load.reads} + load.writes) {
        // Poisson arrivals on whole cycles: one at most in each.
        if (load.rate.ppm != 0) {
            const double mean = static_cast<double>(config.timing.burst) * 1e6 / load.rate.ppm;
            m_gap = {static_cast<std::int64_t>((mean - 0.5) * kFine)};
        }
        step();
    }

    [[nodiscard]] bool more() const { return m_generated <= m_load.warm_up + m_load.requests; }
    [[nodiscard]] const LineRequest& next() const { return m_next; }
    [[nodiscard]] Cycle due() const { return m_due; }

    void step() {
        const std::uint64_t n = m_generated++;
        const bool sequential = m_load.pattern == DramPattern::kSequential;
        m_next = {.line = sequential ? n % m_lines : m_random.uniform(m_lines),
                  .op = n % m_period < m_load.reads ? LineOp::kRead : LineOp::kWrite,
                  .tag = static_cast<std::uint32_t>(n)};
        if (m_gap != Time{}) m_due += m_random.exponential(m_gap).ps / kFine + 1;
    }

private:
    static constexpr std::int64_t kFine = 1000;  ///< parts of a cycle

    DramLoad m_load;
    std::uint64_t m_lines;
    RandomStream m_random;
    std::uint64_t m_period;
    Time m_gap;  ///< mean, in parts of a cycle
    std::uint64_t m_generated = 0;
    LineRequest m_next;
    Cycle m_due = 0;
};

class Bench {
public:
    Bench(const Ddr5Config& config, const DramLoad& load, DramObserver* observer)
        : m_load(load),
          m_channel(config, observer),
          m_source(config, load),
          m_generated(load.warm_up + load.requests + 1) {}

    DramMeasure run() {
        while (m_source.more()) {
            submit_due();
            take_answers(step());
        }
        measure_moved();
        for (Time at; (at = m_channel.next_event(false)) != Time::never();) take_answers(at);
        m_measure.counters = m_channel.counters();
        m_measure.duration = m_now;
        return std::move(m_measure);
    }

private:
    void submit_due() {
        while (m_source.more() && m_channel.clock().at(m_source.due()) <= m_now &&
               m_channel.can_accept(m_source.next().op)) {
            const LineRequest request = m_source.next();
            m_generated[request.tag] = {
                m_load.rate.ppm == 0 ? m_now : m_channel.clock().at(m_source.due()),
                request.op == LineOp::kRead};
            if (m_measure.requests == m_load.warm_up) m_start = m_now;
            ++m_measure.requests;
            if (m_measure.requests > m_load.warm_up) ++m_moved[request.op != LineOp::kRead];
            m_channel.submit(m_now, request);
            m_source.step();
        }
        m_last = m_now;
    }

    /// The next time at which something changes.
    [[nodiscard]] Time step() {
        if (!m_source.more()) return m_now;
        const Time due = m_channel.clock().at(m_source.due());
        const bool blocked = due <= m_now;
        const Time event = m_channel.next_event(blocked);
        return std::max(m_now, blocked ? event : std::min(event, due));
    }

    void take_answers(Time at) {
        m_now = at;
        m_channel.advance(at);
        while (const auto answer = m_channel.pop_answer(at)) {
            ++m_measure.answers;
            const Generated& from = m_generated[answer->tag];
            if (from.read && answer->tag >= m_load.warm_up) {
                m_measure.read_latency.add(answer->at - from.at);
            }
        }
    }

    /// All requests are in: what was moved since the end of the warm-up.
    void measure_moved() {
        const auto time = static_cast<Uint128>(std::max<std::int64_t>(1, (m_last - m_start).ps));
        const auto rate = [&](std::uint64_t lines) {
            const Uint128 bytes = static_cast<Uint128>(lines) * kLine.count * 1'000'000'000'000U;
            return Rate{static_cast<std::uint64_t>(bytes / time)};
        };
        m_measure.reads = rate(m_moved[0]);
        m_measure.writes = rate(m_moved[1]);
    }

    struct Generated {
        Time at;
        bool read = false;
    };

    DramLoad m_load;
    Ddr5Subchannel m_channel;
    Source m_source;
    std::vector<Generated> m_generated;  ///< by tag
    DramMeasure m_measure;
    Time m_now;
    Time m_start;
    Time m_last;
    std::uint64_t m_moved[2] = {0, 0};  ///< lines read and written after the warm-up
};

}  // namespace

DramMeasure measure_dram(const Ddr5Config& config, const DramLoad& load, DramObserver* observer) {
    if (load.reads + load.writes == 0 || load.requests == 0 || load.span < kLine ||
        load.rate.ppm > kMostRate) {
        throw InvariantError("dram load: no requests, no span, or a rate beyond 150 %");
    }
    return Bench(config, load, observer).run();
}

}  // namespace kvplane::memory
