// SPDX-License-Identifier: Apache-2.0
/// The card's tier as its engine sees it: room, the hot record of each copy of a block, the index
/// that finds it, and who may use it. A key found in the index is confirmed against its record,
/// always; a copy is known by the number of its record.
///
/// A block on its way in has its key in the index from the start, as moving: a second one is told,
/// and an index without room refuses it before any of its bytes have moved. A block that moves
/// within the tier is read at its old place until one write of its entry leads to the new one; the
/// old room is free when the last reader has left.
///
/// To a tenant without a right to it, a block is not there: find() answers as for an absent key and
/// takes as long. Absent keys cost a record read too, and with part of the index in DRAM all such
/// answers are held for as long as a line of that takes; nothing moves into the SRAM for them.
///
/// Where bit errors have destroyed an entry of the index, the records of all copies are read, and
/// each block whose entry may be the one is entered anew; whoever asked waits for that, and so does
/// who asks after him. A block whose record is broken is lost: missing, and its room is free again
/// once an entry has led there (without one it stays out of use, since its key is not known), the
/// last transfer that uses it is over, and its pins have run out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/engine/allocator.h"
#include "model/engine/leases.h"
#include "model/engine/tier_observer.h"
#include "model/index/record.h"
#include "model/index/resident_index.h"

namespace kvplane::engine {

struct TierConfig {
    Bytes capacity;
    Bytes pin_budget{UINT64_MAX};  ///< of each tenant
};

struct TierCounters {
    std::uint64_t index_full = 0;   ///< blocks refused because the index had no room
    std::uint64_t rebuilds = 0;     ///< times that all records were read
    std::uint64_t rebuilt = 0;      ///< entries that came back from their records
    std::uint64_t lost_blocks = 0;  ///< their records were broken, or the index had no room left
    std::uint64_t moved = 0;        ///< blocks that changed their place within the tier
};

/// What a tenant may do with a block.
enum class Right : std::uint8_t {
    kNone,
    kRead,  ///< it was granted to him
    kOwn,
};

class Tier {
public:
    /// `index` must outlive the tier and be bound already.
    Tier(const TierConfig& config, index::ResidentIndex& index, index::RecordReader& records);

    /// Optional; set before the first block comes.
    void observe(TierObserver& observer) { m_observer = &observer; }

    struct Found {
        bool present = false;  ///< and the tenant may read it
        /// Not present, and yet the key cannot be reserved: its block is on its way in, or the
        /// frame of one that is lost is still read or pinned.
        bool taken = false;
        Right right = Right::kNone;
        TierFrame frame{};
        Time issued{};  ///< the lookup left the index's queue
        Time lookup_done{};
        Time record_done{};  ///< the full key is confirmed
    };
    /// Looks for `key` at `at`, for `tenant`.
    [[nodiscard]] Found find(const block::BlockKey& key, TenantId tenant, Time at);

    enum class Room {
        kYes,
        kTaken,  ///< the tenant's block is in the tier, on its way in, or as Found::taken
        kNo,     ///< no frame, or no room in the index, or the key is another tenant's block
    };
    struct Reservation {
        Room room = Room::kYes;
        TierFrame frame{};  ///< where there is room
        Time issued{};      ///< as in Found
        Time lookup_done{};
        Time record_done{};
    };
    /// Room and an index entry for a block of `size` on its way in. Commit or abandon it.
    [[nodiscard]] Reservation reserve(const block::BlockKey& key, Bytes size, TenantId owner,
                                      Time at);
    /// Gives a reservation back: its block will not come.
    void abandon(const block::BlockKey& key, TierFrame frame, Time at);
    /// Writes the record, then the index entry, of a block whose payload is in its reserved frame.
    /// Returns when that is committed; nothing where the reservation was lost to bit errors.
    [[nodiscard]] std::optional<Time> commit(const block::BlockKey& key, TierFrame frame, Time at);

    /// A transfer reads `frame`: its room is not free before end_read, which bumps the entry's move
    /// version.
    void begin_read(TierFrame frame);
    void end_read(const block::BlockKey& key, TierFrame frame, Time at);

    /// New room for a block that find() has found, marked as moving in the index, and read by the
    /// move. Nothing where there is no room. Then commit_move() or abandon_move().
    [[nodiscard]] std::optional<TierFrame> begin_move(const block::BlockKey& key, TierFrame from,
                                                      Time at);
    /// Leads the index to `to`, in one write; `from` is free when its last reader has left. Returns
    /// when that is committed; nothing where the block was dropped or lost meanwhile.
    [[nodiscard]] std::optional<Time> commit_move(const block::BlockKey& key, TierFrame from,
                                                  TierFrame to, Time at);
    void abandon_move(const block::BlockKey& key, TierFrame from, TierFrame to, Time at);

    /// Whether a block that find() has found is on its way to another place.
    [[nodiscard]] bool moving(TierFrame frame) const;

