// SPDX-License-Identifier: Apache-2.0
#include "model/index/query.h"

#include <algorithm>

namespace kvplane::index {

Time lookup_batch(ResidentIndex& index, std::span<const block::BlockKey> keys, Time at,
                  std::span<LookupResult> results) {
    Time done = at;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        results[i] = index.lookup(keys[i], at);
        done = std::max(done, results[i].done);
    }
    return done;
}

QueryResult longest_present_prefix(ResidentIndex& index, std::span<const block::BlockKey> chain,
                                   Time at) {
    QueryResult result{.done = at};
    Time missing = Time::never();
    Time issued = at;
    for (const block::BlockKey& key : chain) {
        // Keys behind the first missing one enter until its answer stops them.
        if (issued >= missing) break;
        const LookupResult found = index.lookup(key, at);
        issued = found.issued;
        ++result.looked_up;
        if (missing != Time::never()) continue;
        result.done = std::max(result.done, found.done);
        if (found.entry) {
            ++result.present;
        } else {
            missing = found.done;
        }
    }
    return result;
}

}  // namespace kvplane::index
