// SPDX-License-Identifier: Apache-2.0
#include "model/management/component_registers.h"

#include <utility>

#include "model/management/bytes.h"

namespace kvplane::management {
namespace {

constexpr std::uint16_t kCxlVendor = 0x1E98;
constexpr std::uint32_t kVendor = 0x1E98;  // no vendor ID of our own: the consortium's
constexpr std::uint32_t kDeviceId = 0x4B56;

std::uint32_t capability(std::uint32_t id, std::uint64_t offset) {
    return id | 1U << 16U |
           static_cast<std::uint32_t>(offset - ComponentRegisters::kCapabilities) << 20U;
}

}  // namespace

std::uint32_t ComponentRegisters::word(std::uint64_t offset) const {
    const bool bi = m_decoders.back_invalidate();
    if (offset == kCapabilities) return 1U | 1U << 16U | 1U << 20U | (bi ? 3U : 2U) << 24U;
    if (offset == kCapabilities + 4) return capability(2, kRas);
    if (offset == kCapabilities + 8) return capability(5, kHdm);
    if (offset == kCapabilities + 12 && bi) return capability(12, kBi);
    if (offset >= kRas && offset < kRas + 4 * m_ras.size()) return m_ras[(offset - kRas) / 4];
    if (offset >= kHdm && offset < kBi) return m_decoders.read(offset - kHdm);
    if (offset == kBi && bi) return kBiExplicitCommit;
    if (offset == kBi + 4) return m_bi_control;
    if (offset == kBi + 8) return (m_bi_control & kBiCommit) != 0 ? kBiCommitted : 0;
    return 0;
}

void ComponentRegisters::write_word(std::uint64_t offset, std::uint32_t value) {
    if (offset >= kRas && offset < kRas + 4 * m_ras.size()) {
        const std::uint64_t which = (offset - kRas) / 4;
        const bool status = which == 0 || which == 3;
        m_ras[which] = status ? m_ras[which] & ~value : value;
    } else if (offset >= kHdm && offset < kBi) {
        m_decoders.write(offset - kHdm, value);
    } else if (offset == kBi + 4 && m_decoders.back_invalidate()) {
        m_bi_control = value & (kBiEnable | kBiCommit);
        m_decoders.commit_bi_id(m_bi_control == (kBiEnable | kBiCommit));
    }
}

void ComponentRegisters::reset(Reset kind) {
    if (kind == Reset::kCold) m_ras = {};
    m_bi_control = 0;
    m_decoders.commit_bi_id(false);
}

bool ComponentRegisters::read(std::uint64_t offset, std::uint32_t size,
                              std::uint64_t& value) const {
    if ((size != 4 && size != 8) || offset % size != 0 || offset + size > kBlock) return false;
    value = word(offset);
    if (size == 8) value |= std::uint64_t{word(offset + 4)} << 32U;
    return true;
}

bool ComponentRegisters::write(std::uint64_t offset, std::uint32_t size, std::uint64_t value) {
    if ((size != 4 && size != 8) || offset % size != 0 || offset + size > kBlock) return false;
    write_word(offset, static_cast<std::uint32_t>(value));
    if (size == 8) write_word(offset + 4, static_cast<std::uint32_t>(value >> 32U));
    return true;
}

// --- configuration space ----------------------------------------------------------------------

void ConfigSpace::put(std::uint64_t offset, std::uint32_t size, std::uint64_t value) {
    put_le(m_bytes, offset, size, value);
}

void ConfigSpace::dvsec(std::uint64_t offset, std::uint64_t next, std::uint16_t id,
                        std::uint16_t length, std::uint8_t revision) {
    put(offset, 4, 0x23U | 1U << 16U | next << 20U);  // DVSEC extended capability
    put(offset + 4, 4, kCxlVendor | std::uint64_t{revision} << 16U | std::uint64_t{length} << 20U);
    put(offset + 8, 2, id);
}

ConfigSpace::ConfigSpace(std::uint64_t memory, cxl::HdmDecoders& decoders) : m_decoders(decoders) {
    put(0x00, 2, kVendor);
    put(0x02, 2, kDeviceId);
    put(0x08, 4, 0x0502'1000);  // memory controller, CXL, prog-if 0x10; revision 0
    dvsec(kDevice, kFlexBus, 0, 0x3C, 1);
    // CXL.io, CXL.mem, one range, CXL reset within 10 ms, its memory clear. No cache.
    put(kDevice + 0x0A, 2, 1U << 1U | 1U << 2U | 1U << 4U | 1U << 7U | 1U << 11U | kViral);
    put_control(0);
    put(kDevice + 0x18, 4, memory >> 32U);
    put(kDevice + 0x1C, 4, memory & 0xF000'0000);
    dvsec(kFlexBus, kGpf, 7, 0x14, 1);
    put(kFlexBus + 0x0A, 2, 0b110);
    dvsec(kGpf, kLocator, 5, 0x10, 0);
    dvsec(kLocator, 0, 8, 0x1C, 0);
    put(kLocator + 0x0C, 4, 1U << 8U | kComponentOffset);  // BAR 0, component registers
    put(kLocator + 0x10, 4, 0);
    put(kLocator + 0x14, 4, 3U << 8U | kDeviceOffset);  // BAR 0, memory-device registers
    put(kLocator + 0x18, 4, 0);
}

bool ConfigSpace::read(std::uint64_t offset, std::uint32_t size, std::uint64_t& value) const {
    if ((size != 1 && size != 2 && size != 4) || offset % size != 0 || offset + size > kSize) {
        return false;
    }
    value = get_le(m_bytes, offset, size);
    return true;
}

bool ConfigSpace::write(std::uint64_t offset, std::uint32_t size, std::uint64_t value) {
    if ((size != 1 && size != 2 && size != 4) || offset % size != 0 || offset + size > kSize) {
        return false;
    }
    // Word by word: control with status, and their second pair, are four bytes each.
    for (const std::uint64_t word : {kControl, kStatus, kControl2, kStatus2}) {
        if (offset + size <= word || offset >= word + 2) continue;
        const bool status = word == kStatus || word == kStatus2;
        // What the access leaves out stays as it is: zeroes clear nothing of a status.
        std::uint32_t merged = status ? 0 : static_cast<std::uint32_t>(get_le(m_bytes, word, 2));
        for (std::uint32_t i = 0; i < 2; ++i) {
            if (word + i < offset || word + i >= offset + size) continue;
            const std::uint64_t byte = value >> 8 * (word + i - offset) & 0xFFU;
            merged = (merged & ~(0xFFU << 8 * i)) | static_cast<std::uint32_t>(byte) << 8 * i;
        }
        write_word(word, merged);
    }
    return true;
}

void ConfigSpace::write_word(std::uint64_t word, std::uint32_t value) {
    if (word == kControl) {
        put_control(value);
    } else if (word == kStatus) {
        put(kStatus, 2, get_le(m_bytes, kStatus, 2) & ~std::uint64_t{value & kViral});
    } else if (word == kControl2) {
        put(kControl2, 2, value & kResetMemClear);
        if ((value & kInitiateReset) == 0) return;
        m_reset = (value & kResetMemClear) != 0 ? Reset::kCxlMemClear : Reset::kCxl;
    }
}

/// CXL.io stays on; CXL.mem and viral are the host's to enable.
void ConfigSpace::put_control(std::uint32_t value) {
    put(kControl, 2, (value & (kMemEnable | kViral)) | kIoEnable);
    m_decoders.enable_mem((value & kMemEnable) != 0);
}

std::optional<Reset> ConfigSpace::take_reset() { return std::exchange(m_reset, std::nullopt); }

void ConfigSpace::set_viral() { put(kStatus, 2, get_le(m_bytes, kStatus, 2) | kViral); }

void ConfigSpace::set_media_ready(bool ready) {
    const std::uint64_t low = get_le(m_bytes, kDevice + 0x1C, 4) & ~std::uint64_t{0b11};
    put(kDevice + 0x1C, 4, low | (ready ? 0b11U : 0U));  // information valid, memory active
}

void ConfigSpace::reset(Reset kind) {
    put_control(0);
    put(kControl2, 2, 0);
    const bool asked_for = kind == Reset::kCxl || kind == Reset::kCxlMemClear;
    put(kStatus2, 2, asked_for ? kResetComplete : 0);
    if (kind == Reset::kCold) put(kStatus, 2, 0);
}

}  // namespace kvplane::management
