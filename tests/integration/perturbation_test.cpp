// SPDX-License-Identifier: Apache-2.0
/// Every key of a run's config moves the result, or does not where it has no part. A key that moves
/// nothing anywhere would be a promise that is not kept.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "explore/run_schema.h"
#include "model/common/errors.h"
#include "small_run.h"

namespace kvplane::test {
namespace {

enum class In {
    kCard,       ///< the small setting, HBM and tier tight, both directions busy
    kCopy,       ///< the same by a copy engine on a narrow link, so that wire costs count
    kReadFlush,  ///< kCard with the other fence
    kOverflow,   ///< kCard with an index that overflows
    kSlowLanes,  ///< kCard with codec lanes that limit transfers
    kSlowDram,   ///< kCard with DRAM that limits transfers
    kWindow,     ///< kCopy with bounded bytes in flight
    kTrace,      ///< kCard fed by a trace with ids
    kBuckets,    ///< kTrace, half of it
    kTenants,    ///< kTrace, its requests of three tenants in turn
    kAzure,      ///< kCard fed by a trace of lengths
    kScan,       ///< kCard fed by another generator
    kLoop,
    kAgents,
    kLazy,       ///< kCard that writes blocks in the background
    kSlowFill,   ///< kCard with a decoder that takes long to fill
    kRegulated,  ///< kCard with tenants that are limited
    kCoalesced,  ///< kCard with completions written together
    kPasid,      ///< kCard with translations
    kOnEvict,    ///< kCard that writes blocks as they leave
    kSelective,  ///< kCard that writes blocks that were used twice
};

Sets setting(In in, const std::string& folder) {
    const Sets card = small_setting() + Sets{"host.node.kv_budget=768 KiB",
                                             "card.tier.capacity=2 MiB", "host.watermark=5 %"};
    const Sets copy =
        card + Sets{"driver.mechanism=copy-engine", "card.link.width=8", "card.dram.channels=1"};
    const Sets trace = card + Sets{"workload.trace=" + folder + "/t.jsonl"};
    switch (in) {
        case In::kCard:
            return card;
        case In::kCopy:
            return copy;
        case In::kReadFlush:
            return card + Sets{"card.completion.fence=read_flush"};
        case In::kOverflow:
            return card + Sets{"card.index.sram=4 KiB", "card.index.stash=2",
                               "card.tier.capacity=64 MiB", "workload.zipf_sessions.sessions=64",
                               "workload.zipf_sessions.turns=80"};
        case In::kSlowLanes:
            return card + Sets{"card.codec.clock=50 MHz"};
        case In::kSlowDram:
            return card + Sets{"card.dram.channels=1", "card.dram.speed=1600"};
        case In::kWindow:
            return copy + Sets{"driver.copy_engine.window=8 KiB"};
        case In::kTrace:
            return trace;
        case In::kBuckets:
            return trace + Sets{"workload.buckets=8"};
        case In::kTenants:
            return card + Sets{"workload.trace=" + folder + "/tenants.jsonl"};
        case In::kAzure:
            return card + Sets{"workload.trace=" + folder + "/a.csv"};
        case In::kScan:
            return card +
                   Sets{"workload.generator=scan",       "workload.scan.requests=40",
                        "workload.scan.hot_documents=6", "workload.scan.document_tokens=200",
                        "workload.scan.output_tokens=6", "workload.scan.requests_per_second=400"};
        case In::kLoop:
            return card +
                   Sets{"workload.generator=loop",       "workload.loop.documents=8",
                        "workload.loop.rounds=4",        "workload.loop.document_tokens=200",
                        "workload.loop.output_tokens=6", "workload.loop.requests_per_second=400"};
        case In::kAgents:
            return card +
                   Sets{"workload.generator=agents",          "workload.agents.population=5",
                        "workload.agents.requests=40",        "workload.agents.initial_tokens=100",
                        "workload.agents.appended_tokens=40", "workload.agents.output_tokens=6",
                        "workload.agents.max_context=400",    "workload.agents.pause_median=5 ms"};
        case In::kLazy:
            return card + Sets{"host.demotion=lazy"};
        case In::kSlowFill:
            return card + Sets{"card.codec.fill=300 ns"};
        case In::kRegulated:
            return card +
                   Sets{"card.scheduler.tenant_rate=1 GB/s", "card.scheduler.tenant_burst=0 B"};
        case In::kCoalesced:
            return card + Sets{"card.completion.coalesce=4"};
        case In::kPasid:
            return card + Sets{"card.address_cache.pasid=true", "card.address_cache.page=64 KiB"};
        case In::kOnEvict:
            return card + Sets{"host.demotion=on-evict"};
        case In::kSelective:
            return card + Sets{"host.demotion=selective", "control.store=threshold"};
    }
    return {};
}

/// `key` set to `value` moves the result of `moves` and, where given, not that of `rests`.
struct Probe {
    const char* key;
    const char* value;
    In moves;
    std::optional<In> rests = std::nullopt;
};

const std::vector<Probe> kProbes{
    {"seed", "2", In::kCard, In::kTrace},
    {"block.tokens", "8", In::kCard},
    {"block.kv_heads", "4", In::kCard},
    {"block.head_dim", "64", In::kCard},
    {"block.bytes_per_value", "4", In::kCard},
    {"workload.trace", "null", In::kTrace},
    {"workload.buckets", "8", In::kTrace},
    {"workload.bucket_offset", "8", In::kBuckets, In::kTrace},
    {"workload.sharing", "all", In::kTenants, In::kTrace},
    {"workload.warm_up", "50 ms", In::kCard},
    {"workload.zipf_sessions.sessions", "3", In::kCard, In::kTrace},
    {"workload.zipf_sessions.turns", "30", In::kCard},
    {"workload.zipf_sessions.zipf_exponent", "0", In::kCard},
    {"workload.zipf_sessions.shared_prefix_tokens", "0", In::kCard},
    {"workload.zipf_sessions.initial_context_min", "64", In::kCard},
    {"workload.zipf_sessions.initial_context_max", "200", In::kCard},
    {"workload.zipf_sessions.appended_min", "40", In::kCard},
    {"workload.zipf_sessions.appended_max", "32", In::kCard},
    {"workload.zipf_sessions.output_min", "8", In::kCard},
    {"workload.zipf_sessions.output_max", "16", In::kCard},
    {"workload.zipf_sessions.max_context", "320", In::kCard},
    {"workload.zipf_sessions.requests_per_second", "4000", In::kCard},
    {"workload.azure.tokens_per_id", "32", In::kAzure, In::kCard},
    {"workload.azure.continue_permille", "0", In::kAzure, In::kTrace},
    {"workload.azure.longest_idle", "0 s", In::kAzure},
    {"workload.generator", "scan", In::kCard, In::kTrace},
    {"workload.scan.requests", "20", In::kScan, In::kCard},
    {"workload.scan.hot_documents", "2", In::kScan},
    {"workload.scan.scan_permille", "0", In::kScan},
    {"workload.scan.document_tokens", "160", In::kScan},
    {"workload.scan.shared_prefix_tokens", "64", In::kScan},
    {"workload.scan.output_tokens", "9", In::kScan},
    {"workload.scan.requests_per_second", "800", In::kScan},
    {"workload.loop.documents", "4", In::kLoop, In::kCard},
    {"workload.loop.rounds", "3", In::kLoop},
    {"workload.loop.document_tokens", "160", In::kLoop},
    {"workload.loop.shared_prefix_tokens", "64", In::kLoop},
    {"workload.loop.output_tokens", "9", In::kLoop},
    {"workload.loop.requests_per_second", "800", In::kLoop},
    {"workload.agents.population", "3", In::kAgents, In::kCard},
    {"workload.agents.requests", "30", In::kAgents},
    {"workload.agents.initial_tokens", "150", In::kAgents},
    {"workload.agents.shared_prefix_tokens", "64", In::kAgents},
    {"workload.agents.appended_tokens", "50", In::kAgents},
    {"workload.agents.output_tokens", "9", In::kAgents},
    {"workload.agents.max_context", "250", In::kAgents},
    {"workload.agents.pause_median", "10 ms", In::kAgents},
    {"workload.agents.pause_sigma", "0.5", In::kAgents},
    {"workload.agents.estimated_start", "10 ms", In::kAgents},
    {"workload.agents.estimated_prefill_rate", "1000000", In::kAgents},
    {"workload.agents.estimated_token_time", "1 ms", In::kAgents},
    {"host.node.parameters", "100000000", In::kCard},
    {"host.node.hidden", "4096", In::kCard},
    {"host.node.weights", "64 MiB", In::kCard},
    {"host.node.compute", "100 GFLOP/s", In::kCard},
    {"host.node.weight_bandwidth", "10 GB/s", In::kCard},
    {"host.node.kv_bandwidth", "10 GB/s", In::kCard},
    {"host.node.fixed", "100 us", In::kCard},
    {"host.node.kv_budget", "1 MiB", In::kCard},
    {"host.batch.sequences", "1", In::kCard},
    {"host.batch.tokens_per_step", "64", In::kCard},
    {"host.reserve", "full", In::kCard},
    {"host.watermark", "50 %", In::kCard},
    {"host.demotion", "on-evict", In::kCard},
    {"host.lazy_below", "0 %", In::kLazy, In::kCard},
    {"host.lazy_batch", "1", In::kLazy, In::kCard},
    {"control.replacement", "fifo", In::kCard},
    {"control.admission", "counter", In::kCard},
    {"control.tier_eviction", "fifo", In::kCard},
    {"control.store", "threshold", In::kOnEvict},
    {"control.store", "threshold references=3", In::kSelective},
    {"host.demotion", "on-evict", In::kSelective},
    {"driver.mechanism", "copy-engine", In::kCard},
    {"driver.queue", "portal", In::kCard, In::kCopy},
    {"driver.poll_interval", "200 ns", In::kCard, In::kCopy},
    {"driver.submit", "220 ns", In::kCard, In::kCopy},
    {"driver.ring_entries", "2", In::kCard, In::kCopy},
    {"driver.copy_engine.launch_latency", "5 us", In::kCopy, In::kCard},
    {"driver.copy_engine.issue_interval", "2 us", In::kCopy, In::kCard},
    {"driver.copy_engine.small_copies", "[1 MiB + 1 us]", In::kCopy, In::kCard},
    {"driver.copy_engine.bandwidth", "10 GB/s", In::kCopy, In::kCard},
    {"driver.copy_engine.bandwidth_d2h", "10 GB/s", In::kCopy, In::kCard},
    {"driver.copy_engine.window", "8 KiB", In::kCopy, In::kCard},
    {"driver.copy_engine.card_latency", "200 ns", In::kCopy, In::kCard},
    {"driver.copy_engine.round_trip", "2 us", In::kWindow, In::kCopy},
    {"card.tier.capacity", "3 MiB", In::kCard},
    {"card.link.rate", "16 GT/s", In::kCard},
    {"card.link.width", "4", In::kCopy},
    {"card.link.sync_header_bypass", "true", In::kCard},
    {"card.link.multi_data_header", "false", In::kCopy, In::kCard},
    {"card.link.flit", "256B", In::kCard},
    {"card.link.pasid", "true", In::kCard, In::kCopy},
    {"card.link.io_stream", "66 B", In::kCard, In::kCopy},
    {"card.link.skp", "true", In::kCard},
    {"card.link.mps", "512 B", In::kCard, In::kCopy},
    {"card.link.push_rate_limit", "10 GB/s", In::kCard, In::kCopy},
    {"card.link.pull_rate_limit", "10 GB/s", In::kCopy, In::kCard},
    {"card.flight", "400 ns", In::kCard, In::kCopy},
    {"card.completion.fence", "read_flush", In::kCard, In::kCopy},
    {"card.completion.read_flush", "1 us", In::kReadFlush, In::kCard},
    {"card.completion.entry", "64 B", In::kCard, In::kCopy},
    {"card.completion.coalesce", "4", In::kCard, In::kCopy},
    {"card.completion.coalesce_time", "3 us", In::kCoalesced, In::kCard},
    {"card.device_flight", "2 us", In::kCard, In::kCopy},
    {"card.address_cache.pasid", "true", In::kCard, In::kCopy},
    {"card.address_cache.entries", "4", In::kPasid, In::kCard},
    {"card.address_cache.page", "4 KiB", In::kPasid, In::kCard},
    {"card.address_cache.hit", "500 ns", In::kPasid, In::kCard},
    {"card.address_cache.miss", "5 us", In::kPasid, In::kCard},
    {"card.host_memory", "200 ns", In::kCard, In::kCopy},
    {"card.check", "32 ns", In::kCard, In::kCopy},
    {"card.schedule", "8 ns", In::kCard, In::kCopy},
    {"card.in_flight", "1", In::kCard, In::kCopy},
    {"card.scheduler.tenant_rate", "100 MB/s", In::kRegulated, In::kCopy},
    {"card.scheduler.tenant_burst", "1 GiB", In::kRegulated, In::kCard},
    {"card.scheduler.tenant_aging", "1 us", In::kRegulated, In::kCard},
    {"card.scheduler.destination_quota", "4 KiB", In::kSlowFill, In::kCopy},
    {"card.staging", "4 KiB", In::kCard, In::kCopy},
    {"card.demotion.rate_cap", "100 MB/s", In::kCard, In::kCopy},
    {"card.dma.read_outstanding", "8", In::kCard, In::kCopy},
    {"card.dma.read_size", "64 B", In::kCard, In::kCopy},
    {"card.codec.lanes", "4", In::kSlowLanes, In::kCopy},
    {"card.codec.clock", "50 MHz", In::kCard, In::kCopy},
    {"card.codec.bytes_per_cycle", "4 B", In::kCard, In::kCopy},
    {"card.codec.fill", "300 ns", In::kCard, In::kCopy},
    {"card.dram.channels", "2", In::kSlowDram},
    {"card.dram.speed", "1600", In::kCopy},
    {"card.dram.service", "50 %", In::kSlowDram},
    {"card.dram.turnaround", "200 ns", In::kSlowDram},
    {"card.dram.write_batch", "4", In::kSlowDram},
    {"card.dram.preset", "ddr5-4800b", In::kCard},
    {"card.dram.closed_row", "50 ns", In::kCard, In::kCopy},
    {"card.dram.controller", "30 ns", In::kCard, In::kCopy},
    {"card.index.sram", "256 MiB", In::kCard, In::kCopy},
    {"card.index.node", "22 nm", In::kCard, In::kCopy},
    {"card.index.clock", "500 MHz", In::kCard, In::kCopy},
    {"card.index.slots", "2", In::kOverflow, In::kCopy},
    {"card.index.banks", "2", In::kCard, In::kCopy},
    {"card.index.stash", "16", In::kOverflow, In::kCard},
    {"card.index.kick_limit", "0", In::kOverflow, In::kCard},
    {"card.index.ports", "1r1w", In::kCard, In::kCopy},
    {"card.index.choices", "1", In::kOverflow, In::kCopy},
    {"card.index.store_buffer", "1", In::kCard, In::kCopy},
    {"card.index.fingerprint_bits", "16", In::kCard, In::kCopy},
    {"card.index.overflow", "none", In::kOverflow, In::kCopy},
    {"card.index.fill", "false", In::kOverflow, In::kCard},
    {"card.index.filter", "null", In::kOverflow, In::kCard},
    {"card.index.dram_probes", "1", In::kOverflow, In::kCard},
};

/// Keys of `kvplane place` and `kvplane study`, of which a run takes no notice.
constexpr std::string_view kOfPlace = "placement.";
constexpr std::string_view kOfStudy = "study.";

/// Keys of CXL.mem accesses by hosts and of management, which no host of a run makes: CxlConfigTest
/// moves them.
constexpr std::array<std::string_view, 3> kOfHosts{"card.mem.", "card.management.",
                                                   "card.dram.timing."};
constexpr const char* kOfHostLines = "of CXL.mem accesses by hosts; CxlConfigTest";

constexpr const char* kOfDevice = "refused without a preset; LineDramTest, Ddr5PerturbationTest";

/// Keys that move nothing by themselves, and why.
const std::map<std::string, std::string> kRest{
    {"block.layers", "is host.node.layers; LayersMoveTogether"},
    {"host.node.layers", "is block.layers; LayersMoveTogether"},
    {"host.node.name", "a label"},
    {"workload.format", "says what `auto` finds; a wrong one is an error"},
    {"workload.time_backwards", "error or run; TimeBackwardsDecides"},
    {"card.link.arbitration", kOfHostLines},
    {"card.link.packing", kOfHostLines},
    {"card.index.implementation", "two forms of one engine: the answers are the same; Lockstep"},
    {"card.dram.fidelity", kOfDevice},
    {"card.dram.ecc", kOfDevice},
    {"card.dram.ranks", kOfDevice},
    {"card.dram.interleave", kOfDevice},
    {"card.dram.mapping", kOfDevice},
    {"card.dram.read_queue", kOfDevice},
    {"card.dram.write_queue", kOfDevice},
    {"card.dram.write_high", kOfDevice},
    {"card.dram.write_low", kOfDevice},
    {"card.dram.starvation", kOfDevice},
    {"card.dram.refresh", kOfDevice},
    {"card.dram.ecc_buffer", kOfDevice},
    {"card.dram.scrub_interval", kOfDevice},
    {"card.dram.writes_modify", kOfDevice},
    {"card.dram.corrected_threshold", "errors are injected, and no run does; LineDramTest"},
    {"card.dram.double_refresh", kOfDevice},
    {"card.dram.bandwidth_cap", kOfDevice},
    {"card.link.propagation", kOfHostLines},
    {"card.link.retry_depth", kOfHostLines},
    {"card.link.request_credits", kOfHostLines},
    {"card.link.write_credits", kOfHostLines},
    {"card.link.response_credits", kOfHostLines},
    {"card.link.mrrs", "an upper bound of card.dma.read_size; BoundsBind"},
    {"card.scheduler.policy", "deadlines are in order of arrival; SchedulerTest"},
    {"card.scheduler.in_flight", "the same; SchedulerTest"},
    {"card.scheduler.quantum", "there is one tenant; SchedulerTest"},
    {"card.scheduler.late_drop", "nothing is prefetched; SchedulerTest"},
    {"card.scheduler.stall_timeout", "no destination stalls; SchedulerTest"},
    {"card.pin_budget", "no host of a run pins; ControlIntentsTest"},
    {"card.longest_pin", "no host of a run pins; ControlIntentsTest"},
    {"card.policy_lines_log2", "no host of a run writes policy; ControlIntentsTest"},
    {"card.chunk", "unit of CRC and codec, of which raw blocks in burst have no cost; BoundsBind"},
    {"card.payload", "bytes are checked, and take the time that sizes take; PayloadTakesNoTime"},
};

class PerturbationTest : public RunTest {
protected:
    PerturbationTest() {
        std::filesystem::create_directories(m_folder);
        std::ofstream trace(m_folder + "/t.jsonl");
        std::ofstream azure(m_folder + "/a.csv");
        std::ofstream tenants(m_folder + "/tenants.jsonl");
        tenants << R"({"format": "kvplane-trace/1", "tokens_per_id": 512})"
                << "\n";
        azure << "TIMESTAMP,ContextTokens,GeneratedTokens\n";
        for (int i = 0; i < 40; ++i) {
            const int session = (i * i + i / 5) % 12;
            trace << R"({"timestamp": )" << 5 * i << R"(, "input_length": 260, "output_length": 6,)"
                  << R"( "hash_ids": [)" << session << "]}\n";
            tenants << R"({"timestamp_ns": )" << 5'000'000 * i << R"(, "input_length": 260, )"
                    << R"("output_length": 6, "tenant": )" << i % 3 << R"(, "ids": [)" << session
                    << "]}\n";
            azure << "2023-11-16 18:15:46." << 1000 + 5 * i << "000," << 60 + i * 17 % 300 << ","
                  << 1 + i % 9 << "\n";
        }
    }
    ~PerturbationTest() override { std::filesystem::remove_all(m_folder); }

