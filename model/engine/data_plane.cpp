// SPDX-License-Identifier: Apache-2.0
#include "model/engine/data_plane.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::engine {
namespace {

/// The largest run of descriptors that one fetch reads: a DMA read of 512 B.
constexpr std::uint32_t kFetchBatch = 8;

/// None given: after all that have one.
Time deadline_of(const Intent& intent) {
    return intent.deadline_ns == 0 ? Time::never()
                                   : Time::from_ns(static_cast<std::int64_t>(intent.deadline_ns));
}

bool is_move(Opcode opcode) {
    return opcode == Opcode::kPromote || opcode == Opcode::kPrefetch || opcode == Opcode::kDemote;
}

}  // namespace

DataPlane::DataPlane(sc_core::sc_module_name name, const DataPlaneConfig& config,
                     index::ResidentIndex& index, management::PoisonList& poison,
                     management::EventLog& events)
    : sc_module(name),
      m_config(config),
      m_link(config.movers.link),
      m_dram(config.movers.dram),
      m_tier(config.tier_capacity, config.block, index, *this),
      m_poison(poison),
      m_log(events),
      m_registers(config.queues, config.tier_capacity, *this),
      m_movers(config.movers, *this),
      m_chunks(config.movers.engine.chunk),
      m_events("events"),
      m_queues(config.queues, IntentQueue(config.movers.engine.in_flight)),
      m_fetch_started(config.queues),
      m_last_admitted(config.queues) {
    index.bind(*this);
    const bool per_flit = config.movers.link.arbitration == cxl::Arbitration::kFlit;
    m_wire_wait = m_link.serialisation(per_flit ? m_link.flit_bytes()
                                                : m_link.write_tlp_bytes(config.movers.link.mps));
    m_buffer.resize(config.payload_bytes ? config.block.count : 0);
    SC_HAS_PROCESS(DataPlane);
    SC_METHOD(run);
    sensitive << m_events.event();
    dont_initialize();
}

void DataPlane::run() {
    Event event;
    while (m_events.pop_due(event)) handle(event);
}

void DataPlane::handle(const Event& event) {
    ++m_counters.events;
    switch (event.step) {
        case Step::kFetched:
            fetched(event.subject);
            break;
        case Step::kAdmit:
            admit(event.subject);
            break;
        case Step::kReady:
            ready(event.subject);
            break;
        case Step::kMovers:
            if (now() != m_movers_armed) break;  // an earlier end has come between
            m_movers_armed = Time::never();
            m_movers.advance(now());
            arm_movers();
            break;
        case Step::kCommit:
            commit(event.subject);
            break;
        case Step::kComplete:
            complete(event.subject);
            break;
        case Step::kHost:
            close_host_window();
            break;
    }
}

void DataPlane::submission_tail(std::uint32_t queue, std::uint32_t tail) {
    if (m_halted) return;
    m_queues[queue].submission_tail(m_registers.queue(queue), tail, now());
    try_fetch(queue);
}

void DataPlane::completion_head(std::uint32_t queue, std::uint32_t head) {
    if (m_halted) return;
    m_queues[queue].completion_head(head);
    try_fetch(queue);
}

void DataPlane::try_fetch(std::uint32_t queue) {
    const management::QueueSetup& setup = m_registers.queue(queue);
    const std::uint32_t fetchable = m_queues[queue].fetchable(setup);
    if (fetchable == 0) return;
    const std::uint32_t count =
        m_queues[queue].begin_fetch(setup, std::min(fetchable, kFetchBatch));
    m_fetch_started[queue] = now();
    m_events.schedule(
        now() + dma_round_trip(m_config.movers) +
            m_link.serialisation(m_link.read_tlp_bytes(Bytes{sizeof(Intent)} * count)),
        {Step::kFetched, queue});
}

void DataPlane::fetched(std::uint32_t queue) {
    m_queues[queue].end_fetch(m_registers.queue(queue), *dma.operator->(), m_fetched);
    for (const IntentQueue::Fetched& fetched : m_fetched) {
        const std::uint32_t id = take_job();
        MoveJob& job = m_jobs[id];
        job.intent = fetched.intent;
        job.queue = static_cast<std::uint16_t>(queue);
        job.arrived = fetched.arrived;
        job.fetch_started = m_fetch_started[queue];
        job.done = 0;
        job.status = check(job.intent);
        ++m_counters.intents;
        m_check_free_at = std::max(m_check_free_at, now()) + m_config.movers.engine.check;
        Time admitted = m_check_free_at;
        if (job.status == Status::kOk && job.has_list()) {
            const Bytes list = Bytes{sizeof(GatherEntry)} * job.intent.count;
            admitted +=
                dma_round_trip(m_config.movers) + m_link.serialisation(m_link.read_tlp_bytes(list));
        }
        // In order within a queue: a demotion must find the room that a discard before it makes.
        m_last_admitted[queue] = std::max(m_last_admitted[queue], admitted);
        m_events.schedule(m_last_admitted[queue], {Step::kAdmit, id});
    }
    try_fetch(queue);
}

