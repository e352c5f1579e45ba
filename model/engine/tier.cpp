// SPDX-License-Identifier: Apache-2.0
#include "model/engine/tier.h"

#include <fmt/format.h>

#include "model/common/errors.h"

namespace kvplane::engine {

using index::HotRecord;
using index::Status;

Tier::Tier(Bytes capacity, Bytes block, index::ResidentIndex& index, index::RecordReader& records)
    : m_frames(capacity, block), m_index(index), m_reader(records), m_block(block) {}

HotRecord& Tier::record(TierFrame frame) {
    const std::uint32_t number = m_frames.number(frame);
    if (number >= m_records.size()) {
        m_records.resize(number + 1);
        m_entries.resize(number + 1);
        m_transfers.resize(number + 1);
    }
    return m_records[number];
}

Tier::Found Tier::find(const block::BlockKey& key, Time at) {
    index::LookupResult result = look_up(key, at);
    Found found{.taken = orphaned(key), .issued = result.issued};
    while (result.entry) {
        found.frame = {static_cast<std::uint32_t>(result.entry->frame)};
        found.lookup_done = result.done;
        found.record_done = m_reader.read_record_line(result.done, m_frames.number(found.frame));
        const HotRecord& hot = record(found.frame);
        if (!index::intact(hot)) {
            (void)erase(key, found.record_done);
            lose(key, found.frame);
            found.taken = orphaned(key);
            return found;
        }
        if (hot.key == key) {
            found.present = hot.size != 0;
            found.taken = !found.present;
            return found;
        }
        result = m_index.lookup_behind(key, found.record_done);
    }
    found.lookup_done = found.record_done = result.done;
    return found;
}

Tier::Reservation Tier::reserve(const block::BlockKey& key, Time at) {
    const std::optional<TierFrame> frame = orphaned(key) ? std::nullopt : m_frames.allocate();
    if (!frame) {
        const Found found = find(key, at);
        return {found.present || found.taken ? Room::kTaken : Room::kNo,
                {},
                found.issued,
                found.lookup_done,
                found.record_done};
    }
    HotRecord hot{.key = key, .extent_count = 1};
    hot.extents[0] = frame->granule;
    index::seal(hot);
    const index::Entry entry = index::entry_of(hot, m_block);
    const index::InsertResult entered = enter(key, entry, at);
    const Reservation made{.frame = *frame,
                           .issued = entered.issued,
                           .lookup_done = entered.done,
                           .record_done = entered.done};
    if (entered.status == Status::kDone) {
        record(*frame) = hot;
        m_entries[m_frames.number(*frame)] = entry;
        ++m_transfers[m_frames.number(*frame)];
        return made;
    }
    m_frames.free(*frame);
    if (entered.status == Status::kFull) {
        ++m_counters.index_full;
        return {Room::kNo, {}, made.issued, made.lookup_done, made.record_done};
    }
    if (index::intact(record({static_cast<std::uint32_t>(entered.entry.frame)}))) {
        return {Room::kTaken, {}, made.issued, made.lookup_done, made.record_done};
    }
    // find() loses what has such a record.
    const Found found = find(key, entered.done);
    if (!found.taken) return reserve(key, found.record_done);
    return {Room::kTaken, {}, found.issued, found.lookup_done, found.record_done};
}

void Tier::abandon(const block::BlockKey& key, TierFrame frame, Time at) {
    --m_transfers[m_frames.number(frame)];
    if (release_orphan(frame)) return;
    (void)erase(key, at);
    let_go(frame);
}

std::optional<Time> Tier::commit(const block::BlockKey& key, TierFrame frame, Time at) {
    --m_transfers[m_frames.number(frame)];
    if (release_orphan(frame)) return std::nullopt;
    HotRecord& hot = record(frame);
    hot.size = m_block.count;
    index::seal(hot);
    index::Entry& entry = m_entries[m_frames.number(frame)];
    entry = index::entry_of(hot, m_block);
    return update(key, entry, at).done;
}

void Tier::begin_read(TierFrame frame) { ++m_transfers[m_frames.number(frame)]; }

void Tier::end_read(const block::BlockKey& key, TierFrame frame, Time at) {
    std::uint32_t& transfers = m_transfers[m_frames.number(frame)];
    if (transfers == 0) {
        throw InvariantError(fmt::format("tier frame {} released twice", frame.granule));
    }
    --transfers;
    if (release_orphan(frame)) return;
    index::Entry& entry = m_entries[m_frames.number(frame)];
    entry.version = (entry.version + 1U) & 0xFFU;
    (void)update(key, entry, at);
}

Tier::Discarded Tier::discard(const block::BlockKey& key, TierFrame frame, Time at, Time& done) {
    if (m_transfers[m_frames.number(frame)] != 0) return Discarded::kBusy;
    done = erase(key, at).done;
    let_go(frame);
    return Discarded::kDone;
}

void Tier::let_go(TierFrame frame) {
    record(frame) = {};
    m_frames.free(frame);
}

void Tier::clear() {
    m_index.clear();
    m_frames.clear();
    m_records.clear();
    m_entries.clear();
    m_transfers.clear();
    m_orphans.clear();
}

void Tier::audit() const {
    std::uint64_t named = 0;
    std::uint64_t idle_holds = 0;
    for (std::size_t n = 0; n < m_records.size(); ++n) {
        const bool used = m_records[n].extent_count != 0;
        named += used ? 1 : 0;
        idle_holds += !used && m_transfers[n] != 0 ? 1 : 0;
    }
    const std::uint64_t entries = m_index.sram_entries() + m_index.overflow_entries();
    std::uint64_t without_entry = 0;
    for (const Orphan& orphan : m_orphans) without_entry += orphan.has_no_entry ? 1 : 0;
    if (named != m_frames.used() || entries + without_entry > named ||
        entries + m_orphans.size() < named || idle_holds != 0) {
        throw InvariantError(
            fmt::format("tier: {} frames in use, {} records, {} index entries, {} lost blocks in "
                        "frames, {} free "
                        "frames held",
                        m_frames.used(), named, entries, m_orphans.size(), idle_holds));
    }
}

}  // namespace kvplane::engine
