// SPDX-License-Identifier: Apache-2.0
/// How blocks move between HBM and the tier, as serving and control see it.
#pragma once

#include <cstdint>
#include <span>

#include "model/block/block.h"
#include "model/block/key.h"
#include "model/engine/intent.h"

namespace kvplane::driver {

enum class MoveKind : std::uint8_t {
    kPromote,   ///< somebody waits for it
    kPrefetch,  ///< a promotion that may wait for those
    kDemote,
    kDiscard,
};

struct Move {
    block::BlockIndex block;
    block::BlockKey key;
    std::uint32_t slot = 0;  ///< of HBM; not used by kDiscard
};

/// The most moves of one run.
inline constexpr std::size_t kLongestRun = 65'535;

/// Moves that are ordered together, root first.
struct MoveRun {
    MoveKind kind = MoveKind::kPromote;
    std::uint32_t token = 0;      ///< given back in run_done
    std::uint16_t tenant = 0;     ///< whose blocks they are
    Time decided;                 ///< when the move was decided
    Time frames_ready;            ///< when its frames were there
    Time deadline;                ///< zero: none; a prefetch that cannot meet its own is dropped
    std::span<const Move> moves;  ///< 1 to kLongestRun; read before submit() returns
};

class MoveClient {
public:
    virtual ~MoveClient() = default;
    /// A run has ended: its first `moved` moves were done. Called when a busy poll would see it.
    virtual void run_done(std::uint32_t token, engine::Status status, std::size_t moved) = 0;
};

class Driver {
public:
    virtual ~Driver() = default;
    /// Set once, before the first run.
    virtual void set_client(MoveClient& client) = 0;
    /// Orders a run now. Promotions, prefetches and demotions begin in the order in which they were
    /// ordered among their kind; a demotion never passes a discard ordered before it. Else runs of
    /// one kind may pass runs of another.
    virtual void submit(const MoveRun& run) = 0;
};

}  // namespace kvplane::driver
