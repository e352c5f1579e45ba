// SPDX-License-Identifier: Apache-2.0
/// The verilated lookup engine behind TableEngine.
///
/// Edges are multiples of the period. A request is presented from the first edge at or after its
/// time on, or from the edge after the one that took the request before it. The clock runs only
/// while a request waits or the engine is not idle: an idle engine is a fixed point.
///
/// The caller needs the answer at once, but the next request may come for an edge before it. When
/// an accepted request is answered is known, and what the answer must be follows from the requests
/// alone, except whether an INSERT is FULL. So the answer is foretold by a map, and the RTL's is
/// held against it, bit by bit and edge by edge, when it comes. Where the stash may be full, the
/// engine is clocked ahead until it has answered, and taken back to the accepting edge where the
/// next request comes for an edge that has passed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/common/flat_map.h"
#include "model/index/config.h"
#include "model/index/table_engine.h"
#include "model/index/toeplitz.h"
#include "tb/plugin/lookup_dut.h"
#include "tb/plugin/waves.h"

namespace kvplane::rtl {

/// Events since the engine was made.
struct RtlCounters {
    std::uint64_t requests = 0;
    std::uint64_t matched = 0;  ///< answers of the RTL that were as foretold
    std::uint64_t lookups = 0;
    std::uint64_t lookup_cycles = 0;  ///< from the first edge that could take each to its answer
    std::uint64_t lookup_ps = 0;      ///< from submission to answer
    std::uint64_t run_ahead = 0;      ///< INSERTs whose answer could not be foretold
    std::uint64_t taken_back = 0;
};

/// What of `config` the verilated engine cannot be, for the user; nothing where it fits.
[[nodiscard]] std::optional<std::string> misfit(const index::IndexConfig& config);

class RtlEngine final : public index::TableEngine {
public:
    /// Of edges since time zero.
    using Edge = std::int64_t;
    /// `config` must fit (misfit()). Throws InvariantError.
    explicit RtlEngine(const index::IndexConfig& config);

    index::TimedAnswer submit(const index::Request& request, Time at) override;
    void finish() override;
    void clear() override;
    [[nodiscard]] std::uint32_t latency_cycles() const override { return kCardShape.latency(); }
    [[nodiscard]] std::uint64_t size() const override { return m_entries.size(); }
    [[nodiscard]] index::Answer peek(std::uint64_t key) override;
    [[nodiscard]] std::optional<std::uint64_t> victim_for(std::uint64_t key) override;

    [[nodiscard]] Edge edge_at_or_after(Time at) const {
        return (at.ps + m_period.ps - 1) / m_period.ps;
    }
    [[nodiscard]] Time time_of(Edge edge) const { return {edge * m_period.ps}; }
    [[nodiscard]] Time period() const { return m_period; }
    [[nodiscard]] const RtlCounters& counters() const { return m_counters; }
    /// Rising edges that the verilated engine was given, those taken back included.
    [[nodiscard]] std::uint64_t clocked() const { return m_dut->cycles(); }
    /// Writes waveforms of what comes from now on; before the first request.
    void trace(const WavesOption& option);
    /// For tests: clocks every edge, idle or not.
    void run_free() { m_free_running = true; }

private:
    struct Expected {
        index::Request request;
        index::Answer answer;
        Edge done = 0;
        std::uint8_t id = 0;
        bool known = true;  ///< false: the RTL decides, and `answer` takes what it says
    };
    struct Bucket {
        std::uint32_t half = 0;
        std::uint64_t number = 0;
    };

    [[nodiscard]] index::Answer foretell(const index::Request& request);
    void advance_to(Edge edge);
    [[nodiscard]] Expected accept(const index::Request& request);
    void run_ahead(Expected& expected);
    void take_back();
    void collect(const DutOutputs& out);
    [[noreturn]] void report(const Expected& expected, const DutOutputs& out) const;
    [[nodiscard]] std::array<Bucket, 2> buckets_of(std::uint64_t key) const;

    Time m_period;
    std::unique_ptr<RewindableDut> m_dut;
    std::array<index::Toeplitz, 2> m_hash;
    FlatMap<std::uint64_t, index::Entry, NumberHash> m_entries;
    Edge m_edge = 0;   ///< the next
    Edge m_last = -1;  ///< that took the last request
    std::uint8_t m_next_id = 0;
    std::vector<Expected> m_expected;  ///< answers to come, in order
    index::Answer m_decided;           ///< the RTL's latest
    Edge m_marked_edge = 0;
    std::vector<Expected> m_marked_expected;
    std::uint64_t m_marked_matched = 0;
    std::unique_ptr<Waves> m_waves;  ///< where they are wanted
    bool m_free_running = false;
    std::uint64_t m_random = 1;
    RtlCounters m_counters;
};

}  // namespace kvplane::rtl
