// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "model/common/units.h"

namespace kvplane::driver {

enum class Mechanism {
    kCard,        ///< the card orders and pushes
    kCopyEngine,  ///< the host orders, a GPU copy engine pulls, one call a block
};
enum class QueuePlace { kHostMemory };

/// A GPU copy engine driven by a loop of copy calls.
struct CopyEngineConfig {
    Time launch_latency = Time::from_us(7);   ///< from call to first byte, engine idle
    Time issue_interval{3'240'000};           ///< the same for the next copy of a loop
    Rate bandwidth{51'800'000'000};           ///< host to device
    Rate bandwidth_d2h{49'800'000'000};       ///< device to host
    std::optional<Bytes> window;              ///< bytes in flight; unbound where absent
    Time card_latency = Time::from_ns(133);   ///< the card's read latency over host DRAM's
    Time round_trip = Time::from_ns(973);     ///< of one read in flight: 840 + 133 ns
};

struct DriverConfig {
    Mechanism mechanism = Mechanism::kCard;
    QueuePlace queue = QueuePlace::kHostMemory;
    Time poll_interval = Time::from_ns(100);   ///< of the busy poll on completions
    Time submit = Time::from_ns(110);          ///< CPU time to build and post one descriptor
    std::uint32_t ring_entries = 1024;         ///< of a submission and of a completion queue
    CopyEngineConfig copy_engine;
};

}  // namespace kvplane::driver
