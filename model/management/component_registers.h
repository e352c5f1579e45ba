// SPDX-License-Identifier: Apache-2.0
/// The component register block of 64 KiB: at 0x1000 the headers of CXL.cachemem capabilities, then
/// RAS, the HDM decoders and, where HDM-DB is possible, the BI decoder. Accesses of 4 or 8 bytes,
/// aligned.
///
///     0x1000  capability header (ID 1), then entries: ID [15:0], version [19:16], offset [31:20]
///     0x1100  RAS (ID 2): 0x00 uncorrectable status (write 1 to clear), 0x04 mask, 0x08 severity,
///             0x0C correctable status (write 1 to clear), 0x10 mask, 0x14 control
///     0x1200  HDM decoders (ID 5): cxl::HdmDecoders
///     0x1400  BI decoder (ID 12): 0x00 capability, explicit commit required 1; 0x04 control, BI
///             enable 1, commit 2; 0x08 status, committed 0. Its BI-ID is committed while commit
///             is set, and HDM-DB decoders commit while BI is enabled too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "model/cxl/hdm_decoder.h"
#include "model/management/poison_list.h"
#include "model/management/reset.h"

namespace kvplane::management {

class ComponentRegisters final : public PoisonListener {
public:
    explicit ComponentRegisters(cxl::HdmDecoders& decoders) : m_decoders(decoders) {}

    /// False where the access is not one that the block takes.
    [[nodiscard]] bool read(std::uint64_t offset, std::uint32_t size, std::uint64_t& value) const;
    [[nodiscard]] bool write(std::uint64_t offset, std::uint32_t size, std::uint64_t value);

    /// An error that the link layers found: sets a status bit.
    void uncorrectable(std::uint32_t bits) { m_ras[0] |= bits; }
    void correctable(std::uint32_t bits) { m_ras[3] |= bits; }
    /// The host wrote poison.
    void poison_received() override { uncorrectable(kPoisonReceived); }
    /// RAS registers are sticky: they go with the power alone.
    void reset(Reset kind);

    static constexpr std::uint64_t kBlock = 0x10000;
    static constexpr std::uint64_t kCapabilities = 0x1000;
    static constexpr std::uint64_t kRas = 0x1100;
    static constexpr std::uint64_t kHdm = 0x1200;
    static constexpr std::uint64_t kBi = 0x1400;
    // Bits of RAS status, as Linux names them.
    static constexpr std::uint32_t kPoisonReceived = 1U << 10;  ///< uncorrectable: from the peer
    static constexpr std::uint32_t kCrcThreshold = 1U << 2;     ///< correctable
    // Bits of the BI decoder.
    static constexpr std::uint32_t kBiExplicitCommit = 1U << 1;  ///< capability
    static constexpr std::uint32_t kBiEnable = 1U << 1;          ///< control
    static constexpr std::uint32_t kBiCommit = 1U << 2;          ///< control
    static constexpr std::uint32_t kBiCommitted = 1U << 0;       ///< status

private:
    [[nodiscard]] std::uint32_t word(std::uint64_t offset) const;
    void write_word(std::uint64_t offset, std::uint32_t value);

    cxl::HdmDecoders& m_decoders;
    std::array<std::uint32_t, 6> m_ras{};
    std::uint32_t m_bi_control = 0;
};

/// The PCI configuration space of the memory function: header, and the CXL DVSECs by which Linux
/// finds the rest. Read-only but for the control and status words of the DVSEC of CXL devices:
/// CXL.io stays on, Mem_Enable opens CXL.mem, Viral_Status is cleared by writing one, and a CXL
/// reset is asked for (control 2: initiate 2, memory clear 3) and told complete (status 2: 1).
class ConfigSpace {
public:
    /// memory: mapped capacity as the DVSEC's first range shows it.
    /// `decoders` hear of Mem_Enable.
    ConfigSpace(std::uint64_t memory, cxl::HdmDecoders& decoders);

    /// size: 1, 2 or 4, aligned.
    [[nodiscard]] bool read(std::uint64_t offset, std::uint32_t size, std::uint64_t& value) const;
    [[nodiscard]] bool write(std::uint64_t offset, std::uint32_t size, std::uint64_t value);
    /// Shows whether the memory behind the first range is there.
    void set_media_ready(bool ready);
    /// A CXL reset that the host has asked for since the last call.
    [[nodiscard]] std::optional<Reset> take_reset();
    /// The card is viral. The bit outlives resets; the host clears it, or power does.
    void set_viral();
    /// Registers as at the start, sticky ones where power went alone.
    void reset(Reset kind);

    static constexpr std::uint64_t kSize = 0x1000;
    static constexpr std::uint64_t kDevice = 0x100;  ///< DVSEC 0
    static constexpr std::uint64_t kControl = kDevice + 0x0C;
    static constexpr std::uint64_t kStatus = kDevice + 0x0E;
    static constexpr std::uint64_t kControl2 = kDevice + 0x10;
    static constexpr std::uint64_t kStatus2 = kDevice + 0x12;
    static constexpr std::uint64_t kFlexBus = 0x140;  ///< DVSEC 7
    static constexpr std::uint64_t kGpf = 0x160;      ///< DVSEC 5
    static constexpr std::uint64_t kLocator = 0x180;  ///< DVSEC 8
    /// Where the locator says the blocks are, in BAR 0.
    static constexpr std::uint32_t kComponentOffset = 0;
    static constexpr std::uint32_t kDeviceOffset = 0x10000;
    static constexpr std::uint32_t kIoEnable = 1U << 1;       ///< control
    static constexpr std::uint32_t kMemEnable = 1U << 2;      ///< control
    static constexpr std::uint32_t kViral = 1U << 14;         ///< capability, control and status
    static constexpr std::uint32_t kInitiateReset = 1U << 2;  ///< control 2
    static constexpr std::uint32_t kResetMemClear = 1U << 3;  ///< control 2
    static constexpr std::uint32_t kResetComplete = 1U << 1;  ///< status 2

private:
    void put(std::uint64_t offset, std::uint32_t size, std::uint64_t value);
    void put_control(std::uint32_t value);
    void write_word(std::uint64_t word, std::uint32_t value);
    void dvsec(std::uint64_t offset, std::uint64_t next, std::uint16_t id, std::uint16_t length,
               std::uint8_t revision);

    std::array<std::uint8_t, kSize> m_bytes{};
    cxl::HdmDecoders& m_decoders;
    std::optional<Reset> m_reset;
};

}  // namespace kvplane::management
