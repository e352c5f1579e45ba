// SPDX-License-Identifier: Apache-2.0
/// Tier to device memory.
#include <algorithm>

#include "model/common/random.h"
#include "model/engine/data_plane.h"

namespace kvplane::engine {

void DataPlane::admit_promotion(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    if (merge(id)) return;
    job.started = now();
    const Time dram = m_dram.idle_latency() + m_dram.line_service();
    Time answered;
    Time data;
    std::size_t found_blocks = 0;
    for (MoveJob::Block& block : job.blocks) {
        const Tier::Found found = m_tier.find(block.key, job.intent.tenant, now());
        ++m_counters.lookups;
        answered = found.record_done;
        if (found.taken && found.right != Right::kNone) {
            const std::uint32_t bringer = bringer_of(found.frame);
            if (bringer != MoveJob::kNone) {
                let_go(job, 0, found_blocks);
                (void)wait_for(id, bringer);
                return;
            }
        }
        if (!found.present) {
            job.status = Status::kMissing;
            break;
        }
        if (m_tier.size(found.frame) != block.size) {
            job.status = Status::kRejected;
            break;
        }
        block.frame = found.frame;
        // Behind its siblings' lookups a block waits as behind their transfers: queue_own.
        block.lookup = found.lookup_done - (found_blocks == 0 ? now() : found.issued);
        block.looked_up = found.lookup_done;
        block.record = found.record_done - found.lookup_done;
        block.dram = dram;
        m_tier.begin_read(found.frame);
        if (found_blocks++ > 0) continue;
        const Time scheduled = found.record_done + m_config.movers.engine.schedule;
        data = m_dram.begin_run(scheduled, m_tier.address(block.frame), block.size, m_push_rate,
                                m_movers.rate(kPull));
        block.dram = data - scheduled;
    }
    job.blocks.resize(found_blocks);
    job.holds = found_blocks != 0;
    if (found_blocks == 0) {
        complete_at(id, answered);
        return;
    }
    job.phase = MoveJob::Phase::kStarting;
    m_promotions.insert(move_hash(job), id);
    job.translated = now() + translate(job);
    const Time read =
        m_movers.reads_ahead() ? data - job.blocks.front().dram : data + m_config.movers.codec.fill;
    m_events.schedule(std::max(read, job.translated), {Step::kReady, id});
}

std::uint64_t DataPlane::move_hash(const MoveJob& job) const {
    const MoveJob::Block& first = job.blocks.front();
    return mix64(first.key.low ^ address_of(job, first, 0).value);
}

/// Whether both bring the same blocks to the same places, for the same tenant.
bool DataPlane::same_move(const MoveJob& a, const MoveJob& b) const {
    const management::Window& to = setup_of(a).windows[a.window()];
    const management::Window& other = setup_of(b).windows[b.window()];
    return a.intent.tenant == b.intent.tenant && setup_of(a).pasid == setup_of(b).pasid &&
           to.shards == other.shards && to.stride == other.stride && to.base == other.base &&
           std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                      [](const MoveJob::Block& x, const MoveJob::Block& y) {
                          return x.key == y.key && x.slot == y.slot;
                      });
}

/// Where the same promotion is under way already, waits for that one, which becomes as urgent. Not
/// for one that ends early: it may have missed what is there by now.
bool DataPlane::merge(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    const std::uint32_t* known = m_promotions.find(move_hash(job));
    if (known == nullptr || !same_move(job, m_jobs[*known])) return false;
    const std::uint32_t ahead = *known;
    if (m_jobs[ahead].status != Status::kOk || m_jobs[ahead].cancelled) return false;
    if (!wait_for(id, ahead)) return false;
    ++m_counters.merged_intents;
    Translations flag;
    look_up_flag(job, flag);
    job.translated = now() + m_addresses.wait(flag);
    return true;
}

/// `id` ends with `other`, or starts anew then; `other` becomes as urgent. False, and nothing is
/// done, where `other` is a promotion that the movers have given up.
bool DataPlane::wait_for(std::uint32_t id, std::uint32_t other) {
    MoveJob& job = m_jobs[id];
    MoveJob& ahead = m_jobs[other];
    const bool raised = ahead.phase != MoveJob::Phase::kMoving ||
                        m_movers.raise(mover_of(ahead), other, job.urgency(), now());
    if (ahead.promotes() && !raised) return false;
    ahead.transfer_class = std::min(ahead.transfer_class, job.transfer_class);
    if (!ahead.promotes()) ++m_counters.waited_intents;
    job.phase = MoveJob::Phase::kWaiting;
    std::uint32_t* last = &ahead.waiters;
    while (*last != MoveJob::kNone) last = &m_jobs[*last].next;
    *last = id;
    job.next = MoveJob::kNone;
    arm_movers();
    return true;
}

void DataPlane::leave_wait(std::uint32_t id) {
    for (MoveJob& ahead : m_jobs) {
        for (std::uint32_t* link = &ahead.waiters; *link != MoveJob::kNone;
             link = &m_jobs[*link].next) {
            if (*link != id) continue;
            *link = m_jobs[id].next;
            m_jobs[id].next = MoveJob::kNone;
            return;
        }
    }
}

