// SPDX-License-Identifier: Apache-2.0
#include "model/engine/data_plane.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/common/errors.h"

namespace kvplane::engine {
namespace {

Status status_of(FlowEnd reason) {
    switch (reason) {
        case FlowEnd::kCancelled:
            return Status::kClipped;
        case FlowEnd::kLate:
            return Status::kRejected;
        case FlowEnd::kTimedOut:
            return Status::kUnknown;
    }
    throw InvariantError("unknown end of a transfer");
}

/// Who takes a transfer over comes when some of it has been done: he has not waited for that.
void take_over(StageTimes& stages) {
    Time early = Time{} - std::min(stages[Stage::kQueueOther], Time{});
    stages[Stage::kQueueOther] += early;
    for (const Stage done : {Stage::kQueueOwn, Stage::kLookup, Stage::kRecord, Stage::kDram,
                             Stage::kDecode, Stage::kLink}) {
        const Time cut = std::min(stages[done], early);
        stages[done] -= cut;
        early -= cut;
    }
}

}  // namespace

DataPlane::DataPlane(sc_core::sc_module_name name, const DataPlaneConfig& config,
                     index::ResidentIndex& index, management::PoisonList& poison,
                     management::EventLog& events)
    : sc_module(name),
      m_config(config),
      m_link(config.movers.link),
      m_dram(config.movers.dram),
      m_index(index),
      m_tier({config.tier_capacity, config.movers.engine.pin_budget}, index, *this),
      m_addresses(config.movers.engine.address_cache),
      m_poison(poison),
      m_log(events),
      m_registers(config.queues, config.tier_capacity, config.ring_memory, *this),
      m_owned_movers(make_movers()),
      m_movers(*m_owned_movers),
      m_chunks(config.movers.engine.chunk),
      m_events("events"),
      m_queues(config.queues, IntentQueue(config.movers.engine.in_flight)),
      m_batches(config.queues),
      m_fetch_started(config.queues),
      m_fetch_ends(config.queues),
      m_last_admitted(config.queues) {
    index.bind(*this);
    forget_policy();
    m_push_rate = m_link.payload_rate(m_link.dma_write());
    const bool per_flit = config.movers.link.arbitration == cxl::Arbitration::kFlit;
    m_wire_wait = m_link.serialisation(per_flit ? m_link.flit_bytes()
                                                : m_link.write_tlp_bytes(config.movers.link.mps));
    SC_HAS_PROCESS(DataPlane);
    SC_METHOD(run);
    sensitive << m_events.event();
    dont_initialize();
}

void DataPlane::forget_policy() {
    m_policy.emplace(
        index::PolicyStoreConfig{.lines_log2 = m_config.movers.engine.policy_lines_log2}, m_index,
        static_cast<index::RecordReader&>(*this));
}

void DataPlane::run() {
    Event event;
    while (m_events.pop_due(event)) handle(event);
}

void DataPlane::handle(const Event& event) {
    ++m_counters.events;
    switch (event.step) {
        case Step::kFetched:
            return fetched(event.subject);
        case Step::kAdmit:
            return admit(event.subject);
        case Step::kReady:
            return ready(event.subject);
        case Step::kMovers:
            if (now() != m_movers_armed) return;  // an earlier end has come between
            m_movers_armed = Time::never();
            m_movers.advance(now());
            return arm_movers();
        case Step::kDeliver:
            return deliver_late();
        case Step::kCommit:
            return commit(event.subject);
        case Step::kComplete:
            return complete(event.subject);
        case Step::kFlush:
            if (m_batches[event.subject].number == event.detail && may_cross()) {
                flush(event.subject);
            }
            return;
        case Step::kHost:
            return close_host_window();
    }
}

void DataPlane::ready(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    if (job.cancelled) {
        job_given_up(mover_of(job), id, 0, FlowEnd::kCancelled, now());
        return;
    }
    job.phase = MoveJob::Phase::kMoving;
    FlowUrgency all = job.urgency();
    for (std::uint32_t w = job.waiters; w != MoveJob::kNone; w = m_jobs[w].next) {
        const FlowUrgency other = m_jobs[w].urgency();
        all.deadline = std::min(all.deadline, other.deadline);
        all.drop_after = std::max(all.drop_after, other.drop_after);
    }
    m_movers.push(
        mover_of(job),
        {.id = id,
         .priority = all.priority,
         .tenant = job.intent.tenant,
         .destination = static_cast<std::uint16_t>(job.queue * management::kWindows + job.window()),
         .deadline = all.deadline,
         .drop_after = all.drop_after,
         .blocks = static_cast<std::uint32_t>(job.blocks.size()),
         .block_bytes = job.blocks.front().size,
         .last_bytes = job.blocks.back().size},
        now());
    arm_movers();
}

std::uint32_t DataPlane::mover_of(const MoveJob& job) {
    if (job.promotes()) return kPush;
    return job.opcode() == Opcode::kDemote ? kPull : kMove;
}

std::unique_ptr<Movers> DataPlane::make_movers() {
    FlowClient& client = *this;
    const MoveAddressIf& addresses = *this;
    if (!m_config.movers.lines) return std::make_unique<FlowMovers>(m_config.movers, client);
    auto lines = std::make_unique<LineMovers>("line_movers", m_config.movers, client, addresses);
    m_line_movers = lines.get();
    return lines;
}

Dpa DataPlane::move_address(std::uint32_t /*mover*/, std::uint32_t id, std::uint32_t block,
                            Bytes offset) const {
    const MoveJob::Block& moved = m_jobs[id].blocks[block];
    const Extents& extents = m_tier.extents(moved.frame);
    const std::uint32_t of_extent = extents.length(0, granules(moved.size));
    const auto granule = static_cast<std::uint32_t>(offset / kGranule);
    const Dpa start = TierAllocator::address(extents.first[granule / of_extent]);
    return {start.value + granule % of_extent * kGranule.count + offset.count % kGranule.count};
}

void DataPlane::arm_movers() {
    const Time next = m_movers.next_end();
    if (next >= m_movers_armed) return;
    m_movers_armed = next;
    m_events.schedule(next, {Step::kMovers, 0});
}

Bytes DataPlane::drained_by_now(Mover mover) {
    m_movers.advance(now());
    arm_movers();
    return m_movers.drained(mover);
}

void DataPlane::block_drained(std::uint32_t mover, std::uint32_t id, std::uint32_t block,
                              Time start, Time end) {
    if (mover == kBulkRead || mover == kBulkWrite) {
        m_bulk[mover - kBulkRead].start = start;
        return;
    }
    MoveJob& job = m_jobs[id];
    if (block == 0) job.first_start = start;
    ++job.drained;
    count_missed(job, 1, end);
    for (JobObserver* observer : m_job_observers) {
        observer->crossed(job, static_cast<Mover>(mover), block, start, end);
    }
    const std::uint32_t before = job.done;
    switch (static_cast<Mover>(mover)) {
        case kPush:
            if (deliver(job, job.blocks[block], end)) ++job.done;
            if (job.done != before && m_observer != nullptr) {
                m_observer->block_promoted(describe(job, block, start, end));
            }
            return;
        case kPull:
            demote_payload(job, job.blocks[block]);
            if (m_observer != nullptr && !job.refused) {
                m_observer->block_demoted(describe(job, block, start, end));
            }
            return;
        default:
            return;
    }
}

void DataPlane::job_drained(std::uint32_t mover, std::uint32_t id, Time end) {
    if (mover == kBulkRead || mover == kBulkWrite) {
        const auto direction = mover == kBulkRead ? BulkDirection::kRead : BulkDirection::kWrite;
        const Bulk& bulk = m_bulk[mover - kBulkRead];
        bulk.client->bulk_done(direction, id, bulk.start, end);
        return;
    }
    m_jobs[id].phase = MoveJob::Phase::kEnding;
    const bool waits = mover == kPush && m_config.movers.engine.fence != Fence::kNone;
    const Time there = waits ? end + device_flight() + fence() : end;
    m_events.schedule(std::max(now(), there), {Step::kCommit, id});
}

/// So many blocks have crossed at `end`, or never: each who waits for them has a deadline of his
/// own.
void DataPlane::count_missed(const MoveJob& job, std::uint32_t blocks, Time end) {
    const auto count = [&](const MoveJob& one) {
        if (end <= one.deadline() || one.deadline() == Time::never()) return;
        m_counters.missed_blocks.at(one.intent.transfer_class) += blocks;
    };
    count(job);
    if (!job.promotes()) return;
    for (std::uint32_t w = job.waiters; w != MoveJob::kNone; w = m_jobs[w].next) count(m_jobs[w]);
}

/// The job ends with the blocks that have crossed, whatever would have ended it further on.
void DataPlane::job_given_up(std::uint32_t mover, std::uint32_t id, std::uint32_t /*blocks*/,
                             FlowEnd reason, Time end) {
    MoveJob& job = m_jobs[id];
    if (reason == FlowEnd::kLate) {
        count_missed(job, static_cast<std::uint32_t>(job.blocks.size()) - job.drained,
                     Time::never());
    }
    if (job.status != Status::kPoisoned) job.status = status_of(reason);
    job_drained(mover, id, end);
}

void DataPlane::commit(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    job.ended = now();
    Time committed = now() + m_tier.commit_time();
    if (job.opcode() == Opcode::kDemote) {
        committed = commit_demotion(job);
    } else if (job.opcode() == Opcode::kReEncode) {
        committed = commit_move(job);
    } else {
        if (job.refused && m_config.movers.engine.fence == Fence::kReadFlush) {
            job.status = Status::kUnknown;
            job.done = job.accepted;
        }
        raise_flag(job);
        for (std::uint32_t w = job.waiters; w != MoveJob::kNone; w = m_jobs[w].next) {
            m_jobs[w].done = job.done;
            raise_flag(m_jobs[w]);
        }
        forget_promotion(id);
        let_go(job, 0, job.blocks.size());
    }
    job.holds = false;
    complete_at(id, committed);
}

/// Gives back what blocks [from, until) of a job hold.
void DataPlane::let_go(const MoveJob& job, std::size_t from, std::size_t until) {
    for (std::size_t i = from; i < until; ++i) {
        const MoveJob::Block& block = job.blocks[i];
        if (job.opcode() == Opcode::kDemote) {
            m_tier.abandon(block.key, block.frame, now());
        } else if (job.opcode() == Opcode::kReEncode) {
            m_tier.abandon_move(block.key, block.frame, block.target, now());
        } else {
            m_tier.end_read(block.key, block.frame, now());
        }
    }
}

void DataPlane::complete_at(std::uint32_t id, Time committed) {
    MoveJob& job = m_jobs[id];
    job.phase = MoveJob::Phase::kEnding;
    job.settled = committed;
    const management::QueueSetup& setup = setup_of(job);
    const Time translated =
        m_addresses.translate(setup.pasid, m_queues[job.queue].next_completion(setup),
                              m_config.movers.engine.completion_entry);
    m_events.schedule(committed + translated + completion_flight(), {Step::kComplete, id});
    // Those that share a promotion end as it does; those that waited for a demotion start now.
    for (std::uint32_t waiter = std::exchange(job.waiters, MoveJob::kNone);
         waiter != MoveJob::kNone;) {
        MoveJob& other = m_jobs[waiter];
        const std::uint32_t next = std::exchange(other.next, MoveJob::kNone);
        if (job.promotes()) {
            other.status = job.status;
            other.done = job.done;
            complete_at(waiter, std::max(committed, other.translated));
        } else {
            other.phase = MoveJob::Phase::kIntake;
            m_events.schedule(committed, {Step::kAdmit, waiter});
        }
        waiter = next;
    }
}

void DataPlane::complete(std::uint32_t id) {
    if (!may_cross()) {
        m_held_completions.push_back(id);
        return;
    }
    MoveJob& job = m_jobs[id];
    for (JobObserver* observer : m_job_observers) observer->completed(job);
    const std::uint32_t queue = job.queue;
    Batch& batch = m_batches[queue];
    batch.oldest = batch.entries.empty() ? job.serial : std::min(batch.oldest, job.serial);
    batch.entries.push_back({.id = job.intent.id,
                             .status = static_cast<std::uint8_t>(job.status),
                             .queue = job.queue,
                             .argument = job.answers ? job.answer : job.done});
    job.blocks.clear();
    job.phase = MoveJob::Phase::kFree;
    m_free_jobs.push_back(id);
    if (batch.entries.size() >= m_config.movers.engine.coalesce) {
        flush(queue);
    } else if (batch.entries.size() == 1) {
        m_events.schedule(now() + m_config.movers.engine.coalesce_time,
                          {Step::kFlush, queue, batch.number});
    }
    finish_invalidations();
}

void DataPlane::flush(std::uint32_t queue) {
    Batch& batch = m_batches[queue];
    for (const CompletionEntry& entry : batch.entries) {
        m_queues[queue].post(m_registers.queue(queue), *dma.operator->(), entry);
        ++m_counters.completions;
    }
    batch.entries.clear();
    ++batch.number;
    finish_invalidations();
    try_fetch(queue);
}

BlockMove DataPlane::describe(const MoveJob& job, std::uint32_t block, Time start, Time end) const {
    const MoveJob::Block& moved = job.blocks[block];
    const bool demotion = !job.promotes();
    BlockMove move{.queue = job.queue,
                   .intent = job.intent.id,
                   .block = block,
                   .bytes = moved.size,
                   .arrived = job.arrived,
                   .stages = {}};
    StageTimes& stages = move.stages;
    const Time pipeline = demotion ? device_round_trip() : Time{};
    stages[Stage::kFetch] = job.admitted - job.fetch_started;
    stages[Stage::kLookup] = moved.lookup;
    stages[Stage::kRecord] = moved.record;
    stages[Stage::kDram] = moved.dram;
    stages[Stage::kDecode] = demotion ? Time{} : m_config.movers.codec.fill;
    stages[Stage::kLink] = (end - start) + (demotion ? pipeline : flight_fenced());
    stages[Stage::kFence] = demotion ? Time{} : fence();
    stages[Stage::kComplete] = m_tier.commit_time() + completion_flight();
    Time waited = (start - job.started) - pipeline - stages[Stage::kLookup] -
                  stages[Stage::kRecord] - stages[Stage::kDram] - stages[Stage::kDecode];
    // Of stages that ran while siblings were on the wire, only what was left to wait for counts.
    for (const Stage hidden : {Stage::kRecord, Stage::kLookup, Stage::kDram}) {
        if (waited >= Time{}) break;
        const Time cut = std::min(stages[hidden], Time{} - waited);
        stages[hidden] -= cut;
        waited += cut;
    }
    if (waited < Time{}) {
        throw InvariantError(fmt::format("block {} of intent {} left {} ps before it was ready",
                                         block, job.intent.id, -waited.ps));
    }
    stages[Stage::kQueueOwn] = std::min(waited, start - job.first_start);
    stages[Stage::kQueueOther] = waited - stages[Stage::kQueueOwn] +
                                 (job.fetch_started - job.arrived) + (job.started - job.admitted);
    take_over(stages);
    return move;
}

Time DataPlane::fence() const {
    switch (m_config.movers.engine.fence) {
        case Fence::kInBandFlag:
            return {};
        case Fence::kReadFlush:
            return m_config.movers.engine.read_flush;
        case Fence::kNone:
            return {};
    }
    throw InvariantError("unknown fence");
}

Time DataPlane::device_flight() const {
    return m_config.movers.engine.device_flight.value_or(m_config.movers.flight);
}

/// What of the way to the device a completion waits for.
Time DataPlane::flight_fenced() const {
    return m_config.movers.engine.fence == Fence::kNone ? Time{} : device_flight();
}

Time DataPlane::device_round_trip() const {
    return device_flight() * 2 + m_config.movers.engine.host_memory;
}

Time DataPlane::completion_flight() const {
    return m_link.serialisation(m_link.write_tlp_bytes(m_config.movers.engine.completion_entry)) +
           m_config.movers.flight;
}

void DataPlane::audit() const {
    m_tier.audit();
    std::uint64_t open = 0;
    for (const MoveJob& job : m_jobs) open += job.phase == MoveJob::Phase::kFree ? 0 : 1;
    for (const Batch& batch : m_batches) open += batch.entries.size();
    if (m_counters.intents != m_counters.completions + m_counters.dropped_intents + open) {
        throw InvariantError(fmt::format(
            "intents: {} taken in, {} completed, {} dropped by resets, {} under way",
            m_counters.intents, m_counters.completions, m_counters.dropped_intents, open));
    }
}

std::uint32_t DataPlane::take_job() {
    if (m_free_jobs.empty()) {
        m_free_jobs.push_back(static_cast<std::uint32_t>(m_jobs.size()));
        m_jobs.emplace_back();
    }
    const std::uint32_t id = m_free_jobs.back();
    m_free_jobs.pop_back();
    std::vector<MoveJob::Block> blocks = std::move(m_jobs[id].blocks);  // keeps its room
    m_jobs[id] = {};
    m_jobs[id].blocks = std::move(blocks);
    return id;
}

void DataPlane::read_frame(TierFrame frame, std::span<std::uint8_t> data) const {
    const Extents& extents = m_tier.extents(frame);
    const std::uint32_t total = granules(m_tier.size(frame));
    for (std::size_t i = 0; i < extents.count && !data.empty(); ++i) {
        const std::size_t length =
            std::min<std::size_t>(data.size(), (kGranule * extents.length(i, total)).count);
        m_store.read(TierAllocator::address(extents.first[i]).value, data.first(length));
        data = data.subspan(length);
    }
}

void DataPlane::write_frame(TierFrame frame, std::span<const std::uint8_t> data) {
    const Extents& extents = m_tier.extents(frame);
    const std::uint32_t total = granules(m_tier.size(frame));
    for (std::size_t i = 0; i < extents.count && !data.empty(); ++i) {
        const std::size_t length =
            std::min<std::size_t>(data.size(), (kGranule * extents.length(i, total)).count);
        m_store.write(TierAllocator::address(extents.first[i]).value, data.first(length));
        data = data.subspan(length);
    }
}

}  // namespace kvplane::engine
