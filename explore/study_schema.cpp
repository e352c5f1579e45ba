// SPDX-License-Identifier: Apache-2.0
/// Keys of the studies.
#include "explore/study_config.h"

namespace kvplane::explore {
namespace {

using enum NumberClass;

constexpr Bytes kSmallestSram = Bytes::from_kib(64);
constexpr Bytes kLargestSram = Bytes::from_mib(64);

void describe_sram(Table& t, SramStudyConfig& c) {
    t.key("tiers", c.tiers, between<Bytes>(Bytes::from_gib(1), Bytes::from_gib(16384)),
          {kChosen, "free choice", "Capacities of the tier."});
    t.key("blocks", c.blocks, between<Bytes>(Bytes::from_kib(4), Bytes::from_mib(160)),
          {kChosen, "free choice", "Sizes of a block."});
    t.key("srams", c.srams, power_of_two<Bytes>(kSmallestSram, kLargestSram),
          {kChosen, "free choice; the largest public SRAM on a card has 56 MiB",
           "Sizes of the index's SRAM."});
    t.key("hot_lookups", c.hot_lookups, between<Ratio>({100'000}, {990'000}),
          {kAssumed, "assumed: how skewed lookups are depends on the workload",
           "Share of lookups that go to a tenth of the blocks; 10 % is uniform."});
    t.key("lookups", c.lookups, between<std::uint64_t>(1'000, 100'000'000, "lookups"),
          {kChosen, "free choice", "Lookups counted at each point."});
    t.key("simulate_up_to", c.simulate_up_to, between<std::uint64_t>(0, 16'777'216, "entries"),
          {kChosen, "memory and time of a simulation",
           "Larger tables have a hit ratio in closed form."});
}

void describe_lookup(Table& t, LookupStudyConfig& c) {
    t.key("srams", c.srams, power_of_two<Bytes>(kSmallestSram, kLargestSram),
          {kChosen, "free choice", "Sizes of the index's SRAM."});
    t.key("loads", c.loads, between<Ratio>({10'000}, {950'000}),
          {kChosen, "free choice", "Loads that the table is held at."});
    t.key("banks", c.banks, power_of_two<std::uint32_t>(2, 32, "banks"),
          {kChosen, "free choice", "Banks of the SRAM."});
    t.key("lookups", c.lookups, between<Ratio>({0}, {1'000'000}),
          {kChosen, "free choice",
           "Share of lookups; of the rest 3/4 update, 1/8 each deletes and inserts."});
    t.key("offered", c.offered, between<Ratio>({1'000}, {2'000'000}),
          {kChosen, "free choice", "Requests offered, as a share of one a cycle."});
    t.key("requests", c.requests, between<std::uint64_t>(1'000, 100'000'000, "requests"),
          {kChosen, "free choice", "Requests of each point."});
}

}  // namespace

void describe(Table& t, StudyConfig& c) {
    t.group("sram", [&] { describe_sram(t, c.sram); });
    t.group("lookup", [&] { describe_lookup(t, c.lookup); });
}

}  // namespace kvplane::explore
