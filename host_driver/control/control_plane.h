// SPDX-License-Identifier: Apache-2.0
/// The host's decisions about blocks: what a request finds, which frames it gets and whose they
/// were, what is loaded, what is written to the tier and what leaves it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host_driver/control/config.h"
#include "host_driver/control/residency.h"
#include "host_driver/driver/driver.h"
#include "host_driver/gpu/hbm_pool.h"
#include "host_driver/workload/request.h"

namespace kvplane::control {

/// What one admitted sequence holds of HBM. Its chain is reused up to a point (found in HBM, on its
/// way there, or loaded); the rest it computes. Of that it names the blocks in [named, named_end);
/// the others have a copy somewhere already (another sequence computes them at the same time, or at
/// least one token had to be computed again), so that here they are private, without a name. What
/// it reads under a name, and what that continues, is pinned: chain[0, named_end).
struct Holding {
    std::span<const BlockIndex> chain;  ///< its full prompt blocks, root first
    std::uint32_t reused = 0;           ///< chain[0, reused)
    std::uint32_t named = 0;            ///< at least `reused`; `reused` where it names none
    std::uint32_t named_end = 0;
    std::uint32_t computed = 0;   ///< chain[0, computed) have payload
    std::uint32_t loads = 0;      ///< of the reused, those that it loads itself
    std::uint32_t missing = 0;    ///< of the reused, those still on their way
    std::uint64_t anonymous = 0;  ///< frames without identity
    std::uint64_t wanted = 0;     ///< frames that it waits for, all of them
    Time decided{};               ///< when it was admitted
    Time frames_ready{};          ///< when it had its frames
    bool waits_for_frames = false;

    [[nodiscard]] bool ready() const { return !waits_for_frames && missing == 0; }
    [[nodiscard]] std::span<const BlockIndex> pinned() const { return chain.first(named_end); }
    /// Chain blocks with payload that are read under their names.
    [[nodiscard]] std::uint32_t named_computed() const {
        const std::uint32_t end = computed < named_end ? computed : named_end;
        return reused + (end > named ? end - named : 0);
    }
    /// Whether chain[i] is read under its name.
    [[nodiscard]] bool reads_named(std::uint32_t i) const {
        return i < reused || (i >= named && i < named_end);
    }
};

/// What an admission asks for.
struct Demand {
    std::span<const BlockIndex> chain;
    std::uint32_t reusable = 0;       ///< at most so many blocks of the chain may be reused
    std::uint64_t prompt_blocks = 0;  ///< frames of the whole prompt, a partial last block included
    std::uint64_t extra_blocks = 0;   ///< frames reserved beyond it
    std::uint64_t spare = 0;          ///< frames that must remain available besides
};

/// Placement counters that the ledger does not see.
struct PlacementCounts {
    std::uint64_t block_refs = 0;  ///< chain blocks of admissions, resumed ones included
    std::uint64_t hits = 0;        ///< of those, found in HBM or on their way there
    std::uint64_t private_copies = 0;
    std::uint64_t stores_skipped = 0;  ///< not written, as the tier was full of blocks in use
    std::uint64_t stores_refused = 0;  ///< not written, as the card had no room
};

/// Hears that a holding may have become ready.
class ReadyListener {
public:
    virtual ~ReadyListener() = default;
    virtual void holdings_changed() = 0;
};

class ControlPlane final : public driver::MoveClient {
public:
    /// All arguments must outlive the control plane. `tier_blocks`: capacity of the tier. Throws
    /// UserError for a tenant of a request that the card's intents cannot name.
    ///
    /// A block is moved as its tenant's, whose requests read it; one that those of several tenants
    /// read (Sharing::kAll) as tenant 0's. Moves of several tenants are runs of their own.
    ControlPlane(const ControlConfig& config, const workload::Workload& workload,
                 std::uint64_t tier_blocks, gpu::HbmPool& hbm, block::Ledger& ledger,
                 driver::Driver& driver, ReadyListener& listener);

    /// Admits a sequence if frames can be found for all it asks: pins what it finds, takes frames,
    /// starts its loads. False, and nothing changed, where there is no room. `holding` must stay
    /// where it is until released.
    [[nodiscard]] bool admit(Holding& holding, const Demand& demand);
    /// The holding's sequence joins the decode set.
    void activate(Holding& holding);
    /// Chain blocks up to `end` now have payload, computed in the step that has just ended.
    void computed(Holding& holding, std::uint32_t end);
    enum class Grown { kYes, kLater, kNoRoom };
    /// One more frame for a block being decoded. kLater: one is being freed.
    [[nodiscard]] Grown grow(Holding& holding);
    /// The sequence leaves: finished, or preempted.
    void release(Holding& holding);

