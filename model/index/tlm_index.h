// SPDX-License-Identifier: Apache-2.0
/// The resident index as TLM: a table in modelled SRAM (TimedTable), and behind it a table in the
/// card's DRAM for what does not fit.
///
/// A key is in one of the two. An insert that the SRAM refuses goes to DRAM, so that no block is
/// refused for want of room; with Overflow::kNone there is no such part, and it is. A lookup that
/// misses the SRAM asks the filter, and only where that knows the key reads DRAM, a line a probe.
/// An entry found there moves into the SRAM (a fill) and one of those in its place moves out (a
/// victim, whose record tells its full key); both happen behind the answer.
#pragma once

#include <memory>
#include <vector>

#include "model/index/config.h"
#include "model/index/dram_table.h"
#include "model/index/key_filter.h"
#include "model/index/resident_index.h"
#include "model/index/timed_table.h"

namespace kvplane::index {

/// Events since the index was made.
struct IndexCounters {
    std::uint64_t lookups = 0;
    std::uint64_t sram_hits = 0;  ///< candidates: the record may tell that it is another key
    std::uint64_t dram_hits = 0;
    std::uint64_t filtered = 0;      ///< absent keys that cost no read
    std::uint64_t false_passes = 0;  ///< absent keys that the filter let pass
    std::uint64_t dram_lines = 0;    ///< lines of the part in DRAM read and written
    std::uint64_t fills = 0;
    std::uint64_t victims = 0;
    std::uint64_t full = 0;  ///< inserts refused for want of room
    std::uint64_t lost = 0;  ///< entries that bit errors destroyed
};

class TlmIndex final : public ResidentIndex {
public:
    explicit TlmIndex(const IndexConfig& config);
    /// With another engine in place of a TimedTable.
    TlmIndex(const IndexConfig& config, std::unique_ptr<TableEngine> engine);

    void bind(RecordReader& records) override { m_records = &records; }
    [[nodiscard]] LookupResult lookup(const block::BlockKey& key, Time at) override;
    [[nodiscard]] LookupResult lookup_behind(const block::BlockKey& key, Time at) override;
    void leave_behind(const block::BlockKey& key, Time done) override;
    InsertResult insert(const block::BlockKey& key, const Entry& entry, Time at) override;
    UpdateResult update(const block::BlockKey& key, const Entry& entry, FieldMask mask,
                        std::optional<std::uint8_t> expect, Time at) override;
    UpdateResult erase(const block::BlockKey& key, Time at) override;
    [[nodiscard]] bool may_have_lost(const block::BlockKey& key) const override;
    void forget_losses() override { m_losses.clear(); }
    [[nodiscard]] EccCounts ecc() const override;
    void clear() override;
    [[nodiscard]] Time commit_time() const override { return m_commit_time; }
    [[nodiscard]] std::uint64_t sram_entries() const override { return m_engine->size(); }
    [[nodiscard]] std::uint64_t overflow_entries() const override { return m_dram.size(); }

    /// Lays the part in DRAM out for a tier of so many blocks; before the first insert.
    void lay_out(std::uint64_t blocks) { m_dram.reserve(blocks); }
    /// For an index that is not empty when its story begins: puts `key`, which must not be there,
    /// into the SRAM (false where that has no room), or behind it. Takes no time.
    [[nodiscard]] bool load_sram(const block::BlockKey& key, const Entry& entry) {
        return timed().table().insert(key.fold(), entry).done();
    }
    void load_dram(const block::BlockKey& key, const Entry& entry);
    /// Ahead of load_dram(), for the speed of the simulation alone.
    void prefetch_dram(const block::BlockKey& key) const { m_dram.prefetch(key); }

    /// Request and response queue, one cycle each (assumed).
    static constexpr std::uint32_t kQueueCycles = 2;
    /// Cycles from request to answer of an SRAM hit without waiting.
    [[nodiscard]] std::uint32_t lookup_cycles() const {
        return m_engine->latency_cycles() + kQueueCycles;
    }
    [[nodiscard]] const TableEngine& engine() const { return *m_engine; }
    [[nodiscard]] TableEngine& engine() { return *m_engine; }
    /// The engine where it is a TimedTable. Throws InvariantError where it is not.
    [[nodiscard]] const TimedTable& sram() const { return timed(); }
    [[nodiscard]] const IndexCounters& counters() const { return m_counters; }
    /// For faults: the table whose bits may be flipped.
    [[nodiscard]] CuckooTable& table() { return timed().table(); }

private:
    struct Fill {
        Time at;
        block::BlockKey key;
    };

    [[nodiscard]] TimedTable& timed() const;
    /// Submits; where slots beyond correction leave the answer open, they are dropped and counted.
    TimedAnswer submit(const Request& request, Time at);
    [[nodiscard]] InsertResult insert_refused(const block::BlockKey& key, const Entry& entry,
                                              const TimedAnswer& timed);
    /// Whether an entry that is lost and not restored may have been this key's.
    [[nodiscard]] bool is_open(std::uint64_t fold) const;
    /// The status of an update or erase.
    [[nodiscard]] Status outcome(const Answer& answer, std::uint64_t fold) const;
    /// Whether the part in DRAM may hold a key of this fold.
    [[nodiscard]] bool may_be_behind(std::uint64_t fold) const {
        return m_dram.size() != 0 && m_filter.may_hold(fold);
    }
    [[nodiscard]] LookupResult probe(const block::BlockKey& key, Time issued, Time at);
    /// Reads the lines of a probe, one after the other; returns when the last is there.
    Time read_lines(const DramTable::Probe& probe, Time at);
    /// Nobody waits for a write, nor for what a fill reads, and DRAM serves lines in the order in
    /// which they are asked for: all are asked for at the time of their operation, since a line
    /// asked for ahead of time would hold up those that come before it.
    void write_line(std::uint64_t line, Time at);
    Time insert_behind(const block::BlockKey& key, const Entry& entry, Time at);
    void fill_later(const block::BlockKey& key, Time at);
    void fill_due(Time at);
    void fill(const block::BlockKey& key, Time at);
    void evict(std::uint64_t fold, Time at);

    IndexConfig m_config;
    std::unique_ptr<TableEngine> m_engine;
    TimedTable* m_timed = nullptr;  ///< the same, where it is one
    DramTable m_dram;
    KeyFilter m_filter;
    RecordReader* m_records = nullptr;
    Time m_commit_time;
    Time m_queue_time;
    std::vector<Fill> m_due;         ///< fills that wait, earliest first
    std::vector<Time> m_probe_done;  ///< by place of a probe under way
    std::size_t m_next_probe = 0;
    std::vector<CuckooTable::Place> m_losses;  ///< slots dropped and not restored yet
    IndexCounters m_counters;
};

}  // namespace kvplane::index
