// SPDX-License-Identifier: Apache-2.0
#include "model/memory/sparse_store.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "model/common/random.h"

namespace kvplane::memory {
namespace {

TEST(SparseStoreTest, EqualsAMapOfBytes) {
    SparseStore store;
    std::unordered_map<std::uint64_t, std::uint8_t> twin;
    RandomStream random(7, "sparse store");
    std::vector<std::uint8_t> data;
    for (int i = 0; i < 4'000; ++i) {
        // Around page borders, at both ends of a large address space.
        const std::uint64_t base = random.uniform(2) == 0 ? 0 : std::uint64_t{1} << 44;
        const std::uint64_t address = base + 4096 * random.uniform(6) + random.uniform(64);
        data.resize(random.uniform(random.uniform(8) == 0 ? 10'000 : 130));
        if (random.uniform(2) == 0) {
            for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random.bits());
            store.write(address, data);
            for (std::size_t k = 0; k < data.size(); ++k) twin[address + k] = data[k];
        } else {
            store.read(address, data);
            for (std::size_t k = 0; k < data.size(); ++k) {
                const auto found = twin.find(address + k);
                ASSERT_EQ(data[k], found == twin.end() ? 0 : found->second) << address + k;
            }
        }
    }
    EXPECT_GT(twin.size(), 20'000U);
}

TEST(SparseStoreTest, UnwrittenBytesAreZero) {
    SparseStore store;
    std::vector<std::uint8_t> data(9'000, 0xAB);
    store.read(~std::uint64_t{0} - 20'000, data);
    EXPECT_EQ(data, std::vector<std::uint8_t>(9'000, 0));
    store.write(5, {});
}

}  // namespace
}  // namespace kvplane::memory
