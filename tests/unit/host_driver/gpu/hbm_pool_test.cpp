// SPDX-License-Identifier: Apache-2.0
#include "host_driver/gpu/hbm_pool.h"

#include <gtest/gtest.h>

#include <set>

#include "model/common/errors.h"

namespace kvplane::gpu {
namespace {

constexpr block::BlockKey kKey{1, 2};
constexpr block::BlockKey kOther{2, 1};

TEST(HbmPoolTest, ByteTimeIsExact) {
    HbmPool pool(100, Bytes::from_mib(5), false);
    pool.account(Time::from_ms(1), {});
    pool.account(Time::from_ms(11), {.active = 4});
    pool.account(Time::from_ms(31), {.active = 1, .idle = 2, .prefetched = 3});
    pool.account(Time::from_ms(31), {.active = 99});
    const double block_s = 5.0 * 1024 * 1024 / 1000;  // of a millisecond
    EXPECT_DOUBLE_EQ(pool.active_byte_s(), block_s * (4 * 10 + 1 * 20));
    EXPECT_DOUBLE_EQ(pool.idle_byte_s(), block_s * 2 * 20);
    EXPECT_DOUBLE_EQ(pool.prefetched_byte_s(), block_s * 3 * 20);
    EXPECT_TRUE(pool.frame_ps() == static_cast<Uint128>(160) * 1'000'000'000U);
}

TEST(HbmPoolTest, SlotsAreDistinctAndRunOut) {
    HbmPool pool(3, Bytes::from_kib(4), false);
    std::set<std::uint32_t> slots{pool.take_slot(), pool.take_slot(), pool.take_slot()};
    EXPECT_EQ(slots.size(), 3U);
    EXPECT_LT(*slots.rbegin(), 3U);
    EXPECT_THROW((void)pool.take_slot(), InvariantError);
    pool.free_slot(1);
    EXPECT_EQ(pool.take_slot(), 1U);
}

TEST(HbmPoolTest, CountsBytesOfBothDirections) {
    HbmPool pool(2, Bytes::from_kib(4), false);
    pool.write(0, Bytes::from_kib(4), {});
    pool.write(1, Bytes::from_kib(4), {});
    pool.read(0, Bytes::from_kib(4), {});
    EXPECT_EQ(pool.written(), Bytes::from_kib(8));
    EXPECT_EQ(pool.read(), Bytes::from_kib(4));
    EXPECT_NO_THROW(pool.verify(0, kKey));  // runs of sizes hold nothing to verify
}

TEST(HbmPoolTest, APayloadIsKnownByItsKey) {
    for (const std::uint64_t size : {4'096U, 4'099U, 8'190U}) {
        HbmPool pool(2, Bytes{size}, true);
        EXPECT_THROW(pool.verify(0, kKey), InvariantError);
        pool.produce(0, kKey);
        pool.produce(1, kOther);
        pool.verify(0, kKey);
        pool.verify(1, kOther);
        EXPECT_THROW(pool.verify(0, kOther), InvariantError);
        EXPECT_THROW(pool.verify(1, kKey), InvariantError);

        std::vector<std::uint8_t> data(size);
        pool.read(0, Bytes{size}, data);
        pool.write(1, Bytes{size}, data);
        pool.verify(1, kKey);
        data.back() ^= 1;
        pool.write(1, Bytes{size}, data);
        EXPECT_THROW(pool.verify(1, kKey), InvariantError);
    }
}

}  // namespace
}  // namespace kvplane::gpu