Status DataPlane::check(const Intent& intent) const {
    const auto opcode = static_cast<Opcode>(intent.opcode);
    const bool sound = intent.crc == intent_crc(intent) &&
                       intent.format_version == kFormatVersion && intent.count != 0 &&
                       ((intent.flags & kGatherList) != 0 || intent.count == 1) &&
                       (is_move(opcode) || opcode == Opcode::kDiscard);
    if (!sound) return Status::kMalformed;
    if (intent.boot_generation != m_registers.boot_generation()) return Status::kMissing;
    if (is_move(opcode) && intent.length_4k != granules(m_config.block)) {
        return Status::kMalformed;
    }
    return Status::kOk;
}

void DataPlane::admit(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    job.admitted = now();
    if (job.status == Status::kOk && !read_blocks(job)) job.status = Status::kMalformed;
    if (job.status != Status::kOk) {
        complete_at(id, now());
        return;
    }
    switch (job.opcode()) {
        case Opcode::kPromote:
        case Opcode::kPrefetch:
            admit_promotion(id);
            return;
        case Opcode::kDemote:
            admit_demotion(id);
            return;
        case Opcode::kDiscard:
            discard(id);
            return;
    }
    throw InvariantError(fmt::format("opcode {} passed the checks", job.intent.opcode));
}

bool DataPlane::read_blocks(MoveJob& job) {
    m_list.resize(job.intent.count);
    if (job.has_list()) {
        dma->read_host({job.low_target()}, {reinterpret_cast<std::uint8_t*>(m_list.data()),
                                            m_list.size() * sizeof(GatherEntry)});
    } else {
        const std::uint64_t slot = job.low_target();
        if (slot > UINT32_MAX) return false;
        m_list[0] = make_gather_entry({job.intent.key_high, job.intent.key_low},
                                      static_cast<std::uint32_t>(slot), job.intent.length_4k);
    }
    job.blocks.resize(m_list.size());
    for (std::size_t i = 0; i < m_list.size(); ++i) {
        if (is_move(job.opcode()) && (!m_registers.in_window(job.window(), m_list[i].slot) ||
                                      m_list[i].length() != job.intent.length_4k)) {
            return false;
        }
        job.blocks[i] = {.key = m_list[i].key(), .slot = m_list[i].slot};
    }
    return true;
}

void DataPlane::admit_promotion(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    const Time dram = m_dram.idle_latency() + m_dram.line_service();
    Time answered;
    Time data;
    std::size_t found_blocks = 0;
    for (MoveJob::Block& block : job.blocks) {
        const Tier::Found found = m_tier.find(block.key, now());
        ++m_counters.lookups;
        answered = found.record_done;
        if (!found.present) {
            job.status = Status::kMissing;
            break;
        }
        block.frame = found.frame;
        // Behind its siblings' lookups a block waits as behind their transfers: queue_own.
        block.lookup = found.lookup_done - (found_blocks == 0 ? now() : found.issued);
        block.record = found.record_done - found.lookup_done;
        block.dram = dram;
        m_tier.begin_read(found.frame);
        if (found_blocks++ > 0) continue;
        const Time scheduled = found.record_done + m_config.movers.engine.schedule;
        data = m_dram.access_line(scheduled, m_tier.frames().address(block.frame), false,
                                  other_load()) +
               m_dram.line_service();
        block.dram = data - scheduled;
    }
    job.blocks.resize(found_blocks);
    job.holds = found_blocks != 0;
    if (found_blocks == 0) {
        complete_at(id, answered);
        return;
    }
    m_events.schedule(data + m_config.movers.codec.fill, {Step::kReady, id});
}

void DataPlane::admit_demotion(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    Time answered = now();
    std::size_t accepted = 0;
    for (MoveJob::Block& block : job.blocks) {
        const Tier::Reservation made = m_tier.reserve(block.key, now());
        ++m_counters.lookups;
        answered = made.record_done;
        block.frame = made.frame;
        block.lookup = made.lookup_done - (accepted == 0 ? now() : made.issued);
        block.record = made.record_done - made.lookup_done;
        if (made.room != Tier::Room::kYes) {
            job.status = made.room == Tier::Room::kNo ? Status::kClipped : Status::kRejected;
            break;
        }
        ++accepted;
    }
    m_counters.tier_high_water = std::max(m_counters.tier_high_water, m_tier.frames().used());
    job.blocks.resize(accepted);
    job.holds = accepted != 0;
    if (accepted == 0) {
        complete_at(id, answered);
        return;
    }
    const Time first_lookup = now() + job.blocks.front().lookup + job.blocks.front().record;
    m_events.schedule(
        first_lookup + m_config.movers.engine.schedule + dma_round_trip(m_config.movers),
        {Step::kReady, id});
}

