// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host_driver/gpu/copy_engine.h"
#include "model/common/units.h"

namespace kvplane::driver {

enum class Mechanism {
    kCard,        ///< the card orders and pushes
    kCopyEngine,  ///< the host orders, a GPU copy engine pulls, one call a block
};
/// Where submissions lie.
enum class QueuePlace {
    kHostMemory,
    kHdm,     ///< in the card's own memory, written over CXL.mem
    kPortal,  ///< nowhere: each is one posted write to the card
};

struct DriverConfig {
    Mechanism mechanism = Mechanism::kCard;
    QueuePlace queue = QueuePlace::kHostMemory;
    Time poll_interval = Time::from_ns(100);  ///< of the busy poll on completions
    Time submit = Time::from_ns(110);         ///< CPU time to build and post one descriptor
    std::uint32_t ring_entries = 1024;        ///< of a submission and of a completion queue
    gpu::CopyEngineConfig copy_engine;
};

}  // namespace kvplane::driver
