// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/link.h"

#include <algorithm>

namespace kvplane::cxl {
namespace {

/// Bytes of TLP stream in a flit of 256 B.
constexpr std::uint64_t kStreamIn256 = 236;
/// Share of the wire that SKP ordered sets leave, in 1/10,000.
constexpr std::uint64_t kSkpShare = 9'973;
/// From this rate on the line code needs no sync headers.
constexpr std::uint64_t kPam4 = 64'000'000'000;

std::uint64_t divide_up(Uint128 a, Uint128 b) {
    return static_cast<std::uint64_t>((a + b - 1) / b);
}

/// Slots, in twelfths, of `d` data and `n` completions in 68 B flits.
std::uint64_t twelfths_to_host_68(const LinkConfig& config, std::uint64_t d, std::uint64_t n) {
    constexpr std::uint64_t kHalf = 6;
    if (!config.multi_data_header) {
        // H3 holds a header of data and, free of charge, one completion.
        return 60 * d + (n > d ? kHalf * (n - d) : 0);
    }
    if (config.packing == Packing::kNaive) return 54 * d + kHalf * n;
    // Two completions in H4 beside three headers in G6: a quarter of a slot each, until all
    // headers travel so.
    const std::uint64_t most = 2 * d / 3;
    return n <= most ? 54 * d + 3 * n : 54 * d + 3 * most + kHalf * (n - most);
}

/// Generic slots of a 256 B flit that take data.
std::uint64_t generic_slots(FlitLayout layout) { return is_low_latency(layout) ? 13 : 14; }

}  // namespace

Rate Link::wire_rate() const {
    Uint128 bits = static_cast<Uint128>(m_config.rate.per_second) * m_config.width;
    if (!m_config.sync_header_bypass && m_config.rate.per_second < kPam4) bits = bits * 128 / 130;
    if (m_config.skp) bits = bits * kSkpShare / 10'000;
    return {static_cast<std::uint64_t>(bits / 8)};
}

TlpRules Link::tlp_rules() const {
    return {m_config.mps, m_config.mrrs, m_config.rcb, m_config.flit != FlitLayout::k68B,
            m_config.pasid};
}

std::uint64_t Link::stream_in_flit() const {
    return m_config.flit == FlitLayout::k68B ? m_config.io_stream.count : kStreamIn256;
}

std::uint64_t Link::to_card(const MemMix& mix) const {
    const std::uint64_t slots = mix.reads + 5 * mix.writes + 6 * mix.partial_writes;
    if (m_config.flit == FlitLayout::k68B) {
        // At most two requests a flit.
        return divide_up(static_cast<Uint128>(std::max(slots, 2 * mix.reads)) * flit_bytes(), 4);
    }
    const std::uint64_t slots_a_flit =
        generic_slots(m_config.flit) + (is_pbr(m_config.flit) ? 0 : 1);
    return divide_up(static_cast<Uint128>(slots) * flit_bytes(), slots_a_flit);
}

std::uint64_t Link::to_host(const MemMix& mix) const {
    const std::uint64_t d = mix.reads;
    const std::uint64_t n = mix.writes + mix.partial_writes;
    if (m_config.flit == FlitLayout::k68B) {
        const std::uint64_t twelfths = twelfths_to_host_68(m_config, d, n);
        return divide_up(static_cast<Uint128>(twelfths) * flit_bytes(), std::uint64_t{12} * 4);
    }
    // g headers in a generic slot, h in H and HS: 4 d + (d + n - h) / g slots of a flit.
    const std::uint64_t g = responses_a_slot(m_config.flit);
    const std::uint64_t h = is_low_latency(m_config.flit) ? 3 : 2;
    return divide_up(static_cast<Uint128>(4 * d * g + d + n) * flit_bytes(),
                     generic_slots(m_config.flit) * g + h);
}

Rate Link::mem_bandwidth(const MemMix& mix) const {
    // So many lines that rounding to bytes does not show.
    constexpr std::uint64_t kScale = 1'000'000;
    const MemMix many{mix.reads * kScale, mix.writes * kScale, mix.partial_writes * kScale};
    const std::uint64_t payload = (many.reads + many.writes + many.partial_writes) * kLine.count;
    const std::uint64_t wire = std::max(to_card(many), to_host(many));
    return {static_cast<std::uint64_t>(static_cast<Uint128>(payload) *
                                       wire_rate().bytes_per_second / wire)};
}

WireCost Link::tlp(TlpKind kind, Bytes payload) const {
    return {(payload.count + tlp_framing(tlp_rules(), kind)) * flit_bytes(),
            payload.count * stream_in_flit()};
}

WireCost Link::dma_read_request(Bytes read_size) const {
    return {tlp_framing(tlp_rules(), TlpKind::kRead) * flit_bytes(),
            read_size.count * stream_in_flit()};
}

WireCost Link::mem_read_request() const {
    if (m_config.flit == FlitLayout::k68B) return {flit_bytes(), 4 * kLine.count};
    return {to_card({kMany, 0, 0}), kMany * kLine.count};
}

std::uint64_t Link::on_wire(std::uint64_t stream) const {
    return divide_up(static_cast<Uint128>(stream) * flit_bytes(), stream_in_flit());
}

std::uint64_t Link::write_tlp_bytes(Bytes payload) const {
    return on_wire(payload.count + tlp_framing(tlp_rules(), TlpKind::kWrite));
}

std::uint64_t Link::read_tlp_bytes(Bytes payload) const {
    const std::uint64_t mps = m_config.mps.count;
    const std::uint64_t tlps = (payload.count + mps - 1) / mps;
    return on_wire(payload.count + tlps * tlp_framing(tlp_rules(), TlpKind::kCompletion));
}

}  // namespace kvplane::cxl
