// SPDX-License-Identifier: Apache-2.0
/// The RTL engine, with a TimedTable beside it that gets the same requests at the same edges: every
/// answer is held against the other's, and the first that differs ends the run.
///
/// Whether an INSERT is FULL depends on when kicks ran. FULL of the RTL is allowed where the table
/// has as many entries as fill two buckets and the stash; from then on it counts. An entry that the
/// table found no room for is kept beside it.
#pragma once

#include <cstdint>
#include <deque>

#include "model/common/flat_map.h"
#include "model/index/timed_table.h"
#include "tb/plugin/rtl_engine.h"

namespace kvplane::rtl {

struct LockstepCounters {
    std::uint64_t matched = 0;
    std::uint64_t full_differs = 0;    ///< INSERT that one of the two refused
    std::uint64_t within_a_cycle = 0;  ///< answers whose latencies differ by one cycle at most
    std::uint64_t rtl_cycles = 0;      ///< latencies, from the first edge that could take each
    std::uint64_t tlm_cycles = 0;
};

class LockstepEngine final : public index::TableEngine {
public:
    explicit LockstepEngine(const index::IndexConfig& config) : m_rtl(config), m_tlm(config) {}

    /// Throws InvariantError, with the requests that led to it, where the answers differ.
    index::TimedAnswer submit(const index::Request& request, Time at) override;
    void finish() override { m_rtl.finish(); }
    void clear() override;
    [[nodiscard]] std::uint32_t latency_cycles() const override { return m_rtl.latency_cycles(); }
    [[nodiscard]] std::uint64_t size() const override { return m_rtl.size(); }
    [[nodiscard]] index::Answer peek(std::uint64_t key) override { return m_rtl.peek(key); }
    [[nodiscard]] std::optional<std::uint64_t> victim_for(std::uint64_t key) override {
        return m_rtl.victim_for(key);
    }

    [[nodiscard]] const LockstepCounters& counters() const { return m_counters; }
    [[nodiscard]] const RtlEngine& rtl() const { return m_rtl; }
    [[nodiscard]] RtlEngine& rtl() { return m_rtl; }
    /// For tests: the table whose entries may be spoiled.
    [[nodiscard]] index::TimedTable& tlm() { return m_tlm; }

private:
    struct Step {
        index::Request request;
        index::TimedAnswer rtl;
        index::TimedAnswer tlm;
    };

    [[nodiscard]] index::Answer expect(const index::Request& request, const index::Answer& tlm);
    void settle_full(const index::Request& request, const index::Answer& rtl, index::Answer& tlm);
    [[noreturn]] void report(const Step& step) const;

    RtlEngine m_rtl;
    index::TimedTable m_tlm;
    FlatMap<std::uint64_t, index::Entry, NumberHash> m_beside;
    std::deque<Step> m_history;  ///< the latest, oldest first
    LockstepCounters m_counters;
};

}  // namespace kvplane::rtl
