// SPDX-License-Identifier: Apache-2.0
/// What bit errors do to a Tier: every operation on the index that they leave open waits until what
/// they destroyed is restored, and is done again.
#include <algorithm>
#include <array>
#include <bit>

#include "model/engine/tier.h"

namespace kvplane::engine {

using index::HotRecord;
using index::Status;

index::LookupResult Tier::look_up(const block::BlockKey& key, Time at) {
    index::LookupResult result = m_index.lookup(key, at);
    while (result.uncertain) result = m_index.lookup(key, restore(result.done));
    return result;
}

index::InsertResult Tier::enter(const block::BlockKey& key, const index::Entry& entry, Time at) {
    index::InsertResult result = m_index.insert(key, entry, at);
    while (result.status == Status::kUncorrectable) {
        result = m_index.insert(key, entry, restore(result.done));
    }
    return result;
}

index::UpdateResult Tier::update(const block::BlockKey& key, const index::Entry& entry, Time at) {
    const auto change = [&](Time when) {
        return m_index.update(key, entry, index::field::kMove, std::nullopt, when);
    };
    index::UpdateResult result = change(at);
    while (result.status == Status::kUncorrectable) result = change(restore(result.done));
    return result;
}

index::UpdateResult Tier::erase(const block::BlockKey& key, Time at) {
    index::UpdateResult result = m_index.erase(key, at);
    while (result.status == Status::kUncorrectable) {
        result = m_index.erase(key, restore(result.done));
    }
    return result;
}

/// The scan reads a line for every frame ever used, as fast as the DRAM gives them; no other line
/// gets through meanwhile.
Time Tier::restore(Time at) {
    ++m_counters.rebuilds;
    Time done = at;
    std::vector<std::uint32_t> suspects;
    for (std::uint32_t n = 0; n < m_records.size(); ++n) {
        done = std::max(done, m_reader.read_record_line(at, n));
        const HotRecord& hot = m_records[n];
        if (m_places[n].extents.count == 0 || m_arriving[n] || is_orphan({n})) continue;
        if (m_index.may_have_lost(hot.key) || !index::intact(hot)) suspects.push_back(n);
    }
    m_index.forget_losses();
    for (const std::uint32_t n : suspects) done = restore(n, done);
    return done;
}

Time Tier::restore(std::uint32_t number, Time at) {
    const HotRecord& hot = m_records[number];
    index::LookupResult found = m_index.lookup(hot.key, at);
    if (found.entry && found.entry->frame != number) {
        found = m_index.lookup_behind(hot.key, found.done);
    }
    if (found.entry && found.entry->frame == number) return found.done;
    if (!index::intact(hot)) {
        // Of whatever key it was: an entry may lead here.
        ++m_counters.lost_blocks;
        m_orphans.push_back({hot.key, {number}});
        return found.done;
    }
    const index::InsertResult entered = m_index.insert(hot.key, m_entries[number], found.done);
    if (entered.status == Status::kDone) {
        ++m_counters.rebuilt;
    } else {
        lose(hot.key, {number}, entered.done);
    }
    return entered.done;
}

std::optional<block::BlockKey> Tier::key_of(TierFrame frame) {
    const HotRecord& hot = m_records[frame.record];
    return index::intact(hot) ? std::optional(hot.key) : std::nullopt;
}

void Tier::lose(const block::BlockKey& key, TierFrame frame, Time at) {
    if (!is_orphan(frame)) ++m_counters.lost_blocks;
    drop_orphan(frame);
    retire(key, frame, false, at);
}

void Tier::drop_orphan(TierFrame frame) {
    std::erase_if(m_orphans, [&](const Orphan& orphan) { return orphan.frame == frame; });
}

bool Tier::is_orphan(TierFrame frame) const {
    return std::any_of(m_orphans.begin(), m_orphans.end(),
                       [&](const Orphan& orphan) { return orphan.frame == frame; });
}

bool Tier::orphaned(const block::BlockKey& key) const {
    return std::any_of(m_orphans.begin(), m_orphans.end(), [&](const Orphan& one) {
        return one.has_no_entry && !one.superseded && one.key == key;
    });
}

bool Tier::release_orphan(TierFrame frame, Time at) {
    const auto orphan = std::find_if(m_orphans.begin(), m_orphans.end(),
                                     [&](const Orphan& one) { return one.frame == frame; });
    if (orphan == m_orphans.end()) return false;
    if (orphan->has_no_entry && !is_held(frame, at)) {
        drop_orphan(frame);
        let_go(frame);
    }
    return true;
}

/// Pins run out without a word: who wants room looks for what they kept.
void Tier::free_orphans(Time at) {
    std::erase_if(m_orphans, [&](const Orphan& orphan) {
        const bool free = orphan.has_no_entry && !is_held(orphan.frame, at);
        if (free) let_go(orphan.frame);
        return free;
    });
}

void Tier::flip_record(TierFrame frame, std::uint32_t bit) {
    HotRecord& hot = m_records[frame.record];
    auto bytes = std::bit_cast<std::array<std::uint8_t, sizeof(HotRecord)>>(hot);
    bytes.at(bit / 8) ^= static_cast<std::uint8_t>(1U << bit % 8);
    hot = std::bit_cast<HotRecord>(bytes);
}

}  // namespace kvplane::engine