void DataPlane::discard(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    Time done = now();
    for (const MoveJob::Block& block : job.blocks) {
        const Tier::Found found = m_tier.find(block.key, now());
        ++m_counters.lookups;
        done = std::max(done, found.record_done);
        if (!found.present) {
            job.status = Status::kMissing;
            break;
        }
        if (m_tier.discard(block.key, found.frame, found.record_done, done) ==
            Tier::Discarded::kBusy) {
            job.status = Status::kBusy;
            break;
        }
        ++job.done;
    }
    m_counters.discarded_blocks += job.done;
    complete_at(id, done);
}

void DataPlane::ready(std::uint32_t id) {
    const MoveJob& job = m_jobs[id];
    const bool demotion = job.opcode() == Opcode::kDemote;
    m_movers.push(demotion ? kPull : kPush,
                  {.id = id,
                   .priority = job.intent.transfer_class,
                   .tenant = job.intent.tenant,
                   .destination = job.window(),
                   .droppable = job.opcode() == Opcode::kPrefetch,
                   .deadline = deadline_of(job.intent),
                   .blocks = static_cast<std::uint32_t>(job.blocks.size()),
                   .block_bytes = m_config.block},
                  now());
    arm_movers();
}

void DataPlane::arm_movers() {
    const Time next = m_movers.next_end();
    if (next >= m_movers_armed) return;
    m_movers_armed = next;
    m_events.schedule(next, {Step::kMovers, 0});
}

void DataPlane::job_drained(std::uint32_t mover, std::uint32_t id, Time end) {
    if (mover == kBulkRead || mover == kBulkWrite) {
        const auto direction = mover == kBulkRead ? BulkDirection::kRead : BulkDirection::kWrite;
        const Bulk& bulk = m_bulk[mover - kBulkRead];
        bulk.client->bulk_done(direction, id, bulk.start, end);
        return;
    }
    const Time arrived = mover == kPush ? end + m_config.movers.flight + fence() : end;
    m_events.schedule(arrived, {Step::kCommit, id});
}

/// A run that the scheduler gave up ends after its first `blocks` blocks.
void DataPlane::job_given_up(std::uint32_t mover, std::uint32_t id, std::uint32_t blocks,
                             FlowEnd /*reason*/, Time end) {
    MoveJob& job = m_jobs[id];
    if (job.status == Status::kOk) job.status = Status::kRejected;
    if (mover == kPull) {
        for (const MoveJob::Block& block : std::span(job.blocks).subspan(blocks)) {
            m_tier.abandon(block.key, block.frame, end);
        }
        job.blocks.resize(blocks);
    }
    job_drained(mover, id, end);
}

void DataPlane::commit(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    Time committed = now() + m_tier.commit_time();
    job.holds = false;
    if (job.opcode() == Opcode::kDemote) {
        committed = std::max(committed, commit_demotion(job));
    } else {
        for (const MoveJob::Block& block : job.blocks) {
            m_tier.end_read(block.key, block.frame, now());
        }
    }
    complete_at(id, committed);
}

/// A run ends at the first block whose reservation bit errors destroyed.
Time DataPlane::commit_demotion(MoveJob& job) {
    Time committed;
    while (job.done < job.blocks.size()) {
        const MoveJob::Block& block = job.blocks[job.done];
        const std::optional<Time> done = m_tier.commit(block.key, block.frame, now());
        if (!done) break;
        committed = std::max(committed, *done);
        ++job.done;
    }
    m_counters.demoted_blocks += job.done;
    if (job.done == job.blocks.size()) return committed;
    job.status = Status::kClipped;
    m_counters.unkept_blocks += job.blocks.size() - job.done;
    for (const MoveJob::Block& block : std::span(job.blocks).subspan(job.done + 1)) {
        m_tier.abandon(block.key, block.frame, now());
    }
    return committed;
}

void DataPlane::complete_at(std::uint32_t id, Time committed) {
    m_events.schedule(committed + completion_flight(), {Step::kComplete, id});
}

void DataPlane::complete(std::uint32_t id) {
    MoveJob& job = m_jobs[id];
    m_queues[job.queue].post(m_registers.queue(job.queue), *dma.operator->(),
                             {.id = job.intent.id,
                              .status = static_cast<std::uint8_t>(job.status),
                              .queue = job.queue,
                              .argument = job.done});
    const std::uint32_t queue = job.queue;
    job.blocks.clear();
    m_free_jobs.push_back(id);
    try_fetch(queue);
}

