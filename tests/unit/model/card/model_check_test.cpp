// SPDX-License-Identifier: Apache-2.0
#include "model_check.h"

#include <gtest/gtest.h>

#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

class ModelCheckTest : public test::SystemCTest {
protected:
    /// Reports a failure by its seed and the shortest steps that still fail.
    static ModelOutcome check(const CardConfig& config, std::uint64_t seed, std::size_t steps,
                              management::QueuePlace place) {
        const std::vector<ModelStep> script = model_steps(seed, steps);
        const ModelOutcome outcome = run_model(config, script, place);
        if (!outcome.failure.empty()) {
            const std::vector<ModelStep> few = shrink(config, script, place);
            ADD_FAILURE() << "seed " << seed << ": " << outcome.failure << "\nshrunk to "
                          << few.size() << " steps: " << run_model(config, few, place).failure
                          << "\n"
                          << describe(few);
        }
        return outcome;
    }
};

TEST_F(ModelCheckTest, RandomIntentsEndInTheStateOfASequentialReference) {
    ModelOutcome all;
    for (std::uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
        const ModelOutcome outcome = check(model_card(seed), seed, 4'000, model_place(seed));
        EXPECT_GT(outcome.intents, 1'500U);
        EXPECT_GT(outcome.resets, 2U);
        all.raced += outcome.raced;
        all.merged += outcome.merged;
        all.mapped += outcome.mapped;
        all.late += outcome.late;
        all.refused += outcome.refused;
    }
    EXPECT_GT(all.raced, 3'000U);
    EXPECT_GT(all.merged, 30U);
    EXPECT_GT(all.mapped, 30U);
    EXPECT_GT(all.late, 30U);
    EXPECT_GT(all.refused, 30U);
}

TEST_F(ModelCheckTest, ShrinkingKeepsWhatMattersAndDropsTheRest) {
    // A card that never drops a released block would be found; here: a failure by construction.
    CardConfig config = model_card(1);
    config.engine.pin_budget = {};  // every pin is refused, which the reference does not expect
    const std::vector<ModelStep> script = model_steps(9, 3'000);
    ASSERT_FALSE(run_model(config, script).failure.empty());
    const std::vector<ModelStep> few = shrink(config, script);
    EXPECT_LE(few.size(), 8U) << describe(few);
    EXPECT_FALSE(run_model(config, few).failure.empty());
}

}  // namespace
}  // namespace kvplane::card
