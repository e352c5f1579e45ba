// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explore/schema.h"
#include "host_driver/control/config.h"
#include "host_driver/control/presets.h"
#include "model/common/units.h"

namespace kvplane::explore {

/// When and which blocks get a copy in the tier.
struct DemotionArm {
    control::Demotion demotion = control::Demotion::kOnEvict;
    control::StoreSpec store{};
};
/// "on-evict", "write-through threshold references=3", ...: store rules as in spec_text.h, `all`
/// left out.
[[nodiscard]] DemotionArm parse_demotion_arm(const std::string& text);
[[nodiscard]] std::string to_string(const DemotionArm& arm);

/// The workloads of a placement study.
enum class PlaceWorkload { kGiven, kZipfSessions, kScan, kLoop, kAgents };

/// What `kvplane place` compares: policies x states x admissions x demotions x tier evictions
/// x pinned, then presets x tier evictions x pinned, each at every budget, on every workload and
/// seed.
struct PlacementConfig {
    std::vector<PlaceWorkload> workloads{PlaceWorkload::kGiven};
    std::uint32_t seeds = 1;
    std::vector<Bytes> budgets{Bytes::from_gib(64), Bytes::from_gib(256), Bytes::from_gib(1024)};
    std::vector<control::PolicySpec> policies{{.replacement = control::Replacement::kLru},
                                              {.replacement = control::Replacement::kFifo},
                                              {.replacement = control::Replacement::kSieve},
                                              {.replacement = control::Replacement::kS3Fifo},
                                              {.replacement = control::Replacement::kArc},
                                              {.replacement = control::Replacement::kLru2},
                                              {.replacement = control::Replacement::kSlru},
                                              {.replacement = control::Replacement::kLfu},
                                              {.replacement = control::Replacement::kEma},
                                              {.replacement = control::Replacement::kWTinyLfu},
                                              {.replacement = control::Replacement::kGdsf},
                                              {.replacement = control::Replacement::kQueueLru},
                                              {.replacement = control::Replacement::kMin}};
    /// For the policies that keep state and whose text leaves it at reset; those that cannot have
    /// one of them (a list of ghosts as a sketch) do without it.
    std::vector<control::StateSpec> states{{}, {control::Lifetime::kFull, {}}};
    std::vector<control::AdmissionSpec> admissions{{}};
    std::vector<DemotionArm> demotions{{}};
    std::vector<bool> pinned{true};
    std::vector<std::optional<control::Preset>> presets{std::nullopt};
    std::optional<Bytes> tier_capacity;
    std::vector<control::PolicySpec> tier_evictions{{}};  ///< where the tier has a capacity
    std::uint32_t queue = 32;
    std::uint64_t warm_up_requests = 0;
    std::uint32_t dual_iterations = 3000;
    std::optional<Ratio> recompute_price;
    std::optional<Ratio> rent;
};

void describe(Table& table, PlacementConfig& c);

}  // namespace kvplane::explore
