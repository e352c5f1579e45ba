// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/hdm_decoder.h"

#include <algorithm>
#include <array>

#include "model/common/errors.h"

namespace kvplane::cxl {
namespace {

constexpr std::uint32_t kGrainBits = 0xF000'0000;  // the low half of a multiple of 256 MiB
constexpr std::uint32_t kLargestGranularity = 6;
constexpr std::array<std::uint32_t, 6> kCounts{1, 2, 4, 6, 8, 10};

/// Interleaving on address bits 8 to 14, and 3, 6, 12 and 16 ways, are there; no targets.
constexpr std::uint32_t kCapabilities = 1U << 8 | 1U << 9 | 1U << 10 | 1U << 11 | 1U << 12;

std::uint64_t with_low(std::uint64_t value, std::uint32_t low) {
    return (value & ~std::uint64_t{UINT32_MAX}) | (low & kGrainBits);
}
std::uint64_t with_high(std::uint64_t value, std::uint32_t high) {
    return (value & UINT32_MAX) | std::uint64_t{high} << 32;
}

}  // namespace

std::optional<std::uint32_t> interleave_ways(std::uint32_t code) {
    if (code <= 4) return 1U << code;
    if (code >= 8 && code <= 10) return 3U << (code - 8);
    return std::nullopt;
}

std::optional<std::uint32_t> ways_code(std::uint32_t ways) {
    for (std::uint32_t code = 0; code <= 10; ++code) {
        if (interleave_ways(code) == ways) return code;
    }
    return std::nullopt;
}

std::uint32_t Interleave::position(Hpa address) const {
    return static_cast<std::uint32_t>((address.value - base.value) / granularity.count % ways);
}

std::uint64_t Interleave::to_offset(Hpa address) const {
    const std::uint64_t offset = address.value - base.value;
    if (ways == 1) return offset;
    const std::uint64_t granule = offset / granularity.count;
    return granule / ways * granularity.count + offset % granularity.count;
}

Hpa Interleave::to_hpa(std::uint64_t offset, std::uint32_t position) const {
    const std::uint64_t granule = offset / granularity.count * ways + position;
    return {base.value + granule * granularity.count + offset % granularity.count};
}

HdmDecoders::HdmDecoders(const HdmConfig& config) : m_config(config), m_decoders(config.decoders) {
    if (std::find(kCounts.begin(), kCounts.end(), config.decoders) == kCounts.end()) {
        throw UserError("HDM decoders come as 1, 2, 4, 6, 8 or 10");
    }
}

void HdmDecoders::reset() {
    m_global = 0;
    m_bi_id = false;
    m_decoders.assign(m_decoders.size(), {});
}

std::uint32_t HdmDecoders::read(std::uint64_t offset) const {
    if (offset == 0) {
        const auto* count = std::find(kCounts.begin(), kCounts.end(), m_decoders.size());
        return kCapabilities | static_cast<std::uint32_t>(count - kCounts.begin());
    }
    if (offset == kGlobal) return m_global;
    if (offset < kFirst || (offset - kFirst) / kStride >= m_decoders.size()) return 0;
    const Decoder& decoder = m_decoders[(offset - kFirst) / kStride];
    switch ((offset - kFirst) % kStride) {
        case 0x00:
            return static_cast<std::uint32_t>(decoder.base);
        case 0x04:
            return static_cast<std::uint32_t>(decoder.base >> 32);
        case 0x08:
            return static_cast<std::uint32_t>(decoder.size);
        case 0x0C:
            return static_cast<std::uint32_t>(decoder.size >> 32);
        case 0x10:
            return decoder.control;
        case 0x14:
            return static_cast<std::uint32_t>(decoder.skip);
        case 0x18:
            return static_cast<std::uint32_t>(decoder.skip >> 32);
        default:
            return 0;
    }
}

void HdmDecoders::write(std::uint64_t offset, std::uint32_t value) {
    if (offset == kGlobal) {
        m_global = value & 0b11U;
        return;
    }
    if (offset < kFirst || (offset - kFirst) / kStride >= m_decoders.size()) return;
    const auto index = static_cast<std::uint32_t>((offset - kFirst) / kStride);
    Decoder& decoder = m_decoders[index];
    if ((offset - kFirst) % kStride == 0x10) {
        write_control(index, value);
        return;
    }
    if (decoder.committed()) return;
    switch ((offset - kFirst) % kStride) {
        case 0x00:
            decoder.base = with_low(decoder.base, value);
            break;
        case 0x04:
            decoder.base = with_high(decoder.base, value);
            break;
        case 0x08:
            decoder.size = with_low(decoder.size, value);
            break;
        case 0x0C:
            decoder.size = with_high(decoder.size, value);
            break;
        case 0x14:
            decoder.skip = with_low(decoder.skip, value);
            break;
        case 0x18:
            decoder.skip = with_high(decoder.skip, value);
            break;
        default:
            break;
    }
}

void HdmDecoders::write_control(std::uint32_t index, std::uint32_t value) {
    Decoder& decoder = m_decoders[index];
    if (decoder.locked()) return;
    if (decoder.committed()) {
        if ((value & kCommit) != 0) return;
        // Taken back from the last one down, since each starts where the one before it ends.
        if (index + 1 < m_decoders.size() && m_decoders[index + 1].committed()) return;
        decoder.control &= ~(kCommit | kCommitted);
        return;
    }
    constexpr std::uint32_t kWritable = 0xFFU | kLock | kCommit | kHostOnly | kBackInvalidate;
    decoder.control = value & kWritable;
    if ((value & kCommit) != 0) commit(index);
}

void HdmDecoders::commit(std::uint32_t index) {
    Decoder& decoder = m_decoders[index];
    Interleave window;
    std::uint64_t dpa_base = 0;
    decoder.error = check(index, window, dpa_base);
    if (decoder.error != CommitError::kNone) {
        decoder.control |= kError;
        return;
    }
    decoder.control |= kCommitted;
    decoder.window = window;
    decoder.dpa_base = dpa_base;
    decoder.dpa_size = decoder.size / window.ways;
}

CommitError HdmDecoders::check(std::uint32_t index, Interleave& window,
                               std::uint64_t& dpa_base) const {
    const Decoder& decoder = m_decoders[index];
    const Decoder* before = index == 0 ? nullptr : &m_decoders[index - 1];
    if (before != nullptr && !before->committed()) return CommitError::kOrder;
    const std::uint32_t granularity = decoder.control & 0xFU;
    const auto ways = interleave_ways(decoder.control >> 4U & 0xFU);
    if (!ways) return CommitError::kWays;
    if (granularity > kLargestGranularity) return CommitError::kGranularity;
    if (decoder.size == 0 || decoder.size % (*ways * kGrain.count) != 0) return CommitError::kSize;
    if (decoder.base + decoder.size - 1 < decoder.base) return CommitError::kWrap;
    if (before != nullptr && decoder.base < before->base + before->size) {
        return CommitError::kOverlap;
    }
    const std::uint64_t from = before == nullptr ? 0 : before->dpa_base + before->dpa_size;
    const std::uint64_t room = m_config.capacity.count - from;
    if (decoder.skip > room || decoder.size / *ways > room - decoder.skip) {
        return CommitError::kCapacity;
    }
    if ((decoder.control & kBackInvalidate) != 0) {
        if (!m_config.back_invalidate || !m_bi_id) return CommitError::kBackInvalidate;
    } else if ((decoder.control & kHostOnly) == 0) {
        return CommitError::kCoherence;
    }
    window = {{decoder.base}, {decoder.size}, {std::uint64_t{256} << granularity}, *ways};
    dpa_base = from + decoder.skip;
    return CommitError::kNone;
}

std::optional<HdmDecoders::Hit> HdmDecoders::to_dpa(Hpa address) const {
    if (!decodes()) return std::nullopt;
    for (std::uint32_t i = 0; i < m_decoders.size() && m_decoders[i].committed(); ++i) {
        const Decoder& decoder = m_decoders[i];
        if (!decoder.window.contains(address)) continue;
        const bool coherent = (decoder.control & kBackInvalidate) != 0;
        return Hit{{decoder.dpa_base + decoder.window.to_offset(address)},
                   i,
                   coherent ? Region::kHdmDb : Region::kHdmH};
    }
    return std::nullopt;
}

std::optional<Hpa> HdmDecoders::to_hpa(Dpa dpa, std::uint32_t position) const {
    if (!decodes()) return std::nullopt;
    for (const Decoder& decoder : m_decoders) {
        if (!decoder.committed()) break;
        if (dpa.value < decoder.dpa_base || dpa.value - decoder.dpa_base >= decoder.dpa_size) {
            continue;
        }
        if (position >= decoder.window.ways) return std::nullopt;
        return decoder.window.to_hpa(dpa.value - decoder.dpa_base, position);
    }
    return std::nullopt;
}

}  // namespace kvplane::cxl