/// The demotion that brings the block of `frame` in.
std::uint32_t DataPlane::bringer_of(TierFrame frame) const {
    for (std::uint32_t id = 0; id < m_jobs.size(); ++id) {
        const MoveJob& job = m_jobs[id];
        if (!job.holds || job.opcode() != Opcode::kDemote) continue;
        if (std::any_of(job.blocks.begin(), job.blocks.end(),
                        [&](const MoveJob::Block& block) { return block.frame == frame; })) {
            return id;
        }
    }
    return MoveJob::kNone;
}

void DataPlane::forget_promotion(std::uint32_t id) {
    const std::uint64_t hash = move_hash(m_jobs[id]);
    const std::uint32_t* known = m_promotions.find(hash);
    if (known != nullptr && *known == id) m_promotions.erase(hash);
}

/// Sends a block's payload out. False where it must not be sent: a run ends at its first bad block.
bool DataPlane::deliver(MoveJob& job, const MoveJob::Block& block, Time end) {
    m_counters.read_from_tier += block.size;
    if (job.status == Status::kPoisoned) return false;
    m_buffer.resize(m_config.payload_bytes ? block.size.count : 0);
    read_frame(block.frame, m_buffer);
    if (poisoned(block.frame, m_buffer)) {
        job.status = Status::kPoisoned;
        ++m_counters.poisoned_blocks;
        return false;
    }
    const management::Window& window = setup_of(job).windows[job.window()];
    if (m_config.movers.engine.fence == Fence::kNone) {
        m_deliveries.push_back({window, block.slot, block.size, m_buffer});
        ++m_deliveries_sent;
        m_events.schedule(std::max(now(), end + device_flight()), {Step::kDeliver});
        ++m_counters.promoted_blocks;
        return true;
    }
    if (write_window(window, block.slot, block.size, m_buffer)) {
        ++m_counters.promoted_blocks;
    } else {
        ++m_counters.refused_blocks;
        if (!job.refused) job.accepted = job.done;
        job.refused = true;
    }
    return true;
}

void DataPlane::deliver_late() {
    const Delivery& next = m_deliveries[m_next_delivery++];
    if (!write_window(next.window, next.slot, next.size, next.data)) ++m_counters.refused_blocks;
    ++m_deliveries_done;
    finish_invalidations();
    if (m_next_delivery < m_deliveries.size()) return;
    m_deliveries.clear();
    m_next_delivery = 0;
}

/// Writes payload to a slot, each shard its part. False where some of it was refused.
bool DataPlane::write_window(const management::Window& window, std::uint32_t slot, Bytes size,
                             std::span<const std::uint8_t> data) {
    const Bytes part{size.count / window.shards};
    bool accepted = true;
    for (std::uint32_t shard = 0; shard < window.shards; ++shard) {
        const auto bytes = data.empty() ? data : data.subspan(shard * part.count, part.count);
        accepted = dma->write_device(window.address(slot, shard), part, bytes) && accepted;
    }
    return accepted;
}

/// Where the flag of a promotion goes, if there is one.
std::optional<Hpa> DataPlane::flag_of(const MoveJob& job) const {
    const management::Window& window = setup_of(job).windows[job.window()];
    if (m_config.movers.engine.fence != Fence::kInBandFlag || window.flags.value == 0) return {};
    return Hpa{window.flags.value + job.blocks.front().slot * kFlagSize.count};
}

/// Tells device memory, behind the payload and on the same way, that it is there.
void DataPlane::raise_flag(const MoveJob& job) {
    const std::optional<Hpa> address = flag_of(job);
    if (!address) return;
    const std::uint64_t flag = job.intent.id | std::uint64_t{job.done} << 32U;
    static_assert(sizeof(flag) == kFlagSize.count);
    (void)dma->write_device(*address, kFlagSize,
                            {reinterpret_cast<const std::uint8_t*>(&flag), sizeof(flag)});
}

/// Whether the block in `frame` must not be delivered.
bool DataPlane::poisoned(TierFrame frame, std::span<const std::uint8_t> payload) {
    const Extents& extents = m_tier.extents(frame);
    const std::uint32_t total = granules(m_tier.size(frame));
    for (std::size_t i = 0; i < extents.count; ++i) {
        const Bytes length = kGranule * extents.length(i, total);
        const auto bad = m_poison.within(TierAllocator::address(extents.first[i]), length);
        if (bad.empty()) continue;
        m_log.add(management::Severity::kFailure, management::MediaEvent::kPoisonMoved,
                  bad.front().line, now());
        return true;
    }
    if (!m_config.payload_bytes || m_chunks.intact(frame.record, payload)) return false;
    m_log.add(management::Severity::kFailure, management::MediaEvent::kUncorrected,
              m_tier.address(frame), now());
    return true;
}

}  // namespace kvplane::engine
