// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/store_rule.h"

#include <gtest/gtest.h>

namespace kvplane::control {
namespace {

TEST(StoreRuleTest, AnIntentStoresItsBlockUntilItWithdraws) {
    StoreRule rule({.selection = Selection::kIntent}, 2);
    EXPECT_FALSE(rule.stores({0}, {}));
    rule.set_intent({0}, true);
    EXPECT_TRUE(rule.stores({0}, {}));
    EXPECT_FALSE(rule.stores({1}, {}));
    rule.set_intent({0}, false);
    EXPECT_FALSE(rule.stores({0}, {}));
    EXPECT_EQ(rule.state_bytes(), Bytes{0});
}

}  // namespace
}  // namespace kvplane::control
