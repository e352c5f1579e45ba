// SPDX-License-Identifier: Apache-2.0
/// Keeps its own books of what a data plane does and stops the simulation where that breaks a rule:
/// room inside the tier, given once and freed once; reads of committed copies alone, never of one
/// that a move has superseded; move versions that go up by one; of every intent one completion, and
/// none of a block that came into the tier, or moved there, before the entry that leads to it.
#pragma once

#include <vector>

#include "model/common/flat_map.h"
#include "model/engine/plane_observer.h"
#include "model/engine/tier.h"

namespace kvplane::engine {

class InvariantChecker final : public TierObserver, public JobObserver {
public:
    /// For a tier of `capacity`.
    explicit InvariantChecker(Bytes capacity);

    // All throw InvariantError, with the state that broke.
    void allocated(TierFrame frame, const Extents& extents, std::uint32_t granules) override;
    void freed(TierFrame frame, const Extents& extents, std::uint32_t granules) override;
    void committed(const block::BlockKey& key, TierFrame frame, std::optional<TierFrame> from,
                   std::uint64_t version) override;
    void read_begun(TierFrame frame) override;
    void version_changed(TierFrame frame, std::uint64_t version) override;
    void cleared() override;
    void taken_in(const MoveJob& job) override;
    void crossed(const MoveJob& job, Mover mover, std::uint32_t block, Time start,
                 Time end) override;
    void completed(const MoveJob& job) override;
    void dropped() override;

    /// When nothing is under way: throws InvariantError unless every intent has had its completion
    /// and the books agree with `tier`.
    void audit(const Tier& tier) const;
    /// What has been checked: calls of an observer.
    [[nodiscard]] std::uint64_t checks() const { return m_checks; }

private:
    enum class State : std::uint8_t { kFree, kArriving, kCommitted, kSuperseded };
    struct Copy {
        State state = State::kFree;
        std::uint8_t version = 0;
    };
    /// A key's hash is enough: two keys with one would only make the check weaker.
    struct KeyHash {
        std::uint64_t operator()(const block::BlockKey& key) const { return key.low ^ key.high; }
    };

    [[nodiscard]] Copy& copy(TierFrame frame);
    void mark(const Extents& extents, std::uint32_t granules, bool used);

    std::uint64_t m_granules;
    std::uint64_t m_used = 0;
    std::vector<bool> m_taken;   ///< granules; grows to the highest ever used
    std::vector<Copy> m_copies;  ///< by record
    std::uint64_t m_commits = 0;
    FlatMap<block::BlockKey, std::uint64_t, KeyHash> m_last_commit;
    /// Commits when an intent was taken in, by its serial number; of those without a completion.
    FlatMap<std::uint64_t, std::uint64_t, NumberHash> m_open;
    std::uint64_t m_checks = 0;
};

}  // namespace kvplane::engine
