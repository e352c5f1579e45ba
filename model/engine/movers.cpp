// SPDX-License-Identifier: Apache-2.0
#include "model/engine/movers.h"

#include <algorithm>

namespace kvplane::engine {
namespace {

constexpr std::uint64_t kWholeByte = std::uint64_t{1} << 32;

std::uint64_t share(cxl::WireCost cost) { return flow_share(cost.wire, cost.payload); }

/// `bytes` in flight for `latency` each.
Rate little(Bytes bytes, Time latency) {
    const Uint128 scaled = static_cast<Uint128>(bytes.count) * 1'000'000'000'000U;
    const Uint128 rate = scaled / static_cast<std::uint64_t>(std::max<std::int64_t>(1, latency.ps));
    return {static_cast<std::uint64_t>(std::min<Uint128>(rate, UINT64_MAX))};
}

/// For so long staging holds a byte of a promotion: from its line's read until the far end has its
/// TLP.
Time push_residence(const MoversConfig& config, const cxl::Link& link, const memory::Dram& dram) {
    return dram.idle_latency() + config.codec.fill +
           transfer_time(config.link.mps, codec::lanes_rate(config.codec)) +
           link.serialisation(link.write_tlp_bytes(config.link.mps)) + config.link.propagation;
}

/// What promotions reach with a window of staging. One window crosses in the residence of a line;
/// the wire is the most. Lines leave in order: one that meets a refresh of all banks holds those
/// behind it back, until no more than a window has passed. So each refresh of a subchannel's rank
/// takes the time of its line, less that of a window on the wire; while others follow sooner than
/// that, a window passes with each. Before a refresh banks close: half of ras, at the mean, and rp.
Rate windowed(const MoversConfig& config, const cxl::Link& link, const memory::Dram& dram,
              Bytes window) {
    const Time residence = push_residence(config, link, dram);
    const Rate alone = little(window, residence);
    const std::optional<memory::Ddr5Config>& device = config.dram.device;
    if (!device || device->refresh == memory::DramRefreshMode::kNone ||
        device->refresh == memory::DramRefreshMode::kSameBank) {
        return alone;
    }
    const Rate most = std::min(alone, link.payload_rate(link.dma_write()));
    const memory::DramTiming& t = device->timing;
    const memory::DramClock clock(t.speed);
    const Time held = residence + clock.at(device->refresh_time() + t.rp + t.ras / 2);
    const Time between{clock.at(device->refresh_interval()).ps /
                       (device->geometry.ranks * device->subchannels())};
    if (transfer_time(window, most) >= std::min(held, between)) return alone;
    const auto free = static_cast<std::uint64_t>(std::max(Time{}, between - held).ps);
    const Uint128 crossed = Uint128{most.bytes_per_second} * free / 1'000'000'000'000U;
    return little(window + Bytes{static_cast<std::uint64_t>(crossed)}, between);
}

/// DRAM work of a written byte beyond a read one, where both are mixed.
std::uint64_t mixed_write_share(const memory::Dram& dram) {
    return flow_share(static_cast<std::uint64_t>(dram.mixed_write_extra().ps),
                      static_cast<std::uint64_t>(dram.line_service().ps));
}

FlowServerConfig push_config(const MoversConfig& config, const cxl::Link& link,
                             const memory::Dram& dram) {
    FlowServerConfig push;
    push.share[kUplink] = share(link.dma_write());
    push.share[kDram] = kWholeByte;
    push.share[kLanes] = kWholeByte;
    push.window = std::min(config.engine.staging, config.engine.destination_quota);
    push.fill = dram.idle_latency() + config.codec.fill;
    push.cap = windowed(config, link, dram, push.window);
    push.source = kDram;
    if (config.link.push_rate_limit) push.cap = std::min(push.cap, *config.link.push_rate_limit);
    return push;
}

FlowServerConfig pull_config(const MoversConfig& config, const cxl::Link& link,
                             const memory::Dram& dram) {
    FlowServerConfig pull;
    pull.share[kDownlink] = share(link.dma_read_data());
    pull.share[kDram] = kWholeByte;
    pull.share[kLanes] = kWholeByte;
    pull.overhead[kUplink] = share(link.dma_read_request(config.engine.read_size));
    pull.mixed_with = 1U << kPush | 1U << kBulkRead;
    pull.mixed_share[kDram] = mixed_write_share(dram);
    const Bytes outstanding = config.engine.read_size * config.engine.read_outstanding;
    pull.window = std::min(outstanding, config.engine.staging);
    pull.fill = dma_round_trip(config);
    pull.cap = little(pull.window, pull.fill);
    if (config.engine.demotion_rate_cap) {
        pull.cap = std::min(pull.cap, *config.engine.demotion_rate_cap);
    }
    return pull;
}

FlowServerConfig bulk_read_config(const MoversConfig& config, const cxl::Link& link) {
    FlowServerConfig read;
    read.share[kUplink] = share(link.mem_read_data());
    read.share[kDram] = kWholeByte;
    read.overhead[kDownlink] = share(link.mem_read_request());
    if (config.link.pull_rate_limit) read.cap = *config.link.pull_rate_limit;
    return read;
}

FlowServerConfig bulk_write_config(const cxl::Link& link, const memory::Dram& dram) {
    FlowServerConfig write;
    write.share[kDownlink] = share(link.mem_write_data());
    write.share[kDram] = kWholeByte;
    write.overhead[kUplink] = share(link.mem_write_response());
    write.mixed_with = 1U << kPush | 1U << kBulkRead;
    write.mixed_share[kDram] = mixed_write_share(dram);
    return write;
}

/// A byte is read and written; its blocks wait in order of arrival, for no deadline is theirs.
FlowServerConfig move_config(const memory::Dram& dram) {
    FlowServerConfig move;
    move.share[kDram] = 2 * kWholeByte + mixed_write_share(dram);
    move.share[kLanes] = kWholeByte;
    return move;
}

FlowServers make_flows(const MoversConfig& config, std::array<Scheduler, 2>& schedulers,
                       FlowClient& client) {
    const cxl::Link link(config.link);
    const memory::Dram dram(config.dram);
    const std::uint64_t wire = link.wire_rate().bytes_per_second;
    FlowServerConfig push = push_config(config, link, dram);
    push.queue = &schedulers[kPush];
    FlowServerConfig pull = pull_config(config, link, dram);
    pull.queue = &schedulers[kPull];
    return FlowServers({wire, wire, dram.bandwidth().bytes_per_second,
                        codec::lanes_rate(config.codec).bytes_per_second},
                       {push, pull, bulk_read_config(config, link), bulk_write_config(link, dram),
                        move_config(dram)},
                       client);
}

}  // namespace

FlowMovers::FlowMovers(const MoversConfig& config, FlowClient& client)
    : m_schedulers{Scheduler(config.engine.scheduler), Scheduler(config.engine.scheduler)},
      m_flows(make_flows(config, m_schedulers, client)) {}

}  // namespace kvplane::engine
