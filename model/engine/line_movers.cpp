// SPDX-License-Identifier: Apache-2.0
#include "model/engine/line_movers.h"

#include <algorithm>
#include <bit>

#include "model/common/errors.h"

namespace kvplane::engine {
namespace {

/// Accesses of DRAM under way: more than bandwidth times latency of any card.
constexpr std::uint32_t kReadTags = 512;
constexpr std::uint32_t kWriteTags = 256;
/// A TLP's id: the number of its piece, and the drops before it.
constexpr std::uint32_t kNumberBits = 20;
/// A job gives way at multiples of this, from its start.
constexpr std::uint64_t kCutGrain = 4096;

std::uint64_t round_up(std::uint64_t n, std::uint64_t grain) {
    return (n + grain - 1) / grain * grain;
}

/// From a read request's arrival at its last flit until the data comes back on the wire.
Time answer_delay(const MoversConfig& config) {
    const Time flight = config.engine.device_flight.value_or(config.flight);
    return std::max(Time{}, (flight - config.link.propagation) * 2 + config.engine.host_memory);
}

/// At which the data of DMA reads crosses a wire of its own.
Rate read_wire(const cxl::LinkConfig& config) {
    const cxl::Link link(config);
    return link.payload_rate(link.dma_read_data());
}

}  // namespace

LineMovers::LineMovers(sc_core::sc_module_name name, const MoversConfig& config, FlowClient& client,
                       const MoveAddressIf& addresses)
    : sc_module(name),
      memory("memory", kReadTags + kWriteTags, memory_client(), 2 * config.lines->subchannels()),
      m_config(config),
      m_client(client),
      m_addresses(addresses),
      m_flows(config, client),
      m_ways{Way(config.engine.scheduler), Way(config.engine.scheduler)},
      m_events("events"),
      m_accesses(kReadTags + kWriteTags),
      m_lane_time(transfer_time(kLine, codec::lanes_rate(config.codec))),
      m_answer_delay(answer_delay(config)),
      m_read_wire(read_wire(config.link)),
      m_lines(std::bit_ceil(config.engine.staging.count / kLine.count + 1)),
      m_most_writes(
          std::max<std::uint32_t>(8, static_cast<std::uint32_t>(2048 / config.link.mps.count))),
      m_incoming(m_lines.size()) {
    for (std::uint32_t tag = kReadTags + kWriteTags; tag > 0; --tag) {
        m_free_tags[tag > kReadTags ? 1 : 0].push_back(tag - 1);
    }
    for (std::uint32_t mover = kPush; mover <= kPull; ++mover) {
        m_flows.push(mover, {.block_bytes = Bytes::from_gib(1)}, {});
        m_ways[mover].alone = m_flows.rate(mover);
        (void)m_flows.drop(mover, {});
        m_ways[mover].pieces.resize(1024);
    }
    SC_HAS_PROCESS(LineMovers);
    SC_METHOD(run);
    sensitive << m_events.event();
    dont_initialize();
}

void LineMovers::connect(cxl::TlpWireIf& wire) {
    m_wire = &wire;
    wire.hear_tlps(*this);
}

// --- from outside -------------------------------------------------------------------------------

void LineMovers::push(std::uint32_t mover, const FlowJob& job, Time now) {
    if (mover > kPull) return m_flows.push(mover, job, now);
    Way& way = m_ways[mover];
    if (job.id >= way.progress.size()) way.progress.resize(std::size_t{job.id} + 1);
    way.progress[job.id] = {};
    way.scheduler.push(job, now);
    give_way(mover, job);
    serve(mover);
    arm_wake(mover, way.scheduler.next_timeout());
    tell();
}

bool LineMovers::cancel(std::uint32_t mover, std::uint32_t id, Time now) {
    if (mover > kPull) return m_flows.cancel(mover, id, now);
    Way& way = m_ways[mover];
    if (!way.scheduler.has(id)) {  // it may be ending early already
        return id < way.progress.size() && way.progress[id].given_up &&
               (way.progress[id].under_way != 0 || in_stretches(way, id));
    }
    if (!way.stretches.empty() && way.stretches.back().job.id == id) {
        Stretch& last = way.stretches.back();
        const std::uint64_t until = std::min(round_up(last.asked, kCutGrain), last.until);
        if (until != last.until) {
            way.scheduler.put_back(
                {last.job, Uint128{until} * kFlowWork, Uint128{last.until} * kFlowWork});
            last.until = until;
            if (last.asked == last.from && until == last.from) way.stretches.pop_back();
        }
    }
    if (!way.scheduler.waits(id)) return true;  // all of it is under way
    (void)way.scheduler.cancel(id);
    give_up(mover, id, FlowEnd::kCancelled);
    serve(mover);
    tell();
    return true;
}

bool LineMovers::raise(std::uint32_t mover, std::uint32_t id, const FlowUrgency& urgency,
                       Time now) {
    if (mover > kPull) return m_flows.raise(mover, id, urgency, now);
    Way& way = m_ways[mover];
    if (way.progress[id].given_up) return false;
    for (Stretch& stretch : way.stretches) {
        if (stretch.job.id != id) continue;
        stretch.job.priority = std::min(stretch.job.priority, urgency.priority);
    }
    const FlowJob* waiting = way.scheduler.raise(id, urgency);
    if (waiting != nullptr) give_way(mover, FlowJob{*waiting});
    serve(mover);
    tell();
    return true;
}

void LineMovers::stall(std::uint32_t mover, std::uint16_t destination, bool stalled, Time now) {
    if (mover > kPull) return m_flows.stall(mover, destination, stalled, now);
    Way& way = m_ways[mover];
    const FlowJob* waiting = way.scheduler.stall(destination, stalled, now);
    if (waiting != nullptr) give_way(mover, FlowJob{*waiting});
    if (stalled && !way.stretches.empty() && way.stretches.back().job.destination == destination) {
        Stretch& last = way.stretches.back();
        if (last.asked != last.until && !way.progress[last.job.id].given_up) {
            way.scheduler.put_back(
                {last.job, Uint128{last.asked} * kFlowWork, Uint128{last.until} * kFlowWork});
            last.until = last.asked;
            if (last.asked == last.from) way.stretches.pop_back();
        }
    }
    serve(mover);
    arm_wake(mover, way.scheduler.next_timeout());
    tell();
}

void LineMovers::stop(std::uint32_t mover, bool stopped, Time now) {
    if (mover > kPull) return m_flows.stop(mover, stopped, now);
    m_ways[mover].stopped = stopped;
    serve(mover);
    tell();
}

std::vector<std::uint32_t> LineMovers::drop(std::uint32_t mover, Time now) {
    if (mover > kPull) return m_flows.drop(mover, now);
    Way& way = m_ways[mover];
    std::vector<std::uint32_t> ids;
    const auto add = [&](std::uint32_t id) {
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    };
    for (; way.piece_head != way.piece_tail; ++way.piece_head) {
        add(way.pieces[way.piece_head % way.pieces.size()].job.id);
    }
    for (const Stretch& stretch : way.stretches) add(stretch.job.id);
    std::vector<std::uint32_t> waiting;
    way.scheduler.clear(waiting);
    for (const std::uint32_t id : waiting) add(id);
    way.stretches.clear();
    way.staged = 0;
    ++way.epoch;
    if (mover == kPush) {
        m_line_sent = m_line_read;
        m_writes_on_wire = 0;
    } else {
        m_incoming_head = m_incoming_tail;
        m_reads_out = 0;
    }
    serve(mover);
    return ids;
}

Rate LineMovers::rate(std::uint32_t mover) const {
    if (mover > kPull) return m_flows.rate(mover);
    return busy(mover) && !m_ways[mover].stopped ? m_ways[mover].alone : Rate{};
}

bool LineMovers::busy(std::uint32_t mover) const {
    if (mover > kPull) return m_flows.busy(mover);
    const Way& way = m_ways[mover];
    return way.piece_head != way.piece_tail ||
           std::any_of(way.stretches.begin(), way.stretches.end(),
                       [](const Stretch& stretch) { return stretch.sent != stretch.until; });
}

Time LineMovers::busy_time(std::uint32_t mover) const {
    if (mover > kPull) return m_flows.busy_time(mover);
    return m_ways[mover].busy_time;
}

Bytes LineMovers::drained(std::uint32_t mover) const {
    return mover > kPull ? m_flows.drained(mover) : Bytes{m_ways[mover].drained};
}

// --- who goes next ------------------------------------------------------------------------------

LineMovers::Stretch* LineMovers::next_stretch(std::uint32_t mover) {
    Way& way = m_ways[mover];
    if (way.stopped) return nullptr;
    if (!way.stretches.empty() && way.stretches.back().asked != way.stretches.back().until) {
        return &way.stretches.back();
    }
    const Time at = now();
    const Time begins = at + transfer_time({way.staged}, way.alone);
    FlowGrant grant;
    const bool taken = way.scheduler.take(at, begins, way.alone, grant);
    collect_given_up(mover);
    if (!taken) {
        arm_wake(mover, way.scheduler.next_eligible(at));
        return nullptr;
    }
    const auto from = static_cast<std::uint64_t>(grant.from / kFlowWork);
    const auto until = static_cast<std::uint64_t>(grant.until / kFlowWork);
    way.stretches.push_back({grant.job, from, until, from, from});
    return &way.stretches.back();
}

void LineMovers::give_way(std::uint32_t mover, const FlowJob& arrived) {
    Way& way = m_ways[mover];
    while (!way.stretches.empty()) {
        Stretch& last = way.stretches.back();
        if (way.progress[last.job.id].given_up) return;
        const FlowGrant grant{last.job, Uint128{last.from} * kFlowWork,
                              Uint128{last.until} * kFlowWork};
        const FlowCut cut = way.scheduler.cut(grant, arrived, now());
        if (cut == FlowCut::kNone) return;
        std::uint64_t until = std::min(round_up(last.asked, kCutGrain), last.job.bytes().count);
        if (cut == FlowCut::kAtBlock) {
            const Uint128 work = Uint128{until} * kFlowWork;
            until = static_cast<std::uint64_t>(last.job.work_of(last.job.blocks_before(work)) /
                                               kFlowWork);
        }
        if (until >= last.until) return;
        way.scheduler.put_back({last.job, Uint128{until} * kFlowWork, grant.until});
        last.until = until;
        if (until != last.from) return;
        way.stretches.pop_back();
    }
}

void LineMovers::collect_given_up(std::uint32_t mover) {
    FlowQueue::GivenUp job;
    while (m_ways[mover].scheduler.pop_given_up(job)) give_up(mover, job.id, job.reason);
}

/// Whether some of a job is granted and not on the wire yet.
bool LineMovers::in_stretches(const Way& way, std::uint32_t id) {
    return std::any_of(way.stretches.begin(), way.stretches.end(), [&](const Stretch& stretch) {
        return stretch.job.id == id && stretch.sent != stretch.until;
    });
}

/// A job ends early: once what is under way of it has crossed, or now.
void LineMovers::give_up(std::uint32_t mover, std::uint32_t id, FlowEnd reason) {
    Way& way = m_ways[mover];
    Progress& progress = way.progress[id];
    progress.given_up = true;
    progress.reason = reason;
    if (progress.under_way != 0 || in_stretches(way, id)) return;
    m_ended.push_back({mover, id, progress.blocks, false, reason, now()});
}

void LineMovers::arm_wake(std::uint32_t mover, Time at) {
    Way& way = m_ways[mover];
    if (at >= way.wake) return;
    way.wake = at;
    m_events.schedule(std::max(at, now()), {Step::kWake, mover});
}

std::uint32_t LineMovers::block_of(const FlowJob& job, std::uint64_t offset) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(offset / job.block_bytes.count, job.blocks - 1));
}

