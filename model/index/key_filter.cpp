// SPDX-License-Identifier: Apache-2.0
#include "model/index/key_filter.h"

#include <array>
#include <bit>

#include "model/common/errors.h"

namespace kvplane::index {
namespace {

constexpr std::uint8_t kStuck = 15;
constexpr std::array<std::uint64_t, KeyFilter::kArrays> kFactors{
    0x9E3779B97F4A7C15ULL, 0xC2B2AE3D27D4EB4FULL, 0x165667B19E3779F9ULL, 0xD6E8FEB86659FD93ULL};

}  // namespace

KeyFilter::KeyFilter(Bytes size) {
    if (size.count == 0) return;
    if (!std::has_single_bit(size.count) || size.count < 64) {
        throw InvariantError("a key filter has a power of two of bytes, at least 64");
    }
    m_counters.resize(size.count * 2);
    m_mask = m_counters.size() / kArrays - 1;
}

std::size_t KeyFilter::counter(std::uint32_t array, std::uint64_t key) const {
    const std::uint64_t mixed = key * kFactors[array];
    return array * (m_mask + 1) + ((mixed ^ mixed >> 29U) >> 20U & m_mask);
}

bool KeyFilter::may_hold(std::uint64_t key) const {
    if (m_counters.empty()) return true;
    for (std::uint32_t i = 0; i < kArrays; ++i) {
        if (m_counters[counter(i, key)] == 0) return false;
    }
    return true;
}

void KeyFilter::add(std::uint64_t key) {
    if (m_counters.empty()) return;
    for (std::uint32_t i = 0; i < kArrays; ++i) {
        std::uint8_t& count = m_counters[counter(i, key)];
        if (count < kStuck) ++count;
    }
}

void KeyFilter::remove(std::uint64_t key) {
    if (m_counters.empty()) return;
    for (std::uint32_t i = 0; i < kArrays; ++i) {
        std::uint8_t& count = m_counters[counter(i, key)];
        if (count == 0) throw InvariantError("a key removed from the filter that is not in it");
        if (count < kStuck) --count;
    }
}

}  // namespace kvplane::index
