// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/link.h"

namespace kvplane::cxl {
namespace {

/// Bytes of TLP stream in a flit of 68 B; the rest is CRC and protocol ID.
constexpr std::uint64_t kStreamInFlit = 64;
/// Share of the wire that SKP ordered sets leave, in 1/10,000.
constexpr std::uint64_t kSkpShare = 9'973;

std::uint64_t on_wire(std::uint64_t stream_bytes) {
    return (stream_bytes * Link::kFlit + kStreamInFlit - 1) / kStreamInFlit;
}

}  // namespace

Rate Link::wire_rate() const {
    Uint128 bits = static_cast<Uint128>(m_config.rate.per_second) * m_config.width;
    if (!m_config.sync_header_bypass) bits = bits * 128 / 130;
    if (m_config.skp) bits = bits * kSkpShare / 10'000;
    return {static_cast<std::uint64_t>(bits / 8)};
}

WireCost Link::tlp(std::uint64_t payload, std::uint64_t framing) {
    return {(payload + framing) * kFlit, payload * kStreamInFlit};
}

WireCost Link::dma_read_request(Bytes read_size) const {
    return {kWriteFraming * kFlit, read_size.count * kStreamInFlit};
}

std::uint64_t Link::write_tlp_bytes(Bytes payload) const {
    return on_wire(payload.count + kWriteFraming);
}

WireCost Link::mem_read_data() const {
    if (m_config.multi_data_header) return {9 * kFlit, 8 * kLine.count};
    return {5 * kFlit, 4 * kLine.count};
}

std::uint64_t Link::read_tlp_bytes(Bytes payload) const {
    const std::uint64_t mps = m_config.mps.count;
    const std::uint64_t tlps = (payload.count + mps - 1) / mps;
    return on_wire(payload.count + tlps * kCompletionFraming);
}

}  // namespace kvplane::cxl