// --- what crosses -------------------------------------------------------------------------------

std::uint32_t LineMovers::add_piece(std::uint32_t mover, const Piece& piece) {
    Way& way = m_ways[mover];
    if (way.piece_tail - way.piece_head == way.pieces.size()) {
        throw InvariantError("line movers: more on the wire than there is room for");
    }
    ++way.progress[piece.job.id].under_way;
    const std::uint64_t number = way.piece_tail++;
    way.pieces[number % way.pieces.size()] = piece;
    return static_cast<std::uint32_t>(number & ((1U << kNumberBits) - 1U)) | way.epoch
                                                                                 << kNumberBits;
}

LineMovers::Piece* LineMovers::piece_of(Way& way, std::uint32_t tlp) {
    constexpr std::uint32_t kEpochs = UINT32_MAX >> kNumberBits;
    if (tlp >> kNumberBits != (way.epoch & kEpochs)) return nullptr;
    return &way.pieces[(tlp & ((1U << kNumberBits) - 1U)) % way.pieces.size()];
}

/// Pieces cross in order.
void LineMovers::crossed(std::uint32_t mover, const Piece& piece, Time end) {
    Way& way = m_ways[mover];
    const FlowJob& job = piece.job;
    Progress& progress = way.progress[job.id];
    --progress.under_way;
    way.drained += piece.bytes;
    way.last_end = end;
    const std::uint32_t block = block_of(job, piece.offset);
    const std::uint64_t border = block * job.block_bytes.count + job.size_of(block).count;
    if (piece.offset + piece.bytes == border) {
        ++progress.blocks;
        way.scheduler.block_drained(job);
        m_client.block_drained(mover, job.id, block, progress.block_start, end);
        if (progress.blocks == job.blocks) {
            way.scheduler.ended(job.id);
            m_ended.push_back({mover, job.id, job.blocks, true, {}, end});
            return;
        }
    }
    if (!progress.given_up || progress.under_way != 0 || in_stretches(way, job.id)) return;
    m_ended.push_back({mover, job.id, progress.blocks, false, progress.reason, end});
}

