// SPDX-License-Identifier: Apache-2.0
/// Holds an engine against the functional table, answer by answer.
#pragma once

#include <deque>
#include <vector>

#include "model/common/random.h"
#include "model/index/cuckoo_table.h"
#include "tb/unit/bench.h"

namespace kvplane::rtl {

/// What of every 100 requests is what; the rest are lookups.
struct Mix {
    std::uint32_t inserts = 20;
    std::uint32_t updates = 25;
    std::uint32_t deletes = 15;
    std::uint32_t evicts = 5;
    std::uint32_t scrubs = 1;
};

struct RandomRun {
    std::uint64_t seed = 1;
    std::uint64_t requests = 10'000;
    Mix mix{};
    std::uint32_t keys = 1'000;         ///< distinct ones
    std::uint32_t recent_percent = 60;  ///< of keys that are one of the last eight
    std::uint32_t gap_percent = 20;     ///< of cycles without a request
    std::uint32_t hold_percent = 10;    ///< of cycles in which no answer is taken
};

/// Feeds an engine and a table with the same requests; compares when answers come.
class TwinBench {
public:
    TwinBench(std::unique_ptr<MetaLookupDut> dut, const DutShape& shape);

    /// Returns when `run` is over and all answers were compared.
    void run(const RandomRun& run);
    /// One request; its answer is compared when it comes.
    std::uint64_t issue(const index::Request& request);
    /// Cycles until idle, and compares.
    void settle_down();
    /// Looks up every key that should be there.
    void check_all(std::uint32_t keys);
    static std::uint64_t key_of(std::uint64_t n);

    [[nodiscard]] Bench& bench() { return m_bench; }
    [[nodiscard]] index::CuckooTable& table() { return m_table; }
    [[nodiscard]] std::uint64_t matched() const { return m_matched; }
    [[nodiscard]] std::uint64_t refused() const { return m_refused; }
    [[nodiscard]] std::uint64_t count(index::Status status) const {
        return m_statuses[static_cast<std::size_t>(status)];
    }

private:
    void compare();
    [[nodiscard]] index::Request draw(RandomStream& random, const RandomRun& run);

    Bench m_bench;
    index::CuckooTable m_table;
    std::deque<index::Request> m_asked;
    std::vector<std::uint64_t> m_recent;
    std::uint64_t m_matched = 0;
    std::uint64_t m_refused = 0;  ///< FULL
    std::uint64_t m_statuses[7] = {};
};

[[nodiscard]] inline index::Entry entry_of(std::uint32_t frame, std::uint8_t version = 0) {
    index::Entry entry;
    entry.state = 1;
    entry.frame = frame;
    entry.version = version;
    return entry;
}

}  // namespace kvplane::rtl
