// SPDX-License-Identifier: Apache-2.0
/// The HDM decoders of the card, as its component registers show them (CXL HDM Decoder Capability
/// Structure): which host physical addresses reach which device physical addresses.
///
///     0x00 capability      RO   0x04 global control: poison on decode error 0, enable 1
///     0x10 + 0x20 i, of decoder i:
///       +0x00 base low [31:28]    +0x04 base high     +0x08 size low [31:28]   +0x0C size high
///       +0x10 control             +0x14 DPA skip low [31:28]                   +0x18 skip high
///     control: granularity [3:0], ways [7:4], lock on commit 8, commit 9, committed 10 (RO),
///       error not committed 11 (RO), host-only coherent 12, back-invalidate 13
///
/// Granularity is 256 B << code, codes 0 to 6. Ways by code: 0 to 4 are 1, 2, 4, 8, 16; 8 to 10 are
/// 3, 6, 12.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/common/units.h"
#include "model/cxl/message.h"

namespace kvplane::cxl {

/// Ways of an interleave code; nothing where the code is reserved.
[[nodiscard]] std::optional<std::uint32_t> interleave_ways(std::uint32_t code);
/// The code of a number of ways; nothing where there is none.
[[nodiscard]] std::optional<std::uint32_t> ways_code(std::uint32_t ways);

/// A window of host addresses that `ways` cards share, `granularity` bytes in turn.
struct Interleave {
    Hpa base;
    Bytes size;  ///< of the whole window
    Bytes granularity{256};
    std::uint32_t ways = 1;

    [[nodiscard]] bool contains(Hpa address) const {
        return address >= base && address.value - base.value < size.count;
    }
    /// Whose turn an address of the window is: 0 to ways - 1.
    [[nodiscard]] std::uint32_t position(Hpa address) const;
    /// The offset inside the memory of that card.
    [[nodiscard]] std::uint64_t to_offset(Hpa address) const;
    /// The address of an offset inside the memory of the card at `position`.
    [[nodiscard]] Hpa to_hpa(std::uint64_t offset, std::uint32_t position) const;
};

/// Why a commit was refused. The registers say only that it was.
enum class CommitError : std::uint8_t {
    kNone,
    kOrder,           ///< a lower decoder is not committed
    kSize,            ///< zero, or not a multiple of ways x 256 MiB
    kWays,            ///< reserved code
    kGranularity,     ///< reserved code
    kWrap,            ///< the window passes the end of the address space
    kOverlap,         ///< base below the end of the decoder before it
    kCapacity,        ///< the memory behind it is not there
    kCoherence,       ///< neither host-only coherent nor back-invalidate: type 2 devices only
    kBackInvalidate,  ///< back-invalidate without 256 B flits or a committed BI-ID
};

struct HdmConfig {
    std::uint32_t decoders = 4;    ///< 1, 2, 4, 6, 8 or 10
    Bytes capacity;                ///< of the memory that may be mapped: a multiple of 256 MiB
    bool back_invalidate = false;  ///< 256 B flits, so that HDM-DB is possible
};

class HdmDecoders {
public:
    explicit HdmDecoders(const HdmConfig& config);

    /// A 4-byte register; reserved ones read as zero.
    [[nodiscard]] std::uint32_t read(std::uint64_t offset) const;
    /// Writes a 4-byte register. Read-only bits, locked decoders, and the range and control of
    /// committed ones stay as they are. Setting Commit commits at once or sets the error bit.
    void write(std::uint64_t offset, std::uint32_t value);

    /// The BI-ID of the device is committed (BI decoder capability), as HDM-DB needs.
    void commit_bi_id(bool committed) { m_bi_id = committed; }
    /// HDM-DB is possible.
    [[nodiscard]] bool back_invalidate() const { return m_config.back_invalidate; }
    /// CXL.mem is enabled in configuration space (DVSEC Mem_Enable). While it is not, nothing is
    /// decoded. Enabled where there is no configuration space; a reset here leaves it alone.
    void enable_mem(bool enabled) { m_mem_enabled = enabled; }

    struct Hit {
        Dpa dpa;
        std::uint32_t decoder = 0;
        Region region = Region::kHdmH;
    };
    /// Where an access of the host ends; nothing outside the committed windows or while decoding or
    /// CXL.mem is not enabled.
    [[nodiscard]] std::optional<Hit> to_dpa(Hpa address) const;
    /// The address by which the host reaches a DPA through this card at `position` of the
    /// interleave; nothing where no committed window leads there.
    [[nodiscard]] std::optional<Hpa> to_hpa(Dpa dpa, std::uint32_t position = 0) const;

    /// Of the last commit of a decoder.
    [[nodiscard]] CommitError error(std::uint32_t decoder) const {
        return m_decoders[decoder].error;
    }
    /// Reads of unmapped addresses answer with poison instead of all ones.
    [[nodiscard]] bool poison_on_error() const { return (m_global & 1U) != 0; }
    [[nodiscard]] std::uint32_t decoders() const {
        return static_cast<std::uint32_t>(m_decoders.size());
    }

    /// Everything as after power-on; locks fall.
    void reset();

    static constexpr std::uint64_t kFirst = 0x10;
    static constexpr std::uint64_t kStride = 0x20;
    static constexpr std::uint64_t kGlobal = 0x04;
    static constexpr std::uint32_t kEnable = 1U << 1;
    static constexpr Bytes kGrain{256ULL << 20};

    // Bits of a decoder's control register.
    static constexpr std::uint32_t kLock = 1U << 8;
    static constexpr std::uint32_t kCommit = 1U << 9;
    static constexpr std::uint32_t kCommitted = 1U << 10;
    static constexpr std::uint32_t kError = 1U << 11;
    static constexpr std::uint32_t kHostOnly = 1U << 12;
    static constexpr std::uint32_t kBackInvalidate = 1U << 13;

private:
    struct Decoder {
        std::uint64_t base = 0;
        std::uint64_t size = 0;
        std::uint64_t skip = 0;
        std::uint32_t control = 0;
        CommitError error = CommitError::kNone;
        // while committed
        Interleave window;
        std::uint64_t dpa_base = 0;
        std::uint64_t dpa_size = 0;

        [[nodiscard]] bool committed() const { return (control & kCommitted) != 0; }
        [[nodiscard]] bool locked() const { return committed() && (control & kLock) != 0; }
    };

    [[nodiscard]] bool decodes() const { return m_mem_enabled && (m_global & kEnable) != 0; }
    void write_control(std::uint32_t index, std::uint32_t value);
    void commit(std::uint32_t index);
    [[nodiscard]] CommitError check(std::uint32_t index, Interleave& window,
                                    std::uint64_t& dpa_base) const;

    HdmConfig m_config;
    std::uint32_t m_global = 0;
    bool m_bi_id = false;
    bool m_mem_enabled = true;
    std::vector<Decoder> m_decoders;
};

}  // namespace kvplane::cxl
