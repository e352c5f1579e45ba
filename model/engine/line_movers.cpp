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

/// Lines that `bytes` at `offset` of a block touch.
std::uint64_t lines_of(std::uint64_t offset, std::uint64_t bytes) {
    return (offset % kLine.count + bytes + kLine.count - 1) / kLine.count;
}

std::uint32_t block_of(const FlowJob& job, std::uint64_t offset) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(offset / job.block_bytes.count, job.blocks - 1));
}

/// From a read request's arrival at its last flit until the data comes back on the wire.
Time answer_delay(const MoversConfig& config) {
    const Time flight = config.engine.device_flight.value_or(config.flight);
    return std::max(Time{}, (flight - config.link.propagation) * 2 + config.engine.host_memory);
}

/// What is at most one piece: within a block, and up to a multiple of `grain` from its start.
std::uint64_t piece_at(const FlowJob& job, std::uint64_t offset, std::uint64_t until,
                       std::uint64_t grain) {
    const std::uint32_t block = block_of(job, offset);
    const std::uint64_t start = block * job.block_bytes.count;
    const std::uint64_t end = std::min(start + job.size_of(block).count, until);
    return std::min(end - offset, grain - (offset - start) % grain);
}

}  // namespace

LineMovers::LineMovers(sc_core::sc_module_name name, const MoversConfig& config, FlowClient& client,
                       const MoveAddressIf& addresses)
    : sc_module(name),
      memory("memory", kReadTags + kWriteTags, memory_client()),
      m_config(config),
      m_client(client),
      m_addresses(addresses),
      m_flows(config, client),
      m_ways{Way(config.engine.scheduler), Way(config.engine.scheduler)},
      m_events("events"),
      m_accesses(kReadTags + kWriteTags),
      m_lane_time(transfer_time(kLine, codec::lanes_rate(config.codec))),
      m_answer_delay(answer_delay(config)),
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
        m_ways[mover].wire = m_flows.rate(mover);
        (void)m_flows.drop(mover, {});
        m_ways[mover].pieces.resize(1024);
    }
    if (config.engine.demotion_rate_cap) {
        MoversConfig uncapped = config;
        uncapped.engine.demotion_rate_cap.reset();
        FlowMovers flows(uncapped, client);
        flows.push(kPull, {.block_bytes = Bytes::from_gib(1)}, {});
        m_ways[kPull].wire = flows.rate(kPull);
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

void LineMovers::raise(std::uint32_t mover, std::uint32_t id, std::uint8_t priority, Time now) {
    if (mover > kPull) return m_flows.raise(mover, id, priority, now);
    Way& way = m_ways[mover];
    for (Stretch& stretch : way.stretches) {
        if (stretch.job.id == id) stretch.job.priority = std::min(stretch.job.priority, priority);
    }
    const FlowJob* waiting = way.scheduler.raise(id, priority);
    if (waiting != nullptr) give_way(mover, FlowJob{*waiting});
    serve(mover);
    tell();
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
        way.scheduler.block_drained(job, end);
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

// --- lines --------------------------------------------------------------------------------------

Time LineMovers::through_lanes() {
    m_lanes_free = std::max(m_lanes_free, now()) + m_lane_time;
    return m_lanes_free;
}

void LineMovers::access(Dpa line, bool write, std::uint64_t place) {
    std::vector<std::uint32_t>& tags = m_free_tags[write ? 1 : 0];
    const std::uint32_t tag = tags.back();
    tags.pop_back();
    m_accesses[tag] = {place, m_ways[write ? kPull : kPush].epoch, write};
    memory.start(tag, {line.value / kLine.count * kLine.count},
                 write ? cxl::LineAccess::kWrite : cxl::LineAccess::kRead);
}

void LineMovers::line_done(std::uint32_t tag) {
    const Access access = m_accesses[tag];
    m_free_tags[access.write ? 1 : 0].push_back(tag);
    const std::uint32_t mover = access.write ? kPull : kPush;
    if (access.epoch == m_ways[mover].epoch) {
        if (access.write) {
            m_ways[kPull].staged -= kLine.count;
        } else {
            m_lines[access.line % m_lines.size()].ready = through_lanes() + m_config.codec.fill;
        }
    }
    serve(mover);
    tell();
}

void LineMovers::tlp_arrived(cxl::Direction direction, const cxl::Tlp& tlp) {
    if (tlp.kind == cxl::TlpKind::kRead) {
        m_events.schedule(now() + m_answer_delay, {Step::kHostData, tlp.id});
        return;
    }
    if (direction == cxl::Direction::kToCard) {
        data_arrived(tlp.id, tlp.payload);
        tell();
        return;
    }
    Way& way = m_ways[kPush];
    const Piece* piece = piece_of(way, tlp.id);
    if (piece == nullptr) return;
    --m_writes_on_wire;
    ++way.piece_head;
    way.staged -=
        lines_of(piece->offset % piece->job.block_bytes.count, piece->bytes) * kLine.count;
    crossed(kPush, Piece{*piece}, now() - m_config.link.propagation);
    serve(kPush);
    tell();
}

// --- promotions ---------------------------------------------------------------------------------

void LineMovers::read_lines() {
    Way& way = m_ways[kPush];
    const std::uint64_t room =
        std::min(m_config.engine.staging, m_config.engine.destination_quota).count;
    while (way.staged + kLine.count <= room && free_tag(false)) {
        Stretch* stretch = next_stretch(kPush);
        if (stretch == nullptr) return;
        const FlowJob& job = stretch->job;
        const std::uint32_t block = block_of(job, stretch->asked);
        const Bytes offset{stretch->asked - block * job.block_bytes.count};
        const Dpa address = m_addresses.move_address(kPush, job.id, block, offset);
        m_lines[m_line_read % m_lines.size()].ready = Time::never();
        way.staged += kLine.count;
        stretch->asked += piece_at(job, stretch->asked, stretch->until, kLine.count);
        access(address, false, m_line_read++);
    }
}

void LineMovers::send_writes() {
    std::vector<Stretch>& stretches = m_ways[kPush].stretches;
    while (!stretches.empty() && m_writes_on_wire < m_most_writes) {
        if (stretches.front().sent == stretches.front().until) {
            stretches.erase(stretches.begin());
        } else if (!send_write(stretches.front())) {
            return;
        }
    }
}

bool LineMovers::send_write(Stretch& stretch) {
    const FlowJob& job = stretch.job;
    const std::uint64_t bytes = piece_at(job, stretch.sent, stretch.until, m_config.link.mps.count);
    if (stretch.sent + bytes > stretch.asked) return false;
    const std::uint64_t offset = stretch.sent - block_of(job, stretch.sent) * job.block_bytes.count;
    const std::uint64_t lines = lines_of(offset, bytes);
    Time ready{};
    for (std::uint64_t i = 0; i < lines; ++i) {
        ready = std::max(ready, m_lines[(m_line_sent + i) % m_lines.size()].ready);
    }
    if (ready > now()) {
        if (ready < m_send_armed) {
            m_send_armed = ready;
            m_events.schedule(ready, {Step::kSend, 0});
        }
        return false;
    }
    Way& way = m_ways[kPush];
    if (offset == 0) way.progress[job.id].block_start = std::max(now(), way.last_end);
    const auto size = static_cast<std::uint32_t>(bytes);
    const std::uint32_t id = add_piece(kPush, {job, stretch.sent, size, size});
    m_line_sent += lines;
    stretch.sent += bytes;
    ++m_writes_on_wire;
    m_wire->send_tlp(cxl::Direction::kToHost, {cxl::TlpKind::kWrite, {bytes}, id});
    return true;
}

// --- demotions ----------------------------------------------------------------------------------

void LineMovers::request_reads() {
    Way& way = m_ways[kPull];
    const std::uint64_t size = m_config.engine.read_size.count;
    const std::optional<Rate> cap = m_config.engine.demotion_rate_cap;
    while (m_reads_out < m_config.engine.read_outstanding &&
           way.staged + size + kLine.count <= m_config.engine.staging.count) {
        if (cap && m_next_request > now()) return arm_wake(kPull, m_next_request);
        Stretch* stretch = next_stretch(kPull);
        if (stretch == nullptr) return;
        const FlowJob job = stretch->job;
        const std::uint64_t at = stretch->asked;
        const auto bytes = static_cast<std::uint32_t>(piece_at(job, at, stretch->until, size));
        stretch->asked += bytes;
        stretch->sent = stretch->asked;
        way.staged += lines_of(at % job.block_bytes.count, bytes) * kLine.count;
        ++m_reads_out;
        if (cap) m_next_request = now() + transfer_time({bytes}, *cap);
        const std::uint32_t id = add_piece(kPull, {job, at, bytes, bytes});
        m_wire->send_tlp(cxl::Direction::kToHost, {cxl::TlpKind::kRead, {}, id});
    }
}

/// At the far end.
void LineMovers::answer_request(std::uint32_t tlp) {
    const Piece* piece = piece_of(m_ways[kPull], tlp);
    if (piece == nullptr) return;
    for (std::uint32_t left = piece->bytes; left != 0;) {
        const auto bytes =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(left, m_config.link.mps.count));
        left -= bytes;
        m_wire->send_tlp(cxl::Direction::kToCard, {cxl::TlpKind::kCompletion, {bytes}, tlp});
    }
}

void LineMovers::data_arrived(std::uint32_t tlp, Bytes bytes) {
    Way& way = m_ways[kPull];
    Piece* piece = piece_of(way, tlp);
    if (piece == nullptr) return;
    const FlowJob& job = piece->job;
    const std::uint64_t at = piece->offset + piece->bytes - piece->left;
    const std::uint32_t block = block_of(job, at);
    const std::uint64_t offset = at - block * job.block_bytes.count;
    if (offset == 0) {
        const Time wire = transfer_time(bytes, way.wire);
        way.progress[job.id].block_start = std::max(way.last_end, now() - wire);
    }
    const std::uint64_t lines = lines_of(offset, bytes.count);
    for (std::uint64_t i = 0; i < lines; ++i) {
        Line& line = m_incoming[m_incoming_tail++ % m_incoming.size()];
        line.ready = through_lanes();
        line.address = m_addresses.move_address(kPull, job.id, block, {offset + i * kLine.count});
    }
    piece->left -= static_cast<std::uint32_t>(bytes.count);
    if (piece->left == 0) {
        --m_reads_out;
        ++way.piece_head;
        crossed(kPull, Piece{*piece}, now());
    }
    serve(kPull);
}

void LineMovers::write_lines() {
    while (m_incoming_head != m_incoming_tail && free_tag(true)) {
        const Line& line = m_incoming[m_incoming_head % m_incoming.size()];
        if (line.ready > now()) {
            if (line.ready >= m_write_armed) return;
            m_write_armed = line.ready;
            m_events.schedule(line.ready, {Step::kWrite, 0});
            return;
        }
        access(line.address, true, m_incoming_head++);
    }
}

}  // namespace kvplane::engine
