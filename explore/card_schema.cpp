// SPDX-License-Identifier: Apache-2.0
/// Keys of the card.
#include "explore/choices.h"
#include "explore/run_schema.h"

namespace kvplane::explore {
namespace {

using enum NumberClass;

void describe_scheduler(Table& t, engine::EngineConfig& engine) {
    engine::SchedulerConfig& c = engine.scheduler;
    t.key("policy", c.policy,
          choice<engine::SchedulerPolicy>(
              {{"edf", engine::SchedulerPolicy::kEdf}, {"fifo", engine::SchedulerPolicy::kFifo}}),
          {kChosen, "baseline; fifo to compare",
           "Who moves next: class, tenants in turn, earliest deadline; or order of arrival."});
    t.key("in_flight", c.in_flight, between<std::uint32_t>(1, 1024, "jobs"),
          {kChosen, "in-flight tables of open DMA designs hold 16 to 128",
           "Jobs of each class and direction whose deadlines the scheduler sees."});
    t.key("quantum", c.quantum, between<Bytes>(Bytes::from_kib(4), Bytes::from_gib(1)),
          {kChosen, "design parameter",
           "What a tenant moves in its turn while another of its class waits."});
    t.key("late_drop", c.late_drop, flag(),
          {kChosen, "plain earliest-deadline-first collapses in overload",
           "Drops a prefetch that cannot make its deadline any more when its turn comes."});
    t.key("tenant_rate", c.tenant_rate, between<Rate>({1'000'000}, {1'000'000'000'000}),
          {kChosen, "off by default", "Limits each tenant in each direction; null: no limit."});
    t.key("tenant_burst", c.tenant_burst, between<Bytes>({0}, Bytes::from_gib(16)),
          {kChosen, "design parameter; three blocks of 5 MiB",
           "What a tenant with a limit saves up while it moves nothing."});
    t.key("tenant_aging", c.tenant_aging, between<Time>({0}, Time::from_s(1)),
          {kChosen, "design parameter",
           "The longest that a tenant over its limit waits for a block; 0: as its debt takes."});
    t.key("destination_quota", engine.destination_quota,
          between<Bytes>(Bytes::from_kib(4), Bytes::from_gib(1)),
          {kChosen, "design parameter; half of the staging",
           "Staging that one destination may fill, so that others pass it while it stalls."});
    t.key("stall_timeout", c.stall_timeout, between<Time>(Time::from_us(1), Time::from_s(10)),
          {kAssumed, "assumed; PCIe completion timeouts are 50 us to 64 s",
           "How long moves wait for a destination that takes nothing."});
}

void describe_engine(Table& t, engine::EngineConfig& c) {
    const Form<Time> latency = between<Time>(kShortest, kLongest);
    t.group("completion", [&] {
        t.key("fence", c.fence, fence_form(),
              {kChosen, "PCIe ordering: payload and completion part at the root complex",
               "How the payload is made visible before its completion."});
        t.key("read_flush", c.read_flush, latency,
              {kMeasured, "MMIO read round trip on Gen5 x16, Tenstorrent p150a (ttkmd_bench)",
               "Round trip of the fence's read; used by fence read_flush."});
        t.key("entry", c.completion_entry, power_of_two<Bytes>({16}, {64}),
              {kChosen, "the card's completion entry format", "Bytes that a completion writes."});
        t.key("coalesce", c.coalesce, between<std::uint32_t>(1, 64, "completions"),
              {kChosen, "off; NVMe aggregates up to 256", "Completions written together."});
        t.key("coalesce_time", c.coalesce_time, latency,
              {kAssumed, "assumed", "The longest that the first of them waits."});
    });
    t.key("device_flight", c.device_flight, latency,
          {kMeasured, "public P2P writes: 0.36 us", "One way to device memory; null: as flight."});
    t.group("address_cache", [&] {
        engine::AddressCacheConfig& a = c.address_cache;
        t.key("pasid", a.pasid, flag(),
              {kChosen, "off: the host gives bus addresses",
               "DMA carries a PASID and needs translations (PCIe ATS)."});
        t.key("entries", a.entries, power_of_two<std::uint32_t>(4, 65'536, "entries"),
              {kAssumed, "assumed", "Translations that the card keeps."});
        t.key("page", a.page, power_of_two<Bytes>(Bytes::from_kib(4), Bytes::from_gib(1)),
              {kChosen, "huge pages of x86", "Of a translation."});
        t.key("hit", a.hit, latency, {kAssumed, "assumed: 2 cycles at 1 GHz", "Of a lookup."});
        t.key("miss", a.miss, latency,
              {kAssumed, "assumed: 741 ns round trip and a walk", "ATS request, walk and answer."});
    });
    t.key("pin_budget", c.pin_budget, between<Bytes>({4'096}, {UINT64_MAX}),
          {kAssumed, "assumed", "Bytes that each tenant may pin."});
    t.key("longest_pin", c.longest_pin, between<Time>(Time::from_ms(1), Time::from_s(86'400)),
          {kAssumed, "assumed", "A pin's time to live is cut to it."});
    t.key("policy_lines_log2", c.policy_lines_log2, between<std::uint32_t>(2, 24, "log2"),
          {kChosen, "design parameter",
           "Lines of policy records in the card's DRAM, log2; three quarters can be used."});
    t.key("host_memory", c.host_memory, latency,
          {kAssumed, "assumed; 741 ns round trip + this = 840 ns descriptor fetch",
           "Time of a DMA read at the host's or GPU's memory."});
    t.key("check", c.check, latency,
          {kAssumed, "assumed: 16 cycles at 1 GHz", "Time to check a descriptor."});
    t.key("schedule", c.schedule, latency,
          {kAssumed, "assumed: 4 cycles at 1 GHz", "Time of one scheduling decision."});
    t.key("in_flight", c.in_flight, between<std::uint32_t>(1, 1024, "intents"),
          {kChosen, "in-flight tables of open DMA designs hold 16 to 128",
           "Intents of one queue pair inside the card."});
    t.group("scheduler", [&] { describe_scheduler(t, c); });
    t.key("staging", c.staging, between<Bytes>(Bytes::from_kib(4), Bytes::from_gib(1)),
          {kChosen, "design parameter", "SRAM for data on its way between DRAM and wire."});
    t.group("demotion", [&] {
        t.key("rate_cap", c.demotion_rate_cap, between<Rate>({1'000'000}, {1'000'000'000'000}),
              {kChosen, "off by default",
               "The most that demotions take of link and DRAM, together; null: what is left."});
    });
    t.group("dma", [&] {
        t.key("read_outstanding", c.read_outstanding, between<std::uint32_t>(1, 768, "reads"),
              {kDerived, "10-bit PCIe tags; 128 x 512 B covers an 840 ns round trip on x16",
               "DMA reads in flight."});
        t.key("read_size", c.read_size, power_of_two<Bytes>({64}, {4096}),
              {kChosen, "the largest that mrrs allows", "Bytes of one DMA read."});
    });
    t.key("chunk", c.chunk, power_of_two<Bytes>({512}, {65536}),
          {kChosen, "design parameter; 4 KiB is the granule of extents", "Unit of CRC and codec."});
}

void describe_codec(Table& t, codec::UnitConfig& c) {
    t.key("default", c.codec, choice<codec::Codec>({{"raw", codec::Codec::kRaw}}),
          {kChosen, "baseline", "Codec of a block for which no intent names one."});
    t.key("lanes", c.lanes, between<std::uint32_t>(1, 64, "lanes"),
          {kAssumed, "assumed; 1 to 32 is a plausible range", "Codec lanes in parallel."});
    t.key("decode_at", c.decode_at, choice<codec::DecodeAt>({{"card", codec::DecodeAt::kCard}}),
          {kChosen, "baseline", "Where blocks are decoded."});
    t.key("clock", c.clock, between<Frequency>({10'000'000}, {10'000'000'000}),
          {kAssumed, "assumed: as the other logic of the card", "Clock of the lanes."});
    t.key("bytes_per_cycle", c.bytes_per_cycle, between<Bytes>({1}, {1024}),
          {kAssumed, "assumed: a raw lane is a 64 B data path", "Raw bytes of one lane a cycle."});
    t.key("fill", c.fill, between<Time>(kShortest, kLongest),
          {kAssumed, "assumed: 4 cycles at 1 GHz, raw", "First byte in to first byte out."});
}

void describe_index(Table& t, index::IndexConfig& c) {
    t.key("implementation", c.implementation, implementation_form(),
          {kChosen, "baseline",
           "The lookup engine plugged in: its TLM form, the verilated RTL, or both side by side."});
    t.key("sram", c.sram, power_of_two<Bytes>(Bytes::from_kib(4), Bytes::from_mib(256)),
          {kDerived, "16 B an entry: 419,430 entries at a load of 0.8", "SRAM of the index."});
    t.key("node", c.node,
          choice<memory::SramNode>({{"22 nm", memory::SramNode::k22nm},
                                    {"7 nm", memory::SramNode::k7nm},
                                    {"5 nm", memory::SramNode::k5nm}}),
          {kChosen, "baseline; CACTI at 22 nm, scaled", "Process node of the SRAM."});
    t.key("ports", c.ports,
          choice<memory::SramPorts>(
              {{"1rw", memory::SramPorts::k1rw}, {"1r1w", memory::SramPorts::k1r1w}}),
          {kChosen, "two ports double the area in CACTI: banks instead",
           "Ports of each bank: one for both, or one for reads and one for writes."});
    t.key("clock", c.clock, between<Frequency>({10'000'000}, {10'000'000'000}),
          {kAssumed, "assumed", "Clock of the lookup engine."});
    t.key("choices", c.choices, one_of<std::uint32_t>({1, 2}, "buckets"),
          {kDerived, "hash-table experiments: one choice of 4 slots overflows at a load of 0.07",
           "Buckets that a key may be in; with one there are no kicks."});
    t.key("slots", c.slots, one_of<std::uint32_t>({2, 4, 8}, "entries"),
          {kDerived, "hash-table experiments: 2 choices x 4 slots hold 0.8 without failures",
           "Entries of a bucket."});
    t.key("banks", c.banks, power_of_two<std::uint32_t>(2, 32, "banks"),
          {kChosen, "design parameter", "SRAM banks, half of them for each choice."});
    t.key("stash", c.stash, between<std::uint32_t>(1, 64, "entries"),
          {kDerived, "hash-table experiments: 16 never overflowed at a load of 0.8",
           "Entries that found no slot yet."});
    t.key("kick_limit", c.kick_limit, between<std::uint32_t>(0, 1024, "kicks"),
          {kDerived, "hash-table experiments: a limit of 8 fails at a load of 0.8",
           "Displacements before an insert parks in the stash."});
    t.key("store_buffer", c.store_buffer, between<std::uint32_t>(1, 64, "writes"),
          {kDerived, "a prototype of the engine: 16 take an update a cycle",
           "Slot writes of each choice that may wait for a bank."});
    t.key("fingerprint_bits", c.fingerprint_bits, one_of<std::uint32_t>({0, 8, 12, 16}, "bits"),
          {kChosen, "0: whole buckets are read",
           "Fingerprints read before entries: less energy, another SRAM access."});
    t.key("overflow", c.overflow,
          choice<index::Overflow>(
              {{"dram", index::Overflow::kDram}, {"none", index::Overflow::kNone}}),
          {kChosen, "baseline",
           "Where entries go that the SRAM does not hold; none: a full index refuses the block."});
    t.key("fill", c.fill, flag(),
          {kChosen, "baseline", "Whether entries found in DRAM move into the SRAM, for a victim."});
    t.key("filter", c.filter, power_of_two<Bytes>({64}, Bytes::from_mib(64)),
          {kAssumed, "assumed; four counters of 4 bits a key",
           "On-chip filter of the keys in DRAM; null: none, every miss of the SRAM reads DRAM."});
    t.key("dram_probes", c.dram_probes, between<std::uint32_t>(1, 4096, "probes"),
          {kAssumed, "assumed", "Probes of the part in DRAM under way at once."});
}

}  // namespace

void describe(Table& t, card::CardConfig& c, DramDevice& device) {
    t.group("tier", [&] {
        t.key("capacity", c.tier_capacity,
              between<Bytes>(Bytes::from_kib(4), Bytes::from_gib(16 * 1024)),
              {kChosen, "baseline card: 2 TiB; frames have 32-bit numbers of 4 KiB",
               "DRAM of the card that holds blocks."});
    });
    describe_cxl(t, c);
    t.key("flight", c.flight, between<Time>(kShortest, kLongest),
          {kDerived, "half of the 741 ns MMIO read round trip measured on Gen5 x16",
           "One way between the card and the host or GPU."});
    describe_engine(t, c.engine);
    t.group("codec", [&] { describe_codec(t, c.codec); });
    describe_dram(t, c, device);
    t.group("index", [&] { describe_index(t, c.index); });
    t.key(
        "payload", c.payload,
        choice<card::Payload>({{"sizes", card::Payload::kSizes}, {"bytes", card::Payload::kBytes}}),
        {kChosen, "baseline", "What stands for the bytes of a block."});
}

}  // namespace kvplane::explore
