// SPDX-License-Identifier: Apache-2.0
#include "model/block/key.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

#include "model/block/block.h"

namespace kvplane::block {
namespace {

constexpr Slice kWhole{.first_layer = 0, .last_layer = 79, .head_group = 0};

/// The identity of a block as a sequence knows it; only some of it makes the key.
struct Seen {
    std::uint32_t tenant = 0;
    std::uint64_t sequence = 0;
    std::uint64_t first_position = 0;
    std::vector<std::uint64_t> contents;
};

BlockKey key_of(const Seen& seen, Slice slice = kWhole, std::uint64_t salt = 0) {
    PrefixHash prefix{};
    for (const std::uint64_t content : seen.contents) prefix = extend(prefix, content);
    return make_key(prefix, slice, salt);
}

TEST(KeyTest, OnePrefixIsOneKeyWhateverTenantSequenceAndPositions) {
    EXPECT_EQ(key_of({.tenant = 1, .sequence = 7, .first_position = 0, .contents = {1, 2, 3}}),
              key_of({.tenant = 2, .sequence = 8, .first_position = 64, .contents = {1, 2, 3}}));
}

TEST(KeyTest, AnotherPrefixIsAnotherKey) {
    const BlockKey key = key_of({.contents = {1, 2, 3}});
    EXPECT_NE(key, key_of({.contents = {9, 2, 3}}));  // another grandparent, one content
    EXPECT_NE(key, key_of({.contents = {2, 3}}));
    EXPECT_NE(key, key_of({.contents = {1, 2, 3, 3}}));
    EXPECT_NE(key, key_of({.contents = {2, 1, 3}}));
    EXPECT_NE(extend({}, 0), PrefixHash{});
}

TEST(KeyTest, AnotherSaltOrSliceIsAnotherKey) {
    const Seen seen{.contents = {5, 6}};
    std::set<BlockKey> keys;
    for (const Slice slice : {kWhole, Slice{1, 79, 0}, Slice{0, 78, 0}, Slice{0, 79, 1},
                              Slice{79, 0, 0}, Slice{0, 0, 79}}) {
        for (const std::uint64_t salt : {0ULL, 1ULL, ~0ULL}) keys.insert(key_of(seen, slice, salt));
    }
    EXPECT_EQ(keys.size(), 18U);
}

TEST(KeyTest, FoldsAreWellMixed) {
    // 2^16 keys of one chain: no fold twice, and every bit is set in half of them.
    std::set<std::uint64_t> folds;
    std::array<int, 64> ones{};
    PrefixHash prefix{};
    constexpr int kKeys = 1 << 16;
    for (std::uint64_t i = 0; i < kKeys; ++i) {
        prefix = extend(prefix, 0);
        const std::uint64_t fold = make_key(prefix, kWhole, 0).fold();
        folds.insert(fold);
        for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += (fold >> bit & 1U) != 0 ? 1 : 0;
    }
    EXPECT_EQ(folds.size(), kKeys);
    for (const int count : ones) EXPECT_NEAR(count, kKeys / 2, 6 * 128);  // 6 sigma
}

TEST(KeyTest, FoldUsesBothHalves) {
    const BlockKey key{.high = 1, .low = 2};
    EXPECT_NE(key.fold(), (BlockKey{.high = 3, .low = 2}.fold()));
    EXPECT_NE(key.fold(), (BlockKey{.high = 1, .low = 3}.fold()));
    EXPECT_NE(key.fold(), (BlockKey{.high = 2, .low = 1}.fold()));
}

TEST(BlockTest, TheDefaultBlockIsFiveMebibytes) {
    EXPECT_EQ(Shape{}.bytes_per_token(), Bytes::from_kib(320));
    EXPECT_EQ(Shape{}.bytes(), Bytes::from_mib(5));
    EXPECT_EQ((Shape{.tokens = 1, .layers = 1, .kv_heads = 2, .head_dim = 3, .bytes_per_value = 4}
                   .bytes()),
              Bytes{48});
}

}  // namespace
}  // namespace kvplane::block
