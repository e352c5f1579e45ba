// SPDX-License-Identifier: Apache-2.0
#include "cuckoo_twin.h"

namespace kvplane::index {
namespace {

TEST(CuckooTableFullTest, EqualsUnorderedMapOverTenMillionOperations) {
    for (const std::uint32_t slots : {2U, 4U}) {
        CuckooTwin twin({.buckets_log2 = 10, .slots = slots, .seed = slots}, slots);
        twin.play(3'000'000, 45);
        twin.play(2'000'000, 20);
        twin.check_all();
        EXPECT_GT(twin.refused(), 1'000U);
    }
}

}  // namespace
}  // namespace kvplane::index
