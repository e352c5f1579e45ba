// SPDX-License-Identifier: Apache-2.0
/// The long run: ten million random requests, RTL and TLM side by side.
#include <gtest/gtest.h>

#include "tb/plugin/lockstep_engine.h"
#include "tb/unit/requests.h"

namespace kvplane::rtl {
namespace {

TEST(LockstepFull, AgreesOnTenMillionRequests) {
    LockstepEngine engine(index::IndexConfig{});
    RandomRequests requests(99, 520'000);
    Time at;
    for (std::uint64_t i = 0; i < 10'000'000; ++i) {
        at.ps += static_cast<std::int64_t>(requests.random().uniform(3'000));
        (void)engine.submit(requests.draw(), at);
    }
    engine.finish();
    const LockstepCounters& counters = engine.counters();
    std::cout << "matched " << counters.matched << ", " << engine.size() << " entries\n";
    EXPECT_EQ(counters.matched, 10'000'000U);
    EXPECT_GT(engine.size(), 400'000U);
    EXPECT_GE(counters.within_a_cycle * 100, counters.matched * 99);
    EXPECT_GE(counters.tlm_cycles * 100, counters.rtl_cycles * 98);
    EXPECT_LE(counters.tlm_cycles * 100, counters.rtl_cycles * 102);
}

}  // namespace
}  // namespace kvplane::rtl
