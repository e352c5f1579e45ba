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
    m_read_to_data = clock.at(t.cl + t.burst);
    m_write_to_data = clock.at(t.cwl + t.burst);
    m_row_opens = clock.at(t.rcd);
    m_reopens = clock.at(t.rp + t.rcd);
    m_read_to_write = clock.at(std::max<Cycle>(0, t.cl - t.cwl) + t.burst + t.rtw_gap);
    m_write_to_read = clock.at(t.cwl + t.burst + t.wtr_s);
    const Time activates{std::max(clock.at(t.faw).ps / 4, clock.at(t.rrd_s).ps)};
    m_read_cost = cost_of(config.rows.read, activates);
    m_write_cost = cost_of(config.rows.write, activates);
    m_lines = config.device->capacity() / kLine;
    m_pass = m_queues.front().rows.pass();
    m_least_batch = m_queues.front().rows.least_batch(config.write_batch);
}

/// What activates alone ask is in DramRows; the bus is taken for what lines at random take beyond.
/// A sequential stream opens rows too, and its mean stays what it is.
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

/// Gives a write its place on the bus; its place in the queue is free when its command is given.
Time Dram::perform_write(Queue& queue, Time at, Time& free_at, const Request& write) const {
    const Time bus = queue.rows.after_refresh(std::max({at, free_at, queue.write_after}));
    const auto access = queue.rows.access(at, bus, write.line, true);
    const Time cost = access.opened ? m_write_cost.opens : m_write_cost.hits;
    free_at = bus + Time{cost.ps * kMillion / write.left};
    const Time column = access.data - m_write_to_data;
    queue.read_after = std::max(queue.read_after, access.turn + m_write_to_read);
    queue.places.push_back(column);
    std::push_heap(queue.places.begin(), queue.places.end(), std::greater<>());
    return column;
}

/// While no read waits, writes drain; once begun, they drain to the low mark.
void Dram::drain_idle(Queue& queue, Time now, Time& free_at) const {
    std::size_t done = 0;
    while (done < queue.waiting.size()) {
        const Time start = std::max({free_at, queue.read_until, queue.write_after});
        if (start >= now) break;
        perform_write(queue, start, free_at, queue.waiting[done++]);
    }
    const std::size_t low = m_config.device->write_low;
    while (done != 0 && queue.waiting.size() - done >= low) {
        perform_write(queue, now, free_at, queue.waiting[done++]);
    }
    queue.waiting.erase(queue.waiting.begin(),
                        queue.waiting.begin() + static_cast<std::ptrdiff_t>(done));
}

/// Writes from above the high mark to below the low one, in turns of one a bank.
void Dram::drain_batch(Queue& queue, Time now, Time& free_at) const {
    // Rows are opened for writes while the last read waits for its own.
    const Time start = std::max(now, std::max(free_at, queue.write_after) - m_row_opens);
    std::size_t left = queue.waiting.size() - m_config.device->write_low + 1;
    queue.taken.fill(0);
    for (std::uint16_t turn = 1; left != 0; ++turn) {
        std::erase_if(queue.waiting, [&](const Request& write) {
            std::uint16_t& taken = queue.taken[queue.rows.bank_of(write.line)];
            if (left == 0 || taken >= turn) return false;
            ++taken;
            --left;
            queue.batch_until =
                std::max(queue.batch_until, perform_write(queue, start, free_at, write));
            return true;
        });
    }
}

/// Returns when the queue has room for it.
Time Dram::write_row(Queue& queue, Time at, Time& free_at, const Request& write) {
    const Time now = std::max(at, queue.places.front());
    if (now > at) m_blocked = now;
    std::pop_heap(queue.places.begin(), queue.places.end(), std::greater<>());
    queue.places.pop_back();
    if (queue.waiting.empty() && queue.read_until <= now) {
        perform_write(queue, now, free_at, write);
    } else {
        queue.waiting.push_back(write);
        if (queue.waiting.size() > m_config.device->write_high) drain_batch(queue, now, free_at);
    }
    return now + m_config.controller;
}

Time Dram::access_row(Time at, Dpa line, bool write, const Transfers& transfers) {
    // Requests are taken in order: one that finds its queue full keeps all behind it waiting.
    Time now = std::max(at, m_blocked);
    const auto place = m_interleave->place(line.value / kLine.count % m_lines);
    Time& free_at = m_free_at[place.subchannel];
    Queue& queue = m_queues[place.subchannel];
    drain_idle(queue, now, free_at);
    if (transfers.lately != Rate{}) {
        const Bytes pass = kLine * m_pass * m_free_at.size();
        queue.rows.streamed(place.line, now, transfer_time(pass, transfers.lately));
    }
    if (!write) now = past_batches(place.subchannel, now, transfers);
    const Request access{place.line, kMillion - std::min(transfers.share.ppm, kLargestFlowShare)};
    return write ? write_row(queue, now, free_at, access) : read_row(queue, now, free_at, access);
}

/// When a read may go that waits for what transfers write before it: what has come during a
/// refresh, and batches, where transfers read too. Else there is nothing for writes to wait for,
/// and they make way at once.
Time Dram::past_batches(std::uint32_t subchannel, Time at, const Transfers& transfers) {
    if (transfers.written == Rate{}) return at;
    const Batches& batches = batches_at(transfers.written);
    DramRows& rows = m_queues[subchannel].rows;
    const Time refreshed = rows.refresh_ended(at) + batches.behind_refresh;
    if (at < refreshed) return refreshed;
    if (transfers.read == Rate{}) return at;
    const Time turn{batches.interval.ps * subchannel / static_cast<std::int64_t>(m_queues.size())};
    const Time into{(at + turn).ps % batches.interval.ps};
    // Reads of transfers that have come since the batch began go first: a share of that time.
    const std::int64_t gap = transfer_time(kLine * m_queues.size(), transfers.read).ps;
    const Time busy = batches.length - m_reopens;  // which is the read's own
    const Time behind{std::min(into, busy).ps * m_line_service.ps / gap};
    const Time left = busy + behind - into;
    return at + std::max(left, Time{});
}

