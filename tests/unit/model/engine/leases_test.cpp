// SPDX-License-Identifier: Apache-2.0
#include "model/engine/leases.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "model/common/random.h"

namespace kvplane::engine {
namespace {

constexpr Bytes kBlock = Bytes::from_kib(4);

TEST(LeasesTest, APinThatIsRenewedAgainAndAgainTakesNoMoreRoom) {
    Leases leases(Bytes::from_gib(1));
    Time now;
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        now += Time::from_us(1);
        const Time life = Time::from_ms(i % 3 == 0 ? 60'000 : i % 7 + 1);
        ASSERT_TRUE(leases.pin(i % 5, 1, kBlock, now + life, now));
        if (i % 11 == 0) {
            ASSERT_TRUE(leases.unpin(i % 5, 1, now));
        }
        ASSERT_LE(leases.timers(), 2U * 5 + Leases::kSpareTimers) << "after " << i;
    }
}

/// Beside a map of what is pinned until when.
TEST(LeasesTest, PinsEndWhenTheLastOneSaidSo) {
    RandomStream random(3, "leases");
    Leases leases(kBlock * 4);
    std::map<std::pair<std::uint32_t, TenantId>, Time> twin;
    Time now;
    for (int i = 0; i < 200'000; ++i) {
        now += Time::from_ns(static_cast<std::int64_t>(random.uniform(0, 50)));
        std::erase_if(twin, [&](const auto& pin) { return pin.second <= now; });
        const auto record = static_cast<std::uint32_t>(random.uniform(6));
        const auto tenant = static_cast<TenantId>(random.uniform(2));
        const std::pair key{record, tenant};
        std::uint64_t held = 0;
        for (const auto& [pin, until] : twin) held += pin.second == tenant ? 1 : 0;
        switch (random.uniform(4)) {
            case 0:
                ASSERT_EQ(leases.unpin(record, tenant, now), twin.erase(key) != 0) << i;
                break;
            case 1: {
                const bool pinned = twin.count({record, 0}) + twin.count({record, 1}) != 0;
                ASSERT_EQ(leases.pinned(record, now), pinned) << i;
                ASSERT_EQ(leases.pinned_by(tenant, now), kBlock * held) << i;
                break;
            }
            default: {
                const Time until =
                    now + Time::from_ns(static_cast<std::int64_t>(random.uniform(1, 900)));
                const bool fits = twin.count(key) != 0 || held < 4;
                ASSERT_EQ(leases.pin(record, tenant, kBlock, until, now), fits) << i;
                if (fits) twin[key] = until;
                break;
            }
        }
        ASSERT_LE(leases.timers(), 2 * twin.size() + Leases::kSpareTimers);
    }
}

}  // namespace
}  // namespace kvplane::engine
