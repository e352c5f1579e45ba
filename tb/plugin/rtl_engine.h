// SPDX-License-Identifier: Apache-2.0
/// The verilated lookup engine behind TableEngine.
///
/// Edges are multiples of the period. A request is presented from the first edge at or after its
/// time on, or from the edge after the one that took the request before it; the answer's time is
/// that of the edge after which it is valid. The clock runs only while a request waits or the
/// engine is not idle: an idle engine is a fixed point.
///
/// The caller needs the answer at once, but may submit the next request for an edge that lies
/// before it. So the engine is clocked ahead until the answer is there, and taken back to the
/// accepting edge where a request comes for an edge that has passed (RewindableDut). Requests that
/// were announced are presented while it runs ahead, as they will come; what comes true is not
/// clocked twice.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/index/config.h"
#include "model/index/table_engine.h"
#include "model/index/toeplitz.h"
#include "tb/plugin/lookup_dut.h"

namespace kvplane::rtl {

/// Events since the engine was made.
struct RtlCounters {
    std::uint64_t requests = 0;
    std::uint64_t lookups = 0;
    std::uint64_t lookup_cycles = 0;  ///< from the first edge that could take each to its answer
    std::uint64_t lookup_ps = 0;      ///< from submission to answer
    std::uint64_t rewinds = 0;
    std::uint64_t ahead = 0;  ///< requests that had been accepted ahead of their call
};

/// What of `config` the verilated engine cannot be, for the user; nothing where it fits.
[[nodiscard]] std::optional<std::string> misfit(const index::IndexConfig& config);

class RtlEngine final : public index::TableEngine {
public:
    /// Of edges since time zero.
    using Edge = std::int64_t;
    /// A request as the engine took it: what a replay needs.
    struct Taken {
        index::Request request;
        Edge presented = 0;
        Edge accepted = 0;
        std::uint8_t id = 0;
    };

    /// `config` must fit (misfit()). Throws InvariantError.
    explicit RtlEngine(const index::IndexConfig& config);

    index::TimedAnswer submit(const index::Request& request, Time at) override;
    void announce(std::span<const index::Request> requests, Time at) override;
    void clear() override;
    [[nodiscard]] std::uint32_t latency_cycles() const override { return kCardShape.latency(); }
    [[nodiscard]] std::uint64_t size() const override { return m_size; }
    [[nodiscard]] index::Status peek(std::uint64_t key) override;
    [[nodiscard]] std::optional<std::uint64_t> victim_for(std::uint64_t key) override;

    [[nodiscard]] Edge edge_at_or_after(Time at) const {
        return (at.ps + m_period.ps - 1) / m_period.ps;
    }
    [[nodiscard]] Time time_of(Edge edge) const { return {edge * m_period.ps}; }
    [[nodiscard]] Time period() const { return m_period; }
    [[nodiscard]] const RtlCounters& counters() const { return m_counters; }
    /// Rising edges the verilated engine was given, those taken back included.
    [[nodiscard]] std::uint64_t clocked() const { return m_dut->cycles(); }
    /// For tests: clocks every edge, idle or not.
    void run_free() { m_free_running = true; }

private:
    struct Wanted {
        index::Request request;
        Edge from = 0;
    };
    struct Answered {
        bool valid = false;
        index::Answer answer;
        Edge done = 0;
    };
    struct Bucket {
        std::uint32_t half = 0;
        std::uint64_t number = 0;
    };

    [[nodiscard]] bool came_true(const index::Request& request, Edge from) const;
    void forget_ahead(Edge from);
    void take_back();
    void mark();
    void clock();
    [[nodiscard]] std::array<Bucket, 2> buckets_of(std::uint64_t key) const;
    void count(const index::Request& request, const index::Answer& answer);

    Time m_period;
    std::unique_ptr<RewindableDut> m_dut;
    std::array<index::Toeplitz, 2> m_hash;
    Edge m_edge = 0;   ///< the next
    Edge m_last = -1;  ///< that took the last request submitted
    std::uint8_t m_next_id = 0;
    Edge m_marked_edge = 0;
    std::uint8_t m_marked_id = 0;
    std::vector<Wanted> m_wanted;  ///< to be presented, in order
    std::size_t m_first = 0;       ///< of them, not accepted yet
    bool m_presenting = false;
    Edge m_presented = 0;        ///< since when
    std::vector<Taken> m_taken;  ///< since the mark
    std::size_t m_consumed = 0;  ///< of them, submitted; the others ran ahead
    std::array<Answered, 256> m_answers;
    bool m_free_running = false;
    std::uint64_t m_size = 0;
    std::uint64_t m_random = 1;
    RtlCounters m_counters;
};

}  // namespace kvplane::rtl
