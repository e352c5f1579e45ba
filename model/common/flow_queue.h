// SPDX-License-Identifier: Apache-2.0
/// What flow servers drain, and where they get it from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/common/units.h"

namespace kvplane {

/// What a byte amounts to in work: work divided by a rate in bytes per second is picoseconds.
inline constexpr std::uint64_t kFlowWork = 1'000'000'000'000;

/// A job: `blocks` blocks, drained in order without a gap.
struct FlowJob {
    std::uint32_t id = 0;           ///< a small number: it may index tables
    std::uint8_t priority = 0;      ///< class: lower first
    std::uint16_t tenant = 0;       ///< whose
    std::uint16_t destination = 0;  ///< where to: what stalls together
    Time deadline = Time::never();  ///< of each of its blocks: sooner first
    /// Given up where it can no longer end by then; Time::never(): it is not given up.
    Time drop_after = Time::never();
    std::uint32_t blocks = 1;  ///< at least one
    Bytes block_bytes{};       ///< of each; at least one
    Bytes last_bytes{};        ///< of the last block; zero: as the others

    [[nodiscard]] constexpr Bytes bytes() const {
        return last_bytes.count == 0 ? block_bytes * blocks
                                     : block_bytes * (blocks - 1) + last_bytes;
    }
    [[nodiscard]] constexpr Uint128 work() const {
        return static_cast<Uint128>(bytes().count) * kFlowWork;
    }
    /// The work of the job up to the end of its first `n` blocks.
    [[nodiscard]] constexpr Uint128 work_of(std::uint32_t n) const {
        return n >= blocks ? work() : static_cast<Uint128>(block_bytes.count) * n * kFlowWork;
    }
    [[nodiscard]] constexpr Bytes size_of(std::uint32_t block) const {
        return block + 1 == blocks && last_bytes.count != 0 ? last_bytes : block_bytes;
    }
    /// How many blocks begin before `work`.
    [[nodiscard]] constexpr std::uint32_t blocks_before(Uint128 work) const {
        const Uint128 block = static_cast<Uint128>(block_bytes.count) * kFlowWork;
        const Uint128 begun = (work + block - 1) / block;
        return begun < blocks ? static_cast<std::uint32_t>(begun) : blocks;
    }
};

/// What somebody asks who comes to share a job.
struct FlowUrgency {
    std::uint8_t priority = UINT8_MAX;
    Time deadline = Time::never();
    Time drop_after = Time::never();
};

/// A stretch of a job, in work from its start, that may drain without asking again.
struct FlowGrant {
    FlowJob job;
    Uint128 from = 0;
    Uint128 until = 0;
};

/// Why a job ended before its last block.
enum class FlowEnd : std::uint8_t {
    kCancelled,
    kLate,      ///< it could not make its deadline any more
    kTimedOut,  ///< its destination stalled for too long
};

/// What the arrival of one job does to another that has the server.
enum class FlowCut : std::uint8_t {
    kNone,
    kAtBlock,  ///< it gives way after a block
    kNow,      ///< it gives way after what is under way already
};

/// What waits for one server. Calls come in order of time.
class FlowQueue {
public:
    struct GivenUp {
        std::uint32_t id = 0;
        FlowEnd reason = FlowEnd::kCancelled;
    };

    FlowQueue() = default;
    virtual ~FlowQueue() = default;

    virtual void push(const FlowJob& job, Time now) = 0;
    /// Grants the next stretch: it is to begin to drain at `begins`, not before `now`, at `rate`.
    /// False while nothing may go.
    [[nodiscard]] virtual bool take(Time now, Time begins, Rate rate, FlowGrant& grant) = 0;
    /// The last stretch granted of a job ends at `rest.from` already: what is beyond waits again.
    virtual void put_back(const FlowGrant& rest) = 0;
    /// A job whose every stretch was granted has left the server.
    virtual void ended(std::uint32_t id) = 0;
    /// Forgets a job, granted or not; false where it is not there. What has been granted of it is
    /// not heard of again.
    virtual bool cancel(std::uint32_t id) = 0;
    /// Forgets all; appends the ids of those that wait, in order of arrival.
    virtual void clear(std::vector<std::uint32_t>& ids) = 0;

    /// How the holder of `running` gives way to `arrived`, which waits.
    [[nodiscard]] virtual FlowCut cut(const FlowGrant& /*running*/, const FlowJob& /*arrived*/,
                                      Time /*now*/) const {
        return FlowCut::kNone;
    }
    /// Makes a job as urgent as `urgency`, where it is less, and gives it up no sooner than that
    /// does. Returns it where its class has changed and some of it waits.
    virtual const FlowJob* raise(std::uint32_t /*id*/, const FlowUrgency& /*urgency*/) {
        return nullptr;
    }
    /// Keeps back all that goes to `destination`, or no longer. Then returns the most urgent of the
    /// jobs that wait for it, if any.
    virtual const FlowJob* stall(std::uint16_t /*destination*/, bool /*stalled*/, Time /*now*/) {
        return nullptr;
    }
    /// When something that is kept back may go at the soonest; Time::never() where time alone does
    /// not change that.
    [[nodiscard]] virtual Time next_eligible(Time /*now*/) const { return Time::never(); }
    /// When a job will be given up at the soonest.
    [[nodiscard]] virtual Time next_timeout() const { return Time::never(); }
    /// Gives up what has timed out by `now`.
    virtual void expire(Time /*now*/) {}
    /// The next of the jobs that the queue gave up by itself, in order. It has forgotten it.
    [[nodiscard]] virtual bool pop_given_up(GivenUp& /*job*/) { return false; }
    /// A block of a job left the server at `end`.
    virtual void block_drained(const FlowJob& /*job*/) {}

protected:
    FlowQueue(const FlowQueue&) = default;
    FlowQueue& operator=(const FlowQueue&) = default;
};

/// In order of arrival, whole jobs at a time.
class FlowFifo final : public FlowQueue {
public:
    void push(const FlowJob& job, Time now) override;
    [[nodiscard]] bool take(Time now, Time begins, Rate rate, FlowGrant& grant) override;
    void put_back(const FlowGrant& rest) override;
    void ended(std::uint32_t /*id*/) override {}
    bool cancel(std::uint32_t id) override;
    void clear(std::vector<std::uint32_t>& ids) override;

private:
    std::vector<FlowGrant> m_waiting;  ///< those before m_head are gone
    std::size_t m_head = 0;
};

}  // namespace kvplane
