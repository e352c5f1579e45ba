// SPDX-License-Identifier: Apache-2.0
/// What a host gets of CXL cards under a load of 64 B lines, in four phases through the cards'
/// CXL.mem sockets: bandwidth and latency.
#pragma once

#include <cstdint>

#include "model/card/config.h"
#include "model/common/histogram.h"

namespace kvplane::explore {

enum class CardPattern : std::uint8_t {
    kSequential,  ///< each requester line after line, from a place of its own
    kRandom       ///< uniform over the span
};

struct CardLoad {
    CardPattern pattern = CardPattern::kRandom;
    std::uint32_t reads = 1;   ///< of so many requests ...
    std::uint32_t writes = 0;  ///< ... and so many more that write, evenly mixed; not both zero
    std::uint32_t requesters = 1;
    /// Closed loop: lines that each requester keeps in flight.
    std::uint32_t lines = 16;
    /// Closed loop: from an answer to the requester's next line. A requester of a traffic generator
    /// pauses for the same time each time, and begins at a random point of it; with `random_pause`
    /// it is a mean. The probe's is 100 ns, at random.
    Time pause{};
    bool random_pause = false;
    /// Open loop: lines come at random at this rate, reads and writes together, and wait at the
    /// host while `outstanding` are in flight. Zero: closed loop.
    Rate rate{};
    /// The most lines that the host has in flight, of all requesters and to all cards.
    std::uint32_t outstanding = 4096;
    /// Of the host, added to each access: core, mesh, TLB, root complex. Normal with this mean and
    /// spread (standard deviation), and not below zero.
    Time host{};
    Time host_spread{};
    /// So many of the same card, whose pages of 4 KiB take turns.
    std::uint32_t cards = 1;
    /// Beside the load one more requester reads random lines, one at a time, and the read latency
    /// is its alone.
    bool probe = false;
    std::uint64_t requests = 40'000;   ///< of the load, measured
    std::uint64_t warm_up = 4'000;     ///< of the load, before them
    Bytes span = Bytes::from_mib(64);  ///< of each card that is accessed
    std::uint64_t seed = 1;
};

struct CardMeasure {
    Rate reads;              ///< payload, between the first and the last measured answer
    Rate writes;             ///< payload
    Histogram read_latency;  ///< from when a read is generated to its answer, host's share included
    Histogram write_latency;   ///< the same of writes; not the probe's
    std::uint64_t issued = 0;  ///< probe and warm-up included
    std::uint64_t answered = 0;
    std::uint32_t most_in_flight = 0;

    [[nodiscard]] double gb_s() const { return reads.gb_s() + writes.gb_s(); }
};

/// Simulates in a kernel of its own, link and DRAM at the fidelity of the config. Throws
/// InvariantError on a load outside what CardLoad says, and where an access fails or is answered
/// twice or never.
[[nodiscard]] CardMeasure measure_card(const card::CardConfig& config, const CardLoad& load);

}  // namespace kvplane::explore
