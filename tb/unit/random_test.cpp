// SPDX-License-Identifier: Apache-2.0
/// The engine answers as the functional table does, whatever the timing.
#include <gtest/gtest.h>

#include "tb/unit/twin.h"

namespace kvplane::rtl {
namespace {

using index::Status;

TEST(EngineRandom, AnswersAMillionRequestsAsTheTableDoes) {
    TwinBench twin(make_small_dut(), kSmallShape);
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        twin.run({.seed = seed, .requests = 250'000, .keys = 1'600});
        if (HasFatalFailure()) return;
    }
    twin.check_all(1'600);
    std::cout << "matched " << twin.matched() << "\n";
    EXPECT_GE(twin.matched(), 1'000'000U);
    EXPECT_EQ(twin.refused(), 0U);
}

}  // namespace
}  // namespace kvplane::rtl
