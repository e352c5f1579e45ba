// SPDX-License-Identifier: Apache-2.0
/// The resident index as TLM: a cuckoo table in modelled SRAM, and behind it a table in the card's
/// DRAM for what does not fit. One operation a cycle enters the pipeline; a lookup takes four
/// cycles, one more for each further cycle of SRAM access, and two in request and response queues.
#pragma once

#include "model/common/flat_map.h"
#include "model/index/config.h"
#include "model/index/cuckoo_table.h"
#include "model/index/resident_index.h"

namespace kvplane::index {

class TlmIndex final : public ResidentIndex {
public:
    explicit TlmIndex(const IndexConfig& config);

    void bind(RecordReader& records) override { m_records = &records; }
    [[nodiscard]] LookupResult lookup(const block::BlockKey& key, Time at) override;
    [[nodiscard]] LookupResult lookup_behind(const block::BlockKey& key, Time at) override;
    Time insert(const block::BlockKey& key, const Entry& entry, Time at) override;
    Time update(const block::BlockKey& key, const Entry& entry, Time at) override;
    Time erase(const block::BlockKey& key, Time at) override;
    void clear() override;
    [[nodiscard]] Time commit_time() const override { return m_clock.cycles(m_pipeline_cycles); }
    [[nodiscard]] std::uint64_t sram_entries() const override { return m_table.size(); }
    [[nodiscard]] std::uint64_t overflow_entries() const override { return m_overflow.size(); }

    /// Cycles from request to answer of an SRAM hit without waiting.
    [[nodiscard]] std::uint32_t lookup_cycles() const { return m_pipeline_cycles + kQueueCycles; }

private:
    /// Request and response queue, one cycle each (assumed).
    static constexpr std::uint32_t kQueueCycles = 2;

    struct KeyHash {
        std::uint64_t operator()(const block::BlockKey& key) const { return key.low; }
    };

    /// Takes the next issue slot at or after `at`; returns its start.
    Time issue(Time at);

    IndexConfig m_config;
    Frequency m_clock;
    std::uint32_t m_pipeline_cycles;
    CuckooTable m_table;
    FlatMap<block::BlockKey, Entry, KeyHash> m_overflow;
    RecordReader* m_records = nullptr;
    Time m_cycle;
    Time m_free_at;
};

}  // namespace kvplane::index
