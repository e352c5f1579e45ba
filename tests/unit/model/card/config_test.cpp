// SPDX-License-Identifier: Apache-2.0
/// Every field of a card's config has the effect that it says, and no field has none.
#include <functional>

#include "host.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Opcode;

constexpr Bytes kBlock = Bytes::from_kib(64);

/// What a card takes, in picoseconds or as a count.
struct Measured {
    std::int64_t promote = 0;    ///< one block, idle
    std::int64_t demote = 0;     ///< one block, idle
    std::int64_t host_read = 0;  ///< one line, idle
    std::int64_t bulk_read = 0;  ///< 1 MiB by a copy engine
    std::int64_t both_ways = 0;  ///< 64 blocks in and 64 out at once
    std::int64_t many = 0;       ///< 64 promotions at once, one by one
    std::int64_t overflow = 0;   ///< entries behind the SRAM, of 300 blocks
    std::int64_t refused = 0;    ///< blocks that did not fit
};
using Field = std::int64_t Measured::*;

Measured measure(Bench& bench) {
    Measured m;
    const auto time_of = [&](const engine::Intent& intent) {
        Bench::drain();
        const Time begin = now();
        return (bench.finish(intent).at - begin).ps;
    };
    m.demote = time_of(bench.host.intent(Opcode::kDemote, key_of(0)));
    m.promote = time_of(bench.host.intent(Opcode::kPromote, key_of(0)));
    bench.load(keys_of(1, 63));

    std::vector<std::uint8_t> line(64);
    sc_core::sc_time delay;
    (void)bench.host.access(tlm::TLM_READ_COMMAND, kBlock.count * 63, line, delay);
    m.host_read = from_sc_time(delay).ps;
    Bench::drain();
    Time begin = now();
    bench.host.bulk->start_bulk(engine::BulkDirection::kRead, 0, Bytes::from_mib(1));
    Bench::drain();
    m.bulk_read = (bench.host.bulk_ends.back() - begin).ps;

    begin = now();
    bench.host.submit(bench.host.run(Opcode::kPromote, keys_of(0, 64)), 0);
    bench.host.submit(bench.host.run(Opcode::kDemote, keys_of(100, 64)), 1);
    Bench::drain();
    m.both_ways = (bench.host.done.back().at - begin).ps;
    begin = now();
    for (std::uint64_t i = 0; i < 64; ++i) {
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(i)), 0);
    }
    Bench::drain();
    m.many = (bench.host.done.back().at - begin).ps;
    const Done last = bench.finish(bench.host.run(Opcode::kDemote, keys_of(200, 172)));
    m.refused = 172 - static_cast<std::int64_t>(last.argument);
    m.overflow = static_cast<std::int64_t>(bench.index.overflow_entries());
    return m;
}

struct Change {
    const char* name;
    std::function<void(CardConfig&)> change;
    std::vector<Field> grows;
    std::vector<Field> shrinks;
    std::vector<Field> stays;
    std::function<void(CardConfig&)> before = [](CardConfig&) {};  ///< to both
};

void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

class CardConfigTest : public test::SystemCTest, public testing::WithParamInterface<Change> {};

TEST_P(CardConfigTest, TheResultMovesAsTheFieldSays) {
    const Change& change = GetParam();
    CardConfig base = baseline(16);
    base.tier_capacity = kBlock * 300;
    base.index.sram = Bytes::from_kib(4);  // 256 entries
    change.before(base);
    CardConfig changed = base;
    change.change(changed);
    Bench one(base, kBlock, "base");
    Bench other(changed, kBlock, "changed");
    const Measured was = measure(one);
    const Measured is = measure(other);
    for (const Field field : change.grows) EXPECT_GT(is.*field, was.*field);
    for (const Field field : change.shrinks) EXPECT_LT(is.*field, was.*field);
    for (const Field field : change.stays) EXPECT_EQ(is.*field, was.*field);
    EXPECT_FALSE(change.grows.empty() && change.shrinks.empty());
}

constexpr Field kPromote = &Measured::promote;
constexpr Field kDemote = &Measured::demote;
constexpr Field kHostRead = &Measured::host_read;
constexpr Field kBulkReadTime = &Measured::bulk_read;
constexpr Field kBothWays = &Measured::both_ways;
constexpr Field kMany = &Measured::many;
constexpr Field kOverflow = &Measured::overflow;
constexpr Field kRefused = &Measured::refused;

