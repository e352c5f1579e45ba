// SPDX-License-Identifier: Apache-2.0
// What line_movers.cpp has granted, line by line and TLP by TLP.
#include <algorithm>

#include "model/engine/line_movers.h"

namespace kvplane::engine {
namespace {

/// Lines that `bytes` at `offset` of a block touch.
std::uint64_t lines_of(std::uint64_t offset, std::uint64_t bytes) {
    return (offset % kLine.count + bytes + kLine.count - 1) / kLine.count;
}

/// What is at most one piece: within a block, and up to a multiple of `grain` from its start.
std::uint64_t piece_at(const FlowJob& job, std::uint32_t block, std::uint64_t offset,
                       std::uint64_t until, std::uint64_t grain) {
    const std::uint64_t start = block * job.block_bytes.count;
    const std::uint64_t end = std::min(start + job.size_of(block).count, until);
    return std::min(end - offset, grain - (offset - start) % grain);
}

}  // namespace

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
    const std::uint64_t number = line.value / kLine.count;
    const std::uint32_t subchannel = m_config.lines->place(number).subchannel;
    memory.start(tag, {number * kLine.count},
                 write ? cxl::LineAccess::kWrite : cxl::LineAccess::kRead,
                 2 * subchannel + (write ? 1 : 0));
}

void LineMovers::line_done(std::uint32_t tag) {
    const Access access = m_accesses[tag];
    m_free_tags[access.write ? 1 : 0].push_back(tag);
    const std::uint32_t mover = access.write ? kPull : kPush;
    if (access.epoch == m_ways[mover].epoch) {
        if (access.write) {
            m_ways[kPull].staged -= kLine.count;
        } else {
            m_lines[ring_place(access.line)].ready = through_lanes() + m_config.codec.fill;
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
        m_lines[ring_place(m_line_read)].ready = Time::never();
        way.staged += kLine.count;
        stretch->asked += piece_at(job, block_of(job, stretch->asked), stretch->asked,
                                   stretch->until, kLine.count);
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
    const std::uint64_t bytes = piece_at(job, block_of(job, stretch.sent), stretch.sent,
                                         stretch.until, m_config.link.mps.count);
    if (stretch.sent + bytes > stretch.asked) return false;
    const std::uint64_t offset = stretch.sent - block_of(job, stretch.sent) * job.block_bytes.count;
    const std::uint64_t lines = lines_of(offset, bytes);
    Time ready{};
    for (std::uint64_t i = 0; i < lines; ++i) {
        ready = std::max(ready, m_lines[ring_place(m_line_sent + i)].ready);
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
           way.staged + size <= m_config.engine.staging.count) {
        if (cap && m_next_request > now()) return arm_wake(kPull, m_next_request);
        Stretch* stretch = next_stretch(kPull);
        if (stretch == nullptr) return;
        const FlowJob job = stretch->job;
        const std::uint64_t at = stretch->asked;
        const auto bytes =
            static_cast<std::uint32_t>(piece_at(job, block_of(job, at), at, stretch->until, size));
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
        const Time wire = transfer_time(bytes, m_read_wire);
        way.progress[job.id].block_start = std::max(way.last_end, now() - wire);
    }
    const std::uint64_t lines = lines_of(offset, bytes.count);
    for (std::uint64_t i = 0; i < lines; ++i) {
        Line& line = m_incoming[ring_place(m_incoming_tail++)];
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
        const Line& line = m_incoming[ring_place(m_incoming_head)];
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
