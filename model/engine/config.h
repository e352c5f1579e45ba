// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "model/common/units.h"
#include "model/engine/address_cache.h"
#include "model/engine/scheduler.h"

namespace kvplane::engine {

/// How the card makes sure that payload is in device memory before its completion is seen.
enum class Fence {
    kInBandFlag,  ///< a flag behind the payload on the same path: no extra time
    kReadFlush,   ///< a read from the destination behind the payload: one round trip
    /// Not at all: the completion goes when the last byte has left the card, and may be seen before
    /// the payload is there. To show what the others are for.
    kNone,
};

/// The card's data plane: queues, transfer scheduler, DMA.
struct EngineConfig {
    Fence fence = Fence::kInBandFlag;
    Time read_flush = Time::from_ns(741);  ///< round trip of the fence's read
    Bytes completion_entry{16};            ///< what a completion writes to the host
    /// Completions of a queue pair are written together: when so many wait, or the first has waited
    /// for `coalesce_time`.
    std::uint32_t coalesce = 1;
    Time coalesce_time = Time::from_us(1);
    Time host_memory = Time::from_ns(100);  ///< a DMA read at the host's or GPU's memory (assumed)
    /// One way to device memory; that of the host where absent.
    std::optional<Time> device_flight;
    Time check = Time::from_ns(16);    ///< a descriptor's checks (assumed)
    Time schedule = Time::from_ns(4);  ///< a scheduling decision (assumed)
    std::uint32_t in_flight = 32;      ///< intents of one queue pair inside the card
    SchedulerConfig scheduler;
    Bytes staging = Bytes::from_kib(512);  ///< data on the way between DRAM and wire
    /// Of staging, for one destination: the others go on with the rest while it stalls.
    Bytes destination_quota = Bytes::from_kib(256);
    /// What demotions take of link and DRAM at most, so that they stay in the background; also one
    /// that a promotion waits for. Absent: what is left.
    std::optional<Rate> demotion_rate_cap;
    std::uint32_t read_outstanding = 128;  ///< DMA reads in flight
    Bytes read_size{512};                  ///< bytes of one DMA read; at most link.mrrs
    Bytes chunk = Bytes::from_kib(4);      ///< unit of CRC and codec
    AddressCacheConfig address_cache;
    Bytes pin_budget = Bytes::from_gib(64);    ///< of each tenant (assumed)
    Time longest_pin = Time::from_ms(60'000);  ///< a pin's time to live is cut to it (assumed)
    std::uint32_t policy_lines_log2 = 12;      ///< index::PolicyStoreConfig
};

}  // namespace kvplane::engine