Time Dram::read_row(Queue& queue, Time at, Time& free_at, const Request& read) {
    const Time now = std::max(at, queue.reads.front());
    if (now > at) m_blocked = now;
    const Time bus = queue.rows.after_refresh(std::max({now, free_at, queue.read_after}));
    // While writes drain, no row is opened for it.
    const auto access = queue.rows.access(std::max(now, queue.batch_until), bus, read.line, false);
    const Time cost = access.opened ? m_read_cost.opens : m_read_cost.hits;
    const Time stretched{cost.ps * kMillion / read.left};
    free_at = bus + stretched;
    const Time data = access.data + (stretched - cost);
    // It leaves its place with its column command.
    const Time column = data - m_read_to_data;
    std::pop_heap(queue.reads.begin(), queue.reads.end(), std::greater<>());
    queue.reads.back() = column;
    std::push_heap(queue.reads.begin(), queue.reads.end(), std::greater<>());
    queue.read_until = std::max(queue.read_until, column);
    queue.write_after = std::max(queue.write_after, access.turn + m_read_to_write);
    return data + m_config.controller;
}

Time Dram::access_line(Time now, Dpa line, bool write, const Transfers& transfers) {
    if (m_config.device) return access_row(now, line, write, transfers);
    const std::int64_t left = kMillion - std::min(transfers.share.ppm, kLargestFlowShare);
    Time& free_at = m_free_at[(line.value / kLine.count) % m_free_at.size()];
    const Time start = std::max(now, free_at);
    const Time service{m_line_service.ps * kMillion / left};
    free_at = start + service;
    // Its own line's share of the service is within idle_latency(); the rest is waiting.
    return start + (service - m_line_service) + idle_latency();
}

Time Dram::begin_run(Time at, Dpa start, Bytes size, Rate out, Rate written) {
    const Time data = at + idle_latency() + m_line_service;
    if (!m_config.device) return data;
    const Batches& batches = batches_at(written);
    return data + std::max(batches.longest_wait,
                           refresh_stall(at, start, size, out, batches.behind_refresh));
}

/// Of refreshes that last, or begin while a run is read. The later one begins, the more of the run
/// has been read ahead by then, faster than it leaves. Writes that have come meanwhile go before
/// the reads behind it.
Time Dram::refresh_stall(Time at, Dpa start, Bytes size, Rate out, Time behind) {
    const Rate read = bandwidth();
    if (read <= out) return {};  // each refresh is felt, as bandwidth
    const Bytes run = m_config.device->interleave;
    const std::uint64_t runs = (start.value % run.count + size.count + run.count - 1) / run.count;
    const Time reading = transfer_time(size, read);
    Time longest;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(runs, m_queues.size()); ++i) {
        const std::uint64_t line = (start.value + i * run.count) / kLine.count % m_lines;
        DramRows& rows = m_queues[m_interleave->place(line).subchannel].rows;
        const Time ended = rows.refresh_ended(at) + behind;
        longest = std::max(longest, ended - at);
        const Time until = rows.next_refresh(at) - at;
        if (until >= reading) continue;
        const auto ahead = static_cast<std::int64_t>(
            static_cast<Uint128>(until.ps) * (read.bytes_per_second - out.bytes_per_second) /
            out.bytes_per_second);
        longest = std::max(longest, rows.refresh_time() + behind - Time{ahead});
    }
    return longest;
}

/// Each subchannel is in a batch for a share u of the time, and anywhere in it: of n such waits,
/// parts of a batch, the longest is on average 1 - (1 - (1 - u)^(n + 1)) / (u (n + 1)). A batch
/// leaves its rows open; after a refresh it has to open them first.
const Dram::Batches& Dram::batches_at(Rate written) {
    if (written == m_batches.written) return m_batches;
    m_batches = {written, {}, {}, {}, {}};
    if (written == Rate{}) return m_batches;
    const auto n = static_cast<double>(m_free_at.size());
    const double interval =
        static_cast<double>(transfer_time(kLine * m_config.write_batch, written).ps) * n;
    const Time lines = std::max(m_line_service * m_config.write_batch, m_least_batch);
    const Time length = lines + m_config.turnaround * 2 + m_reopens;
    const auto batch = static_cast<double>(length.ps);
    const double u = std::min(1.0, batch / interval);
    double idle = 1;
    for (std::size_t i = 0; i <= m_free_at.size(); ++i) idle *= 1 - u;
    const auto refresh = static_cast<double>(m_queues.front().rows.refresh_time().ps);
    const double behind = std::min(1.0, refresh / interval);
    const auto time = [](double ps) { return Time{static_cast<std::int64_t>(ps)}; };
    m_batches.length = length;
    m_batches.interval = time(batch / u);
    m_batches.longest_wait = time(batch * (1 - (1 - idle) / (u * (n + 1))));
    m_batches.behind_refresh = time(static_cast<double>((length + m_reopens).ps) * behind);
    return m_batches;
}

}  // namespace kvplane::memory
