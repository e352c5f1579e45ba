// SPDX-License-Identifier: Apache-2.0
/// The wire between host and card: what it carries per second, and what each kind of traffic costs
/// on it. Bandwidth follows from slots and TLP framing; there is no efficiency constant.
#pragma once

#include <cstdint>
#include <optional>

#include "model/common/units.h"

namespace kvplane::cxl {

enum class FlitSize { k68B };

struct LinkConfig {
    TransferRate rate{32'000'000'000};  ///< per lane
    std::uint32_t width = 16;           ///< lanes: 1, 2, 4, 8, 16
    FlitSize flit = FlitSize::k68B;
    bool sync_header_bypass = false;      ///< no 128b/130b sync headers
    bool multi_data_header = true;        ///< two DRS headers in one slot
    bool skp = false;                     ///< SKP ordered sets: 0.9973 of the wire
    Bytes mps{256};                       ///< largest TLP payload of a write or a completion
    Bytes mrrs{512};                      ///< largest DMA read request
    std::optional<Rate> push_rate_limit;  ///< experimental: payload of the card's writes
    std::optional<Rate> pull_rate_limit;  ///< experimental: payload of host reads from the card
};

/// Bytes on the wire for a stretch of payload: a ratio, exact.
struct WireCost {
    std::uint64_t wire = 0;
    std::uint64_t payload = 1;
};

/// The closed forms of one link direction. Flits of 68 B carry 64 B of TLP stream, or four slots.
class Link {
public:
    explicit Link(const LinkConfig& config) : m_config(config) {}

    /// Bytes per second on the wire, each direction.
    [[nodiscard]] Rate wire_rate() const;
    /// The time `wire_bytes` take on the wire, rounded up to a picosecond.
    [[nodiscard]] Time serialisation(std::uint64_t wire_bytes) const {
        return transfer_time(Bytes{wire_bytes}, wire_rate());
    }

    /// DMA writes of the card (MWr, 64-bit address), split at MPS; on the way to the host.
    [[nodiscard]] WireCost dma_write() const { return tlp(m_config.mps.count, kWriteFraming); }
    /// Completions of the card's DMA reads (CplD), split at MPS; on the way to the card.
    [[nodiscard]] WireCost dma_read_data() const {
        return tlp(m_config.mps.count, kCompletionFraming);
    }
    /// Requests of the card's DMA reads (MRd) of `read_size` each; on the way to the host.
    [[nodiscard]] WireCost dma_read_request(Bytes read_size) const;
    /// Data of CXL.mem reads (DRS); on the way to the host. Nine flits carry eight lines, five
    /// carry four with one header a slot.
    [[nodiscard]] WireCost mem_read_data() const;
    /// Requests of CXL.mem reads, one slot each; on the way to the card.
    [[nodiscard]] WireCost mem_read_request() const { return {kSlotOnWire, kLine.count}; }
    /// CXL.mem writes (RwD): five flits carry four lines; on the way to the card.
    [[nodiscard]] WireCost mem_write_data() const { return {5 * kFlit, 4 * kLine.count}; }
    /// Completions of CXL.mem writes (NDR), two a slot; on the way to the host.
    [[nodiscard]] WireCost mem_write_response() const { return {kSlotOnWire, 2 * kLine.count}; }

    /// Wire bytes of one DMA write of `payload` bytes in one TLP, rounded up.
    [[nodiscard]] std::uint64_t write_tlp_bytes(Bytes payload) const;
    /// Wire bytes of the completions of a DMA read of `payload` bytes, rounded up.
    [[nodiscard]] std::uint64_t read_tlp_bytes(Bytes payload) const;

    /// Bytes of one flit on the wire.
    static constexpr std::uint64_t kFlit = 68;

private:
    /// STP 4 B, header and LCRC 4 B: 16 B header with a 64-bit address; 12 B of a completion.
    static constexpr std::uint64_t kWriteFraming = 24;
    static constexpr std::uint64_t kCompletionFraming = 20;
    /// A quarter of a flit.
    static constexpr std::uint64_t kSlotOnWire = kFlit / 4;

    [[nodiscard]] static WireCost tlp(std::uint64_t payload, std::uint64_t framing);

    LinkConfig m_config;
};

}  // namespace kvplane::cxl
