// SPDX-License-Identifier: Apache-2.0
/// Policy records in the card's DRAM: a hash table of 64 B lines, one record each, a line read a
/// probe. Bound to keys, not to copies: a record stays when its block leaves the tier.
///
/// An update reads the record's line, compares, and writes the line back; it is atomic, and updates
/// of one key take effect in the order of submission. Each bumps the record's epoch, 32 bits, which
/// a compare-and-set checks: 2^32 updates between a read and its compare would go unseen. The
/// class in the block's index entry is a cached copy and follows the record; it is found by the
/// key's fold alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/index/record.h"
#include "model/index/resident_index.h"

namespace kvplane::index {

struct PolicyStoreConfig {
    std::uint32_t lines_log2 = 12;  ///< records: three quarters of so many lines; 2 to 32
    std::uint32_t in_flight = 32;   ///< updates under way at once
    Frequency clock{1'000'000'000};
};

/// What the host writes.
struct PolicyChange {
    block::BlockKey key;
    std::uint32_t reuse_score = 0;
    std::uint8_t priority_class = 0;  ///< 0 to 7
    std::uint8_t priority = 0;
    std::uint8_t intent = 0;
    std::uint8_t flags = 0;
};
static_assert(sizeof(PolicyChange) == 24);

struct PolicyAnswer {
    /// DONE; MISS: no record; VERSION_MISMATCH: the epoch is another; FULL: no line for a new
    /// record; EXISTS: the record is another tenant's
    Status status = Status::kDone;
    PolicyRecord record;  ///< the new one, or the one that is there
    Time done;            ///< when it is committed, or known
};

class PolicyStore {
public:
    /// `index` and `records` must outlive the store. Throws InvariantError outside the ranges.
    PolicyStore(const PolicyStoreConfig& config, ResidentIndex& index, RecordReader& records);

    [[nodiscard]] PolicyAnswer read(const block::BlockKey& key, Time at);
    /// Writes `change`. Without `expect` a record is made where there is none; with it, the record
    /// must be there and of that epoch. A record belongs to the tenant that made it.
    PolicyAnswer update(const PolicyChange& change, std::optional<std::uint32_t> expect, Time at,
                        std::uint16_t tenant = 0);
    /// A run: one update a cycle, each atomic by itself. `expects` is empty, or has an epoch for
    /// each; `answers` has room for as many. Returns when the last is committed.
    Time update_run(std::span<const PolicyChange> changes, std::span<const std::uint32_t> expects,
                    Time at, std::span<PolicyAnswer> answers);
    /// The data plane saw an access. Not an update of the host's: the epoch stays. MISS: no record.
    PolicyAnswer touch(const block::BlockKey& key, Time at);
    /// Removes the record: its lifetime is over.
    PolicyAnswer forget(const block::BlockKey& key, Time at);

    [[nodiscard]] std::uint64_t size() const { return m_size; }

private:
    struct UnderWay {
        block::BlockKey key;
        Time done;
    };
    struct Place {
        std::uint64_t line = 0;  ///< where the record is, or would go
        std::uint32_t probes = 1;
    };

    [[nodiscard]] std::uint64_t home_of(const block::BlockKey& key) const;
    [[nodiscard]] Place place_of(const block::BlockKey& key) const;
    /// When the line of `place` has been read, behind earlier updates of the key.
    [[nodiscard]] Time line_read(const block::BlockKey& key, const Place& place, Time at);
    /// Writes the record back and remembers that its key is under way until then.
    void write_back(std::uint64_t line, Time at);
    void cache_class(const PolicyRecord& record, Time at);

    std::vector<PolicyRecord> m_lines;
    ResidentIndex& m_index;
    RecordReader& m_records;
    Time m_cycle;
    Time m_next_slot;
    std::vector<UnderWay> m_under_way;  ///< a ring
    std::size_t m_next = 0;
    std::uint64_t m_size = 0;
};

}  // namespace kvplane::index
