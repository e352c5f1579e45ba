// SPDX-License-Identifier: Apache-2.0
#include "host_driver/gpu/hbm_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/common/errors.h"

namespace kvplane::gpu {
namespace {

/// Bytes that another key would not give.
void fill_pattern(const block::BlockKey& key, std::span<std::uint8_t> out) {
    std::uint64_t state = key.fold();
    for (std::size_t i = 0; i < out.size(); i += sizeof(std::uint64_t)) {
        state += 0x9E3779B97F4A7C15U;
        const std::uint64_t word = (state ^ state >> 29) * 0xBF58476D1CE4E5B9U;
        std::memcpy(out.data() + i, &word, std::min(sizeof(word), out.size() - i));
    }
}

}  // namespace

HbmPool::HbmPool(std::uint64_t frames, Bytes block, bool payload_bytes)
    : m_frames(frames), m_block(block), m_payload_bytes(payload_bytes) {
    if (!payload_bytes) return;
    m_pattern.resize(block.count);
    m_buffer.resize(block.count);
}

std::uint32_t HbmPool::take_slot() {
    if (!m_free.empty()) {
        const std::uint32_t slot = m_free.back();
        m_free.pop_back();
        return slot;
    }
    if (m_next_slot == m_frames) throw InvariantError("HBM: no slot is free");
    return m_next_slot++;
}

void HbmPool::produce(std::uint32_t slot, const block::BlockKey& key) {
    if (!m_payload_bytes) return;
    fill_pattern(key, m_pattern);
    m_store.write(slot * m_block.count, m_pattern);
}

void HbmPool::verify(std::uint32_t slot, const block::BlockKey& key) {
    if (!m_payload_bytes) return;
    fill_pattern(key, m_pattern);
    m_store.read(slot * m_block.count, m_buffer);
    if (m_buffer == m_pattern) return;
    throw InvariantError(fmt::format(
        "HBM: slot {} does not hold the payload of block {:016x}{:016x}", slot, key.high, key.low));
}

void HbmPool::write(std::uint32_t slot, Bytes size, std::span<const std::uint8_t> data) {
    m_written += size;
    m_store.write(slot * m_block.count, data);
}

void HbmPool::read(std::uint32_t slot, Bytes size, std::span<std::uint8_t> data) {
    m_read += size;
    m_store.read(slot * m_block.count, data);
}

void HbmPool::account(Time now, const FrameUse& use) {
    const auto span = static_cast<std::uint64_t>((now - m_accounted).ps);
    m_accounted = now;
    m_active += static_cast<Uint128>(use.active) * span;
    m_idle += static_cast<Uint128>(use.idle) * span;
    m_prefetched += static_cast<Uint128>(use.prefetched) * span;
}

}  // namespace kvplane::gpu
