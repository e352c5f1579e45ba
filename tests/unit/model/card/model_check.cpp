// SPDX-License-Identifier: Apache-2.0
#include "model_check.h"

#include <exception>
#include <optional>
#include <utility>

#include "model_run.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {

ModelOutcome run_model(const CardConfig& config, const std::vector<ModelStep>& steps,
                       management::QueuePlace place) {
    test::SystemCTest::fresh_kernel();
    std::optional<model_check::Model> model;
    ModelOutcome outcome;
    try {
        model.emplace(config, place);
        outcome = model->run(steps);
    } catch (const std::exception& error) {
        outcome.failure = error.what();
    }
    return outcome;
}

std::vector<ModelStep> shrink(const CardConfig& config, std::vector<ModelStep> steps,
                              management::QueuePlace place) {
    const auto fails = [&](const std::vector<ModelStep>& some) {
        return !run_model(config, some, place).failure.empty();
    };
    for (std::size_t part = steps.size() / 2; part > 0; part /= 2) {
        for (std::size_t at = 0; at + part <= steps.size();) {
            std::vector<ModelStep> less = steps;
            less.erase(less.begin() + static_cast<std::ptrdiff_t>(at),
                       less.begin() + static_cast<std::ptrdiff_t>(at + part));
            if (fails(less)) {
                steps = std::move(less);
            } else {
                at += part;
            }
        }
    }
    return steps;
}

}  // namespace kvplane::card
