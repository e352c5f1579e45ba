// SPDX-License-Identifier: Apache-2.0
/// The card's index: which blocks are in the tier, and in which frame. The interface behind which
/// the SRAM-timed TLM form and the RTL engine are the same to the card.
#pragma once

#include <cstdint>
#include <optional>

#include "model/block/key.h"
#include "model/common/units.h"
#include "model/index/entry.h"
#include "model/index/request.h"

namespace kvplane::index {

/// The card's DRAM as the index sees it: lines of records and of the table behind the SRAM.
class RecordReader {
public:
    virtual ~RecordReader() = default;
    /// Reads or writes one 64 B line at `at`; returns when its data is there. Nobody waits for a
    /// write.
    virtual Time read_record_line(Time at, std::uint64_t line) = 0;
    /// The full key in hot record number `frame`; nothing where that record is broken.
    [[nodiscard]] virtual std::optional<block::BlockKey> key_of(std::uint32_t frame) = 0;
};

struct LookupResult {
    std::optional<Entry> entry;  ///< nothing: the block is not in the tier
    Time issued;                 ///< when the request left the index's queue
    Time done;                   ///< when the answer leaves the index
    /// Nothing was found, but bit errors have destroyed an entry that may have been this key's, and
    /// until forget_losses() every answer about it is open: restore what may_have_lost() names.
    bool uncertain = false;
    bool behind = false;  ///< the DRAM-resident part was read
};

struct InsertResult {
    /// DONE; EXISTS: the key is there already; FULL: no room for it anywhere; UNCORRECTABLE: as
    /// LookupResult::uncertain. Nothing has changed unless DONE.
    Status status = Status::kDone;
    Entry entry;  ///< the new one, or the one that is there
    Time issued;  ///< when the request left the index's queue
    Time done;    ///< when the answer leaves the index; the entry is committed by then
};

/// What became of an update or erase.
struct UpdateResult {
    /// DONE, VERSION_MISMATCH; MISS where the entry was lost; UNCORRECTABLE: as
    /// LookupResult::uncertain
    Status status = Status::kDone;
    Entry entry;  ///< the new one, the one that is there, or the removed one
    Time done;    ///< when that is committed
};

/// Words of the SRAM that were read with wrong bits.
struct EccCounts {
    std::uint64_t corrected = 0;      ///< one wrong bit: put right
    std::uint64_t uncorrectable = 0;  ///< two
    std::uint64_t lost = 0;           ///< entries dropped for it
};

/// Operations are submitted in order of time. What the SRAM answers is answered in that order; what
/// the part in DRAM answers comes when its lines are there.
///
/// SRAM holds 64-bit folds of keys, so that an entry found there is a candidate until the record's
/// full key confirms it. Of two blocks with one fold the second lives in the DRAM-resident part:
/// after a record with another key, ask lookup_behind().
class ResidentIndex {
public:
    virtual ~ResidentIndex() = default;

    /// Gives the index its way to DRAM; once, before the first operation.
    virtual void bind(RecordReader& records) = 0;

    /// Looks `key` up at `at`.
    [[nodiscard]] virtual LookupResult lookup(const block::BlockKey& key, Time at) = 0;
    /// Looks `key` up in the DRAM-resident part alone.
    [[nodiscard]] virtual LookupResult lookup_behind(const block::BlockKey& key, Time at) = 0;
    /// Right after a lookup of `key` that read the DRAM-resident part until `done`: the entry stays
    /// where it is, since the block is none of the asker's.
    virtual void leave_behind(const block::BlockKey& key, Time done) = 0;
    /// Adds `key` where it is not there yet.
    virtual InsertResult insert(const block::BlockKey& key, const Entry& entry, Time at) = 0;
    /// Replaces the fields of `mask` in the entry of `key`, which must be there; with `expect`,
    /// only where its move version is that. Atomic: a lookup sees all of the old entry or of the
    /// new.
    virtual UpdateResult update(const block::BlockKey& key, const Entry& entry, FieldMask mask,
                                std::optional<std::uint8_t> expect, Time at) = 0;
    /// Removes `key`, which must be there.
    virtual UpdateResult erase(const block::BlockKey& key, Time at) = 0;

    /// Whether an entry destroyed since the last forget_losses() may have been that of `key`.
    [[nodiscard]] virtual bool may_have_lost(const block::BlockKey& key) const = 0;
    /// Who calls it knows all blocks that may have been lost, and inserts those from their records
    /// that a lookup does not find.
    virtual void forget_losses() = 0;
    [[nodiscard]] virtual EccCounts ecc() const = 0;

    /// Forgets every entry, as where power went.
    virtual void clear() = 0;

    /// From submission to commit of an update or erase without waiting.
    [[nodiscard]] virtual Time commit_time() const = 0;
    /// Blocks in SRAM, and in the DRAM-resident part.
    [[nodiscard]] virtual std::uint64_t sram_entries() const = 0;
    [[nodiscard]] virtual std::uint64_t overflow_entries() const = 0;
};

}  // namespace kvplane::index
