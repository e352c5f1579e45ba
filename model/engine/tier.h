// SPDX-License-Identifier: Apache-2.0
/// The card's tier as its engine sees it: frames, the hot record of each block, and the index that
/// finds it. A key found in the index is confirmed against its record, always.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/common/flat_map.h"
#include "model/engine/allocator.h"
#include "model/index/record.h"
#include "model/index/resident_index.h"

namespace kvplane::engine {

class Tier {
public:
    /// `index` must outlive the tier and be bound already.
    Tier(Bytes capacity, Bytes block, index::ResidentIndex& index, index::RecordReader& records);

    struct Found {
        bool present = false;
        TierFrame frame{};
        Time issued{};  ///< the lookup left the index's queue
        Time lookup_done{};
        Time record_done{};  ///< the full key is confirmed
    };
    /// Looks for `key` at `at`.
    [[nodiscard]] Found find(const block::BlockKey& key, Time at);

    /// A frame for a block on its way in, which is not in the tier; nothing where the tier is full.
    [[nodiscard]] std::optional<TierFrame> reserve(const block::BlockKey& key);
    /// Gives a reserved frame back: its block will not come.
    void abandon(const block::BlockKey& key, TierFrame frame);
    /// Whether a frame is reserved for `key`.
    [[nodiscard]] bool arriving(const block::BlockKey& key) const {
        return m_arriving.find(key) != nullptr;
    }
    /// Writes the record, then the index entry, of a block whose payload is in its reserved frame.
    /// Returns when that is committed.
    Time commit(const block::BlockKey& key, TierFrame frame, Time at);

    /// A transfer reads `frame`: it cannot be discarded until end_read, which bumps the entry's
    /// move version.
    void begin_read(TierFrame frame);
    void end_read(TierFrame frame, Time at);

    enum class Discarded { kDone, kBusy };
    /// Removes a block that find() has found. Busy, and nothing changed, while it is read. `done`
    /// is when the index entry is gone.
    Discarded discard(const block::BlockKey& key, TierFrame frame, Time at, Time& done);

    /// Forgets every block, those on their way in too; the index with them.
    void clear();

    /// The full key in the hot record of a frame.
    [[nodiscard]] block::BlockKey key_of(TierFrame frame);
    [[nodiscard]] const TierAllocator& frames() const { return m_frames; }
    [[nodiscard]] Time commit_time() const { return m_index.commit_time(); }

private:
    struct KeyHash {
        std::uint64_t operator()(const block::BlockKey& key) const { return key.low; }
    };

    [[nodiscard]] index::HotRecord& record(TierFrame frame);

    TierAllocator m_frames;
    index::ResidentIndex& m_index;
    index::RecordReader& m_reader;
    Bytes m_block;
    std::vector<index::HotRecord> m_records;  ///< by frame number
    std::vector<index::Entry> m_entries;      ///< as committed, by frame number
    FlatMap<block::BlockKey, TierFrame, KeyHash> m_arriving;
};

}  // namespace kvplane::engine
