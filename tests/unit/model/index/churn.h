// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/common/random.h"
#include "model/index/cuckoo_table.h"

namespace kvplane::index {

/// A churn as that of the recorded experiments: fill to a load, then delete a random key and insert
/// a new one, `rounds` times.
struct Churn {
    bool filled = false;  ///< no insert was refused on the way to the load
    double mean = 0;      ///< kicks an insert
    std::uint64_t p99 = 0;
    std::uint64_t p999 = 0;
    std::uint64_t p9999 = 0;
    std::uint64_t max = 0;
    std::uint64_t parked = 0;  ///< inserts that ended at the kick limit
    std::uint64_t most_stashed = 0;
    std::uint64_t failures = 0;  ///< inserts refused
};

inline Churn churn(const CuckooConfig& config, std::uint32_t load_percent, std::uint32_t rounds) {
    CuckooTable table(config);
    RandomStream random(11, "churn");
    std::vector<std::uint64_t> keys;
    Churn result;
    Entry entry;
    entry.state = 1;
    while (keys.size() < table.capacity() * load_percent / 100) {
        keys.push_back(random.bits());
        if (!table.insert(keys.back(), entry).done()) return result;
    }
    result.filled = true;
    std::vector<std::uint64_t> kicks;
    for (std::uint32_t i = 0; i < rounds; ++i) {
        std::uint64_t& key = keys[random.uniform(keys.size())];
        table.erase(key);
        const std::uint64_t before = table.kicks();
        const std::uint64_t parked = table.counters().parked;
        key = random.bits();
        while (!table.insert(key, entry).done()) {
            ++result.failures;
            key = random.bits();
        }
        kicks.push_back(table.kicks() - before);
        result.parked += table.counters().parked - parked;
        result.most_stashed = std::max(result.most_stashed, table.stashed());
    }
    std::sort(kicks.begin(), kicks.end());
    for (const std::uint64_t k : kicks) result.mean += static_cast<double>(k);
    result.mean /= rounds;
    result.p99 = kicks[kicks.size() * 99 / 100];
    result.p999 = kicks[kicks.size() * 999 / 1000];
    result.p9999 = kicks[kicks.size() * 9999 / 10000];
    result.max = kicks.back();
    return result;
}

}  // namespace kvplane::index
