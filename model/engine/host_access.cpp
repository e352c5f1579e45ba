// SPDX-License-Identifier: Apache-2.0
/// The part of the data plane that host-side accesses reach: single CXL.mem lines, and copies by a
/// host-side mover.
#include <algorithm>

#include "model/engine/data_plane.h"

namespace kvplane::engine {
namespace {

/// Host lines are a rate to the movers, measured over windows of this length.
constexpr Time kHostWindow = Time::from_us(2);
constexpr std::uint32_t kMillion = 1'000'000;

}  // namespace

Ratio DataPlane::dram_share() const {
    const std::uint64_t used = m_movers.in_use(kDram);
    return {static_cast<std::uint32_t>(static_cast<Uint128>(used) * kMillion /
                                       m_dram.bandwidth().bytes_per_second)};
}

Time DataPlane::read_record_line(Time at, std::uint64_t line) {
    return m_dram.access_line(at, {line * kLine.count}, dram_share());
}

block::BlockKey DataPlane::key_of(std::uint32_t frame) { return m_tier.key_of({frame}); }

Time DataPlane::host_line(Dpa address, bool write, Time at) {
    const auto lines = [](cxl::WireCost cost) {
        return (cost.wire * kLine.count + cost.payload - 1) / cost.payload;
    };
    const std::uint64_t down = lines(write ? m_link.mem_write_data() : m_link.mem_read_request());
    const std::uint64_t up = lines(write ? m_link.mem_write_response() : m_link.mem_read_data());
    // A line waits for the TLP that is on the wire, never for a chunk.
    const std::uint64_t tlp = m_link.write_tlp_bytes(m_config.movers.link.mps);
    const auto cross = [&](std::size_t wire, Mover busy, std::uint64_t bytes, Time from) {
        const Time residual = m_movers.busy(busy) ? m_link.serialisation(tlp) : Time{};
        Time& free_at = m_wire_free_at[wire];
        free_at = std::max(from + residual, free_at) + m_link.serialisation(bytes);
        return free_at;
    };
    const Time arrived = cross(kDownlink, kPull, down, at);
    const Time done = m_dram.access_line(arrived, address, dram_share());
    const Time answered = cross(kUplink, kPush, up, done);

    ++m_host_lines[write ? 1 : 0];
    if (!m_host_window_open) {
        m_host_window_open = true;
        m_events.schedule(now() + kHostWindow, {Step::kHost, 0});
    }
    return answered;
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
    const auto index = static_cast<std::size_t>(direction);
    m_bulk[index].client = &client;
    m_movers.limit_cap(kBulkRead + static_cast<std::uint32_t>(direction), cap);
}

void DataPlane::start_bulk(BulkDirection direction, std::uint32_t token, Bytes size) {
    m_movers.push(kBulkRead + static_cast<std::uint32_t>(direction),
                  {.id = token, .blocks = 1, .block_bytes = size}, now());
    arm_movers();
}

void DataPlane::read_bytes(Dpa address, std::span<std::uint8_t> data) const {
    m_store.read(address.value, data);
}

void DataPlane::write_bytes(Dpa address, std::span<const std::uint8_t> data) {
    m_store.write(address.value, data);
}

}  // namespace kvplane::engine
