// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host_driver/control/config.h"
#include "host_driver/driver/config.h"
#include "host_driver/gpu/node.h"
#include "host_driver/serving/config.h"
#include "model/block/block.h"
#include "model/card/config.h"

namespace kvplane::explore {

enum class Fidelity { kBurst };
enum class TierPlace { kCard };

/// The whole of one run, as the config file gives it.
struct RunConfig {
    std::uint64_t seed = 1;
    Fidelity fidelity = Fidelity::kBurst;
    block::Shape block;
    gpu::NodeConfig node;
    serving::ServingConfig serving;
    control::ControlConfig control;
    driver::DriverConfig driver;
    card::CardConfig card;
    TierPlace tier = TierPlace::kCard;
};

}  // namespace kvplane::explore
