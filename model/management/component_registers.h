// SPDX-License-Identifier: Apache-2.0
/// The component register block of 64 KiB: at 0x1000 the headers of CXL.cachemem capabilities, then
/// RAS and the HDM decoders. Accesses of 4 or 8 bytes, aligned.
///
///     0x1000  capability header (ID 1), then entries: ID [15:0], version [19:16], offset [31:20]
///     0x1100  RAS (ID 2): 0x00 uncorrectable status (write 1 to clear), 0x04 mask, 0x08 severity,
///             0x0C correctable status (write 1 to clear), 0x10 mask, 0x14 control
///     0x1200  HDM decoders (ID 5): cxl::HdmDecoders
#pragma once

#include <array>
#include <cstdint>

#include "model/cxl/hdm_decoder.h"

namespace kvplane::management {

class ComponentRegisters {
public:
    explicit ComponentRegisters(cxl::HdmDecoders& decoders) : m_decoders(decoders) {}

    /// False where the access is not one that the block takes.
    [[nodiscard]] bool read(std::uint64_t offset, std::uint32_t size, std::uint64_t& value) const;
    [[nodiscard]] bool write(std::uint64_t offset, std::uint32_t size, std::uint64_t value);

    /// An error that the link layers found: sets a status bit.
    void uncorrectable(std::uint32_t bits) { m_ras[0] |= bits; }
    void correctable(std::uint32_t bits) { m_ras[3] |= bits; }
    void reset() { m_ras = {}; }

    static constexpr std::uint64_t kBlock = 0x10000;
    static constexpr std::uint64_t kCapabilities = 0x1000;
    static constexpr std::uint64_t kRas = 0x1100;
    static constexpr std::uint64_t kHdm = 0x1200;
    static constexpr std::uint32_t kMemDataPoison = 1U << 0;  ///< bits of RAS status as Linux names
    static constexpr std::uint32_t kCrcThreshold = 1U << 2;   ///< correctable

private:
    [[nodiscard]] std::uint32_t word(std::uint64_t offset) const;
    void write_word(std::uint64_t offset, std::uint32_t value);

    cxl::HdmDecoders& m_decoders;
    std::array<std::uint32_t, 6> m_ras{};
};

/// The PCI configuration space of the memory function: header, and the CXL DVSECs by which Linux
/// finds the rest. Read-only but for the DVSEC's control word.
class ConfigSpace {
public:
    /// memory: mapped capacity as the DVSEC's first range shows it.
    explicit ConfigSpace(std::uint64_t memory);

    /// size: 1, 2 or 4, aligned.
    [[nodiscard]] bool read(std::uint64_t offset, std::uint32_t size, std::uint64_t& value) const;
    [[nodiscard]] bool write(std::uint64_t offset, std::uint32_t size, std::uint64_t value);
    /// Shows whether the memory behind the first range is there.
    void set_media_ready(bool ready);
    /// CXL.mem is enabled by the host.
    [[nodiscard]] bool mem_enabled() const { return (m_bytes[kDevice + 0x0C] & 0b100U) != 0; }
    void reset();

    static constexpr std::uint64_t kSize = 0x1000;
    static constexpr std::uint64_t kDevice = 0x100;   ///< DVSEC 0
    static constexpr std::uint64_t kFlexBus = 0x140;  ///< DVSEC 7
    static constexpr std::uint64_t kGpf = 0x160;      ///< DVSEC 5
    static constexpr std::uint64_t kLocator = 0x180;  ///< DVSEC 8
    /// Where the locator says the blocks are, in BAR 0.
    static constexpr std::uint32_t kComponentOffset = 0;
    static constexpr std::uint32_t kDeviceOffset = 0x10000;

private:
    void put(std::uint64_t offset, std::uint32_t size, std::uint64_t value);
    void dvsec(std::uint64_t offset, std::uint64_t next, std::uint16_t id, std::uint16_t length,
               std::uint8_t revision);

    std::array<std::uint8_t, kSize> m_bytes{};
};

}  // namespace kvplane::management