    enum class Discarded { kDone, kBusy };
    /// Removes a block that find() has found. Busy, and nothing changed, while it is read, pinned,
    /// or granted to others. `done` is when the index entry is gone.
    Discarded discard(const block::BlockKey& key, TierFrame frame, Time at, Time& done);

    /// Lets `tenant` read a block that find() has found; false where he may already. Its record is
    /// rewritten.
    bool share(TierFrame frame, TenantId tenant);
    struct Released {
        Time done;          ///< when it is committed
        bool last = false;  ///< and the block is gone
        bool busy = false;  ///< nothing has changed
    };
    /// `tenant` gives up his right to a block that find() has found for him, and his pin. With the
    /// last right the block goes: the entry at once, its room when its last reader has left. Busy
    /// while somebody pins the block who may read it only as one of all, which ends with its owner.
    Released release(const block::BlockKey& key, TierFrame frame, TenantId tenant, Time at);
    [[nodiscard]] Leases& leases() { return m_leases; }

    /// Forgets every block, those on their way in too; the index with them.
    void clear();
    /// Throws InvariantError unless room, records and index entries agree and nothing holds a frame
    /// that is not in use.
    void audit() const;

    /// The full key in the hot record of a frame; nothing where that is broken.
    [[nodiscard]] std::optional<block::BlockKey> key_of(TierFrame frame);
    [[nodiscard]] const TierAllocator& room() const { return m_room; }
    /// Copies in the tier, those on their way in included.
    [[nodiscard]] std::uint64_t blocks() const { return m_blocks; }
    [[nodiscard]] Bytes size(TierFrame frame) const { return m_places[frame.record].size; }
    [[nodiscard]] const Extents& extents(TierFrame frame) const {
        return m_places[frame.record].extents;
    }
    /// Where its first byte lies.
    [[nodiscard]] Dpa address(TierFrame frame) const {
        return TierAllocator::address(extents(frame).first[0]);
    }
    [[nodiscard]] const TierCounters& counters() const { return m_counters; }
    [[nodiscard]] Time commit_time() const { return m_index.commit_time(); }

    /// For faults: flips a bit (0 to 511) of the hot record of a frame in use.
    void flip_record(TierFrame frame, std::uint32_t bit);

private:
    /// A copy without an entry that leads to it, or with none to be sure of, whose room cannot be
    /// used again yet.
    struct Orphan {
        block::BlockKey key;
        TierFrame frame;
        bool has_no_entry = false;
        bool superseded = false;  ///< the block lives on in another place
    };

    /// What the allocator knows of a record's room, whatever becomes of the record.
    struct Place {
        Extents extents;
        Bytes size;
    };

    [[nodiscard]] std::uint32_t take_record();
    [[nodiscard]] std::optional<TierFrame> allocate(const block::BlockKey& key, Bytes size,
                                                    TenantId owner);
    void hide(const block::BlockKey& key, const index::LookupResult& result, Found& found);
    [[nodiscard]] Right right_to(std::uint32_t record, TenantId tenant) const;
    [[nodiscard]] bool orphaned(const block::BlockKey& key) const;
    [[nodiscard]] bool is_orphan(TierFrame frame) const;
    [[nodiscard]] bool release_orphan(TierFrame frame, Time at);
    void free_orphans(Time at);
    [[nodiscard]] bool is_held(TierFrame frame, Time at);
    [[nodiscard]] Reservation refused(const block::BlockKey& key, TenantId owner, Time at);
    void let_go(TierFrame frame);
    void retire(const block::BlockKey& key, TierFrame frame, bool superseded, Time at);
    void lose(const block::BlockKey& key, TierFrame frame, Time at);
    void drop_orphan(TierFrame frame);
    [[nodiscard]] index::LookupResult look_up(const block::BlockKey& key, Time at);
    [[nodiscard]] index::InsertResult enter(const block::BlockKey& key, const index::Entry& entry,
                                            Time at);
    index::UpdateResult update(const block::BlockKey& key, const index::Entry& entry, Time at);
    index::UpdateResult erase(const block::BlockKey& key, Time at);
    Time restore(Time at);
    Time restore(std::uint32_t number, Time at);
    [[nodiscard]] index::Entry entry_of(std::uint32_t record) const;

    TierAllocator m_room;
    Leases m_leases;
    index::ResidentIndex& m_index;
    index::RecordReader& m_reader;
    TierObserver* m_observer = nullptr;
    std::uint64_t m_blocks = 0;
    std::uint64_t m_moves = 0;  ///< under way
    // By record number:
    std::vector<index::HotRecord> m_records;
    std::vector<Place> m_places;             ///< no extents: the record is not in use
    std::vector<index::Entry> m_entries;     ///< as committed
    std::vector<std::uint32_t> m_transfers;  ///< that use the frame, a block's way in included
    std::vector<bool> m_arriving;            ///< no entry leads there yet
    std::vector<std::uint32_t> m_free_records;
    std::vector<Orphan> m_orphans;  ///< few, ever
    TierCounters m_counters;
};

}  // namespace kvplane::engine
