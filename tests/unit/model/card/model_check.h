// SPDX-License-Identifier: Apache-2.0
/// Random intents of several tenants against a card, and a sequential reference beside it
/// (model_reference.h). Many intents are under way at once, up to four that change one block: what
/// the card says must follow from some order in which they took place one after another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/card/config.h"
#include "model/engine/intent.h"
#include "model/management/queue_registers.h"

namespace kvplane::card {

inline constexpr std::uint32_t kModelKeys = 160;
inline constexpr std::uint32_t kModelTenants = 3;
inline constexpr std::uint32_t kModelTier = 180;  ///< granules

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
    std::uint64_t raced = 0;    ///< times that an intent met another at a block
    std::uint64_t merged = 0;   ///< intents that shared a transfer
    std::uint64_t mapped = 0;   ///< pins with an address
    std::uint64_t late = 0;     ///< prefetches that missed their deadline
    std::uint64_t refused = 0;  ///< intents that heard of a device that refuses
    /// Completions by status.
    std::vector<std::uint64_t> statuses = std::vector<std::uint64_t>(9);
    /// Completions that were ok, by opcode.
    std::vector<std::uint64_t> done = std::vector<std::uint64_t>(engine::kLastOpcode + 1);
};

/// Runs the steps in a kernel of their own.
[[nodiscard]] ModelOutcome run_model(
    const CardConfig& config, const std::vector<ModelStep>& steps,
    management::QueuePlace place = management::QueuePlace::kHostMemory);

/// The shortest list of steps found that still fails, by leaving out ever smaller parts.
[[nodiscard]] std::vector<ModelStep> shrink(
    const CardConfig& config, std::vector<ModelStep> steps,
    management::QueuePlace place = management::QueuePlace::kHostMemory);

[[nodiscard]] std::string describe(const std::vector<ModelStep>& steps);

/// A card with a small tier and a small index; of every second seed one that may be full, and of
/// others again a card that reads back what it wrote.
[[nodiscard]] CardConfig model_card(std::uint64_t seed);
/// Where its rings lie.
[[nodiscard]] management::QueuePlace model_place(std::uint64_t seed);

}  // namespace kvplane::card
