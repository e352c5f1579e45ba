// SPDX-License-Identifier: Apache-2.0
/// The wire between host and card: what it carries per second, and what each kind of traffic costs
/// on it, in closed form. Bandwidth follows from slots and TLP framing; there is no efficiency
/// constant. model/cxl/wire.h forms the flits one by one; both are held together by a test.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "model/common/units.h"
#include "model/cxl/flit.h"
#include "model/cxl/packer.h"
#include "model/cxl/tlp.h"

namespace kvplane::cxl {

/// Where CXL.mem may cut in between CXL.io.
enum class Arbitration : std::uint8_t {
    kFlit,  ///< after any flit
    kTlp,   ///< after a whole TLP
};

struct LinkConfig {
    TransferRate rate{32'000'000'000};  ///< per lane
    std::uint32_t width = 16;           ///< lanes: 1, 2, 4, 8, 16
    FlitLayout flit = FlitLayout::k68B;
    Packing packing = Packing::kBalanced;
    bool sync_header_bypass = false;  ///< no 128b/130b sync headers
    bool multi_data_header = true;    ///< two or three DRS headers in one slot (68 B flits)
    bool skp = false;                 ///< SKP ordered sets: 0.9973 of the wire
    Bytes mps{256};                   ///< largest TLP payload of a write or a completion
    Bytes mrrs{512};                  ///< largest DMA read request
    Bytes rcb{64};                    ///< read completion boundary: 64 B or 128 B
    bool pasid = false;               ///< PASID prefix on the card's requests
    Bytes io_stream{64};              ///< bytes of a 68 B flit that carry TLPs: 64 or 66
    Arbitration arbitration = Arbitration::kFlit;
    std::uint32_t mem_weight = 16;  ///< CXL.mem flits to each flit of CXL.io while both wait
    Time completion_hold =
        Time::from_ns(40);                 ///< completions wait so long for a full flit beside TLPs
    std::uint32_t retry_depth = 128;       ///< flits that may be unacknowledged
    Time propagation = Time::from_ns(10);  ///< pins to pins, one way: link layer and wire
    std::uint32_t request_credits = 64;    ///< Req that the card has room for
    std::uint32_t write_credits = 64;      ///< RwD that the card has room for
    std::uint32_t response_credits = 128;  ///< NDR, and DRS, that the host has room for
    /// CXL.io that the receiver has room for: posted, non-posted, completions; headers, and data in
    /// units of 16 B (assumed: 128 TLPs of 1 KiB, less a header's).
    std::array<IoCredits, 3> io_credits{{{128, 8188}, {256, 0}, {128, 8188}}};
    std::optional<Rate> push_rate_limit;  ///< experimental: payload of the card's writes
    std::optional<Rate> pull_rate_limit;  ///< experimental: payload of host reads from the card
};

/// Bytes on the wire for a stretch of payload: a ratio, exact.
struct WireCost {
    std::uint64_t wire = 0;
    std::uint64_t payload = 1;
};

/// Lines of CXL.mem traffic, as a ratio or a total.
struct MemMix {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;          ///< whole lines
    std::uint64_t partial_writes = 0;  ///< with byte enables
};

/// The closed forms of one link direction.
class Link {
public:
    explicit Link(const LinkConfig& config) : m_config(config) {}

    /// Bytes per second on the wire, each direction. 64 GT/s (PAM4) has no sync headers.
    [[nodiscard]] Rate wire_rate() const;
    /// Payload bytes per second of what alone has the wire.
    [[nodiscard]] Rate payload_rate(WireCost cost) const {
        return {static_cast<std::uint64_t>(Uint128{wire_rate().bytes_per_second} * cost.payload /
                                           cost.wire)};
    }
    /// The time `wire_bytes` take on the wire, rounded up to a picosecond.
    [[nodiscard]] Time serialisation(std::uint64_t wire_bytes) const {
        return transfer_time(Bytes{wire_bytes}, wire_rate());
    }

    [[nodiscard]] PackerConfig packer_config() const {
        return {m_config.flit, m_config.packing, m_config.multi_data_header};
    }
    [[nodiscard]] TlpRules tlp_rules() const;
    /// Bytes of TLP stream in a flit.
    [[nodiscard]] std::uint64_t stream_in_flit() const;
    [[nodiscard]] std::uint64_t flit_bytes() const { return cxl::flit_bytes(m_config.flit); }

    // CXL.mem, saturated, rounded up to a byte.
    /// Wire bytes of the requests and written data of a mix, towards the card.
    [[nodiscard]] std::uint64_t to_card(const MemMix& mix) const;
    /// Wire bytes of its data and completions, towards the host.
    [[nodiscard]] std::uint64_t to_host(const MemMix& mix) const;
    /// Payload of both directions per second where the link alone limits.
    [[nodiscard]] Rate mem_bandwidth(const MemMix& mix) const;

    /// DMA writes of the card (MWr, 64-bit address), split at MPS; on the way to the host.
    [[nodiscard]] WireCost dma_write() const { return tlp(TlpKind::kWrite, m_config.mps); }
    /// Completions of the card's DMA reads (CplD), split at MPS; on the way to the card.
    [[nodiscard]] WireCost dma_read_data() const { return tlp(TlpKind::kCompletion, m_config.mps); }
    /// Requests of the card's DMA reads (MRd) of `read_size` each; on the way to the host.
    [[nodiscard]] WireCost dma_read_request(Bytes read_size) const;
    /// Data of CXL.mem reads (DRS) without other traffic; on the way to the host.
    [[nodiscard]] WireCost mem_read_data() const { return lines_to_host({kMany, 0, 0}); }
    /// Requests of CXL.mem reads beside other traffic, one slot each; on the way to the card.
    [[nodiscard]] WireCost mem_read_request() const;
    /// CXL.mem writes (RwD); on the way to the card.
    [[nodiscard]] WireCost mem_write_data() const {
        return {to_card({0, kMany, 0}), kMany * kLine.count};
    }
    /// Completions of CXL.mem writes (NDR); on the way to the host.
    [[nodiscard]] WireCost mem_write_response() const { return lines_to_host({0, kMany, 0}); }

    /// Wire bytes of one DMA write of `payload` bytes in one TLP, rounded up.
    [[nodiscard]] std::uint64_t write_tlp_bytes(Bytes payload) const;
    /// Wire bytes of the completions of a DMA read of `payload` bytes, rounded up.
    [[nodiscard]] std::uint64_t read_tlp_bytes(Bytes payload) const;

private:
    /// A number of lines that every layout packs without a rest.
    static constexpr std::uint64_t kMany = 44ULL * 42 * 30 * 29 * 28 * 13;

    [[nodiscard]] WireCost tlp(TlpKind kind, Bytes payload) const;
    [[nodiscard]] WireCost lines_to_host(const MemMix& mix) const {
        return {to_host(mix), kMany * kLine.count};
    }
    /// `stream` bytes of TLPs on the wire, rounded up.
    [[nodiscard]] std::uint64_t on_wire(std::uint64_t stream) const;

    LinkConfig m_config;
};

}  // namespace kvplane::cxl
