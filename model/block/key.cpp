// SPDX-License-Identifier: Apache-2.0
#include "model/block/key.h"

#include <xxhash.h>

#include <array>

namespace kvplane::block {
namespace {

XXH128_hash_t digest(const auto& words) { return XXH3_128bits(words.data(), sizeof(words)); }

}  // namespace

std::uint64_t BlockKey::fold() const {
    return XXH3_64bits(std::array{high, low}.data(), 2 * sizeof(std::uint64_t));
}

PrefixHash extend(PrefixHash parent, std::uint64_t content) {
    const XXH128_hash_t hash = digest(std::array{parent.high, parent.low, content});
    return {hash.high64, hash.low64};
}

BlockKey make_key(PrefixHash prefix, Slice slice, std::uint64_t salt) {
    const std::uint64_t packed = std::uint64_t{slice.first_layer} |
                                 std::uint64_t{slice.last_layer} << 16 |
                                 std::uint64_t{slice.head_group} << 32;
    const XXH128_hash_t hash = digest(std::array{prefix.high, prefix.low, packed, salt});
    return {hash.high64, hash.low64};
}

}  // namespace kvplane::block
