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
/// Slot writes enter the store buffer of their choice at their commit and drain in order into banks
/// that no request reads. A newer write to a slot makes an older one that waits dead: one such is
/// skipped a cycle. Drained writes linger for reads in flight; places are given back in order, two
/// a cycle. One key at a time is kicked (pick, read, SRAM, correction, commit), by reads that yield
/// to requests and drains. A place of each store buffer is kept for it meanwhile. A drain or kick
/// that has waited 64 cycles takes the next request's slot.
///
/// INSERT is answered once its entry is in a slot or the stash; kicks go on behind. It waits while
/// inserts in flight could overflow the stash and a key is being kicked or another INSERT is in
/// flight; where none is, it goes in and may be answered FULL.
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
    /// kicks is counted by the edge of the request that reads at the same time, so that step(n) is
    /// edge n + 1, and what it sees was written by edge n.
    using Cycle = std::uint64_t;
    struct SlotWrite {
        std::uint64_t location = 0;  ///< bucket and slot
        std::uint32_t bank = 0;
        bool dead = false;
        Cycle over = 0;  ///< when it is out: the edge that may give its place back
    };
    /// The store buffer of one choice, oldest first: those that are out, then those that wait.
    struct StoreBuffer {
        std::vector<SlotWrite> places;
        std::size_t out = 0;  ///< drained or skipped
        Cycle starved = 0;    ///< cycles the first that waits has waited for a bank
    };
    /// A slot write between its decision and the edge that puts it into the store buffer.
    struct Push {
        Cycle edge = 0;
        std::uint32_t choice = 0;
        SlotWrite write;
        bool valid = false;
    };
    enum class KickState : std::uint8_t { kIdle, kPick, kRead, kCommit };
    struct Kick {
        KickState state = KickState::kIdle;
        bool busy = false;  ///< not idle in the edge that was stepped last
        std::uint64_t key = 0;
        std::uint32_t reads_left = 0;  ///< choices, one bit each
        Cycle ready = 0;               ///< the step from which on its state acts
        Cycle starved = 0;
    };
    struct Commit {
        Cycle edge = 0;
        std::uint32_t writes = 0;  ///< choices written, one bit each; kStashBit: the stash
        bool mutates = false;      ///< not a LOOKUP
        bool inserts = false;
        bool stashes = false;  ///< its entry went to the stash
        Push push;
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
    [[nodiscard]] bool stash_has_credit(Cycle cycle) const;
    /// Places of `choice` that are taken, with those of requests whose commit is not before `edge`:
    /// until then each holds one of every choice.
    [[nodiscard]] std::size_t places_held(std::uint32_t choice, Cycle edge) const;
    void read_banks(const CuckooTable::Buckets& buckets, Cycle cycle);
    void record_commit(const Request& request, const Answer& answer, std::uint64_t stashed,
                       Cycle cycle);
    void count(const Request& request, const Answer& answer);
    [[nodiscard]] Push push_at(Cycle edge);
    void push(const Push& push);

    [[nodiscard]] bool busy() const {
        return m_writes != 0 || m_kick_pending || m_kick.busy || m_kick.state != KickState::kIdle;
    }
    void run_until(Cycle cycle);
    void step(Cycle cycle);
    [[nodiscard]] Commit& commit_of(Cycle edge) { return m_commits[edge & (m_commits.size() - 1)]; }
    void drain(std::uint32_t choice, Cycle cycle);
    void give_back(StoreBuffer& buffer, Cycle cycle);
    void step_kick(Cycle cycle);
    void pick_kick();
    void read_for_kick(Cycle cycle);
    void commit_kick(Cycle cycle);
    void wait_for_bank(Cycle& starved, Cycle cycle);
    /// A cycle of waiting more: the 64th takes the next request's slot.
    void starve(Cycle& starved, Cycle cycle);

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
    std::uint32_t m_writes = 0;   ///< in store buffers and on their way there
    bool m_kick_pending = false;  ///< the stash has an armed entry
    Cycle m_armed = 0;            ///< the edge that armed it
    Kick m_kick;
    Push m_kick_push;
    std::vector<Commit> m_commits;  ///< by edge, modulo: as many as the longest request is long
    TimedCounters m_counters;
};

/// The table that an index of `config` holds.
[[nodiscard]] CuckooConfig cuckoo_config(const IndexConfig& config);

}  // namespace kvplane::index
