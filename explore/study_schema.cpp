// SPDX-License-Identifier: Apache-2.0
/// Keys of the studies.
#include "explore/choices.h"
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

void describe_path(Table& t, PathStudyConfig& c) {
    const Form<Bytes> block = between<Bytes>(Bytes::from_kib(4), Bytes::from_mib(160));
    t.key("blocks", c.blocks, block, {kChosen, "free choice", "Sizes of a block or fragment."});
    t.key("mechanisms", c.mechanisms, mechanism_form(),
          {kChosen, "free choice", "Who orders and who moves."});
    t.key("widths", c.widths, one_of<std::uint32_t>({1, 2, 4, 8, 16}, "lanes"),
          {kChosen, "both baseline cards", "Lanes of the link; the DRAM stays the config's."});
    t.key("mps", c.mps, power_of_two<Bytes>({64}, {4096}),
          {kChosen, "free choice", "Largest payload of one TLP."});
    t.key("queues", c.queues, queue_place_form(),
          {kChosen, "free choice", "Where the submission queue lies."});
    t.key("fences", c.fences, fence_form(),
          {kChosen, "free choice", "How payload is made visible before its completion."});
    t.key("depths", c.depths, between<std::uint32_t>(1, 1023, "orders"),
          {kChosen, "free choice", "Orders in flight of closed loops."});
    t.key("loads", c.loads, between<Ratio>({10'000}, {950'000}),
          {kChosen, "free choice; an open loop at 100 % has no stationary latency",
           "Offered in open loops, as a share of what the deepest closed loop reaches."});
    t.key("indexes", c.indexes, implementation_form(),
          {kChosen, "free choice", "Lookup engines plugged in."});
    t.key("gathered", c.gathered, block,
          {kChosen, "a block of 5 MiB in fragments",
           "Bytes of an order whose fragments the blocks are, too; null: none."});
    t.key("moves", c.moves, between<std::uint64_t>(100, 100'000'000, "blocks"),
          {kChosen, "free choice", "Blocks counted at each point, but at least 50 orders."});
}

}  // namespace

void describe(Table& t, StudyConfig& c) {
    t.group("sram", [&] { describe_sram(t, c.sram); });
    t.group("lookup", [&] { describe_lookup(t, c.lookup); });
    t.group("path", [&] { describe_path(t, c.path); });
}

}  // namespace kvplane::explore