std::string name_of(const testing::TestParamInfo<Change>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Link, CardConfigTest,
    testing::Values(Change{"Rate",
                           [](CardConfig& c) { c.link.rate = {16'000'000'000}; },
                           {kPromote, kDemote, kHostRead, kBulkReadTime, kBothWays, kMany},
                           {},
                           {kOverflow}},
                    Change{"Width",
                           [](CardConfig& c) { c.link.width = 8; },
                           {kPromote, kDemote, kHostRead, kBulkReadTime, kBothWays, kMany},
                           {},
                           {}},
                    Change{"SyncHeaderBypass",
                           [](CardConfig& c) { c.link.sync_header_bypass = true; },
                           {},
                           {kPromote, kDemote, kHostRead, kBulkReadTime, kBothWays},
                           {}},
                    Change{"MultiDataHeader",
                           [](CardConfig& c) { c.link.multi_data_header = false; },
                           {kBulkReadTime},
                           {},
                           {kPromote, kDemote, kBothWays, kHostRead}},
                    Change{"Skp",
                           [](CardConfig& c) { c.link.skp = true; },
                           {kPromote, kDemote, kHostRead, kBulkReadTime},
                           {},
                           {}},
                    Change{"Mps",
                           [](CardConfig& c) { c.link.mps = {128}; },
                           {kPromote, kDemote, kBothWays},
                           {},
                           {kBulkReadTime}},
                    Change{"PushRateLimit",
                           [](CardConfig& c) { c.link.push_rate_limit = Rate::from_gb_s(9); },
                           {kPromote, kBothWays, kMany},
                           {},
                           {kDemote, kBulkReadTime}},
                    Change{"PullRateLimit",
                           [](CardConfig& c) { c.link.pull_rate_limit = Rate::from_gb_s(9); },
                           {kBulkReadTime},
                           {},
                           {kPromote, kDemote, kBothWays}},
                    Change{"Flight",
                           [](CardConfig& c) { c.flight = Time::from_ns(500); },
                           {kPromote, kDemote, kBothWays},
                           {},
                           {kHostRead}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Engine, CardConfigTest,
    testing::Values(Change{"Fence",
                           [](CardConfig& c) { c.engine.fence = engine::Fence::kReadFlush; },
                           {kPromote},
                           {},
                           {kDemote}},
                    Change{"ReadFlush",
                           [](CardConfig& c) { c.engine.read_flush = Time::from_ns(900); },
                           {kPromote},
                           {},
                           {kDemote},
                           [](CardConfig& c) { c.engine.fence = engine::Fence::kReadFlush; }},
                    Change{"CompletionEntry",
                           [](CardConfig& c) { c.engine.completion_entry = {64}; },
                           {kPromote, kDemote},
                           {},
                           {kHostRead}},
                    Change{"HostMemory",
                           [](CardConfig& c) { c.engine.host_memory = Time::from_ns(200); },
                           {kPromote, kDemote},
                           {},
                           {kHostRead}},
                    Change{"Check",
                           [](CardConfig& c) { c.engine.check = Time::from_ns(160); },
                           {kPromote, kDemote},
                           {},
                           {}},
                    Change{"Schedule",
                           [](CardConfig& c) { c.engine.schedule = Time::from_ns(40); },
                           {kPromote, kDemote},
                           {},
                           {}},
                    Change{"InFlight",
                           [](CardConfig& c) { c.engine.in_flight = 1; },
                           {kMany},
                           {},
                           {kPromote, kDemote}},
                    Change{"Staging",
                           [](CardConfig& c) { c.engine.staging = Bytes::from_kib(1); },
                           {kPromote, kDemote, kBothWays},
                           {},
                           {kBulkReadTime}},
                    Change{"ReadOutstanding",
                           [](CardConfig& c) { c.engine.read_outstanding = 8; },
                           {kDemote, kBothWays},
                           {},
                           {kPromote}},
                    Change{"ReadSize",
                           [](CardConfig& c) { c.engine.read_size = {64}; },
                           {kDemote},
                           {},
                           {kPromote}},
                    Change{"TierCapacity",
                           [](CardConfig& c) { c.tier_capacity = kBlock * 200; },
                           {kRefused},
                           {kOverflow},
                           {kPromote}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Codec, CardConfigTest,
    testing::Values(Change{"Lanes",
                           [](CardConfig& c) { c.codec.lanes = 1; },
                           {kBothWays},
                           {},
                           {kPromote, kDemote, kBulkReadTime}},
                    Change{"Clock",
                           [](CardConfig& c) { c.codec.clock = {100'000'000}; },
                           {kPromote, kDemote, kBothWays},
                           {},
                           {kBulkReadTime}},
                    Change{"BytesPerCycle",
                           [](CardConfig& c) { c.codec.bytes_per_cycle = {4}; },
                           {kPromote, kDemote, kBothWays},
                           {},
                           {kBulkReadTime}},
                    Change{"Fill",
                           [](CardConfig& c) { c.codec.fill = Time::from_ns(290); },
                           {kPromote},
                           {},
                           {kDemote, kHostRead}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Dram, CardConfigTest,
    testing::Values(Change{"Channels",
                           [](CardConfig& c) { c.dram.channels = 1; },
                           {kPromote, kDemote, kBulkReadTime, kBothWays},
                           {},
                           {}},
                    Change{"Speed",
                           [](CardConfig& c) { c.dram.speed = {4'800'000'000}; },
                           {kPromote, kBothWays},
                           {},
                           {kHostRead},
                           [](CardConfig& c) { c.dram.channels = 1; }},
                    Change{"Service",
                           [](CardConfig& c) { c.dram.service = {800'000}; },
                           {kPromote, kBothWays},
                           {},
                           {kHostRead},
                           [](CardConfig& c) { c.dram.channels = 1; }},
                    Change{"Turnaround",
                           [](CardConfig& c) { c.dram.turnaround = Time::from_ns(40); },
                           {kBothWays},
                           {},
                           {kPromote, kDemote, kBulkReadTime},
                           [](CardConfig& c) { c.dram.channels = 1; }},
                    Change{"WriteBatch",
                           [](CardConfig& c) { c.dram.write_batch = 96; },
                           {},
                           {kBothWays},
                           {kPromote, kDemote, kBulkReadTime},
                           [](CardConfig& c) { c.dram.channels = 1; }},
                    Change{"ClosedRow",
                           [](CardConfig& c) { c.dram.closed_row = Time::from_ns(50); },
                           {kPromote, kHostRead},
                           {},
                           {kDemote}},
                    Change{"Controller",
                           [](CardConfig& c) { c.dram.controller = Time::from_ns(50); },
                           {kPromote, kHostRead},
                           {},
                           {kDemote}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Index, CardConfigTest,
    testing::Values(
        Change{"Sram",
               [](CardConfig& c) { c.index.sram = Bytes::from_kib(8); },
               {},
               {kOverflow},
               {kPromote}},
        Change{"SramIsSlowerWhereBigger",
               [](CardConfig& c) { c.index.sram = Bytes::from_mib(128); },
               {kPromote, kDemote},
               {kOverflow},
               {kHostRead}},
        Change{"Node",
               [](CardConfig& c) { c.index.node = memory::SramNode::k22nm; },
               {kPromote, kDemote},
               {},
               {kHostRead},
               [](CardConfig& c) { c.index.sram = Bytes::from_mib(32); }},
        Change{"Clock",
               [](CardConfig& c) { c.index.clock = {500'000'000}; },
               {kPromote, kDemote},
               {},
               {kOverflow}},
        Change{"Slots", [](CardConfig& c) { c.index.slots = 2; }, {kOverflow}, {}, {kPromote}},
        Change{"Banks",
               [](CardConfig& c) { c.index.banks = 2; },
               {kPromote, kDemote},
               {},
               {},
               [](CardConfig& c) { c.index.sram = Bytes::from_mib(8); }},
        Change{"Stash", [](CardConfig& c) { c.index.stash = 1; }, {kOverflow}, {}, {kPromote}},
        Change{"KickLimit",
               [](CardConfig& c) { c.index.kick_limit = 0; },
               {kOverflow},
               {},
               {kPromote}},
        Change{"Ports",
               [](CardConfig& c) { c.index.ports = memory::SramPorts::k1r1w; },
               {kPromote, kDemote},
               {},
               {kHostRead},
               [](CardConfig& c) { c.index.sram = Bytes::from_mib(8); }},
        Change{"Choices", [](CardConfig& c) { c.index.choices = 1; }, {kOverflow}, {}, {kHostRead}},
        Change{"Fingerprints",
               [](CardConfig& c) { c.index.fingerprint_bits = 16; },
               {kPromote, kDemote},
               {},
               {kHostRead}}),
    name_of);

}  // namespace
}  // namespace kvplane::card
