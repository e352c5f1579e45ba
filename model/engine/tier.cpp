// SPDX-License-Identifier: Apache-2.0
#include "model/engine/tier.h"

#include <fmt/format.h>

#include "model/common/errors.h"

namespace kvplane::engine {

using index::HotRecord;
using index::Status;

Tier::Tier(const TierConfig& config, index::ResidentIndex& index, index::RecordReader& records)
    : m_room(config.capacity), m_leases(config.pin_budget), m_index(index), m_reader(records) {}

std::uint32_t Tier::take_record() {
    if (m_free_records.empty()) {
        m_free_records.push_back(static_cast<std::uint32_t>(m_records.size()));
        m_records.emplace_back();
        m_places.emplace_back();
        m_entries.emplace_back();
        m_transfers.push_back(0);
        m_arriving.push_back(false);
    }
    const std::uint32_t record = m_free_records.back();
    m_free_records.pop_back();
    return record;
}

/// A record on its way in, with its room.
std::optional<TierFrame> Tier::allocate(const block::BlockKey& key, Bytes size, TenantId owner) {
    const std::optional<Extents> extents = m_room.allocate(granules(size));
    if (!extents) return std::nullopt;
    const std::uint32_t record = take_record();
    m_records[record] = {.key = key,
                         .extents = extents->first,
                         .extent_count = extents->count,
                         .owner = owner,
                         .size = size.count};
    m_places[record] = {*extents, size};
    index::seal(m_records[record]);
    m_entries[record] = entry_of(record);
    m_arriving[record] = true;
    ++m_blocks;
    if (m_observer != nullptr) m_observer->allocated({record}, *extents, granules(size));
    return TierFrame{record};
}

index::Entry Tier::entry_of(std::uint32_t record) const {
    // Raw blocks: as long before coding as after.
    return index::entry_of(m_records[record], record, {m_records[record].size});
}

Right Tier::right_to(std::uint32_t record, TenantId tenant) const {
    if (m_records[record].owner == tenant) return Right::kOwn;
    return m_leases.granted(record, tenant) ? Right::kRead : Right::kNone;
}

Tier::Found Tier::find(const block::BlockKey& key, TenantId tenant, Time at) {
    index::LookupResult result = look_up(key, at);
    Found found{.taken = orphaned(key), .issued = result.issued};
    while (result.entry) {
        found.frame = {static_cast<std::uint32_t>(result.entry->frame)};
        found.lookup_done = result.done;
        found.record_done = m_reader.read_record_line(result.done, found.frame.record);
        const HotRecord& hot = m_records[found.frame.record];
        if (!index::intact(hot)) {
            (void)erase(key, found.record_done);
            lose(key, found.frame, found.record_done);
            found.taken = orphaned(key);
            return found;
        }
        if (hot.key == key) {
            found.right = right_to(found.frame.record, tenant);
            found.present = hot.references != 0 && found.right != Right::kNone;
            found.taken = hot.references == 0;
            if (found.right == Right::kNone) hide(key, result, found);
            return found;
        }
        result = m_index.lookup_behind(key, found.record_done);
    }
    found.lookup_done = result.done;
    // As long as where there is a block that the tenant must not see.
    const std::uint64_t line = m_records.empty() ? 0 : key.low % m_records.size();
    found.record_done = m_reader.read_record_line(result.done, line);
    hide(key, result, found);
    return found;
}

/// What is not there for a tenant, or nowhere, is answered at one time.
void Tier::hide(const block::BlockKey& key, const index::LookupResult& result, Found& found) {
    if (result.behind) {
        m_index.leave_behind(key, result.done);
    } else if (m_index.overflow_entries() != 0) {
        found.record_done += found.record_done - found.lookup_done;
    }
}

Tier::Reservation Tier::refused(const block::BlockKey& key, TenantId owner, Time at) {
    const Found found = find(key, owner, at);
    const bool taken =
        found.present || (found.taken && found.right != Right::kNone) || orphaned(key);
    return {
        taken ? Room::kTaken : Room::kNo, {}, found.issued, found.lookup_done, found.record_done};
}

Tier::Reservation Tier::reserve(const block::BlockKey& key, Bytes size, TenantId owner, Time at) {
    free_orphans(at);
    const std::optional<TierFrame> frame =
        orphaned(key) ? std::nullopt : allocate(key, size, owner);
    if (!frame) return refused(key, owner, at);
    const index::InsertResult entered = enter(key, m_entries[frame->record], at);
    Reservation made{.frame = *frame,
                     .issued = entered.issued,
                     .lookup_done = entered.done,
                     .record_done = entered.done};
    if (entered.status == Status::kDone) {
        m_arriving[frame->record] = false;
        ++m_transfers[frame->record];
        return made;
    }
    let_go(*frame);
    made.frame = {};
    made.room = Room::kNo;
    if (entered.status == Status::kFull) {
        ++m_counters.index_full;
        return made;
    }
    const auto there = static_cast<std::uint32_t>(entered.entry.frame);
    if (index::intact(m_records[there])) {
        if (right_to(there, owner) != Right::kNone) made.room = Room::kTaken;
        return made;
    }
    // find() loses what has such a record.
    const Found found = find(key, owner, entered.done);
    if (!found.taken) return reserve(key, size, owner, found.record_done);
    return {Room::kTaken, {}, found.issued, found.lookup_done, found.record_done};
}

void Tier::abandon(const block::BlockKey& key, TierFrame frame, Time at) {
    --m_transfers[frame.record];
    if (release_orphan(frame, at)) return;
    (void)erase(key, at);
    let_go(frame);
}

std::optional<Time> Tier::commit(const block::BlockKey& key, TierFrame frame, Time at) {
    --m_transfers[frame.record];
    if (release_orphan(frame, at)) return std::nullopt;
    HotRecord& hot = m_records[frame.record];
    if (!index::intact(hot)) {
        (void)erase(key, at);
        lose(key, frame, at);
        return std::nullopt;
    }
    hot.references = 1;
    index::seal(hot);
    m_entries[frame.record] = entry_of(frame.record);
    if (m_observer != nullptr) {
        m_observer->committed(key, frame, std::nullopt, m_entries[frame.record].version);
    }
    return update(key, m_entries[frame.record], at).done;
}

void Tier::begin_read(TierFrame frame) {
    if (m_observer != nullptr) m_observer->read_begun(frame);
    ++m_transfers[frame.record];
}

void Tier::end_read(const block::BlockKey& key, TierFrame frame, Time at) {
    std::uint32_t& transfers = m_transfers[frame.record];
    if (transfers == 0) {
        throw InvariantError(fmt::format("tier record {} released twice", frame.record));
    }
    --transfers;
    if (release_orphan(frame, at)) return;
    index::Entry& entry = m_entries[frame.record];
    entry.version = (entry.version + 1U) & 0xFFU;
    if (m_observer != nullptr) m_observer->version_changed(frame, entry.version);
    (void)update(key, entry, at);
}

std::optional<TierFrame> Tier::begin_move(const block::BlockKey& key, TierFrame from, Time at) {
    free_orphans(at);
    const HotRecord old = m_records[from.record];
    const std::optional<TierFrame> to = allocate(key, {old.size}, old.owner);
    if (!to) return std::nullopt;
    ++m_moves;
    ++m_transfers[from.record];
    ++m_transfers[to->record];
    index::Entry& entry = m_entries[from.record];
    entry.state = static_cast<std::uint64_t>(index::EntryState::kMoving) & 7U;
    entry.version = (entry.version + 1U) & 0xFFU;
    if (m_observer != nullptr) m_observer->version_changed(from, entry.version);
    (void)update(key, entry, at);
    return to;
}

std::optional<Time> Tier::commit_move(const block::BlockKey& key, TierFrame from, TierFrame to,
                                      Time at) {
    --m_moves;
    --m_transfers[from.record];
    --m_transfers[to.record];
    m_arriving[to.record] = false;
    if (release_orphan(from, at)) {  // dropped or lost meanwhile
        let_go(to);
        return std::nullopt;
    }
    HotRecord& hot = m_records[to.record];
    hot.owner = m_records[from.record].owner;
    hot.references = m_records[from.record].references;
    index::seal(hot);
    const std::uint64_t version = m_entries[from.record].version;
    m_entries[to.record] = entry_of(to.record);
    m_entries[to.record].version = (version + 1U) & 0xFFU;
    if (m_observer != nullptr) m_observer->committed(key, to, from, m_entries[to.record].version);
    const Time done = update(key, m_entries[to.record], at).done;
    m_leases.move(from.record, to.record, at);
    ++m_counters.moved;
    retire(key, from, true, at);
    return done;
}

void Tier::abandon_move(const block::BlockKey& key, TierFrame from, TierFrame to, Time at) {
    --m_moves;
    --m_transfers[from.record];
    --m_transfers[to.record];
    let_go(to);
    if (release_orphan(from, at)) return;
    index::Entry& entry = m_entries[from.record];
    entry.state = static_cast<std::uint64_t>(index::EntryState::kResident) & 7U;
    (void)update(key, entry, at);
}

Tier::Discarded Tier::discard(const block::BlockKey& key, TierFrame frame, Time at, Time& done) {
    if (m_transfers[frame.record] != 0 || m_records[frame.record].references > 1 ||
        m_leases.pinned(frame.record, at)) {
        return Discarded::kBusy;
    }
    done = erase(key, at).done;
    let_go(frame);
    return Discarded::kDone;
}

bool Tier::share(TierFrame frame, TenantId tenant) {
    HotRecord& hot = m_records[frame.record];
    if (hot.owner == tenant || !m_leases.grant(frame.record, tenant)) return false;
    ++hot.references;
    index::seal(hot);
    return true;
}

bool Tier::moving(TierFrame frame) const {
    return m_entries[frame.record].state == static_cast<std::uint64_t>(index::EntryState::kMoving);
}

Tier::Released Tier::release(const block::BlockKey& key, TierFrame frame, TenantId tenant,
                             Time at) {
    HotRecord& hot = m_records[frame.record];
    const bool owner = hot.owner == tenant;
    if (owner && m_leases.pinned_as_all(frame.record, tenant, at)) return {at, false, true};
    (void)m_leases.unpin(frame.record, tenant, at);
    if (owner) {
        hot.owner = kEveryTenant;
        // What was for all goes with him: nobody else could end it.
        if (m_leases.revoke(frame.record, kEveryTenant)) --hot.references;
    } else if (!m_leases.revoke(frame.record, tenant)) {
        return {at};  // granted to all: not his to give up
    }
    --hot.references;
    index::seal(hot);
    if (hot.references != 0) return {at};
    const Time done = erase(key, at).done;
    retire(key, frame, false, at);
    return {done, true};
}

/// The copy in `frame` has no entry any more.
void Tier::retire(const block::BlockKey& key, TierFrame frame, bool superseded, Time at) {
    if (is_held(frame, at)) {
        m_orphans.push_back({key, frame, true, superseded});
    } else {
        let_go(frame);
    }
}

/// Whether something still relies on what lies in a frame.
bool Tier::is_held(TierFrame frame, Time at) {
    return m_transfers[frame.record] != 0 || m_leases.pinned(frame.record, at);
}

void Tier::let_go(TierFrame frame) {
    if (m_observer != nullptr) m_observer->freed(frame, extents(frame), granules(size(frame)));
    m_room.free(extents(frame), granules(size(frame)));
    m_leases.drop(frame.record);
    m_records[frame.record] = {};
    m_places[frame.record] = {};
    m_arriving[frame.record] = false;
    m_free_records.push_back(frame.record);
    --m_blocks;
}

void Tier::clear() {
    if (m_observer != nullptr) m_observer->cleared();
    m_index.clear();
    m_room.clear();
    m_leases.clear();
    m_blocks = m_moves = 0;
    m_records.clear();
    m_places.clear();
    m_entries.clear();
    m_transfers.clear();
    m_arriving.clear();
    m_free_records.clear();
    m_orphans.clear();
}

void Tier::audit() const {
    std::uint64_t named = 0;
    std::uint64_t room = 0;
    std::uint64_t idle_holds = 0;
    for (std::size_t n = 0; n < m_records.size(); ++n) {
        const bool used = m_places[n].extents.count != 0;
        named += used ? 1 : 0;
        room += used ? granules(m_places[n].size) : 0;
        idle_holds += !used && m_transfers[n] != 0 ? 1 : 0;
    }
    const std::uint64_t entries = m_index.sram_entries() + m_index.overflow_entries();
    std::uint64_t without_entry = m_moves;
    for (const Orphan& orphan : m_orphans) without_entry += orphan.has_no_entry ? 1 : 0;
    if (named != m_blocks || room != m_room.used() || entries + without_entry > named ||
        entries + m_moves + m_orphans.size() < named || idle_holds != 0) {
        throw InvariantError(fmt::format(
            "tier: {} blocks, {} records of {} granules, {} granules in use, {} index "
            "entries, {} moves, {} lost blocks in frames, {} free frames held",
            m_blocks, named, room, m_room.used(), entries, m_moves, m_orphans.size(), idle_holds));
    }
}

}  // namespace kvplane::engine
