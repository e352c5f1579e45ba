// SPDX-License-Identifier: Apache-2.0
/// CXL.io transactions: what a TLP takes of the stream that flits carry, how requests are split,
/// and the tags and credits that bound what is in flight.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/common/units.h"

namespace kvplane::cxl {

enum class TlpKind : std::uint8_t {
    kWrite,       ///< MWr with a 64-bit address: posted
    kRead,        ///< MRd with a 64-bit address: non-posted
    kCompletion,  ///< CplD
};

/// A TLP on its way. `id` is the sender's.
struct Tlp {
    TlpKind kind = TlpKind::kWrite;
    Bytes payload;  ///< none for a read
    std::uint32_t id = 0;
    bool poisoned = false;  ///< EP bit
};

struct TlpRules {
    Bytes mps{256};             ///< largest payload of a write or completion
    Bytes mrrs{512};            ///< largest read request
    Bytes rcb{64};              ///< completions of a read end at multiples of it
    bool flit_mode = false;     ///< 256 B flits: longer headers, no STP and no LCRC
    bool pasid_prefix = false;  ///< 4 B more on every request
};

/// Bytes of the stream beyond the payload. Without flit mode: STP 4 B and LCRC 4 B around a header
/// of 16 B (requests) or 12 B (completions). In flit mode the header alone.
[[nodiscard]] constexpr std::uint64_t tlp_framing(const TlpRules& rules, TlpKind kind) {
    const bool completion = kind == TlpKind::kCompletion;
    const std::uint64_t header = completion ? 12 : 16;
    const std::uint64_t prefix = rules.pasid_prefix && !completion ? 4 : 0;
    return header + prefix + (rules.flit_mode ? 0 : 8);
}
[[nodiscard]] constexpr std::uint64_t tlp_stream_bytes(const TlpRules& rules, const Tlp& tlp) {
    return tlp.payload.count + tlp_framing(rules, tlp.kind);
}

/// A DLLP (acknowledge, credit update): 6 B and 2 B of framing.
inline constexpr std::uint64_t kDllpBytes = 8;

/// The payloads of the writes that move `length` bytes to `address`: none larger than MPS, none
/// across a multiple of MPS, so none across 4 KiB.
[[nodiscard]] std::vector<Bytes> split_write(const TlpRules& rules, std::uint64_t address,
                                             Bytes length);
/// The lengths of the read requests for `length` bytes at `address`, the same way by MRRS.
[[nodiscard]] std::vector<Bytes> split_read(const TlpRules& rules, std::uint64_t address,
                                            Bytes length);
/// The completions of one read request: each ends at a multiple of RCB or with the request, and
/// carries at most MPS.
[[nodiscard]] std::vector<Bytes> split_completion(const TlpRules& rules, std::uint64_t address,
                                                  Bytes length);

/// The tags of reads in flight. Taken in a ring, so that a late completion of a timed-out read
/// meets no new read of the same tag at once.
class TagPool {
public:
    /// count: 1 to 65,536.
    explicit TagPool(std::uint32_t count);

    [[nodiscard]] std::optional<std::uint32_t> take();
    /// False where the tag was not out: a completion that nobody waits for.
    [[nodiscard]] bool give_back(std::uint32_t tag);
    [[nodiscard]] std::uint32_t in_flight() const { return m_in_flight; }

private:
    std::vector<bool> m_out;
    std::vector<std::uint32_t> m_free;  ///< ring
    std::uint64_t m_head = 0;
    std::uint64_t m_tail = 0;
    std::uint32_t m_in_flight = 0;
};

/// Flow control of CXL.io: one header credit a TLP, one data credit for each 16 B begun.
struct IoCredits {
    std::uint32_t headers = 0;
    std::uint32_t data = 0;
};
[[nodiscard]] constexpr std::uint32_t data_credits(Bytes payload) {
    return static_cast<std::uint32_t>((payload.count + 15) / 16);
}

/// What the receiver has room for, by kind of TLP.
class IoCreditCounter {
public:
    /// In the order of TlpKind: posted, non-posted, completion.
    explicit IoCreditCounter(const std::array<IoCredits, 3>& room) : m_free(room) {}

    /// Takes the credits of a TLP; false, and none taken, where the room is not there.
    [[nodiscard]] bool take(const Tlp& tlp);
    /// The receiver has drained a TLP.
    void give_back(const Tlp& tlp);
    [[nodiscard]] IoCredits free(TlpKind kind) const {
        return m_free[static_cast<std::size_t>(kind)];
    }

private:
    std::array<IoCredits, 3> m_free;
};

}  // namespace kvplane::cxl
