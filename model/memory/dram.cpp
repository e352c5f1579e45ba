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
      m_free_at(std::size_t{config.channels} * config.subchannels) {}

Rate Dram::bandwidth() const {
    return {static_cast<std::uint64_t>(static_cast<Uint128>(m_config.speed.per_second) *
                                       kChannelBytes * m_config.channels * m_config.service.ppm /
                                       kMillion)};
}

Time Dram::mixed_write_extra() const {
    return {2 * m_config.turnaround.ps / static_cast<std::int64_t>(m_config.write_batch)};
}

Time Dram::access_line(Time now, Dpa line, Ratio flow_share) {
    Time& free_at = m_free_at[(line.value / kLine.count) % m_free_at.size()];
    const Time start = std::max(now, free_at);
    const std::int64_t left = kMillion - std::min(flow_share.ppm, kLargestFlowShare);
    const Time service{m_line_service.ps * kMillion / left};
    free_at = start + service;
    // Its own line's share of the service is within idle_latency(); the rest is waiting.
    return start + (service - m_line_service) + idle_latency();
}

}  // namespace kvplane::memory
