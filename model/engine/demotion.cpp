// SPDX-License-Identifier: Apache-2.0
/// Device memory to tier, and from one place of the tier to another.
#include <algorithm>
#include <span>

#include "model/engine/data_plane.h"

namespace kvplane::engine {

/// What of a demotion or a move was accepted; where nothing was, it is answered, and false.
bool DataPlane::keep(std::uint32_t id, std::size_t accepted, Time answered) {
    MoveJob& job = m_jobs[id];
    job.blocks.resize(accepted);
    job.holds = accepted != 0;
    if (accepted == 0) complete_at(id, answered);
    return job.holds;
}

void DataPlane::admit_demotion(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    job.started = now();
    Time answered = now();
    std::size_t accepted = 0;
    for (MoveJob::Block& block : job.blocks) {
        const Tier::Reservation made =
            m_tier.reserve(block.key, block.size, job.intent.tenant, now());
        ++m_counters.lookups;
        answered = made.record_done;
        block.frame = made.frame;
        block.lookup = made.lookup_done - (accepted == 0 ? now() : made.issued);
        block.looked_up = made.lookup_done;
        block.record = made.record_done - made.lookup_done;
        if (made.room != Tier::Room::kYes) {
            job.status = made.room == Tier::Room::kNo ? Status::kClipped : Status::kRejected;
            break;
        }
        ++accepted;
    }
    m_counters.tier_high_water = std::max(m_counters.tier_high_water, m_tier.blocks());
    if (!keep(id, accepted, answered)) return;
    job.phase = MoveJob::Phase::kStarting;
    const MoveJob::Block& first = job.blocks.front();
    const Time translated = translate(job);
    const Time asked = m_movers.reads_ahead() ? Time{} : device_round_trip();
    m_events.schedule(
        now() + first.lookup + first.record + m_config.movers.engine.schedule + translated + asked,
        {Step::kReady, id});
}

/// A run ends at the first block that did not cross, that the device did not give, or whose
/// reservation bit errors destroyed.
Time DataPlane::commit_demotion(MoveJob& job) {
    Time committed = now() + m_tier.commit_time();
    const std::uint32_t came = job.refused ? job.accepted : job.drained;
    while (job.done < came) {
        const MoveJob::Block& block = job.blocks[job.done];
        const std::optional<Time> done = m_tier.commit(block.key, block.frame, now());
        if (!done) break;
        committed = std::max(committed, *done);
        ++job.done;
    }
    m_counters.demoted_blocks += job.done;
    m_counters.unkept_blocks += came - job.done;
    if (job.done == job.blocks.size()) return committed;
    const bool lost = job.done < came;
    if (lost) {
        job.status = Status::kClipped;
    } else if (job.refused) {
        job.status = Status::kUnknown;
    }
    // The reservation that was lost is gone already.
    let_go(job, job.done + (lost ? 1 : 0), job.blocks.size());
    return committed;
}

void DataPlane::demote_payload(MoveJob& job, const MoveJob::Block& block) {
    m_buffer.resize(m_config.payload_bytes ? block.size.count : 0);
    const management::Window& window = setup_of(job).windows[job.window()];
    const Bytes part{block.size.count / window.shards};
    for (std::uint32_t shard = 0; shard < window.shards; ++shard) {
        const std::span<std::uint8_t> all(m_buffer);
        const auto bytes = all.empty() ? all : all.subspan(shard * part.count, part.count);
        if (dma->read_device(window.address(block.slot, shard), part, bytes)) continue;
        if (!job.refused) job.accepted = job.drained - 1;
        job.refused = true;
    }
    if (job.refused) {
        ++m_counters.refused_blocks;
        return;
    }
    m_counters.written_to_tier += block.size;
    heal(block.frame);
    if (!m_config.payload_bytes) return;
    write_frame(block.frame, m_buffer);
    m_chunks.record(block.frame.record, m_buffer);
}

/// New payload ends the poison of what lay there before.
void DataPlane::heal(TierFrame frame) {
    const Extents& extents = m_tier.extents(frame);
    const std::uint32_t total = granules(m_tier.size(frame));
    for (std::size_t i = 0; i < extents.count; ++i) {
        m_poison.heal(TierAllocator::address(extents.first[i]),
                      kGranule * extents.length(i, total));
    }
}

/// Whether a block of `size` may be next in a run whose blocks have one length, but for a last one
/// that is shorter.
bool DataPlane::continues_run(const MoveJob& job, std::size_t moved, Bytes size) {
    if (moved == 0) return true;
    const Bytes first = job.blocks.front().size;
    return size <= first && job.blocks[moved - 1].size == first;
}

/// Rewrites blocks in new room of the tier.
void DataPlane::admit_move(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    Time answered = now();
    std::size_t accepted = 0;
    for (MoveJob::Block& block : job.blocks) {
        const Tier::Found found = m_tier.find(block.key, job.intent.tenant, now());
        ++m_counters.lookups;
        answered = found.record_done;
        if (!found.present) {
            job.status = Status::kMissing;
        } else if (found.right != Right::kOwn) {
            job.status = Status::kNotOwner;
        } else if (m_tier.leases().pinned(found.frame.record, now())) {
            job.status = Status::kBusy;  // its lines may be mapped where they are
        } else if (job.intent.argument != 0 || m_tier.moving(found.frame) ||
                   !continues_run(job, accepted, m_tier.size(found.frame))) {
            job.status = Status::kRejected;
        } else if (const auto to = m_tier.begin_move(block.key, found.frame, found.record_done)) {
            block.frame = found.frame;
            block.target = *to;
            block.size = m_tier.size(found.frame);
        } else {
            job.status = Status::kClipped;
        }
        if (job.status != Status::kOk) break;
        ++accepted;
    }
    if (!keep(id, accepted, answered)) return;
    job.phase = MoveJob::Phase::kStarting;
    m_events.schedule(answered + m_config.movers.engine.schedule + m_dram.idle_latency(),
                      {Step::kReady, id});
}

/// The chunk CRCs are checked before an entry leads to the copy; the old one stays where they fail.
bool DataPlane::move_payload(const MoveJob::Block& block) {
    m_buffer.resize(m_config.payload_bytes ? block.size.count : 0);
    read_frame(block.frame, m_buffer);
    if (poisoned(block.frame, m_buffer)) return false;
    heal(block.target);
    if (!m_config.payload_bytes) return true;
    write_frame(block.target, m_buffer);
    m_chunks.copy(block.frame.record, block.target.record);
    return true;
}

Time DataPlane::commit_move(MoveJob& job) {
    Time committed = now() + m_tier.commit_time();
    for (; job.done < job.drained; ++job.done) {
        const MoveJob::Block& block = job.blocks[job.done];
        if (!move_payload(block)) {
            job.status = Status::kPoisoned;
            ++m_counters.poisoned_blocks;
            break;
        }
        const std::optional<Time> done =
            m_tier.commit_move(block.key, block.frame, block.target, now());
        if (!done) {
            job.status = Status::kMissing;
            break;
        }
        committed = std::max(committed, *done);
    }
    m_counters.moved_blocks += job.done;
    if (job.done == job.blocks.size()) return committed;
    let_go(job, job.done + (job.status == Status::kMissing ? 1 : 0), job.blocks.size());
    return committed;
}

}  // namespace kvplane::engine
