// SPDX-License-Identifier: Apache-2.0
/// Write-once accounting. A life of a block begins when its payload is produced and ends when no
/// copy is left. Within one life, on a tier that keeps its copies, a block is demoted at most once
/// and a copy never goes stale. The ledger checks that and counts what moved.
#pragma once

#include <cstdint>
#include <vector>

#include "model/block/block.h"

namespace kvplane::block {

/// What becomes of a breach.
enum class OnBreach {
    kThrow,  ///< InvariantError with the state that broke
    kCount,  ///< LedgerCounts::violations
};

/// Totals since the start. All are blocks (completed moves, copies dropped) unless said.
struct LedgerCounts {
    std::uint64_t promotions = 0;
    std::uint64_t demotions = 0;
    std::uint64_t clean_discards = 0;  ///< left HBM without a move: the tier had a copy
    std::uint64_t tier_evictions = 0;
    std::uint64_t unbacked_writes = 0;  ///< demoted again because the tier had dropped the copy
    std::uint64_t recomputed = 0;       ///< lives after a block's first
    std::uint64_t lives = 0;
    std::uint64_t distinct = 0;   ///< blocks with identity that were produced
    std::uint64_t anonymous = 0;  ///< blocks without identity that were read
    std::uint64_t reads = 0;      ///< attention reads from HBM, one per block and step
    std::uint64_t violations = 0;
};

class Ledger {
public:
    /// Blocks 0 to `blocks` - 1.
    Ledger(std::uint32_t blocks, OnBreach on_breach);

    /// The payload of `b` comes into being in HBM. No copy may exist.
    void produced(BlockIndex b);
    /// `count` blocks without identity were produced.
    void produced_anonymous(std::uint64_t count) { m_counts.anonymous += count; }
    /// A move from HBM to the tier has completed.
    void demoted(BlockIndex b);
    /// A move from the tier to HBM has completed.
    void promoted(BlockIndex b);
    /// `written_back`: its eviction had to write it to the tier first.
    void left_hbm(BlockIndex b, bool written_back);
    void left_tier(BlockIndex b);
    /// Attention read `b`.
    void read(BlockIndex b);
    /// Attention read `count` blocks that the caller knows to be resident.
    void read_resident(std::uint64_t count) { m_counts.reads += count; }

    /// Counts from now on, as after a warm-up. What is where stays, and so do violations.
    void restart_counts();

    [[nodiscard]] bool in_hbm(BlockIndex b) const { return has(b, kInHbm); }
    [[nodiscard]] bool in_tier(BlockIndex b) const { return has(b, kInTier); }
    [[nodiscard]] const LedgerCounts& counts() const { return m_counts; }
    /// Demotions whose copy has not been promoted since, tier copies that still stand included.
    [[nodiscard]] std::uint64_t dead_writes() const { return m_unread; }

    /// U in blocks: all that the computation required.
    [[nodiscard]] std::uint64_t required() const { return m_counts.distinct + m_counts.anonymous; }
    /// Bytes promoted, and bytes moved, over U. Zero where nothing was required.
    [[nodiscard]] double a_read() const;
    [[nodiscard]] double a_traffic() const;
    /// Reads over moves; negative where nothing moved.
    [[nodiscard]] double reuse_per_move() const;

private:
    enum Flag : std::uint8_t {
        kInHbm = 1,
        kInTier = 2,
        kProduced = 4,  ///< at least once
        kWritten = 8,   ///< demoted in this life
        kUnread = 16,   ///< the last demotion's copy was not promoted yet
    };

    [[nodiscard]] bool has(BlockIndex b, Flag flag) const { return (m_state[b.value] & flag) != 0; }
    void set(BlockIndex b, Flag flag) { m_state[b.value] |= flag; }
    void clear(BlockIndex b, Flag flag) {
        m_state[b.value] &= static_cast<std::uint8_t>(~static_cast<unsigned>(flag));
    }
    void breach(BlockIndex b, const char* what);

    std::vector<std::uint8_t> m_state;
    OnBreach m_on_breach;
    LedgerCounts m_counts;
    std::uint64_t m_unread = 0;
};

}  // namespace kvplane::block
