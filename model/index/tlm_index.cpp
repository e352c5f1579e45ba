// SPDX-License-Identifier: Apache-2.0
#include "model/index/tlm_index.h"

#include <algorithm>
#include <bit>

#include "model/common/errors.h"

namespace kvplane::index {
namespace {

/// Hash, SRAM, error correction, select (at one cycle of SRAM).
constexpr std::uint32_t kPipelineCycles = 4;
/// Set-up and margin of the register behind the SRAM.
constexpr Time kRegisterMargin{100};

CuckooConfig cuckoo_config(const IndexConfig& config) {
    const std::uint64_t buckets = config.sram.count / sizeof(Entry) / config.slots / 2;
    return {.buckets_log2 = static_cast<std::uint32_t>(std::bit_width(buckets) - 1),
            .slots = config.slots,
            .stash = config.stash,
            .kick_limit = config.kick_limit};
}

std::uint32_t pipeline_cycles(const IndexConfig& config) {
    const Time access = memory::sram_macro({.capacity = {config.sram.count / config.banks},
                                            .port_bits = config.slots * 8 *
                                                         static_cast<std::uint32_t>(sizeof(Entry)),
                                            .node = config.node})
                            .access;
    const Time cycle = config.clock.cycles(1);
    const std::int64_t sram_cycles = ((access + kRegisterMargin).ps + cycle.ps - 1) / cycle.ps;
    return kPipelineCycles - 1 + static_cast<std::uint32_t>(sram_cycles);
}

}  // namespace

TlmIndex::TlmIndex(const IndexConfig& config)
    : m_clock(config.clock),
      m_pipeline_cycles(pipeline_cycles(config)),
      m_table(cuckoo_config(config)),
      m_cycle(config.clock.cycles(1)) {}

Time TlmIndex::issue(Time at) {
    const Time start = std::max(at, m_free_at);
    m_free_at = start + m_cycle;
    return start;
}

LookupResult TlmIndex::lookup(const block::BlockKey& key, Time at) {
    const Time issued = issue(at);
    const Time done = issued + m_clock.cycles(lookup_cycles());
    const Answer answer = m_table.lookup(key.fold());
    if (answer.found()) return {answer.entry, issued, done};
    if (m_overflow.size() == 0) return {std::nullopt, issued, done};
    LookupResult behind = lookup_behind(key, done);
    behind.issued = issued;
    return behind;
}

LookupResult TlmIndex::lookup_behind(const block::BlockKey& key, Time at) {
    const Entry* entry = m_overflow.find(key);
    const Time done = m_records->read_record_line(at, key.low);
    return {entry == nullptr ? std::nullopt : std::optional(*entry), at, done};
}

Time TlmIndex::insert(const block::BlockKey& key, const Entry& entry, Time at) {
    const Time done = issue(at) + commit_time();
    if (m_table.insert(key.fold(), entry).done()) return done;
    if (!m_overflow.insert(key, entry)) throw InvariantError("index: a key inserted twice");
    return m_records->read_record_line(done, key.low);
}

Time TlmIndex::update(const block::BlockKey& key, const Entry& entry, Time at) {
    const Time done = issue(at) + commit_time();
    if (Entry* found = m_overflow.find(key); found != nullptr) {
        *found = entry;
        return m_records->read_record_line(done, key.low);
    }
    if (!m_table.update(key.fold(), entry).done())
        throw InvariantError("index: no entry to update");
    return done;
}

Time TlmIndex::erase(const block::BlockKey& key, Time at) {
    const Time done = issue(at) + commit_time();
    if (m_overflow.erase(key)) return m_records->read_record_line(done, key.low);
    if (!m_table.erase(key.fold()).done()) throw InvariantError("index: no entry to erase");
    return done;
}

}  // namespace kvplane::index
