// SPDX-License-Identifier: Apache-2.0
/// Intents that move nothing: rights, pins, policy, questions, cancels.
#include <algorithm>

#include "model/common/errors.h"
#include "model/engine/data_plane.h"

namespace kvplane::engine {
namespace {

/// index::PolicyRecord::flags: the host would rather keep the block.
constexpr std::uint8_t kRetained = 1;

Status status_of(index::Status answer, bool may_read) {
    switch (answer) {
        case index::Status::kDone:
            return Status::kOk;
        case index::Status::kMiss:
            return Status::kMissing;
        case index::Status::kVersionMismatch:
            return Status::kRejected;
        case index::Status::kExists:
            // Another tenant's record looks like want of room to who may not know of it.
            return may_read ? Status::kNotOwner : Status::kClipped;
        default:
            return Status::kClipped;
    }
}

bool only_the_owner(Opcode opcode) {
    return opcode == Opcode::kDiscard || opcode == Opcode::kShare || opcode == Opcode::kRetain;
}

}  // namespace

void DataPlane::serve(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    Time done = now();
    for (const MoveJob::Block& block : job.blocks) {
        const Tier::Found found = m_tier.find(block.key, job.intent.tenant, now());
        ++m_counters.lookups;
        done = std::max(done, found.record_done);
        job.status = found.present ? apply(job, block, found, done) : Status::kMissing;
        if (job.status != Status::kOk) break;
        ++job.done;
    }
    complete_at(id, done);
}

/// Does what `job` asks to one block that was found. `done`: when it is done.
Status DataPlane::apply(MoveJob& job, const MoveJob::Block& block, const Tier::Found& found,
                        Time& done) {
    if (only_the_owner(job.opcode()) && found.right != Right::kOwn) return Status::kNotOwner;
    switch (job.opcode()) {
        case Opcode::kDiscard:
            if (m_tier.discard(block.key, found.frame, found.record_done, done) ==
                Tier::Discarded::kBusy) {
                return Status::kBusy;
            }
            ++m_counters.discarded_blocks;
            return Status::kOk;
        case Opcode::kPin:
            return pin(job, found.frame);
        case Opcode::kUnpin:
            return m_tier.leases().unpin(found.frame.record, job.intent.tenant, now())
                       ? Status::kOk
                       : Status::kRejected;
        case Opcode::kRetain:
            return retain(job, block, done);
        case Opcode::kShare:
            // To have it already is as good.
            (void)m_tier.share(found.frame, static_cast<TenantId>(job.intent.argument));
            return Status::kOk;
        case Opcode::kRelease: {
            const Tier::Released gone =
                m_tier.release(block.key, found.frame, job.intent.tenant, found.record_done);
            if (gone.busy) return Status::kBusy;
            done = std::max(done, gone.done);
            m_counters.released_blocks += gone.last ? 1 : 0;
            return Status::kOk;
        }
        default:
            throw InvariantError("not an intent about a block's rights");
    }
}

Status DataPlane::pin(MoveJob& job, TierFrame frame) {
    const bool mapped = (job.intent.flags & kMapped) != 0;
    if (mapped && m_tier.extents(frame).count != 1) return Status::kRejected;
    if (mapped && m_tier.moving(frame)) return Status::kBusy;  // its address is about to change
    const Time life =
        std::min(Time::from_ms(job.intent.argument), m_config.movers.engine.longest_pin);
    if (!m_tier.leases().pin(frame.record, job.intent.tenant, m_tier.size(frame), now() + life,
                             now())) {
        return Status::kRejected;
    }
    if (mapped) {
        job.answers = true;
        job.answer = m_tier.address(frame).value;
    }
    return Status::kOk;
}

Status DataPlane::retain(const MoveJob& job, const MoveJob::Block& block, Time& done) {
    const index::PolicyAnswer old = m_policy->read(block.key, done);
    const index::PolicyRecord& record = old.record;
    const index::PolicyAnswer made =
        m_policy->update({.key = block.key,
                          .reuse_score = job.intent.argument,
                          .priority_class = record.priority_class,
                          .priority = record.priority,
                          .intent = record.intent,
                          .flags = static_cast<std::uint8_t>(record.flags | kRetained)},
                         std::nullopt, old.done, job.intent.tenant);
    done = std::max(done, made.done);
    return status_of(made.status, true);
}

void DataPlane::update_policy(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    std::optional<std::uint32_t> expect;
    if (!job.has_list()) {
        m_changes.assign(1, {.key = job.blocks[0].key,
                             .reuse_score = job.intent.argument,
                             .priority_class = static_cast<std::uint8_t>(job.intent.target),
                             .priority = job.intent.priority,
                             .intent = static_cast<std::uint8_t>(job.intent.target >> 8),
                             .flags = static_cast<std::uint8_t>(job.intent.target >> 16)});
        if (job.intent.epoch != 0) expect = job.intent.epoch;
    }
    Time done = now();
    for (const index::PolicyChange& change : m_changes) {
        if (change.priority_class > 7) {
            job.status = Status::kMalformed;
            break;
        }
        const index::PolicyAnswer made = m_policy->update(change, expect, now(), job.intent.tenant);
        done = std::max(done, made.done);
        bool may_read = false;
        if (made.status == index::Status::kExists) {
            const Tier::Found found = m_tier.find(change.key, job.intent.tenant, made.done);
            may_read = found.present;
            done = std::max(done, found.record_done);
        }
        job.status = status_of(made.status, may_read);
        if (job.status != Status::kOk) break;
        ++job.done;
    }
    complete_at(id, done);
}

void DataPlane::query(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    Time done = now();
    for (const MoveJob::Block& block : job.blocks) {
        const Tier::Found found = m_tier.find(block.key, job.intent.tenant, now());
        ++m_counters.lookups;
        done = std::max(done, found.record_done);
        if (!found.present) break;
        ++job.done;
    }
    complete_at(id, done);
}

void DataPlane::cancel(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    job.status = Status::kMissing;
    for (std::uint32_t other = 0; other < m_jobs.size(); ++other) {
        const MoveJob& candidate = m_jobs[other];
        // A flawed one may carry the id of another.
        const bool flawed =
            candidate.phase == MoveJob::Phase::kIntake && candidate.status != Status::kOk;
        if (other == id || candidate.phase == MoveJob::Phase::kFree || flawed ||
            candidate.queue != job.queue || candidate.intent.id != job.intent.argument ||
            candidate.intent.tenant != job.intent.tenant) {
            continue;
        }
        job.status = cancel_other(other);
        break;
    }
    complete_at(id, now());
}

Status DataPlane::cancel_other(std::uint32_t target) {
    MoveJob& job = m_jobs[target];
    if (job.cancelled || job.phase == MoveJob::Phase::kEnding) return Status::kBusy;
    ++m_counters.cancelled_intents;
    if (job.phase == MoveJob::Phase::kWaiting) {
        leave_wait(target);
        job.status = Status::kClipped;
        complete_at(target, now());
        return Status::kOk;
    }
    if (job.promotes() && job.waiters != MoveJob::kNone) {
        // The transfer goes on for those that share it: the first of them takes its place.
        const std::uint32_t heir = job.waiters;
        MoveJob& other = m_jobs[heir];
        std::swap(job.intent, other.intent);
        std::swap(job.queue, other.queue);
        std::swap(job.arrived, other.arrived);
        std::swap(job.fetch_started, other.fetch_started);
        std::swap(job.admitted, other.admitted);
        leave_wait(heir);
        other.status = Status::kClipped;
        complete_at(heir, now());
        return Status::kOk;
    }
    job.cancelled = true;
    if (job.phase == MoveJob::Phase::kMoving) {
        (void)m_movers.cancel(mover_of(job), target, now());
        arm_movers();
    }
    return Status::kOk;
}

}  // namespace kvplane::engine
