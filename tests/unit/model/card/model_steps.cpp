// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "host.h"
#include "model/common/random.h"
#include "model_check.h"

namespace kvplane::card {
namespace {

using engine::Opcode;
using Kind = ModelStep::Kind;

}  // namespace

CardConfig model_card(std::uint64_t seed) {
    CardConfig config = baseline(16);
    config.payload = Payload::kBytes;
    config.tier_capacity = engine::kGranule * kModelTier;
    config.ring_memory = Bytes::from_kib(64);
    config.engine.pin_budget = Bytes::from_gib(1);
    config.index.sram = Bytes::from_kib(4);
    config.index.stash = 2;
    if (seed / 3 % 2 == 0) config.engine.fence = engine::Fence::kReadFlush;
    if (seed % 2 == 0) {
        config.index.sram = Bytes::from_kib(2);
        config.index.overflow = index::Overflow::kNone;
    }
    return config;
}

management::QueuePlace model_place(std::uint64_t seed) {
    return static_cast<management::QueuePlace>(seed / 2 % 3);
}

std::vector<ModelStep> model_steps(std::uint64_t seed, std::size_t steps) {
    RandomStream random(seed, "model check");
    std::vector<ModelStep> made(steps);
    for (ModelStep& step : made) {
        const std::uint64_t kind = random.uniform(1'000);
        step.kind = kind < 700   ? Kind::kIntent
                    : kind < 750 ? Kind::kSilent
                    : kind < 760 ? Kind::kOvertake
                    : kind < 810 ? Kind::kCancel
                    : kind < 980 ? Kind::kWait
                    : kind < 985 ? Kind::kPoison
                    : kind < 998 ? Kind::kFlipEntry
                                 : Kind::kReset;
        // Demotions and promotions more often than the rest.
        const std::uint64_t which = random.uniform(24);
        const std::uint64_t opcode = which < 6 ? 3 : which < 11 ? 1 : which - 11 + 1;
        step.opcode = static_cast<Opcode>(opcode == 10 ? 13 : opcode);  // cancels are a kind
        step.tenant = static_cast<std::uint16_t>(random.uniform(kModelTenants));
        // Some keys often, so that intents meet.
        const std::uint64_t keys = random.uniform(3) == 0 ? 12 : kModelKeys;
        step.first = static_cast<std::uint16_t>(random.uniform(keys));
        // A run's blocks have one length.
        const std::uint64_t most = 8 - step.first % 8;
        step.count =
            static_cast<std::uint16_t>(random.uniform(1, std::min<std::uint64_t>(most, 5)));
        step.draw = static_cast<std::uint32_t>(random.bits());
        step.bad_crc = random.uniform(100) == 0;
    }
    return made;
}

std::string describe(const std::vector<ModelStep>& steps) {
    constexpr std::array kKinds{"intent", "silent", "overtake", "cancel",
                                "wait",   "poison", "flip",     "reset"};
    std::string text;
    for (const ModelStep& step : steps) {
        text +=
            fmt::format("{} {} tenant {} keys {}+{} draw {}{}\n",
                        kKinds.at(static_cast<std::size_t>(step.kind)),
                        engine::kOpcodeNames[static_cast<std::size_t>(step.opcode)], step.tenant,
                        step.first, step.count, step.draw, step.bad_crc ? " bad CRC" : "");
    }
    return text;
}

}  // namespace kvplane::card
