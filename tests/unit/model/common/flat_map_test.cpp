// SPDX-License-Identifier: Apache-2.0
#include "model/common/flat_map.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "model/common/random.h"

namespace kvplane {
namespace {

struct Mixed {
    std::uint64_t operator()(std::uint64_t key) const { return key * 0x9E3779B97F4A7C15ULL >> 7; }
};
/// Long runs of neighbours that wrap around the end.
struct Crowded {
    std::uint64_t operator()(std::uint64_t key) const { return ~std::uint64_t{0} - key % 5; }
};

template <class Hash>
void compare_with_unordered_map(std::uint64_t keys, std::uint32_t operations) {
    FlatMap<std::uint64_t, std::uint64_t, Hash> map(3);
    std::unordered_map<std::uint64_t, std::uint64_t> twin;
    RandomStream random(4, "flat map");
    for (std::uint32_t i = 0; i < operations; ++i) {
        const std::uint64_t key = random.uniform(keys);
        switch (random.uniform(5)) {
            case 0:
            case 1:
                ASSERT_EQ(map.insert(key, i), twin.emplace(key, i).second);
                break;
            case 2:
            case 3:
                ASSERT_EQ(map.erase(key), twin.erase(key) == 1);
                break;
            default:
                if (std::uint64_t* value = map.find(key)) *value += 1, twin.at(key) += 1;
                break;
        }
        ASSERT_EQ(map.size(), twin.size());
        const auto probe = twin.find(key);
        const auto& readable = map;
        ASSERT_EQ(readable.find(key) != nullptr, probe != twin.end());
        if (probe != twin.end()) {
            ASSERT_EQ(*readable.find(key), probe->second);
        }
    }
    for (std::uint64_t key = 0; key < keys; ++key) {
        const auto probe = twin.find(key);
        ASSERT_EQ(map.find(key) != nullptr, probe != twin.end()) << key;
        if (probe != twin.end()) {
            ASSERT_EQ(*map.find(key), probe->second);
        }
    }
}

TEST(FlatMapTest, EqualsUnorderedMapWhereHalfOfTheOperationsErase) {
    compare_with_unordered_map<Mixed>(4'000, 400'000);
}

TEST(FlatMapTest, EqualsUnorderedMapWhereEveryKeyCollides) {
    compare_with_unordered_map<Crowded>(120, 100'000);
}

TEST(FlatMapTest, GrowsAndKeepsAll) {
    FlatMap<std::uint64_t, std::uint64_t, Mixed> map(0);
    for (std::uint64_t key = 0; key < 10'000; ++key) ASSERT_TRUE(map.insert(key, key * 3));
    EXPECT_EQ(map.size(), 10'000U);
    for (std::uint64_t key = 0; key < 10'000; ++key) ASSERT_EQ(*map.find(key), key * 3);
    EXPECT_EQ(map.find(10'000), nullptr);
    EXPECT_FALSE(map.insert(77, 0));
    EXPECT_EQ(*map.find(77), 231U);
}

}  // namespace
}  // namespace kvplane
