// SPDX-License-Identifier: Apache-2.0
/// The lookup engine in time: a CuckooTable behind a pipeline over banked SRAM, as the RTL engine
/// has it. Cycle by cycle, but only while there is something to do: a lookup in a quiet engine is
/// arithmetic.
///
/// One request a cycle is admitted (S0) where its banks are free and, unless it is a LOOKUP, the
/// store buffer of each choice has a place; nothing stalls after that. S1 hashes and reads one
/// bucket of each choice, S2 is the SRAM, S3 the error correction, S4 compares, forwards and
/// commits: 3 + SRAM cycles from the accepting edge to the answer. Everything commits in order.
///
/// Slot writes wait in the store buffer of their choice and drain in order into banks that no
/// request reads; a newer write to a slot makes an older one free. One key at a time is kicked
/// (pick, read, SRAM, correction, commit), by reads that yield to requests and drains. A drain or
/// kick read that has waited 64 cycles takes the next request's slot.
///
/// INSERT is answered once its entry is in a slot or the stash; kicks go on behind. It waits while
/// inserts in flight could overflow the stash and a key is being kicked; where none is, it goes in
/// and may be answered FULL.
///
/// The engine's clock stands while it is idle and starts again in phase with the request that wakes
/// it, so that a lone lookup never waits for an edge.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/common/units.h"
#include "model/index/config.h"
#include "model/index/cuckoo_table.h"
#include "model/index/engine_figures.h"
#include "model/index/table_engine.h"

namespace kvplane::index {

/// Events since the table was made.
struct TimedCounters {
    std::uint64_t requests = 0;
    std::uint64_t lookups = 0;
    std::uint64_t hits = 0;
    std::uint64_t inserts = 0;      ///< accepted ones
    std::uint64_t conflicts = 0;    ///< cycles a request, drain or kick read waited for a bank
    std::uint64_t stalls = 0;       ///< cycles a request waited that were not another request's
    std::uint64_t stolen = 0;       ///< request slots given to a starved drain or kick read
    std::uint64_t drains = 0;       ///< slot writes that reached the SRAM
    std::uint64_t dead_writes = 0;  ///< slot writes that a newer one made needless
    std::uint64_t dynamic_fj = 0;   ///< energy of all accesses, without wires between banks
};

class TimedTable final : public TableEngine {
public:
    /// Throws InvariantError on a config outside its ranges.
    explicit TimedTable(const IndexConfig& config);

    TimedAnswer submit(const Request& request, Time at) override;
    void finish() override {}
    void clear() override;

    [[nodiscard]] std::uint32_t latency_cycles() const override {
        return m_figures.latency_cycles();
    }
    [[nodiscard]] std::uint64_t size() const override { return m_table.size(); }
    [[nodiscard]] Answer peek(std::uint64_t key) override { return m_table.lookup(key); }
    [[nodiscard]] std::optional<std::uint64_t> victim_for(std::uint64_t key) override {
        return m_table.victim_for(key);
    }
    [[nodiscard]] const EngineFigures& figures() const { return m_figures; }
    [[nodiscard]] const TimedCounters& counters() const { return m_counters; }
    [[nodiscard]] CuckooTable& table() { return m_table; }
    [[nodiscard]] const CuckooTable& table() const { return m_table; }

private:
    /// Of the accepting edge. Banks are read a cycle later (S1): what happens to banks, drains and
    /// kick reads is counted by the edge of the request that reads at the same time.
    using Cycle = std::uint64_t;
    struct SlotWrite {
        std::uint64_t location = 0;  ///< bucket and slot
        std::uint32_t bank = 0;
        Cycle ready = 0;  ///< from when it may drain
        bool dead = false;
    };
    /// The store buffer of one choice: writes that wait, and places that drained writes still hold
    /// for reads in flight.
    struct StoreBuffer {
        std::vector<SlotWrite> waiting;
        std::vector<Cycle> lingering;  ///< when each place is free again
        Cycle starved = 0;             ///< cycles its first write has waited for a bank
    };
    struct Kick {
        bool reading = false;
        bool committing = false;
        std::uint64_t key = 0;
        std::uint32_t reads_left = 0;  ///< choices, one bit each
        Cycle ready = 0;
        Cycle starved = 0;
    };
    struct Commit {
        Cycle cycle = 0;
        std::uint32_t writes = 0;  ///< choices written, one bit each; kStashBit: the stash
        bool mutates = false;      ///< not a LOOKUP
        bool inserts = false;      ///< an INSERT that took a slot
    };
    static constexpr std::uint32_t kStashBit = 1U << CuckooTable::kMostChoices;
    static constexpr Cycle kPatience = 64;

    [[nodiscard]] Cycle cycle_at_or_after(Time at) const;
    [[nodiscard]] Time time_of(Cycle cycle) const {
        return {m_origin.ps + static_cast<std::int64_t>(cycle) * m_period.ps};
    }
    [[nodiscard]] std::uint32_t bank_of(std::uint32_t choice, std::uint64_t bucket) const;
    [[nodiscard]] Cycle admit(const Request& request, const CuckooTable::Buckets& buckets,
                              Cycle cycle);
    [[nodiscard]] bool banks_free(const CuckooTable::Buckets& buckets, Cycle cycle) const;
    [[nodiscard]] bool has_credit(const Request& request, Cycle cycle) const;
    [[nodiscard]] std::size_t places_held(std::uint32_t choice, Cycle cycle) const;
    void read_banks(const CuckooTable::Buckets& buckets, Cycle cycle);
    void record_commit(const Request& request, const Answer& answer, std::uint64_t stashed,
                       Cycle cycle);
    void count(const Request& request, const Answer& answer);
    void push_write(Cycle ready);

    [[nodiscard]] bool busy() const { return m_pending != 0 || m_kick_pending; }
    void run_until(Cycle cycle);
    void step(Cycle cycle);
    void drain(std::uint32_t choice, Cycle cycle);
    void step_kick(Cycle cycle);
    void pick_kick(Cycle cycle);
    void read_for_kick(Cycle cycle);
    void commit_kick(Cycle cycle);
    void wait_for_bank(Cycle& starved, Cycle cycle);

    EngineFigures m_figures;
    CuckooTable m_table;
    Time m_period;
    std::uint32_t m_choice_banks;  ///< banks of each choice
    std::uint32_t m_store_buffer;  ///< places of each choice
    bool m_write_port;             ///< writes have a port of their own

    Time m_origin;                    ///< of cycle 0
    Cycle m_cycle = 0;                ///< the first that has not run yet
    Cycle m_next_slot = 0;            ///< the first a request may take
    Cycle m_quiet = 0;                ///< from when on no bank is busy and no request in flight
    std::vector<Cycle> m_read_free;   ///< by bank: when its (read) port is free
    std::vector<Cycle> m_write_free;  ///< the same of a write port of its own
    std::vector<StoreBuffer> m_buffers;
    std::uint32_t m_pending = 0;  ///< writes that wait, of all buffers
    bool m_kick_pending = false;
    Kick m_kick;
    std::vector<Commit> m_commits;  ///< by cycle, modulo: as many as the longest request is long
    TimedCounters m_counters;
};

/// The table that an index of `config` holds.
[[nodiscard]] CuckooConfig cuckoo_config(const IndexConfig& config);

}  // namespace kvplane::index
