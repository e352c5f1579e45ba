// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "explore/file_path.h"
#include "host_driver/control/config.h"
#include "host_driver/driver/config.h"
#include "host_driver/gpu/node.h"
#include "host_driver/serving/config.h"
#include "model/block/block.h"
#include "model/card/config.h"

namespace kvplane::explore {

enum class Fidelity { kBurst };
enum class TierPlace { kCard };

enum class Generator { kZipfSessions };
/// The format of a trace file.
enum class TraceFormat {
    kAuto,  ///< by the first line
    kMooncake,
};

/// Where the requests come from.
struct WorkloadConfig {
    Generator generator = Generator::kZipfSessions;
    std::optional<FilePath> trace;  ///< where set, it replaces the generator
    TraceFormat format = TraceFormat::kAuto;
    std::uint32_t buckets = 16;       ///< session buckets of the trace that are replayed, of 16
    std::uint32_t bucket_offset = 0;  ///< the first of them
    Time warm_up;                     ///< metrics start so long after the first arrival
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
    TierPlace tier = TierPlace::kCard;
};

}  // namespace kvplane::explore
