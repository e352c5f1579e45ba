// SPDX-License-Identifier: Apache-2.0
#include "model/engine/tier.h"

#include <fmt/format.h>

#include "model/common/errors.h"

namespace kvplane::engine {

Tier::Tier(Bytes capacity, Bytes block, index::ResidentIndex& index, index::RecordReader& records)
    : m_frames(capacity, block), m_index(index), m_reader(records), m_block(block) {}

index::HotRecord& Tier::record(TierFrame frame) {
    const std::uint32_t number = m_frames.number(frame);
    if (number >= m_records.size()) {
        m_records.resize(number + 1);
        m_entries.resize(number + 1);
    }
    return m_records[number];
}

Tier::Found Tier::find(const block::BlockKey& key, Time at) {
    index::LookupResult result = m_index.lookup(key, at);
    const Time issued = result.issued;
    while (result.entry) {
        const TierFrame frame{static_cast<std::uint32_t>(result.entry->frame)};
        const Time read = m_reader.read_record_line(result.done, m_frames.number(frame));
        if (record(frame).key == key) return {true, frame, issued, result.done, read};
        result = m_index.lookup_behind(key, read);
    }
    return {.issued = issued, .lookup_done = result.done, .record_done = result.done};
}

std::optional<TierFrame> Tier::reserve(const block::BlockKey& key) {
    const std::optional<TierFrame> frame = m_frames.allocate();
    if (frame && !m_arriving.insert(key, *frame)) {
        throw InvariantError("a tier frame reserved twice for one block");
    }
    return frame;
}

void Tier::abandon(const block::BlockKey& key, TierFrame frame) {
    if (!m_arriving.erase(key)) throw InvariantError("a frame abandoned that was not reserved");
    m_frames.free(frame);
}

void Tier::clear() {
    m_index.clear();
    m_frames.clear();
    m_records.clear();
    m_entries.clear();
    m_arriving.clear();
}

Time Tier::commit(const block::BlockKey& key, TierFrame frame, Time at) {
    if (!m_arriving.erase(key)) throw InvariantError("a block committed without a reserved frame");
    index::HotRecord& hot = record(frame);
    hot = {.key = key, .extent_count = 1, .size = m_block.count};
    hot.extents[0] = frame.granule;
    index::Entry& entry = m_entries[m_frames.number(frame)];
    entry = index::entry_of(hot, m_block);
    return m_index.insert(key, entry, at);
}

block::BlockKey Tier::key_of(TierFrame frame) { return record(frame).key; }

void Tier::begin_read(TierFrame frame) { ++record(frame).references; }

void Tier::end_read(TierFrame frame, Time at) {
    index::HotRecord& hot = record(frame);
    if (hot.references == 0) {
        throw InvariantError(fmt::format("tier frame {} released twice", frame.granule));
    }
    --hot.references;
    index::Entry& entry = m_entries[m_frames.number(frame)];
    entry.version = (entry.version + 1U) & 0xFFU;
    m_index.update(hot.key, entry, index::field::kMove, std::nullopt, at);
}

Tier::Discarded Tier::discard(const block::BlockKey& key, TierFrame frame, Time at, Time& done) {
    index::HotRecord& hot = record(frame);
    if (hot.references != 0) return Discarded::kBusy;
    done = m_index.erase(key, at);
    hot = {};
    m_frames.free(frame);
    return Discarded::kDone;
}

}  // namespace kvplane::engine
