// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/common/units.h"
#include "model/engine/scheduler.h"

namespace kvplane::engine {

/// How the card makes sure that payload is in GPU memory before its completion is seen.
enum class Fence {
    kInBandFlag,  ///< a flag behind the payload on the same path: no extra time
    kReadFlush,   ///< a read from the destination behind the payload: one round trip
};

/// The card's data plane: queues, transfer scheduler, DMA.
struct EngineConfig {
    Fence fence = Fence::kInBandFlag;
    Time read_flush = Time::from_ns(741);   ///< round trip of the fence's read
    Bytes completion_entry{16};             ///< what a completion writes to the host
    Time host_memory = Time::from_ns(100);  ///< a DMA read at the host's or GPU's memory (assumed)
    Time check = Time::from_ns(16);         ///< a descriptor's checks (assumed)
    Time schedule = Time::from_ns(4);       ///< a scheduling decision (assumed)
    std::uint32_t in_flight = 32;           ///< intents of one queue pair inside the card
    SchedulerConfig scheduler;
    Bytes staging = Bytes::from_kib(512);  ///< data on the way between DRAM and wire
    /// Of staging, for one destination: the others go on with the rest while it stalls.
    Bytes destination_quota = Bytes::from_kib(256);
    std::uint32_t read_outstanding = 128;  ///< DMA reads in flight
    Bytes read_size{512};                  ///< bytes of one DMA read; at most link.mrrs
    Bytes chunk = Bytes::from_kib(4);      ///< unit of CRC and codec
};

}  // namespace kvplane::engine