void LineMovers::tell() {
    while (m_told < m_ended.size()) {
        const Ended ended = m_ended[m_told++];
        if (ended.complete) {
            m_client.job_drained(ended.mover, ended.id, ended.end);
        } else {
            m_client.job_given_up(ended.mover, ended.id, ended.blocks, ended.reason, ended.end);
        }
    }
    m_ended.clear();
    m_told = 0;
}

void LineMovers::serve(std::uint32_t mover) {
    // Those of which nothing is left to send, cut or not.
    std::erase_if(m_ways[mover].stretches,
                  [](const Stretch& stretch) { return stretch.sent == stretch.until; });
    if (mover == kPush) {
        read_lines();
        send_writes();
    } else {
        write_lines();
        request_reads();
    }
    Way& way = m_ways[mover];
    const bool is_busy = busy(mover);
    if (is_busy && way.busy_since == Time::never()) way.busy_since = now();
    if (is_busy || way.busy_since == Time::never()) return;
    way.busy_time += now() - way.busy_since;
    way.busy_since = Time::never();
}

void LineMovers::run() {
    Event event;
    while (m_events.pop_due(event)) {
        switch (event.step) {
            case Step::kSend:
                m_send_armed = Time::never();
                serve(kPush);
                break;
            case Step::kHostData:
                answer_request(event.subject);
                break;
            case Step::kWrite:
                m_write_armed = Time::never();
                serve(kPull);
                break;
            case Step::kWake:
                m_ways[event.subject].wake = Time::never();
                m_ways[event.subject].scheduler.expire(now());
                collect_given_up(event.subject);
                serve(event.subject);
                arm_wake(event.subject, m_ways[event.subject].scheduler.next_timeout());
                break;
        }
        tell();
    }
}

}  // namespace kvplane::engine
