// SPDX-License-Identifier: Apache-2.0
#include "host_driver/gpu/host_dram.h"

#include <fmt/format.h>

#include "model/common/errors.h"

namespace kvplane::gpu {
namespace {

using engine::BulkDirection;

FlowServers make_flows(Rate bandwidth, FlowClient& client) {
    FlowServerConfig direction;
    direction.share[0] = flow_share(1, 1);
    return {{bandwidth.bytes_per_second}, {direction, direction}, client};
}

}  // namespace

HostDram::HostDram(sc_core::sc_module_name name, Rate bandwidth)
    : sc_module(name), m_flows(make_flows(bandwidth, *this)), m_ends("ends") {
    SC_HAS_PROCESS(HostDram);
    SC_METHOD(run);
    sensitive << m_ends.event();
    dont_initialize();
}

void HostDram::open_bulk(BulkDirection direction, Rate cap, engine::BulkClient& client) {
    const auto server = static_cast<std::uint32_t>(direction);
    m_clients[server] = &client;
    m_flows.limit_cap(server, cap);
}

void HostDram::start_bulk(BulkDirection direction, std::uint32_t token, Bytes size) {
    m_flows.push(static_cast<std::uint32_t>(direction),
                 {.id = token, .blocks = 1, .block_bytes = size}, now());
    arm();
}

void HostDram::arm() {
    const Time next = m_flows.next_end();
    if (next != Time::never()) m_ends.schedule(std::max(next, now()), 0);
}

void HostDram::run() {
    std::uint8_t due = 0;
    while (m_ends.pop_due(due)) m_flows.advance(now());
    arm();
}

void HostDram::block_drained(std::uint32_t server, std::uint32_t /*id*/, std::uint32_t /*block*/,
                             Time start, Time /*end*/) {
    m_started[server] = start;
}

void HostDram::job_drained(std::uint32_t server, std::uint32_t id, Time end) {
    m_clients[server]->bulk_done(static_cast<BulkDirection>(server), id, m_started[server], end);
}

void HostDram::job_given_up(std::uint32_t /*server*/, std::uint32_t id, std::uint32_t /*blocks*/,
                            FlowEnd /*reason*/, Time /*end*/) {
    throw InvariantError(fmt::format("copy {} to host DRAM was given up, and nobody asked", id));
}

void HostDram::read(Dpa address, std::span<std::uint8_t> data) const {
    m_store.read(address.value, data);
}

void HostDram::write(Dpa address, std::span<const std::uint8_t> data) {
    m_store.write(address.value, data);
}

}  // namespace kvplane::gpu
