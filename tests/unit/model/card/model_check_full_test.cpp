// SPDX-License-Identifier: Apache-2.0
/// A million intents.
#include <gtest/gtest.h>

#include "model_check.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

class ModelCheckFullTest : public test::SystemCTest {};

TEST_F(ModelCheckFullTest, AMillionIntentsEndInTheStateOfASequentialReference) {
    std::uint64_t intents = 0;
    std::vector<std::uint64_t> statuses(9);
    std::vector<std::uint64_t> done(engine::kLastOpcode + 1);
    for (std::uint64_t seed = 100; intents < 1'000'000; ++seed) {
        const CardConfig config = model_card(seed);
        const std::vector<ModelStep> script = model_steps(seed, 60'000);
        const ModelOutcome outcome = run_model(config, script, model_place(seed));
        if (!outcome.failure.empty()) {
            const std::vector<ModelStep> few = shrink(config, script, model_place(seed));
            FAIL() << "seed " << seed << ": " << outcome.failure << "\nshrunk to " << few.size()
                   << " steps\n"
                   << describe(few);
        }
        intents += outcome.intents;
        for (std::size_t i = 0; i < statuses.size(); ++i) statuses[i] += outcome.statuses[i];
        for (std::size_t i = 0; i < done.size(); ++i) done[i] += outcome.done[i];
    }
    // All opcodes were done, and all outcomes heard that a card can have here.
    for (std::size_t opcode = 1; opcode < done.size(); ++opcode) {
        EXPECT_GT(done[opcode], 100U) << engine::kOpcodeNames.at(opcode);
    }
    for (std::size_t status = 0; status < statuses.size(); ++status) {
        EXPECT_GT(statuses[status], 50U) << engine::kStatusNames.at(status);
    }
}

}  // namespace
}  // namespace kvplane::card
