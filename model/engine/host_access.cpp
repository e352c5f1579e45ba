// SPDX-License-Identifier: Apache-2.0
/// The part of the data plane that host-side accesses reach: single CXL.mem lines, and copies by a
/// host-side mover; and what ends them all, resets.
#include <algorithm>

#include "model/engine/data_plane.h"

namespace kvplane::engine {
namespace {

/// Host lines are a rate to the movers, measured over windows of this length.
constexpr Time kHostWindow = Time::from_us(2);
constexpr std::uint32_t kMillion = 1'000'000;

}  // namespace

Ratio DataPlane::other_load() const {
    const std::uint64_t used = m_movers.transfers(kDram);
    if (used == 0) return {};
    return {static_cast<std::uint32_t>(static_cast<Uint128>(used) * kMillion /
                                       m_dram.bandwidth().bytes_per_second)};
}

Ratio DataPlane::queued(Dpa line) {
    return m_host_memory == nullptr ? Ratio{} : m_host_memory->queued(line);
}

Time DataPlane::read_record_line(Time at, std::uint64_t line) {
    return m_dram.access_line(at, {line * kLine.count}, false, {.share = other_load()});
}

std::optional<block::BlockKey> DataPlane::key_of(std::uint32_t frame) {
    return m_tier.key_of({frame});
}

Time DataPlane::access_line(Time at, Dpa line, bool write) {
    ++m_host_lines[write ? 1 : 0];
    if (!m_host_window_open) {
        m_host_window_open = true;
        m_events.schedule(now() + kHostWindow, {Step::kHost, 0});
    }
    return m_dram.access_line(at, line, write, transfers());
}

memory::Dram::Transfers DataPlane::transfers() {
    if (!m_config.movers.dram.device) return {.share = other_load()};
    const auto both = [&](Mover a, Mover b) {
        return Rate{m_movers.rate(a).bytes_per_second + m_movers.rate(b).bytes_per_second};
    };
    const Time passed = now() - m_lately.at;
    if (passed >= kHostWindow) {
        Bytes moved;
        for (const Mover mover : {kPush, kPull, kBulkRead, kBulkWrite}) {
            moved = moved + drained_by_now(mover);
        }
        const Uint128 bytes = Uint128{moved.count - m_lately.moved.count} * 1'000'000'000'000U;
        m_lately = {now(),
                    moved,
                    {static_cast<std::uint64_t>(bytes / static_cast<std::uint64_t>(passed.ps))}};
    }
    return {other_load(), both(kPush, kBulkRead), both(kPull, kBulkWrite), m_lately.rate};
}

Time DataPlane::wire_wait(cxl::Direction direction) const {
    const bool to_host = direction == cxl::Direction::kToHost;
    return m_movers.busy(to_host ? kPush : kPull) ? m_wire_wait : Time{};
}

bool DataPlane::read_poison(Dpa line) {
    if (!m_poison.contains(line)) return false;
    m_log.add(management::Severity::kFailure, management::MediaEvent::kPoisonRead, line, now());
    return true;
}

void DataPlane::set_poison(Dpa line, bool poisoned) {
    if (poisoned) {
        m_poison.add(line, management::PoisonSource::kExternal, now());
    } else {
        m_poison.remove(line);
    }
}

void DataPlane::clear() {
    m_store = {};
    m_chunks = ChunkTable(m_config.movers.engine.chunk);
    m_poison.clear();
    forget_policy();
}

void DataPlane::close_host_window() {
    constexpr std::uint64_t kWindowsPerSecond =
        1'000'000'000'000U / static_cast<std::uint64_t>(kHostWindow.ps);
    const auto bytes = [](std::uint64_t lines) { return lines * kLine.count * kWindowsPerSecond; };
    const auto wire = [](std::uint64_t payload, cxl::WireCost cost) {
        return static_cast<std::uint64_t>(static_cast<Uint128>(payload) * cost.wire / cost.payload);
    };
    const std::uint64_t read = bytes(m_host_lines[0]);
    const std::uint64_t written = bytes(m_host_lines[1]);
    std::array<std::uint64_t, kFlowResources> load{};
    load[kUplink] = wire(read, m_link.mem_read_data()) + wire(written, m_link.mem_write_response());
    load[kDownlink] =
        wire(read, m_link.mem_read_request()) + wire(written, m_link.mem_write_data());
    load[kDram] = read + written;
    m_host_lines.fill(0);
    m_movers.set_host_load(load, now());
    arm_movers();
    m_host_window_open = load[kDram] != 0;  // one empty window more ends the load
    if (m_host_window_open) m_events.schedule(now() + kHostWindow, {Step::kHost, 0});
}

void DataPlane::open_bulk(BulkDirection direction, Rate cap, BulkClient& client) {
    m_bulk[static_cast<std::size_t>(direction)].client = &client;
    m_movers.limit_cap(kBulkRead + static_cast<std::uint32_t>(direction), cap);
}

void DataPlane::start_bulk(BulkDirection direction, std::uint32_t token, Bytes size) {
    if (m_halted) {
        m_bulk[static_cast<std::size_t>(direction)].client->bulk_failed(direction, token);
        return;
    }
    m_movers.push(kBulkRead + static_cast<std::uint32_t>(direction),
                  {.id = token, .blocks = 1, .block_bytes = size}, now());
    arm_movers();
}

/// Everything that the engine has under way ends here, without a completion.
void DataPlane::drop_moves() {
    for (const Mover mover : {kPush, kPull, kMove}) (void)m_movers.drop(mover, now());
    for (const MoveJob& job : m_jobs) {
        if (job.holds) let_go(job, 0, job.blocks.size());
        m_counters.dropped_intents += job.phase == MoveJob::Phase::kFree ? 0 : 1;
    }
    for (const Batch& batch : m_batches) m_counters.dropped_intents += batch.entries.size();
    for (JobObserver* observer : m_job_observers) observer->dropped();
    m_jobs.clear();
    m_free_jobs.clear();
    m_promotions.clear();
    m_held_completions.clear();
    m_invalidations.clear();
    m_deliveries.clear();
    m_next_delivery = 0;
    m_deliveries_done = m_deliveries_sent;
    m_batches.assign(m_batches.size(), {});
    m_addresses.clear();
    m_queues.assign(m_queues.size(), IntentQueue(m_config.movers.engine.in_flight));
    m_last_admitted.assign(m_last_admitted.size(), {});
    m_check_free_at = {};
    m_events.clear();
    m_movers_armed = Time::never();
    arm_movers();
    if (m_host_window_open) m_events.schedule(now() + kHostWindow, {Step::kHost, 0});
}

void DataPlane::fail_copies() {
    for (const BulkDirection direction : {BulkDirection::kRead, BulkDirection::kWrite}) {
        const auto index = static_cast<std::size_t>(direction);
        for (const std::uint32_t token :
             m_movers.drop(kBulkRead + static_cast<std::uint32_t>(direction), now())) {
            m_bulk[index].client->bulk_failed(direction, token);
        }
    }
}

void DataPlane::stall_device(std::uint32_t queue, std::uint16_t window, bool stalled) {
    const auto destination = static_cast<std::uint16_t>(queue * management::kWindows + window);
    for (const Mover mover : {kPush, kPull}) m_movers.stall(mover, destination, stalled, now());
    arm_movers();
}

void DataPlane::stop_link(bool stopped) {
    m_link_down = stopped;
    for (const Mover mover : {kBulkRead, kBulkWrite}) m_movers.stop(mover, stopped, now());
    stop_or_go_on();
}

void DataPlane::halt() {
    m_halted = true;
    drop_moves();
    fail_copies();
}

void DataPlane::reset(management::Reset kind) {
    drop_moves();
    if (kind != management::Reset::kFunction) {
        m_halted = false;
        fail_copies();
    }
    if (!management::effect_of(kind).index) m_tier.clear();
    m_registers.reset(management::new_boot_generation(kind));
}

void DataPlane::read(Dpa address, std::span<std::uint8_t> data) const {
    m_store.read(address.value, data);
}

void DataPlane::write(Dpa address, std::span<const std::uint8_t> data) {
    m_store.write(address.value, data);
}

}  // namespace kvplane::engine
