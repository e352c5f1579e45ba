// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "explore/file_path.h"
#include "explore/place_config.h"
#include "explore/study_config.h"
#include "host_driver/control/config.h"
#include "host_driver/driver/config.h"
#include "host_driver/gpu/node.h"
#include "host_driver/serving/config.h"
#include "host_driver/workload/generators.h"
#include "host_driver/workload/trace.h"
#include "model/block/block.h"
#include "model/card/config.h"

namespace kvplane::explore {

enum class Fidelity { kBurst };
enum class TierPlace { kCard };

/// Where the requests come from.
struct WorkloadConfig {
    workload::GeneratorConfig generated;
    std::optional<FilePath> trace;  ///< where set, it replaces the generator
    workload::TraceFormat format = workload::TraceFormat::kAuto;
    workload::Backwards time_backwards = workload::Backwards::kError;
    std::uint32_t buckets = workload::kBuckets;  ///< session buckets that are replayed
    std::uint32_t bucket_offset = 0;             ///< the first of them
    workload::Sharing sharing = workload::Sharing::kTenant;
    Time warm_up;  ///< metrics start so long after the first arrival
    workload::AzureConfig azure;
};

/// Which DRAM the card is built of. Timing that is not given is the preset's.
struct DramDevice {
    std::optional<memory::DramPreset> preset;
    std::uint32_t ranks = 1;
    std::array<std::optional<std::uint32_t>, memory::kDramTimingFields.size()> timing;
};

/// The whole of one run, as the config file gives it.
struct RunConfig {
    std::uint64_t seed = 1;
    Fidelity fidelity = Fidelity::kBurst;
    block::Shape block;
    WorkloadConfig workload;
    gpu::NodeConfig node;
    std::uint32_t tensor_parallel = 1;  ///< ranks, each with its own copy engine and link
    serving::ServingConfig serving;
    control::ControlConfig control;
    driver::DriverConfig driver;
    card::CardConfig card;
    DramDevice dram;
    TierPlace tier = TierPlace::kCard;
    PlacementConfig placement;  ///< of `kvplane place` alone
    StudyConfig study;          ///< of `kvplane study` alone
};

}  // namespace kvplane::explore
