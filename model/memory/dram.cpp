// SPDX-License-Identifier: Apache-2.0
#include "model/memory/dram.h"

#include <algorithm>

namespace kvplane::memory {
namespace {

constexpr std::uint64_t kChannelBytes = 8;  ///< data bytes a transfer
constexpr std::uint32_t kMillion = 1'000'000;
constexpr std::uint32_t kLargestFlowShare = 950'000;

}  // namespace

Dram::Dram(const DramConfig& config)
    : m_config(config),
      m_line_service(transfer_time(
          kLine, {static_cast<std::uint64_t>(static_cast<Uint128>(config.speed.per_second) *
                                             (kChannelBytes / config.subchannels) *
                                             config.service.ppm / kMillion)})),
      m_free_at(std::size_t{config.channels} * config.subchannels) {
    if (!config.device) return;
    m_interleave.emplace(*config.device);
    for (std::uint32_t i = 0; i < m_free_at.size(); ++i) m_queues.emplace_back(*config.device, i);
    // The service of a line has the share of refreshes in it.
    m_row_service = {m_line_service.ps * m_queues.front().rows.running().ppm / kMillion};
    m_lines = config.device->capacity() / kLine;
}

Rate Dram::bandwidth() const {
    return {static_cast<std::uint64_t>(static_cast<Uint128>(m_config.speed.per_second) *
                                       kChannelBytes * m_config.channels * m_config.service.ppm /
                                       kMillion)};
}

Time Dram::mixed_write_extra() const {
    return {2 * m_config.turnaround.ps / static_cast<std::int64_t>(m_config.write_batch)};
}

/// While no read came, writes drained; once begun, they drain to the low mark.
void Dram::drain_idle(Queue& queue, Time now, Time service, Time& free_at) const {
    if (queue.writes == 0 || free_at >= now) return;
    const auto drain = [&](Time until) {
        const std::int64_t lines =
            std::clamp<std::int64_t>((until - free_at).ps / service.ps, 0, queue.writes);
        queue.writes -= lines;
        if (lines == 0) return;
        free_at = free_at + service * lines;
        queue.turned = free_at + m_config.turnaround * 2;
    };
    const DramRows::Stop stop = queue.rows.last_stop(now);
    if (stop.until > free_at) {
        drain(stop.from);
        free_at = stop.until;
        if (free_at >= now) return;
    }
    drain(now);
    if (free_at >= now) return;
    const std::int64_t low = m_config.device->write_low;
    if (queue.writes < low) return;
    free_at = now + service * (queue.writes - low + 1) + m_config.turnaround;
    queue.writes = low - 1;
}

/// Returns when the queue has room for it.
Time Dram::take_write(Queue& queue, Time now, Time service, Time& free_at) const {
    ++queue.writes;
    const std::int64_t high = m_config.device->write_high;
    if (queue.writes > high) {
        const std::int64_t batch = queue.writes - m_config.device->write_low + 1;
        const Time turn = queue.mixed ? m_config.turnaround * 2 : Time{};
        queue.batch_start = queue.rows.after_refresh(std::max(now, free_at));
        free_at = queue.batch_start + service * batch + turn;
        queue.batch_end = free_at;
        queue.writes -= batch;
        queue.mixed = false;
    }
    const Time from = std::max(now, queue.batch_start);
    const std::int64_t left = std::max<std::int64_t>(0, (queue.batch_end - from).ps / service.ps);
    const std::int64_t above = queue.writes + left - m_config.device->write_queue;
    return above <= 0 ? now : from + service * above;
}

Time Dram::access_row(Time at, Dpa line, bool write, std::int64_t left) {
    // Requests are taken in order: a write that finds its queue full keeps all behind it waiting.
    const Time now = std::max(at, m_blocked);
    const auto place = m_interleave->place(line.value / kLine.count % m_lines);
    Time& free_at = m_free_at[place.subchannel];
    Queue& queue = m_queues[place.subchannel];
    const Time service{m_row_service.ps * kMillion / left};
    drain_idle(queue, now, service, free_at);
    if (write) {
        static_cast<void>(queue.rows.access(now, std::max(now, free_at), place.line, true));
        const Time taken = take_write(queue, now, service, free_at);
        if (taken > now) m_blocked = taken;
        return taken + m_config.controller;
    }
    queue.mixed = true;
    const Time bus = queue.rows.after_refresh(std::max({now, free_at, queue.turned}));
    free_at = bus + service;
    const Time data = queue.rows.access(now, bus, place.line, false);
    return data + (service - m_row_service) + m_config.controller;
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