    /// What a run measured: without meta, and without what only restates the config.
    nlohmann::ordered_json measured(const Sets& sets) {
        nlohmann::ordered_json result = simulate(sets);
        result.erase("meta");
        result.erase("dram");
        result["link"].erase("wire_gb_s");
        return result;
    }
    const nlohmann::ordered_json& base(In in) {
        const auto known = m_base.find(in);
        if (known != m_base.end()) return known->second;
        return m_base[in] = measured(setting(in, m_folder));
    }

    bool moves_nothing(In in, const Sets& change) {
        return measured(setting(in, m_folder) + change) == base(in);
    }

    std::string m_folder = testing::TempDir() + "kvplane_perturbation_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name();
    std::map<In, nlohmann::ordered_json> m_base;
};

TEST_F(PerturbationTest, SettingsAreWhatTheyClaim) {
    const auto& card = base(In::kCard);
    EXPECT_GT(card["placement"]["promotions"], 50);
    EXPECT_GT(card["placement"]["tier_evictions"], 0);
    EXPECT_GT(card["serving"]["requests"], 30);
    EXPECT_GT(base(In::kCopy)["placement"]["promotions"], 50);
    EXPECT_GT(base(In::kOverflow)["index"]["overflow_entries"], 0);
    EXPECT_GT(base(In::kTrace)["placement"]["promotions"], 50);
    EXPECT_LT(base(In::kBuckets)["serving"]["requests"], base(In::kTrace)["serving"]["requests"]);
}

TEST_F(PerturbationTest, EveryKeyMovesTheResultWhereItHasAPart) {
    for (const Probe& probe : kProbes) {
        SCOPED_TRACE(probe.key);
        const Sets change{std::string(probe.key) + "=" + probe.value};
        EXPECT_FALSE(moves_nothing(probe.moves, change)) << "moves nothing";
        if (!probe.rests) continue;
        EXPECT_TRUE(moves_nothing(*probe.rests, change)) << "moves where it should rest";
    }
}

TEST_F(PerturbationTest, NoKeyIsLeftOut) {
    explore::RunConfig config;
    const explore::Table table = explore::run_table(config);
    std::vector<std::string> left_out;
    for (const explore::Row& row : table.rows()) {
        if (row.info.path.starts_with(kOfPlace) || row.info.path.starts_with(kOfStudy)) continue;
        if (std::any_of(kOfHosts.begin(), kOfHosts.end(), [&](std::string_view prefix) {
                return row.info.path.starts_with(prefix);
            })) {
            continue;
        }
        const bool only_one_value = row.info.examples.size() == 1 && row.info.range != "any";
        const bool probed = std::any_of(kProbes.begin(), kProbes.end(), [&](const Probe& probe) {
            return row.info.path == probe.key;
        });
        const int known = (only_one_value ? 1 : 0) + (probed ? 1 : 0) +
                          static_cast<int>(kRest.count(row.info.path));
        if (known != 1) left_out.push_back(row.info.path);
    }
    EXPECT_THAT(left_out, testing::IsEmpty());
    for (const Probe& probe : kProbes) EXPECT_NE(table.find(probe.key), nullptr) << probe.key;
    for (const auto& [key, reason] : kRest) EXPECT_NE(table.find(key), nullptr) << key;
}

TEST_F(PerturbationTest, RestingKeysRest) {
    const auto expect_rest = [&](In in, const std::string& set) {
        EXPECT_TRUE(moves_nothing(in, {set})) << set;
    };
    expect_rest(In::kCard, "host.node.name=another");
    expect_rest(In::kCard, "placement.tier_capacity=1 MiB");
    expect_rest(In::kTrace, "workload.format=mooncake");
    expect_rest(In::kAzure, "workload.format=azure");
    expect_rest(In::kTrace, "workload.time_backwards=sort");
    expect_rest(In::kCard, "card.link.mrrs=4 KiB");
    expect_rest(In::kCard, "card.chunk=512 B");
    EXPECT_THROW(simulate(setting(In::kTrace, m_folder) + Sets{"workload.format=azure"}),
                 UserError);
}

TEST_F(PerturbationTest, PayloadTakesNoTime) {
    for (const In in : {In::kCard, In::kCopy, In::kReadFlush, In::kOverflow}) {
        EXPECT_TRUE(moves_nothing(in, {"card.payload=bytes"}));
    }
}

TEST_F(PerturbationTest, BoundsBind) {
    const Sets card = setting(In::kCard, m_folder);
    EXPECT_THROW(simulate(card + Sets{"card.link.mrrs=256 B"}), UserError);
    EXPECT_THROW(simulate(card + Sets{"card.staging=4 KiB", "card.chunk=8 KiB"}), UserError);
}

TEST_F(PerturbationTest, LayersMoveTogether) {
    EXPECT_FALSE(moves_nothing(In::kCard, {"block.layers=2", "host.node.layers=2"}));
    EXPECT_THROW(static_cast<void>(measured(setting(In::kCard, m_folder) + Sets{"block.layers=2"})),
                 UserError);
}

TEST_F(PerturbationTest, TimeBackwardsDecides) {
    std::ofstream(m_folder + "/t.jsonl", std::ios::app)
        << R"({"timestamp": 1, "input_length": 20, "output_length": 6, "hash_ids": [0]})"
        << "\n";
    const Sets trace = setting(In::kTrace, m_folder);
    EXPECT_THROW(simulate(trace), UserError);
    EXPECT_EQ(simulate(trace + Sets{"workload.time_backwards=sort"})["serving"]["requests"], 41);
}

}  // namespace
}  // namespace kvplane::test