    /// Writes the blocks computed since the last call to the tier, if that is when they go.
    void end_of_step();
    /// Counts the reads of a step: the union of the decode set's chains, and `anonymous` blocks.
    void count_reads(std::uint64_t anonymous);
    /// Counts, and accounts for byte-time, from now on: the warm-up is over.
    void restart_counts();
    /// Ends the account of byte-time.
    void close();

    /// Throws InvariantError where a block that `holding` reads is not in HBM.
    void check_read_set(const Holding& holding) const;
    void audit() const { m_residency.audit(); }

    [[nodiscard]] const PlacementCounts& counts() const { return m_counts; }
    [[nodiscard]] std::uint64_t tier_used() const { return m_residency.tier_used(); }
    /// Runs of moves that have been ordered and have not ended.
    [[nodiscard]] std::size_t runs_under_way() const { return m_runs.size() - m_free_runs.size(); }

    void run_done(std::uint32_t token, engine::Status status, std::size_t moved) override;

private:
    struct Joiner {
        Holding* holding;
        std::uint32_t blocks;
    };
    struct Run {
        driver::MoveKind kind = driver::MoveKind::kPromote;
        std::vector<driver::Move> moves;
        std::vector<Joiner> joiners;
        bool evict_after = false;  ///< the blocks leave HBM once stored
    };
    static constexpr std::uint32_t kNoRun = UINT32_MAX;

    void account();
    [[nodiscard]] std::uint64_t grantable() const { return m_residency.free_frames() - m_promised; }
    void match(Holding& holding, const Demand& demand) const;
    [[nodiscard]] std::uint64_t idle_to_pin(const Holding& holding) const;
    void hold_chain(Holding& holding);
    void gather_frames();
    [[nodiscard]] bool free_one_frame();
    void take_frames(Holding& holding);
    void start_loads(Holding& holding);
    void join(Holding& holding);
    void evict(BlockIndex b);
    void store_lazily();
    void choose(BlockIndex b);
    void begin_stores(std::vector<BlockIndex>& blocks);
    void submit_stores(std::vector<BlockIndex>& blocks, bool evict_after);
    void submit_all(driver::MoveKind kind, std::vector<BlockIndex>& blocks, bool evict_after);
    void find_tenants();
    [[nodiscard]] std::uint16_t tenant_of(BlockIndex b) const {
        return m_tenant.empty() ? std::uint16_t{0} : m_tenant[b.value];
    }
    [[nodiscard]] bool make_tier_room();
    [[nodiscard]] driver::Move move_of(BlockIndex b) const;
    [[nodiscard]] std::uint32_t take_run(driver::MoveKind kind);
    void submit(std::uint32_t token, Time decided);
    void promoted(Run& run);
    void demoted(Run& run, std::size_t moved);

    ControlConfig m_config;
    const workload::Workload& m_workload;
    gpu::HbmPool& m_hbm;
    block::Ledger& m_ledger;
    driver::Driver& m_driver;
    ReadyListener& m_listener;
    Residency m_residency;
    StoreRule m_store;
    std::vector<std::uint16_t> m_tenant;   ///< by block; empty where all are tenant 0's
    std::vector<std::uint32_t> m_slot;     ///< by block
    std::vector<std::uint32_t> m_loading;  ///< by block: the run that loads it
    std::vector<std::uint32_t> m_active;   ///< by block: sequences of the decode set that read it
    std::uint64_t m_active_blocks = 0;
    std::vector<Run> m_runs;
    std::vector<std::uint32_t> m_free_runs;
    std::vector<BlockIndex> m_to_store;  ///< computed in this step
    std::vector<BlockIndex> m_to_evict;  ///< leaving, their stores not yet submitted
    std::uint64_t m_leaving = 0;         ///< blocks that leave HBM once stored
    std::vector<BlockIndex> m_discards;
    Holding* m_waiter = nullptr;         ///< the one holding that waits for frames
    std::uint64_t m_promised = 0;        ///< free frames that it has been given
    std::uint64_t m_waiting_frames = 0;  ///< of holdings that are not active
    bool m_closed = false;
    PlacementCounts m_counts;
};

}  // namespace kvplane::control
