// SPDX-License-Identifier: Apache-2.0
#include "model/memory/dram.h"

#include <algorithm>
#include <functional>

namespace kvplane::memory {
namespace {

constexpr std::uint64_t kChannelBytes = 8;  ///< data bytes a transfer
constexpr std::int64_t kMillion = 1'000'000;
constexpr std::uint32_t kLargestFlowShare = 950'000;

/// Of two kinds whose mean is `mean`, a share of `opens` costing `more`: what the others cost.
std::int64_t rest_of(std::int64_t mean, std::int64_t more, Ratio opens) {
    return (mean * kMillion - more * opens.ppm) / (kMillion - opens.ppm);
}

}  // namespace

Dram::Dram(const DramConfig& config)
    : m_config(config),
      m_line_service(transfer_time(
          kLine,
          {static_cast<std::uint64_t>(static_cast<Uint128>(config.speed.per_second) *
                                      (kChannelBytes / config.subchannels) * config.service.ppm /
                                      static_cast<std::uint32_t>(kMillion))})),
      m_free_at(std::size_t{config.channels} * config.subchannels) {
    if (!config.device) return;
    m_interleave.emplace(*config.device);
    for (std::uint32_t i = 0; i < m_free_at.size(); ++i) m_queues.emplace_back(*config.device, i);
    // The service of a line has the share of refreshes in it.
    m_row_service = {m_line_service.ps * m_queues.front().rows.running().ppm / kMillion};
    const DramTiming& t = config.device->timing;
    const DramClock clock(t.speed);
    m_column_to_data = clock.at(t.cl + t.burst);
    m_row_opens = clock.at(t.rcd);
    m_read_cost =
        cost_of(config.rows.read, {std::max(clock.at(t.faw).ps / 4, clock.at(t.rrd_s).ps)});
    m_write_cost = cost_of(config.rows.write, {});
    const Time turn = config.turnaround;
    m_turn_cost = {turn, turn};
    if (config.rows.turnaround != Time{}) {
        const std::int64_t opens = config.rows.turnaround.ps;
        m_turn_cost = {{opens},
                       {std::max<std::int64_t>(0, rest_of(turn.ps, opens, config.rows.opens))}};
    }
    m_lines = config.device->capacity() / kLine;
}

/// What activates alone ask of reads is in DramRows; the bus is taken for what lines at random take
/// beyond. A sequential stream opens rows too, and its mean stays what it is.
Dram::Cost Dram::cost_of(Time random, Time activates) const {
    const Time alone{random.ps * m_queues.front().rows.running().ppm / kMillion};
    const Time more = alone - std::max(m_row_service, activates);
    if (more <= Time{}) return {m_row_service, m_row_service};
    const Time opens = m_row_service + more;
    const Time hits{rest_of(m_row_service.ps, opens.ps, m_config.rows.opens)};
    return {opens, std::max(hits, Time{1})};
}

Rate Dram::bandwidth() const {
    return {static_cast<std::uint64_t>(static_cast<Uint128>(m_config.speed.per_second) *
                                       kChannelBytes * m_config.channels * m_config.service.ppm /
                                       static_cast<std::uint32_t>(kMillion))};
}

Time Dram::mixed_write_extra() const {
    return {2 * m_config.turnaround.ps / static_cast<std::int64_t>(m_config.write_batch)};
}

/// Takes so many of the waiting writes out; returns what they ask of the bus.
Time Dram::take_out(Queue& queue, std::int64_t lines) {
    const Time work{queue.work.ps * lines / queue.writes};
    queue.turn = queue.turn - Time{queue.turn.ps * lines / queue.writes};
    queue.work = queue.work - work;
    queue.writes -= lines;
    return work;
}

/// While no read came, writes drained; once begun, they drain to the low mark.
void Dram::drain_idle(Queue& queue, Time now, Time& free_at) const {
    if (queue.writes == 0 || free_at >= now) return;
    const auto drain = [&](Time until) {
        if (queue.writes == 0) return;
        const std::int64_t each = std::max<std::int64_t>(1, queue.work.ps / queue.writes);
        const std::int64_t lines =
            std::clamp<std::int64_t>((until - free_at).ps / each, 0, queue.writes);
        if (lines == 0) return;
        const Time turn{queue.turn.ps / queue.writes};
        free_at = free_at + take_out(queue, lines);
        queue.turned = free_at + turn * 2;
    };
    const DramRows::Stop stop = queue.rows.last_stop(now);
    if (stop.until > free_at) {
        // What came last before a refresh finds no row open any more.
        drain(stop.from - m_row_opens);
        free_at = stop.until;
        if (free_at >= now) return;
    }
    drain(now);
    if (free_at >= now) return;
    const std::int64_t low = m_config.device->write_low;
    if (queue.writes < low) return;
    const Time turn{queue.turn.ps / queue.writes};
    free_at = now + take_out(queue, queue.writes - low + 1) + turn;
}

/// Returns when the queue has room for it.
Time Dram::take_write(Queue& queue, Time now, Time& free_at) const {
    const std::int64_t high = m_config.device->write_high;
    if (queue.writes > high) {
        const Time turn{queue.mixed ? queue.turn.ps / queue.writes * 2 : 0};
        const std::int64_t batch = queue.writes - m_config.device->write_low + 1;
        const Time free = std::max(now, free_at);
        const Time running = queue.rows.after_refresh(free);
        // After a refresh all rows are closed.
        queue.batch_start = running == free ? free : running + m_row_opens;
        free_at = queue.batch_start + take_out(queue, batch) + turn;
        queue.batch_end = free_at;
        queue.batch_line = {std::max<std::int64_t>(1, (free_at - queue.batch_start).ps / batch)};
        queue.mixed = false;
    }
    const Time from = std::max(now, queue.batch_start);
    if (queue.batch_end <= from) return now;
    const std::int64_t left = (queue.batch_end - from).ps / queue.batch_line.ps;
    const std::int64_t above = queue.writes + left - m_config.device->write_queue;
    return above <= 0 ? now : from + queue.batch_line * above;
}

Time Dram::access_row(Time at, Dpa line, bool write, std::int64_t left) {
    // Requests are taken in order: a write that finds its queue full keeps all behind it waiting.
    const Time now = std::max(at, m_blocked);
    const auto place = m_interleave->place(line.value / kLine.count % m_lines);
    Time& free_at = m_free_at[place.subchannel];
    Queue& queue = m_queues[place.subchannel];
    const auto stretched = [&](Time time) { return Time{time.ps * kMillion / left}; };
    drain_idle(queue, now, free_at);
    if (write) {
        const auto access = queue.rows.access(now, std::max(now, free_at), place.line, true);
        ++queue.writes;
        queue.work = queue.work + stretched(access.opened ? m_write_cost.opens : m_write_cost.hits);
        queue.turn = queue.turn + (access.opened ? m_turn_cost.opens : m_turn_cost.hits);
        const Time taken = take_write(queue, now, free_at);
        if (taken > now) m_blocked = taken;
        return taken + m_config.controller;
    }
    return read_row(queue, now, free_at, place.line, left);
}

Time Dram::read_row(Queue& queue, Time at, Time& free_at, std::uint64_t line, std::int64_t left) {
    // A read that finds no place keeps all behind it waiting, too.
    const Time now = std::max(at, queue.reads.front());
    if (now > at) m_blocked = now;
    queue.mixed = true;
    const Time bus = queue.rows.after_refresh(std::max({now, free_at, queue.turned}));
    const auto access = queue.rows.access(now, bus, line, false);
    const Time cost = access.opened ? m_read_cost.opens : m_read_cost.hits;
    const Time stretched{cost.ps * kMillion / left};
    free_at = bus + stretched;
    const Time data = access.data + (stretched - cost);
    // It leaves its place with its column command.
    std::pop_heap(queue.reads.begin(), queue.reads.end(), std::greater<>());
    queue.reads.back() = data - m_column_to_data;
    std::push_heap(queue.reads.begin(), queue.reads.end(), std::greater<>());
    return data + m_config.controller;
}

Time Dram::access_line(Time now, Dpa line, bool write, Ratio flow_share) {
    const std::int64_t left = kMillion - std::min(flow_share.ppm, kLargestFlowShare);
    if (m_config.device) return access_row(now, line, write, left);
    Time& free_at = m_free_at[(line.value / kLine.count) % m_free_at.size()];
    const Time start = std::max(now, free_at);
    const Time service{m_line_service.ps * kMillion / left};
    free_at = start + service;
    // Its own line's share of the service is within idle_latency(); the rest is waiting.
    return start + (service - m_line_service) + idle_latency();
}

}  // namespace kvplane::memory
