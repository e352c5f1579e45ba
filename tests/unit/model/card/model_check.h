// SPDX-License-Identifier: Apache-2.0
/// Random intents of several tenants against a card, and a sequential reference beside it that
/// knows rooms, rights, pins, policy and bytes by the simplest means. Many intents are under way at
/// once; of those that change a block at most one, so that the reference knows what it must say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/card/config.h"
#include "model/engine/intent.h"

namespace kvplane::card {

/// What the host does next. Which fields count depends on `kind`.
struct ModelStep {
    enum class Kind : std::uint8_t {
        kIntent,
        kSilent,    ///< an intent without its doorbell: the next one covers it
        kOvertake,  ///< a doorbell before its descriptor
        kCancel,    ///< of one of the intents under way
        kWait,
        kPoison,     ///< a line of a block
        kFlipEntry,  ///< bits of the index entry of a block
        kReset,
    };
    Kind kind = Kind::kIntent;
    engine::Opcode opcode = engine::Opcode::kQuery;
    std::uint16_t tenant = 0;
    std::uint16_t first = 0;  ///< number of the first key
    std::uint16_t count = 1;  ///< keys
    std::uint32_t draw = 0;   ///< of what is left to choose
    bool bad_crc = false;
};

/// `steps` steps that follow from `seed`.
[[nodiscard]] std::vector<ModelStep> model_steps(std::uint64_t seed, std::size_t steps);

struct ModelOutcome {
    std::string failure;  ///< empty: card and reference agree
    std::uint64_t intents = 0;
    std::uint64_t resets = 0;
    /// Completions by status.
    std::vector<std::uint64_t> statuses = std::vector<std::uint64_t>(9);
    /// Completions that were ok, by opcode.
    std::vector<std::uint64_t> done = std::vector<std::uint64_t>(engine::kLastOpcode + 1);
};

/// Runs the steps in a kernel of their own.
[[nodiscard]] ModelOutcome run_model(const CardConfig& config, const std::vector<ModelStep>& steps);

/// The shortest list of steps found that still fails, by leaving out ever smaller parts.
[[nodiscard]] std::vector<ModelStep> shrink(const CardConfig& config, std::vector<ModelStep> steps);

[[nodiscard]] std::string describe(const std::vector<ModelStep>& steps);

/// A card with a small tier and a small index.
[[nodiscard]] CardConfig model_card(bool index_may_be_full);

}  // namespace kvplane::card
