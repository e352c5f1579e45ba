// SPDX-License-Identifier: Apache-2.0
#include "explore/run_schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "host_driver/control/spec_text.h"
#include "model/engine/allocator.h"
#include "tb/plugin/rtl_engine.h"

namespace kvplane::explore {

using enum NumberClass;

void describe(Table& t, block::Shape& c) {
    t.key("tokens", c.tokens, between<std::uint32_t>(1, 8192, "tokens"),
          {kChosen, "vLLM's block size", "Positions of a block."});
    t.key("layers", c.layers, between<std::uint32_t>(1, 1024, "layers"),
          {kDerived, "Llama-3-70B architecture", "Layers that a block covers."});
    t.key("kv_heads", c.kv_heads, between<std::uint32_t>(1, 1024, "heads"),
          {kDerived, "Llama-3-70B architecture", "KV heads of a layer."});
    t.key("head_dim", c.head_dim, between<std::uint32_t>(1, 4096, "values"),
          {kDerived, "Llama-3-70B architecture", "Values of a head."});
    t.key("bytes_per_value", c.bytes_per_value, one_of<std::uint32_t>({1, 2, 4}, "bytes"),
          {kChosen, "BF16", "Bytes of a value; 1 for fp8."});
}

Table run_table(RunConfig& c) {
    Table t;
    t.key("seed", c.seed, between<std::uint64_t>(0, UINT64_MAX),
          {kChosen, "free choice", "Seed of every random draw."});
    t.key("fidelity", c.fidelity, choice<Fidelity>({{"burst", Fidelity::kBurst}}),
          {kChosen, "baseline", "Grain of the model; burst: transfers are flows."});
    t.group("block", [&] { describe(t, c.block); });
    t.group("workload", [&] { describe(t, c.workload); });
    t.group("host", [&] {
        t.file_group("node", [&] { describe(t, c.node); });
        t.key("tensor_parallel", c.tensor_parallel, one_of<std::uint32_t>({1}, "ranks"),
              {kChosen, "baseline: one destination, one copy engine",
               "Ranks, each with its own copy engine and link."});
        describe(t, c.serving);
        t.key("demotion", c.control.demotion,
              choice<control::Demotion>({{"write-through", control::Demotion::kWriteThrough},
                                         {"on-evict", control::Demotion::kOnEvict},
                                         {"lazy", control::Demotion::kLazy},
                                         {"selective", control::Demotion::kSelective}}),
              {kChosen, "what vLLM does", "When a block of HBM gets its copy in the tier."});
        t.key("lazy_below", c.control.lazy_below, between<Ratio>({0}, {1'000'000}),
              {kChosen, "design parameter",
               "Of demotion lazy: blocks are written while less of HBM's frames is free."});
        t.key("lazy_batch", c.control.lazy_batch, between<std::uint32_t>(1, 65'535, "blocks"),
              {kChosen, "design parameter", "Of demotion lazy: blocks written a step."});
    });
    t.group("control", [&] { describe(t, c.control); });
    t.group("driver", [&] { describe(t, c.driver); });
    t.group("card", [&] { describe(t, c.card, c.dram); });
    t.key("tier", c.tier, choice<TierPlace>({{"card", TierPlace::kCard}}),
          {kChosen, "baseline", "What the tier is made of."});
    t.group("placement", [&] { describe(t, c.placement); });
    t.group("study", [&] { describe(t, c.study); });
    return t;
}

namespace {

constexpr std::uint64_t kMostFrames = std::uint64_t{1} << 31;  // frames have 32-bit numbers

void validate_index(const RunConfig& c, const Settings& s) {
    if (c.card.index.implementation == index::Implementation::kTlm) return;
    const std::optional<std::string> misfit = rtl::misfit(c.card.index);
    s.require(!misfit, {"card.index.implementation"},
              fmt::format("card.index is not what is built: {}", misfit.value_or("")));
}

void validate_block(const RunConfig& c, const Settings& s) {
    const Bytes size = c.block.bytes();
    const std::string shape = fmt::format("a block of {} ({} tokens x {})", to_string(size),
                                          c.block.tokens, to_string(c.block.bytes_per_token()));
    s.require(block::kSmallestBlock <= size && size <= block::kLargestBlock,
              {"block.tokens", "block.layers", "block.kv_heads", "block.head_dim",
               "block.bytes_per_value"},
              fmt::format("{} is outside {} to {}", shape, to_string(block::kSmallestBlock),
                          to_string(block::kLargestBlock)));
    s.require(c.block.layers == c.node.layers, {"block.layers", "host.node.layers"},
              fmt::format("a block of {} layers does not hold the {} of host.node.layers; blocks "
                          "of a part of the layers are not built yet",
                          c.block.layers, c.node.layers));
    const Bytes frame = engine::kGranule * engine::granules(size);
    s.require(c.card.tier_capacity >= frame, {"card.tier.capacity", "block.tokens"},
              fmt::format("card.tier.capacity ({}) cannot hold {}, which takes {}",
                          to_string(c.card.tier_capacity), shape, to_string(frame)));
    s.require(
        c.node.kv_budget >= size, {"host.node.kv_budget", "block.tokens"},
        fmt::format("host.node.kv_budget ({}) cannot hold {}", to_string(c.node.kv_budget), shape));
    s.require(c.node.kv_budget / size <= kMostFrames, {"host.node.kv_budget", "block.tokens"},
              fmt::format("host.node.kv_budget ({}) holds more than {} of {}",
                          to_string(c.node.kv_budget), kMostFrames, shape));
}

void validate_workload(const RunConfig& c, const Settings& s) {
    const WorkloadConfig& w = c.workload;
    s.require(w.trace || w.buckets == workload::kBuckets, {"workload.buckets"},
              "takes a part of a trace, and workload.trace is null");
    s.require(w.trace || w.format == workload::TraceFormat::kAuto, {"workload.format"},
              "is the format of a trace, and workload.trace is null");
    const workload::ZipfSessionsConfig& z = w.generated.zipf_sessions;
    s.require(
        z.shared_prefix_tokens + std::uint64_t{z.initial_context_max} <= z.max_context,
        {"workload.zipf_sessions.initial_context_max",
         "workload.zipf_sessions.shared_prefix_tokens", "workload.zipf_sessions.max_context"},
        fmt::format("shared_prefix_tokens + initial_context_max is {}, above max_context ({})",
                    z.shared_prefix_tokens + std::uint64_t{z.initial_context_max}, z.max_context));
    const auto ordered = [&](std::uint32_t low, std::uint32_t high, std::string_view low_key,
                             std::string_view high_key) {
        s.require(low <= high, {low_key, high_key},
                  fmt::format("{} ({}) is above {} ({})", low_key, low, high_key, high));
    };
    ordered(z.initial_context_min, z.initial_context_max,
            "workload.zipf_sessions.initial_context_min",
            "workload.zipf_sessions.initial_context_max");
    ordered(z.appended_min, z.appended_max, "workload.zipf_sessions.appended_min",
            "workload.zipf_sessions.appended_max");
    ordered(z.output_min, z.output_max, "workload.zipf_sessions.output_min",
            "workload.zipf_sessions.output_max");
}

void validate_placement(const RunConfig& c, const Settings& s) {
    s.require(c.control.replacement.replacement != control::Replacement::kMin &&
                  c.control.tier_eviction.replacement != control::Replacement::kMin,
              {"control.replacement", "control.tier_eviction"},
              "min needs the future, which only placement.policies can have");
    s.require(c.control.replacement.replacement != control::Replacement::kQueueLru &&
                  c.control.tier_eviction.replacement != control::Replacement::kQueueLru,
              {"control.replacement", "control.tier_eviction"},
              "queue-lru is told of what waits by 'place' only; use it in placement.policies");
    const bool selects = c.control.store.selection != control::Selection::kAll;
    s.require(!selects || c.control.demotion == control::Demotion::kOnEvict ||
                  c.control.demotion == control::Demotion::kSelective,
              {"control.store", "host.demotion"},
              "a run selects what it writes with host.demotion selective or on-evict");
    s.require(selects || c.control.demotion != control::Demotion::kSelective,
              {"host.demotion", "control.store"},
              "selective takes a control.store that selects: threshold or predicted");
    s.require(c.control.store.selection != control::Selection::kIntent, {"control.store"},
              "'intent' would store nothing: no request carries intents yet");
    for (const Bytes budget : c.placement.budgets) {
        s.require(budget >= c.block.bytes(), {"placement.budgets", "block.tokens"},
                  fmt::format("a budget of {} cannot hold one block of {}", to_string(budget),
                              to_string(c.block.bytes())));
    }
    s.require(!c.placement.tier_capacity || *c.placement.tier_capacity >= c.block.bytes(),
              {"placement.tier_capacity", "block.tokens"}, "cannot hold one block");
    for (const control::PolicySpec& policy : c.placement.tier_evictions) {
        s.require(policy.replacement != control::Replacement::kMin &&
                      policy.replacement != control::Replacement::kQueueLru,
                  {"placement.tier_evictions"},
                  fmt::format("{} is told of what comes in HBM only",
                              control::name_of(policy.replacement)));
    }
}

void validate_card(const RunConfig& c, const Settings& s) {
    const engine::EngineConfig& e = c.card.engine;
    s.require(e.read_size <= c.card.link.mrrs, {"card.dma.read_size", "card.link.mrrs"},
              fmt::format("card.dma.read_size ({}) is above card.link.mrrs ({})",
                          to_string(e.read_size), to_string(c.card.link.mrrs)));
    const bool small_flits = c.card.link.flit == cxl::FlitLayout::k68B;
    constexpr std::uint64_t kGen5 = 32'000'000'000;
    const std::uint64_t rate = c.card.link.rate.per_second;
    s.require(
        small_flits ? rate <= kGen5 : rate >= kGen5, {"card.link.rate", "card.link.flit"},
        fmt::format("card.link.rate ({}) does not go with card.link.flit: 68B flits run at 8 to "
                    "32 GT/s, 256B flits at 32 and 64 GT/s",
                    to_string(c.card.link.rate)));
    s.require(e.chunk <= e.staging, {"card.chunk", "card.staging"},
              fmt::format("card.chunk ({}) does not fit card.staging ({})", to_string(e.chunk),
                          to_string(e.staging)));
    const cxl::DevLoadConfig& d = c.card.mem.dev_load;
    const auto rises = [&](Ratio low, Ratio high, std::string_view low_key,
                           std::string_view high_key) {
        s.require(low < high, {low_key, high_key},
                  fmt::format("{} ({}) is not below {} ({})", low_key, to_string(low), high_key,
                              to_string(high)));
    };
    rises(d.hysteresis, d.optimal, "card.mem.dev_load.hysteresis", "card.mem.dev_load.optimal");
    rises(d.optimal, d.moderate, "card.mem.dev_load.optimal", "card.mem.dev_load.moderate");
    rises(d.moderate, d.severe, "card.mem.dev_load.moderate", "card.mem.dev_load.severe");
}

void validate_copy_engine(const gpu::CopyEngineConfig& c, const Settings& s) {
    s.require(c.round_trip > c.card_latency,
              {"driver.copy_engine.round_trip", "driver.copy_engine.card_latency"},
              fmt::format("driver.copy_engine.round_trip ({}) includes card_latency ({}) "
                          "and must be longer",
                          to_string(c.round_trip), to_string(c.card_latency)));
    s.require(std::adjacent_find(c.small_copies.begin(), c.small_copies.end(),
                                 [](const gpu::SmallCopy& a, const gpu::SmallCopy& b) {
                                     return a.size >= b.size;
                                 }) == c.small_copies.end(),
              {"driver.copy_engine.small_copies"}, "must rise from size to size");
}

}  // namespace

void validate(const RunConfig& config, const Settings& settings) {
    validate_block(config, settings);
    validate_index(config, settings);
    validate_workload(config, settings);
    validate_placement(config, settings);
    validate_card(config, settings);
    validate_copy_engine(config.driver.copy_engine, settings);
}

}  // namespace kvplane::explore
