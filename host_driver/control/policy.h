// SPDX-License-Identifier: Apache-2.0
/// Replacement: which block leaves HBM when a frame is wanted. One policy a file in policies/; the
/// timed control plane and the untimed replay drive them in the same way.
///
/// Who knows what. The residency state (residency.h) owns frames, pins, children and moves in
/// flight, and decides which blocks are *eligible* to leave: resident, not pinned, not in flight,
/// and without a resident or reserved child (the chain rule). A policy owns an order of the blocks
/// in HBM and whatever it has learned about blocks, and is told:
///   on_insert       a frame was reserved for the block
///   on_access       a read set names the block; once per block of the set, leaf first, so that of
///                   a chain the leaf is the oldest; also for a block that was just inserted
///   set_eligible    the block has become eligible, or is no longer
///   on_remove       the block has left HBM (told after victim(), and whenever else one leaves)
/// The victim is the first block of the policy's order that is eligible. Blocks that are skipped
/// keep their place. Since inner blocks of a chain are not eligible, only leaves are ever looked
/// at: policies keep eligible blocks in queues of their own (eligible_queue.h) and scan nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "host_driver/control/policy_state.h"
#include "model/block/block.h"
#include "model/common/units.h"

namespace kvplane::control {

using block::BlockIndex;
using block::kNoBlock;

/// A point of a run on its three clocks.
struct Moment {
    std::uint64_t access = 0;   ///< block references so far
    std::uint64_t request = 0;  ///< read sets so far
    Time wall;                  ///< simulated time, or arrival time in an untimed replay
};

/// The clock that a policy with a notion of time declares.
enum class Clock { kAccess, kRequest, kWall };

/// The time on a clock, never 0; the wall clock ticks in milliseconds.
[[nodiscard]] constexpr std::uint64_t tick(Clock clock, const Moment& now) {
    switch (clock) {
        case Clock::kAccess:
            return now.access + 1;
        case Clock::kRequest:
            return now.request + 1;
        case Clock::kWall:
            return static_cast<std::uint64_t>(now.wall.ps) / 1'000'000'000U + 1;
    }
    return 1;
}

/// A block that is never read again.
inline constexpr std::uint32_t kNeverRead = UINT32_MAX;

/// One reference.
struct Access {
    BlockIndex block;
    bool hit = false;  ///< false on the reference that the block was brought in for
    Moment now;
    /// The number of the read set that names the block next. Known to an offline replay only, and
    /// looked at by MIN alone; kNeverRead elsewhere.
    std::uint32_t next_read = kNeverRead;
};

/// What a client may say about a block (TensorRT-LLM's retention): priority 0 to 100, until when.
struct Retention {
    std::uint8_t priority = 35;
    Time until = Time::never();
};

class Policy {
public:
    virtual ~Policy() = default;

    virtual void on_insert(BlockIndex block, const Moment& now) = 0;
    virtual void on_access(const Access& access) = 0;
    virtual void on_remove(BlockIndex block) = 0;
    virtual void set_eligible(BlockIndex block, bool eligible) = 0;

    /// The block to evict, or kNoBlock if none is eligible. May move hands and ageing blocks, so
    /// ask only to evict.
    [[nodiscard]] virtual BlockIndex victim(const Moment& now) = 0;

    /// An intent about a block, resident or not. Policies without priorities ignore it.
    virtual void retain(BlockIndex /*block*/, const Retention& /*retention*/) {}
    /// A request that waits names the block (`wanted`), or no longer. Calls nest.
    virtual void set_wanted(BlockIndex /*block*/, bool /*wanted*/) {}

    /// What this policy keeps about blocks that are not in HBM, as the bytes a host would spend.
    [[nodiscard]] virtual Bytes state_bytes() const { return Bytes{0}; }

protected:
    Policy() = default;
    Policy(const Policy&) = default;
    Policy& operator=(const Policy&) = default;
};

/// The policies, by the names that configs use: lru, fifo, sieve, s3-fifo, arc, lru-2, slru, lfu,
/// ema, w-tinylfu, gdsf, priority, queue-lru, min.
enum class Replacement {
    kLru,
    kFifo,
    kSieve,
    kS3Fifo,
    kArc,
    kLru2,
    kSlru,
    kLfu,  ///< in-cache LFU with state reset, perfect LFU with state full
    kEma,  ///< exponential moving average of references; LRFU
    kWTinyLfu,
    kGdsf,
    kPriority,  ///< lowest priority first, then least recent use; TTL
    kQueueLru,  ///< LRU, but what the waiting requests name leaves last
    kMin,       ///< furthest next use: offline only
};

/// A policy and its parameters.
struct PolicySpec {
    Replacement replacement = Replacement::kLru;
    StateSpec state{};
    Clock clock = Clock::kAccess;      ///< lru-2, ema
    std::uint32_t alpha_ppm = 10'000;  ///< ema: alpha in millionths, 1 to 999'999
    /// gdsf: what it costs to bring each block back, in any unit; empty where that is one number.
    std::span<const std::uint32_t> cost{};
};

/// Whether a policy keeps anything about blocks that have left, so that `state` means something.
[[nodiscard]] bool keeps_state(Replacement replacement);

/// Whether a policy can have state of that lifetime: lists of ghosts do not fit a sketch.
[[nodiscard]] bool can_keep(Replacement replacement, Lifetime lifetime);

/// Throws std::invalid_argument with one sentence if the policy cannot have that state or alpha is
/// out of range.
void check(const PolicySpec& spec);

/// Makes a policy for `capacity` frames and blocks [0, blocks). Checks the spec.
[[nodiscard]] std::unique_ptr<Policy> make_policy(const PolicySpec& spec, std::uint64_t capacity,
                                                  std::size_t blocks);

}  // namespace kvplane::control
