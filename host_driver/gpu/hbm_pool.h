// SPDX-License-Identifier: Apache-2.0
/// GPU memory for KV blocks: slots of its window, the bytes that crossed its edge, and for how long
/// it was held.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/block/key.h"
#include "model/common/units.h"
#include "model/memory/sparse_store.h"

namespace kvplane::gpu {

/// Frames in use, by what for.
struct FrameUse {
    std::uint64_t active = 0;      ///< of sequences that run
    std::uint64_t idle = 0;        ///< cached, held by nobody
    std::uint64_t prefetched = 0;  ///< of requests that wait for loads or frames
    [[nodiscard]] std::uint64_t total() const { return active + idle + prefetched; }
};

class HbmPool {
public:
    /// `frames` frames of `block` bytes each. With `payload_bytes` the pool holds real bytes: a
    /// pattern that follows from the block's key, checked when a block comes back.
    HbmPool(std::uint64_t frames, Bytes block, bool payload_bytes);

    [[nodiscard]] std::uint64_t frames() const { return m_frames; }
    [[nodiscard]] Bytes block() const { return m_block; }
    [[nodiscard]] bool holds_bytes() const { return m_payload_bytes; }

    /// A free slot; there must be one.
    [[nodiscard]] std::uint32_t take_slot();
    void free_slot(std::uint32_t slot) { m_free.push_back(slot); }

    /// The payload of `key` is produced in `slot`.
    void produce(std::uint32_t slot, const block::BlockKey& key);
    /// Throws InvariantError where `slot` does not hold the payload of `key`.
    void verify(std::uint32_t slot, const block::BlockKey& key);

    /// A block arrives from the card, or is read by it or for it. `data` is empty in runs of sizes.
    void write(std::uint32_t slot, Bytes size, std::span<const std::uint8_t> data);
    void read(std::uint32_t slot, Bytes size, std::span<std::uint8_t> data);
    [[nodiscard]] Bytes written() const { return m_written; }
    [[nodiscard]] Bytes read() const { return m_read; }

    /// `use` has held since the last call and until `now`.
    void account(Time now, const FrameUse& use);
    /// Forgets byte-time up to the last call of account().
    void restart_account() { m_active = m_idle = m_prefetched = 0; }
    /// Byte-time so far, in byte-seconds.
    [[nodiscard]] double active_byte_s() const { return byte_seconds(m_active); }
    [[nodiscard]] double idle_byte_s() const { return byte_seconds(m_idle); }
    [[nodiscard]] double prefetched_byte_s() const { return byte_seconds(m_prefetched); }
    /// The same for all frames, exactly: frames x picoseconds.
    [[nodiscard]] Uint128 frame_ps() const { return m_active + m_idle + m_prefetched; }

private:
    [[nodiscard]] double byte_seconds(Uint128 frame_ps) const {
        return static_cast<double>(frame_ps) * static_cast<double>(m_block.count) / 1e12;
    }

    std::uint64_t m_frames;
    Bytes m_block;
    bool m_payload_bytes;
    std::uint32_t m_next_slot = 0;
    std::vector<std::uint32_t> m_free;
    memory::SparseStore m_store;
    std::vector<std::uint8_t> m_pattern;
    std::vector<std::uint8_t> m_buffer;
    Bytes m_written;
    Bytes m_read;
    Time m_accounted;
    Uint128 m_active = 0;
    Uint128 m_idle = 0;
    Uint128 m_prefetched = 0;
};

}  // namespace kvplane::gpu
