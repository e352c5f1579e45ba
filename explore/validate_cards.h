// SPDX-License-Identifier: Apache-2.0
/// Cards against what was measured of them, or published by their vendors. Each is the config of
/// its file and nothing else; a host is what is said here of it.
#pragma once

#include <string>
#include <vector>

#include "explore/validate.h"
#include "model/card/config.h"

namespace kvplane::explore {

/// V1 and V2, the Mess curves: latency at the device's pins at 90 % reads, idle and under load, and
/// the peaks of four mixes. Closed loop: 24 streams of 12 lines in flight, with pauses of one
/// length below the peak; the latency is that of one requester beside them that reads random lines
/// one at a time, as in the Mess benchmark.
[[nodiscard]] std::vector<ValidationRow> validate_mess_curve(const card::CardConfig& card);

/// V5 and V6, the Seagate CMA blade. Closed loop, by requesters (threads) of so many lines in
/// flight: 15 for random reads, 43 for sequential ones, 19 for writes; the host has 785 reads in
/// flight at most. The host's share of each access is what a random read of its own DRAM takes,
/// less what the model of that DRAM takes.
[[nodiscard]] std::vector<ValidationRow> validate_cma_blade(const card::CardConfig& card);

/// V7, the Micron CZ120 under two reads to a write. Closed loop: 64 streams, 512 lines in flight.
[[nodiscard]] std::vector<ValidationRow> validate_cz120(const card::CardConfig& card);

/// The model's loaded-latency curves of a card, and the references that there are for it by its
/// name.
[[nodiscard]] std::vector<LoadedLatencyPoint> loaded_latency(const std::string& name,
                                                             const card::CardConfig& card);

}  // namespace kvplane::explore
