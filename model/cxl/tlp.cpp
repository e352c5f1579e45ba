// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/tlp.h"

#include <algorithm>

namespace kvplane::cxl {
namespace {

/// Cuts [address, address + length) at multiples of `boundary`.
std::vector<Bytes> split(std::uint64_t address, std::uint64_t length, std::uint64_t boundary) {
    std::vector<Bytes> parts;
    parts.reserve(length / boundary + 2);
    while (length != 0) {
        const std::uint64_t part = std::min(length, boundary - address % boundary);
        parts.push_back({part});
        address += part;
        length -= part;
    }
    return parts;
}

}  // namespace

std::vector<Bytes> split_write(const TlpRules& rules, std::uint64_t address, Bytes length) {
    return split(address, length.count, rules.mps.count);
}

std::vector<Bytes> split_read(const TlpRules& rules, std::uint64_t address, Bytes length) {
    return split(address, length.count, rules.mrrs.count);
}

std::vector<Bytes> split_completion(const TlpRules& rules, std::uint64_t address, Bytes length) {
    std::vector<Bytes> parts;
    std::uint64_t left = length.count;
    const std::uint64_t most = std::max(rules.mps.count, rules.rcb.count);
    while (left != 0) {
        // As much as MPS allows, back to the last multiple of RCB unless the request ends.
        std::uint64_t part = std::min(left, most);
        if (part != left) part -= (address + part) % rules.rcb.count;
        parts.push_back({part});
        address += part;
        left -= part;
    }
    return parts;
}

TagPool::TagPool(std::uint32_t count) : m_out(count), m_free(count), m_tail(count) {
    for (std::uint32_t i = 0; i < count; ++i) m_free[i] = i;
}

std::optional<std::uint32_t> TagPool::take() {
    if (m_head == m_tail) return std::nullopt;
    const std::uint32_t tag = m_free[m_head++ % m_free.size()];
    m_out[tag] = true;
    ++m_in_flight;
    return tag;
}

bool TagPool::give_back(std::uint32_t tag) {
    if (tag >= m_out.size() || !m_out[tag]) return false;
    m_out[tag] = false;
    m_free[m_tail++ % m_free.size()] = tag;
    --m_in_flight;
    return true;
}

bool IoCreditCounter::take(const Tlp& tlp) {
    IoCredits& free = m_free[static_cast<std::size_t>(tlp.kind)];
    const std::uint32_t data = data_credits(tlp.payload);
    if (free.headers == 0 || free.data < data) return false;
    --free.headers;
    free.data -= data;
    return true;
}

void IoCreditCounter::give_back(const Tlp& tlp) {
    IoCredits& free = m_free[static_cast<std::size_t>(tlp.kind)];
    ++free.headers;
    free.data += data_credits(tlp.payload);
}

}  // namespace kvplane::cxl
