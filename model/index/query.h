// SPDX-License-Identifier: Apache-2.0
/// Many keys in one descriptor. All enter the index's pipeline one behind the other, so that a
/// batch of n costs about n cycles and one latency, not n latencies.
#pragma once

#include <cstdint>
#include <span>

#include "model/index/resident_index.h"

namespace kvplane::index {

/// Looks all `keys` up from `at` on; `results` has room for as many. Returns when the last answer
/// is there.
Time lookup_batch(ResidentIndex& index, std::span<const block::BlockKey> keys, Time at,
                  std::span<LookupResult> results);

struct QueryResult {
    std::uint32_t present = 0;    ///< keys of the chain before the first that is not in the tier
    std::uint32_t looked_up = 0;  ///< keys that entered the pipeline before that was known
    Time done;                    ///< when the length is known
};

/// The longest present prefix of a chain of keys. Folds decide: the records are not read, so that a
/// false match (2^-64 a pair of keys) may lengthen the answer; the promotion that follows checks
/// each full key and answers `missing`.
[[nodiscard]] QueryResult longest_present_prefix(ResidentIndex& index,
                                                 std::span<const block::BlockKey> chain, Time at);

}  // namespace kvplane::index
