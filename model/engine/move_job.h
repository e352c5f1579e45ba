// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/flow_queue.h"
#include "model/engine/intent.h"
#include "model/engine/tier.h"

namespace kvplane::engine {

/// An intent on its way through the card.
struct MoveJob {
    static constexpr std::uint32_t kNone = UINT32_MAX;

    struct Block {
        block::BlockKey key;
        std::uint32_t slot = 0;
        TierFrame frame{};
        TierFrame target{};  ///< of a move within the tier
        Bytes size;
        Time looked_up{};  ///< when the index had answered
        Time lookup{};     ///< in the index
        Time record{};     ///< record read and full-key check
        Time dram{};       ///< first data
    };

    /// How far it has come.
    enum class Phase : std::uint8_t {
        kFree,      ///< not in use
        kIntake,    ///< fetched; being checked, or its list is being read
        kWaiting,   ///< for another job: of the same move, or that brings its block in
        kStarting,  ///< holds its blocks; first data on the way
        kMoving,    ///< with the movers
        kEnding,    ///< its outcome is settled
    };

    Intent intent;
    std::uint16_t queue = 0;
    Phase phase = Phase::kFree;
    Status status = Status::kOk;
    TransferClass transfer_class = TransferClass::kDemand;  ///< that rules now
    bool holds = false;             ///< its blocks' frames: read by it, or reserved
    bool cancelled = false;         ///< ends at its next step
    bool refused = false;           ///< the device refused some of its payload
    std::uint32_t drained = 0;      ///< blocks that have crossed
    std::uint32_t done = 0;         ///< blocks that arrived, or for which it was done
    std::uint32_t accepted = 0;     ///< those before the first that was refused
    std::uint64_t serial = 0;       ///< order in which it was taken in
    std::uint64_t sequence = 0;     ///< order of admission
    std::uint64_t answer = 0;       ///< argument of its completion, where that is not `done`
    bool answers = false;           ///< `answer` holds
    std::uint32_t waiters = kNone;  ///< first of the jobs that wait for it
    std::uint32_t next = kNone;     ///< next of those that wait for the same
    Time arrived;                   ///< the card saw the doorbell
    Time fetch_started;             ///< of the descriptor
    Time admitted;                  ///< checked, and its gather list read
    Time translated;                ///< its pages are known; zero: none had to be
    Time started;                   ///< its lookups began: behind a demotion, not at once
    Time first_start;               ///< the first block's drain began
    Time ended;                     ///< all of it has crossed, fence included; zero: nothing did
    Time settled;                   ///< what its completion reports is so
    std::vector<Block> blocks;      ///< those that move

    [[nodiscard]] Opcode opcode() const { return static_cast<Opcode>(intent.opcode); }
    [[nodiscard]] bool promotes() const {
        return opcode() == Opcode::kPromote || opcode() == Opcode::kPrefetch;
    }
    [[nodiscard]] bool has_list() const { return (intent.flags & kGatherList) != 0; }
    [[nodiscard]] std::uint16_t window() const {
        return static_cast<std::uint16_t>(intent.target >> 48);
    }
    /// Its own deadline; what lies further away than time can tell is never.
    [[nodiscard]] Time deadline() const {
        constexpr std::uint64_t kLatestNs = INT64_MAX / 1'000;
        const bool dated = intent.deadline_ns != 0 && intent.deadline_ns < kLatestNs;
        return dated ? Time::from_ns(static_cast<std::int64_t>(intent.deadline_ns)) : Time::never();
    }
    /// What it asks of the transfer that it orders or shares: a hint may be dropped for being late.
    [[nodiscard]] FlowUrgency urgency() const {
        return {static_cast<std::uint8_t>(transfer_class), deadline(),
                opcode() == Opcode::kPrefetch ? deadline() : Time::never()};
    }
    /// The slot of a single block, or the address of a gather list.
    [[nodiscard]] std::uint64_t low_target() const {
        return intent.target & ((std::uint64_t{1} << 48) - 1);
    }
};

}  // namespace kvplane::engine
