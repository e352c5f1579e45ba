// SPDX-License-Identifier: Apache-2.0
/// Where every block of a run is, what holds it there, and which one goes next. Shared by the timed
/// host (moves take time: begin, then end) and the untimed replay (both at once). Keeps the chain
/// rule: no block leaves a place before the blocks that continue it there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host_driver/control/policy.h"
#include "host_driver/workload/request.h"
#include "model/block/ledger.h"

namespace kvplane::control {

using block::BlockIndex;

class Residency {
public:
    /// HBM has `frames` frames, and `policy` says which block goes next. The tier holds
    /// `tier_blocks` blocks (kUnbounded: as many as there are), and `tier_policy` says the same of
    /// its copies. `blocks` and `ledger` must outlive this.
    Residency(std::span<const workload::BlockEntry> blocks, std::uint64_t frames,
              std::uint64_t tier_blocks, block::Ledger& ledger, std::unique_ptr<Policy> policy,
              std::unique_ptr<Policy> tier_policy);
    /// LRU for both.
    Residency(std::span<const workload::BlockEntry> blocks, std::uint64_t frames,
              std::uint64_t tier_blocks, block::Ledger& ledger);

    static constexpr std::uint64_t kUnbounded = UINT64_MAX;

    enum class Hbm : std::uint8_t { kAbsent, kExpected, kResident };
    enum class Tier : std::uint8_t { kAbsent, kStoring, kStored };

    [[nodiscard]] Hbm hbm(BlockIndex b) const { return m_states[b.value].hbm; }
    [[nodiscard]] Tier tier(BlockIndex b) const { return m_states[b.value].tier; }
    [[nodiscard]] std::uint32_t pins(BlockIndex b) const { return m_states[b.value].pins; }

    // --- HBM -----------------------------------------------------------------------------------
    [[nodiscard]] std::uint64_t free_frames() const { return m_frames - m_used; }
    [[nodiscard]] std::uint64_t used_frames() const { return m_used; }
    /// Resident blocks that nothing holds: free_frames() after evicting them all.
    [[nodiscard]] std::uint64_t idle_blocks() const { return m_idle; }
    /// Blocks that are pinned and resident.
    [[nodiscard]] std::uint64_t pinned_resident() const { return m_pinned_resident; }

    /// `count` frames for blocks without identity; there must be as many free.
    void take_anonymous(std::uint64_t count);
    void release_anonymous(std::uint64_t count);

    /// Holds `b` where it is or will be. Pins nest.
    void pin(BlockIndex b);
    void unpin(BlockIndex b);
    /// What follows happens at `wall`, in the next request.
    void next_request(Time wall);
    /// A request that held `b` lets go of it: one reference for the policies. Of a chain the leaf
    /// comes first. A hit unless it is the first since `b` came in. `next_read`: see Access.
    void touch(BlockIndex b, std::uint32_t next_read = kNeverRead);
    [[nodiscard]] const Moment& moment() const { return m_moment; }

    /// Takes a free frame for `b`, which is absent.
    void expect(BlockIndex b);
    /// The expected payload will not come: frees its frame.
    void give_up(BlockIndex b);
    /// An expected payload was computed, or came from the tier.
    void computed(BlockIndex b);
    void loaded(BlockIndex b);

    /// The block to evict next: the first in the policy's order that is resident, unpinned and
    /// without a child in HBM; nothing where there is none. Evict it, or begin_store() it, before
    /// asking again.
    [[nodiscard]] std::optional<BlockIndex> next_victim();
    void evict(BlockIndex b);
    /// `b`, a victim, leaves as soon as its copy is in the tier: its parent may be asked for
    /// meanwhile. Ends with evict(), or by itself as soon as it, or a block that continues it, is
    /// wanted again: then it stays.
    void begin_leave(BlockIndex b);
    [[nodiscard]] bool leaving(BlockIndex b) const { return m_states[b.value].leaving; }

    // --- Tier ----------------------------------------------------------------------------------
    [[nodiscard]] std::uint64_t tier_used() const { return m_tier_used; }
    [[nodiscard]] bool tier_full() const { return m_tier_used == m_tier_blocks; }

    /// A copy of resident `b` is on its way to the tier, which is not full. Pins `b`.
    void begin_store(BlockIndex b);
    void end_store(BlockIndex b);
    /// The tier refused the copy.
    void abandon_store(BlockIndex b);
    /// A load reads the tier's copy of `b`: it stays until end_read.
    void begin_read(BlockIndex b);
    void end_read(BlockIndex b);
    /// The tier copy to drop next; nothing where all are in use. Drop it before asking again.
    [[nodiscard]] std::optional<BlockIndex> next_tier_victim();
    void drop_tier_copy(BlockIndex b);

    [[nodiscard]] Policy& policy() { return *m_policy; }
    /// What both policies remember of blocks that are gone.
    [[nodiscard]] Bytes state_bytes() const {
        const Bytes hbm = m_policy->state_bytes();
        return m_tier_policy == nullptr ? hbm : hbm + m_tier_policy->state_bytes();
    }
    /// Blocks with a copy somewhere, of which an ancestor has none: out of reach for prefix reuse.
    [[nodiscard]] std::uint64_t unreachable_blocks() const;

    /// Checks the counts against the states, block by block; throws InvariantError.
    void audit() const;

private:
    struct State {
        std::uint32_t pins = 0;
        std::uint32_t hbm_children = 0;   ///< expected or resident
        std::uint32_t tier_children = 0;  ///< storing or stored
        std::uint16_t readers = 0;
        Hbm hbm = Hbm::kAbsent;
        Tier tier = Tier::kAbsent;
        bool fresh = false;         ///< came in and was not referenced since
        bool offered = false;       ///< the policy knows it as eligible
        bool tier_offered = false;  ///< the tier's policy knows its copy as eligible
        bool leaving = false;       ///< no longer counted among its parent's hbm_children
    };

    [[nodiscard]] State& at(BlockIndex b) { return m_states[b.value]; }
    [[nodiscard]] bool may_leave_hbm(BlockIndex b) const;
    [[nodiscard]] bool may_leave_tier(BlockIndex b) const;
    void hold(BlockIndex b);
    void stay(BlockIndex b);
    void add_hbm_child(BlockIndex parent);
    void remove_hbm_child(BlockIndex parent);
    void leave_hbm(BlockIndex b);
    void leave_tier(BlockIndex b);
    void arrive(BlockIndex b);
    void offer(BlockIndex b);
    void offer_tier_copy(BlockIndex b);

    std::span<const workload::BlockEntry> m_blocks;
    std::vector<State> m_states;
    std::uint64_t m_frames;
    std::uint64_t m_tier_blocks;
    std::uint64_t m_used = 0;
    std::uint64_t m_idle = 0;
    std::uint64_t m_pinned_resident = 0;
    std::uint64_t m_tier_used = 0;
    block::Ledger& m_ledger;
    std::unique_ptr<Policy> m_policy;
    std::unique_ptr<Policy> m_tier_policy;  ///< none where the tier is unbounded
    Moment m_moment;
};

}  // namespace kvplane::control
