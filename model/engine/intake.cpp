// SPDX-License-Identifier: Apache-2.0
/// How intents come into the data plane: fetched or posted, checked, their lists read.
#include <algorithm>

#include "model/common/errors.h"
#include "model/engine/data_plane.h"
#include "model/engine/intent_check.h"

namespace kvplane::engine {
namespace {

/// The largest run of descriptors that one fetch reads: a DMA read of 512 B.
constexpr std::uint32_t kFetchBatch = 8;

}  // namespace

void DataPlane::submission_tail(std::uint32_t queue, std::uint32_t tail) {
    if (m_halted) return;
    m_queues[queue].submission_tail(m_registers.queue(queue), tail, now());
    try_fetch(queue);
}

bool DataPlane::portal(std::uint32_t queue, const Intent& intent) {
    if (queue >= m_registers.queues()) return false;
    const management::QueueSetup& setup = m_registers.queue(queue);
    if (!setup.enabled || setup.place != management::QueuePlace::kPortal) return false;
    if (m_halted) return true;
    if (!m_queues[queue].portal(setup, intent, now())) ++m_counters.lost_portal_writes;
    try_fetch(queue);
    return true;
}

void DataPlane::completion_head(std::uint32_t queue, std::uint32_t head) {
    if (m_halted) return;
    m_queues[queue].completion_head(head);
    try_fetch(queue);
}

void DataPlane::bus_master(bool /*enabled*/) { stop_or_go_on(); }

void DataPlane::stop_or_go_on() {
    for (const Mover mover : {kPush, kPull}) m_movers.stop(mover, !may_cross(), now());
    arm_movers();
    if (!may_cross() || m_halted) return;
    for (const std::uint32_t job : m_held_completions) complete(job);
    m_held_completions.clear();
    for (std::uint32_t queue = 0; queue < m_batches.size(); ++queue) {
        if (!m_batches[queue].entries.empty()) flush(queue);
    }
    for (std::uint32_t queue = 0; queue < m_queues.size(); ++queue) try_fetch(queue);
}

void DataPlane::invalidate(std::uint32_t queue, Hpa address) {
    const std::uint32_t pasid = m_registers.queue(queue).pasid;
    m_addresses.invalidate(pasid, address);
    Invalidation one{.queue = queue,
                     .pasid = pasid,
                     .serial = m_counters.intents,
                     .deliveries = m_deliveries_sent,
                     .fetched = {}};
    for (std::uint32_t q = 0; q < m_queues.size(); ++q) {
        if (m_queues[q].fetching() && m_registers.queue(q).pasid == pasid) {
            one.fetched = std::max(one.fetched, m_fetch_ends[q]);
        }
    }
    m_invalidations.push_back(one);
    finish_invalidations();
}

/// A translation is dropped for good when nothing under way can use it any more.
void DataPlane::finish_invalidations() {
    std::erase_if(m_invalidations, [&](const Invalidation& one) {
        const bool done = !in_use(one);
        if (done) m_registers.invalidated(one.queue);
        return done;
    });
}

bool DataPlane::in_use(const Invalidation& one) const {
    if (now() < one.fetched || m_deliveries_done < one.deliveries) return true;
    for (std::uint32_t q = 0; q < m_batches.size(); ++q) {
        const Batch& batch = m_batches[q];
        if (m_registers.queue(q).pasid == one.pasid && !batch.entries.empty() &&
            batch.oldest <= one.serial) {
            return true;
        }
    }
    return std::any_of(m_jobs.begin(), m_jobs.end(), [&](const MoveJob& job) {
        return job.phase != MoveJob::Phase::kFree && job.serial <= one.serial &&
               setup_of(job).pasid == one.pasid;
    });
}

/// How long the pages of all that a job moves take: an order starts when it has them all.
Time DataPlane::translate(const MoveJob& job) {
    if (!m_addresses.on()) return {};
    const management::Window& window = setup_of(job).windows[job.window()];
    Translations all;
    for (const MoveJob::Block& block : job.blocks) {
        for (std::uint32_t shard = 0; shard < window.shards; ++shard) {
            m_addresses.look_up(setup_of(job).pasid, window.address(block.slot, shard),
                                {block.size.count / window.shards}, all);
        }
    }
    if (job.promotes()) look_up_flag(job, all);
    return m_addresses.wait(all);
}

void DataPlane::look_up_flag(const MoveJob& job, Translations& all) {
    const std::optional<Hpa> flag = flag_of(job);
    if (flag) m_addresses.look_up(setup_of(job).pasid, *flag, kFlagSize, all);
}

void DataPlane::try_fetch(std::uint32_t queue) {
    if (!may_cross()) return;
    const management::QueueSetup& setup = m_registers.queue(queue);
    const std::uint32_t fetchable = m_queues[queue].fetchable(setup);
    if (fetchable == 0) return;
    const std::uint32_t count =
        m_queues[queue].begin_fetch(setup, std::min(fetchable, kFetchBatch));
    m_fetch_started[queue] = now();
    m_fetch_ends[queue] = now() + fetch_time(queue, count);
    m_events.schedule(m_fetch_ends[queue], {Step::kFetched, queue});
}

Time DataPlane::fetch_time(std::uint32_t queue, std::uint32_t count) {
    const management::QueueSetup& setup = m_registers.queue(queue);
    const Bytes size = Bytes{sizeof(Intent)} * count;
    switch (setup.place) {
        case management::QueuePlace::kHostMemory:
            return dma_round_trip(m_config.movers) +
                   m_link.serialisation(m_link.read_tlp_bytes(size)) +
                   m_addresses.translate(setup.pasid, setup.submission_base, size);
        case management::QueuePlace::kHdm: {
            Time done = now();
            for (std::uint32_t i = 0; i < count; ++i) {
                const Dpa line{setup.submission_base.value + m_queues[queue].fetch_offset() +
                               i * sizeof(Intent)};
                done =
                    std::max(done, m_dram.access_line(now(), line, false, {.share = other_load()}));
            }
            return done - now();
        }
        case management::QueuePlace::kPortal:
            return {};
    }
    throw InvariantError("unknown place of a queue");
}

void DataPlane::fetched(std::uint32_t queue) {
    const management::QueueSetup& setup = m_registers.queue(queue);
    const auto read = [&](std::uint64_t offset, std::span<std::uint8_t> bytes) {
        const std::uint64_t address = setup.submission_base.value + offset;
        if (setup.place == management::QueuePlace::kHdm) {
            m_store.read(address, bytes);
        } else {
            dma->read_host({address}, bytes);
        }
    };
    m_queues[queue].end_fetch(setup, read, m_fetched);
    for (const IntentQueue::Fetched& fetched : m_fetched) take_in(queue, fetched);
    finish_invalidations();
    try_fetch(queue);
}

void DataPlane::take_in(std::uint32_t queue, const IntentQueue::Fetched& fetched) {
    const std::uint32_t id = take_job();
    MoveJob& job = m_jobs[id];
    job.intent = fetched.intent;
    job.phase = MoveJob::Phase::kIntake;
    job.queue = static_cast<std::uint16_t>(queue);
    job.arrived = fetched.arrived;
    job.fetch_started = m_fetch_started[queue];
    job.transfer_class = static_cast<TransferClass>(job.intent.transfer_class);
    job.status = fetched.stale ? Status::kMalformed : check(job.intent, setup_of(job));
    job.serial = ++m_counters.intents;
    m_counters.stale_descriptors += fetched.stale ? 1 : 0;
    m_check_free_at = std::max(m_check_free_at, now()) + m_config.movers.engine.check;
    Time admitted = m_check_free_at;
    if (job.status == Status::kOk && job.has_list()) {
        const Bytes list = Bytes{sizeof(GatherEntry)} * job.intent.count;
        admitted += dma_round_trip(m_config.movers) +
                    m_link.serialisation(m_link.read_tlp_bytes(list)) +
                    m_addresses.translate(setup_of(job).pasid, {job.low_target()}, list);
    }
    // In order within a queue: a demotion must find the room that a discard before it makes.
    m_last_admitted[queue] = std::max(m_last_admitted[queue], admitted);
    m_events.schedule(m_last_admitted[queue], {Step::kAdmit, id});
    for (JobObserver* observer : m_job_observers) observer->taken_in(job);
}

Status DataPlane::check(const Intent& intent, const management::QueueSetup& setup) const {
    const bool sound = flaw_of(intent) == IntentFlaw::kNone &&
                       (setup.tenant == management::kAnyTenant || setup.tenant == intent.tenant) &&
                       check_target(intent, setup);
    if (!sound) return Status::kMalformed;
    if (intent.boot_generation != m_registers.boot_generation()) return Status::kMissing;
    return Status::kOk;
}

/// A list lies in the region of its queue pair.
bool DataPlane::check_target(const Intent& intent, const management::QueueSetup& setup) const {
    const std::uint64_t low = intent.target & ((std::uint64_t{1} << 48) - 1);
    return (intent.flags & kGatherList) == 0 ||
           setup.in_region({low}, Bytes{sizeof(GatherEntry)} * intent.count);
}

void DataPlane::admit(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    job.admitted = now();
    job.sequence = m_admissions++;
    if (job.cancelled) job.status = Status::kClipped;
    if (job.status == Status::kOk && !read_blocks(job)) job.status = Status::kMalformed;
    if (job.status != Status::kOk) {
        complete_at(id, now());
        return;
    }
    switch (job.opcode()) {
        case Opcode::kPromote:
        case Opcode::kPrefetch:
            return admit_promotion(id);
        case Opcode::kDemote:
            return admit_demotion(id);
        case Opcode::kReEncode:
            return admit_move(id);
        case Opcode::kUpdatePolicy:
            return update_policy(id);
        case Opcode::kQuery:
            return query(id);
        case Opcode::kCancel:
            return cancel(id);
        case Opcode::kDiscard:
        case Opcode::kPin:
        case Opcode::kUnpin:
        case Opcode::kRetain:
        case Opcode::kShare:
        case Opcode::kRelease:
            return serve(id);
    }
    throw InvariantError("an unknown opcode passed the checks");
}

Bytes DataPlane::size_of(std::uint32_t length_4k) const {
    return length_4k == granules(m_config.block) ? m_config.block : kGranule * length_4k;
}

bool DataPlane::read_blocks(MoveJob& job) {
    if (job.opcode() == Opcode::kUpdatePolicy && job.has_list()) {
        m_changes.resize(job.intent.count);
        dma->read_host({job.low_target()}, {reinterpret_cast<std::uint8_t*>(m_changes.data()),
                                            m_changes.size() * sizeof(index::PolicyChange)});
        return true;
    }
    m_list.resize(job.intent.count);
    if (job.has_list()) {
        dma->read_host({job.low_target()}, {reinterpret_cast<std::uint8_t*>(m_list.data()),
                                            m_list.size() * sizeof(GatherEntry)});
    } else {
        const std::uint64_t slot = is_move(job.opcode()) ? job.low_target() : 0;
        m_list[0] = make_gather_entry({job.intent.key_high, job.intent.key_low},
                                      static_cast<std::uint32_t>(slot), job.intent.length_4k);
    }
    job.blocks.resize(m_list.size());
    for (std::size_t i = 0; i < m_list.size(); ++i) {
        job.blocks[i] = {};
        job.blocks[i].key = m_list[i].key();
        job.blocks[i].slot = m_list[i].slot;
        if (!is_move(job.opcode())) continue;
        job.blocks[i].size = size_of(m_list[i].length());
        if (!fits(job.intent, m_list[i], i + 1 == m_list.size()) ||
            !setup_of(job).windows[job.window()].holds(m_list[i].slot, job.blocks[i].size)) {
            return false;
        }
    }
    return true;
}

}  // namespace kvplane::engine