void DataPlane::block_drained(std::uint32_t mover, std::uint32_t id, std::uint32_t block,
                              Time start, Time end) {
    if (mover == kBulkRead || mover == kBulkWrite) {
        m_bulk[mover - kBulkRead].start = start;
        return;
    }
    MoveJob& job = m_jobs[id];
    if (block == 0) job.first_start = start;
    if (mover == kPull) {
        m_counters.written_to_tier += m_config.block;
        demote_payload(job, job.blocks[block]);
        if (m_observer != nullptr) m_observer->block_demoted(describe(job, block, start, end));
        return;
    }
    m_counters.read_from_tier += m_config.block;
    if (!promote_payload(job, job.blocks[block])) return;
    ++m_counters.promoted_blocks;
    ++job.done;
    if (m_observer != nullptr) m_observer->block_promoted(describe(job, block, start, end));
}

BlockMove DataPlane::describe(const MoveJob& job, std::uint32_t block, Time start, Time end) const {
    const MoveJob::Block& moved = job.blocks[block];
    const bool demotion = job.opcode() == Opcode::kDemote;
    BlockMove move{.queue = job.queue,
                   .intent = job.intent.id,
                   .block = block,
                   .bytes = m_config.block,
                   .arrived = job.arrived,
                   .stages = {}};
    StageTimes& stages = move.stages;
    const Time pipeline = demotion ? dma_round_trip(m_config.movers) : Time{};
    stages[Stage::kFetch] = job.admitted - job.fetch_started;
    stages[Stage::kLookup] = moved.lookup;
    stages[Stage::kRecord] = moved.record;
    stages[Stage::kDram] = moved.dram;
    stages[Stage::kDecode] = demotion ? Time{} : m_config.movers.codec.fill;
    stages[Stage::kLink] = (end - start) + (demotion ? pipeline : m_config.movers.flight);
    stages[Stage::kFence] = demotion ? Time{} : fence();
    stages[Stage::kComplete] = m_tier.commit_time() + completion_flight();
    Time waited = (start - job.admitted) - pipeline - stages[Stage::kLookup] -
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
    stages[Stage::kQueueOther] =
        waited - stages[Stage::kQueueOwn] + (job.fetch_started - job.arrived);
    return move;
}

bool DataPlane::promote_payload(MoveJob& job, const MoveJob::Block& block) {
    if (job.status == Status::kPoisoned) return false;  // a run ends at its first bad block
    if (m_config.payload_bytes) m_store.read(m_tier.frames().address(block.frame).value, m_buffer);
    if (poisoned(block.frame)) {
        job.status = Status::kPoisoned;
        ++m_counters.poisoned_blocks;
        return false;
    }
    dma->write_window(job.window(), block.slot, m_config.block, m_buffer);
    return true;
}

void DataPlane::demote_payload(const MoveJob& job, const MoveJob::Block& block) {
    dma->read_window(job.window(), block.slot, m_config.block, m_buffer);
    m_poison.heal(m_tier.frames().address(block.frame), m_config.block);
    if (!m_config.payload_bytes) return;
    m_store.write(m_tier.frames().address(block.frame).value, m_buffer);
    m_chunks.record(m_tier.frames().number(block.frame), m_buffer);
}

/// Whether the block in `frame`, whose bytes are in the buffer, must not be delivered.
bool DataPlane::poisoned(TierFrame frame) {
    const Dpa from = m_tier.frames().address(frame);
    if (const auto bad = m_poison.within(from, m_config.block); !bad.empty()) {
        m_log.add(management::Severity::kFailure, management::MediaEvent::kPoisonMoved,
                  bad.front().line, now());
        return true;
    }
    if (!m_config.payload_bytes || m_chunks.intact(m_tier.frames().number(frame), m_buffer)) {
        return false;
    }
    m_log.add(management::Severity::kFailure, management::MediaEvent::kUncorrected, from, now());
    return true;
}

Time DataPlane::fence() const {
    switch (m_config.movers.engine.fence) {
        case Fence::kInBandFlag:
            return {};
        case Fence::kReadFlush:
            return m_config.movers.engine.read_flush;
    }
    throw InvariantError("unknown fence");
}

Time DataPlane::completion_flight() const {
    return m_link.serialisation(m_link.write_tlp_bytes(m_config.movers.engine.completion_entry)) +
           m_config.movers.flight;
}

std::uint32_t DataPlane::take_job() {
    if (m_free_jobs.empty()) {
        m_jobs.emplace_back();
        return static_cast<std::uint32_t>(m_jobs.size() - 1);
    }
    const std::uint32_t id = m_free_jobs.back();
    m_free_jobs.pop_back();
    return id;
}

}  // namespace kvplane::engine
