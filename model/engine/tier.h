// SPDX-License-Identifier: Apache-2.0
/// The card's tier as its engine sees it: frames, the hot record of each block, and the index that
/// finds it. A key found in the index is confirmed against its record, always.
///
/// A block on its way in has its key in the index from the start, as moving: a second one is told,
/// and an index without room refuses it before any of its bytes have moved.
///
/// Where bit errors have destroyed an entry of the index, the records of all frames are read, and
/// each block whose entry may be the one is entered anew; whoever asked waits for that, and so does
/// who asks after him. A block whose record is broken is lost: missing, and its frame is free again
/// once an entry has led there (without one it stays out of use, since its key is not known).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/engine/allocator.h"
#include "model/index/record.h"
#include "model/index/resident_index.h"

namespace kvplane::engine {

struct TierCounters {
    std::uint64_t index_full = 0;   ///< blocks refused because the index had no room
    std::uint64_t rebuilds = 0;     ///< times that all records were read
    std::uint64_t rebuilt = 0;      ///< entries that came back from their records
    std::uint64_t lost_blocks = 0;  ///< their records were broken, or the index had no room left
};

class Tier {
public:
    /// `index` must outlive the tier and be bound already.
    Tier(Bytes capacity, Bytes block, index::ResidentIndex& index, index::RecordReader& records);

    struct Found {
        bool present = false;
        /// Not present, and yet the key cannot be reserved: its block is on its way in, or a
        /// transfer still reads the frame of one that is lost.
        bool taken = false;
        TierFrame frame{};
        Time issued{};  ///< the lookup left the index's queue
        Time lookup_done{};
        Time record_done{};  ///< the full key is confirmed
    };
    /// Looks for `key` at `at`.
    [[nodiscard]] Found find(const block::BlockKey& key, Time at);

    enum class Room {
        kYes,
        kTaken,  ///< the block is in the tier, on its way in, or as Found::taken
        kNo,     ///< no frame, or no room in the index
    };
    struct Reservation {
        Room room = Room::kYes;
        TierFrame frame{};  ///< where there is room
        Time issued{};      ///< as in Found
        Time lookup_done{};
        Time record_done{};
    };
    /// A frame and an index entry for a block on its way in. Commit or abandon it.
    [[nodiscard]] Reservation reserve(const block::BlockKey& key, Time at);
    /// Gives a reservation back: its block will not come.
    void abandon(const block::BlockKey& key, TierFrame frame, Time at);
    /// Writes the record, then the index entry, of a block whose payload is in its reserved frame.
    /// Returns when that is committed; nothing where the reservation was lost to bit errors.
    [[nodiscard]] std::optional<Time> commit(const block::BlockKey& key, TierFrame frame, Time at);

    /// A transfer reads `frame`: it cannot be discarded until end_read, which bumps the entry's
    /// move version.
    void begin_read(TierFrame frame);
    void end_read(const block::BlockKey& key, TierFrame frame, Time at);

    enum class Discarded { kDone, kBusy };
    /// Removes a block that find() has found. Busy, and nothing changed, while it is read. `done`
    /// is when the index entry is gone.
    Discarded discard(const block::BlockKey& key, TierFrame frame, Time at, Time& done);

    /// Forgets every block, those on their way in too; the index with them.
    void clear();
    /// Throws InvariantError unless frames, records and index entries agree in number and nothing
    /// holds a frame that is not in use.
    void audit() const;

    /// The full key in the hot record of a frame; nothing where that is broken.
    [[nodiscard]] std::optional<block::BlockKey> key_of(TierFrame frame);
    [[nodiscard]] const TierAllocator& frames() const { return m_frames; }
    [[nodiscard]] const TierCounters& counters() const { return m_counters; }
    [[nodiscard]] Time commit_time() const { return m_index.commit_time(); }

    /// For faults: flips a bit (0 to 511) of the hot record of a frame in use.
    void flip_record(TierFrame frame, std::uint32_t bit);

private:
    /// A block that is lost, and whose frame cannot be used again yet: transfers use it, or an
    /// entry may still lead there.
    struct Orphan {
        block::BlockKey key;
        TierFrame frame;
        bool has_no_entry = false;
    };

    [[nodiscard]] index::HotRecord& record(TierFrame frame);
    [[nodiscard]] bool orphaned(const block::BlockKey& key) const;
    [[nodiscard]] bool is_orphan(TierFrame frame) const;
    [[nodiscard]] bool release_orphan(TierFrame frame);
    void let_go(TierFrame frame);
    void lose(const block::BlockKey& key, TierFrame frame);
    void drop_orphan(TierFrame frame);
    [[nodiscard]] index::LookupResult look_up(const block::BlockKey& key, Time at);
    [[nodiscard]] index::InsertResult enter(const block::BlockKey& key, const index::Entry& entry,
                                            Time at);
    index::UpdateResult update(const block::BlockKey& key, const index::Entry& entry, Time at);
    index::UpdateResult erase(const block::BlockKey& key, Time at);
    Time restore(Time at);
    Time restore(std::uint32_t number, Time at);

    TierAllocator m_frames;
    index::ResidentIndex& m_index;
    index::RecordReader& m_reader;
    Bytes m_block;
    // By frame number:
    std::vector<index::HotRecord> m_records;
    std::vector<index::Entry> m_entries;     ///< as committed
    std::vector<std::uint32_t> m_transfers;  ///< that use the frame, a block's way in included
    std::vector<Orphan> m_orphans;           ///< few, ever
    TierCounters m_counters;
};

}  // namespace kvplane::engine
