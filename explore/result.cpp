// SPDX-License-Identifier: Apache-2.0
#include "explore/result.h"

#include <fmt/format.h>

#include <algorithm>

#include "explore/engine_result.h"
#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

using nlohmann::ordered_json;

constexpr const char* kVersion = "0.1.0";

ordered_json latency_us(const Histogram& histogram) {
    return {{"mean", histogram.mean_us()},
            {"p50", histogram.percentile(500).us()},
            {"p95", histogram.percentile(950).us()},
            {"p99", histogram.percentile(990).us()},
            {"p999", histogram.percentile(999).us()},
            {"max", histogram.max().us()}};
}

ordered_json latency_ms(const Histogram& histogram) {
    return {{"mean", histogram.mean_us() / 1e3},
            {"p50", histogram.percentile(500).ms()},
            {"p95", histogram.percentile(950).ms()},
            {"p99", histogram.percentile(990).ms()},
            {"max", histogram.max().ms()}};
}

double ratio(double numerator, double denominator) {
    return denominator == 0 ? 0 : numerator / denominator;
}

ordered_json meta_section(const LoadedConfig& config, const Platform& platform,
                          const RunCost& cost) {
    NumberClass weakest = NumberClass::kChosen;
    for (const Setting& setting : config.settings.all()) {
        weakest = std::max(weakest, setting.number_class());
    }
    return {{"version", kVersion},
            {"config_hash", config.settings.hash()},
            {"seed", config.run.seed},
            {"fidelity", config.settings.at("fidelity").value},
            {"mechanism", config.settings.at("driver.mechanism").value},
            {"index", config.settings.at("card.index.implementation").value},
            {"number_class", std::string(to_string(weakest))},
            {"valid", platform.ledger().counts().violations == 0},
            {"wall_s", cost.wall_s},
            {"peak_rss_mib", cost.peak_rss_mib}};
}

ordered_json placement_section(const Platform& platform) {
    const block::Ledger& ledger = platform.ledger();
    const block::LedgerCounts& counts = ledger.counts();
    const control::PlacementCounts& control = platform.control().counts();
    ordered_json section{{"block_refs", control.block_refs},
                         {"hits", control.hits},
                         {"hit_rate", ratio(static_cast<double>(control.hits),
                                            static_cast<double>(control.block_refs))},
                         {"promotions", counts.promotions},
                         {"demotions", counts.demotions},
                         {"clean_discards", counts.clean_discards},
                         {"tier_evictions", counts.tier_evictions},
                         {"unbacked_writes", counts.unbacked_writes},
                         {"recomputed_blocks", counts.recomputed},
                         {"dead_writes", ledger.dead_writes()},
                         {"private_copies", control.private_copies},
                         {"stores_skipped", control.stores_skipped},
                         {"stores_refused", control.stores_refused},
                         {"incarnations", counts.lives},
                         {"required_blocks", ledger.required()},
                         {"a_read", ledger.a_read()},
                         {"a_traffic", ledger.a_traffic()},
                         {"reuse_per_moved_byte", nullptr},
                         {"write_once_violations", counts.violations}};
    if (ledger.reuse_per_move() >= 0) section["reuse_per_moved_byte"] = ledger.reuse_per_move();
    return section;
}

ordered_json promotion_section(const Platform& platform) {
    const driver::MoveMetrics& moves = platform.moves();
    const auto count = static_cast<double>(moves.promotion().count());
    ordered_json stages;
    for (std::size_t i = 0; i < engine::kStages; ++i) {
        const auto sum = static_cast<double>(moves.stage_sum_ps(static_cast<engine::Stage>(i)));
        stages[std::string(engine::kStageNames[i])] = ratio(sum, count) / 1e6;
    }
    return {{"count", moves.promotion().count()},
            {"bytes", moves.promoted_bytes().count},
            {"latency_us", latency_us(moves.promotion())},
            {"stages_us", stages},
            {"lookup_share", moves.stage_share(engine::Stage::kLookup)},
            {"lookup_and_record_share", moves.stage_share(engine::Stage::kLookup) +
                                            moves.stage_share(engine::Stage::kRecord)}};
}

ordered_json demotion_section(const Platform& platform) {
    const driver::MoveMetrics& moves = platform.moves();
    return {{"count", moves.demotion().count()},
            {"bytes", moves.demoted_bytes().count},
            {"latency_us", latency_us(moves.demotion())}};
}

ordered_json load_section(const Platform& platform) {
    const driver::MoveMetrics& moves = platform.moves();
    return {{"count", moves.first_block().count()},
            {"first_block_us", latency_us(moves.first_block())},
            {"last_block_us", latency_us(moves.last_block())},
            {"bytes_per_load", ratio(static_cast<double>(moves.loaded_bytes().count),
                                     static_cast<double>(moves.first_block().count()))},
            {"bytes_per_request", ratio(static_cast<double>(moves.loaded_bytes().count),
                                        static_cast<double>(platform.workload().requests.size()))}};
}

/// null: too few samples to tell.
ordered_json stable_json(const Platform& platform) {
    const std::optional<bool> stable =
        serving::stable(platform.engine().metrics(), platform.engine().queue_samples());
    return stable ? ordered_json(*stable) : ordered_json(nullptr);
}

ordered_json serving_section(const Platform& platform) {
    const serving::ServingMetrics& metrics = platform.engine().metrics();
    const gpu::HbmPool& hbm = platform.hbm();
    const auto tokens = static_cast<double>(metrics.output_tokens);
    const auto requests = static_cast<double>(metrics.requests);
    const double measured_s = (metrics.finished - metrics.measured_from).s();
    const double gib = 1024.0 * 1024.0 * 1024.0;
    const double moved = static_cast<double>(platform.moves().promoted_bytes().count) +
                         static_cast<double>(platform.moves().demoted_bytes().count);
    return {{"requests", metrics.requests},
            {"infeasible", metrics.infeasible},
            {"stable", stable_json(platform)},
            {"offered_compute",
             ratio(metrics.compute.s(), (metrics.last_arrival - metrics.measured_from).s())},
            {"busy", ratio(metrics.busy.s(), measured_s)},
            {"ttft_ms", latency_ms(metrics.ttft)},
            {"itl_ms", latency_ms(metrics.itl)},
            {"throughput_tok_s", ratio(tokens, measured_s)},
            {"request_stall_us_per_token", ratio(metrics.request_stall.us(), tokens)},
            {"engine_stall_us_per_token", ratio(metrics.engine_stall.us(), tokens)},
            {"frame_wait_us_per_token", ratio(metrics.frame_wait.us(), tokens)},
            {"prefetch_accuracy", nullptr},
            {"preemptions", metrics.preemptions},
            {"steps", metrics.steps},
            {"hbm_gib_s_per_request",
             {{"active", ratio(hbm.active_byte_s() / gib, requests)},
              {"idle", ratio(hbm.idle_byte_s() / gib, requests)},
              {"prefetched", ratio(hbm.prefetched_byte_s() / gib, requests)}}},
            {"tier_bytes_per_token", ratio(moved, tokens)},
            {"measured_s", measured_s},
            {"simulated_s", (metrics.finished - metrics.first_arrival).s()}};
}

ordered_json objective_section(const Platform& platform) {
    const serving::ServingMetrics& metrics = platform.engine().metrics();
    const gpu::HbmPool& hbm = platform.hbm();
    const driver::MoveMetrics& moves = platform.moves();
    const bool comparable =
        platform.ledger().counts().violations == 0 &&
        serving::stable(metrics, platform.engine().queue_samples()).value_or(false);
    return {{"hbm_byte_s", hbm.active_byte_s() + hbm.idle_byte_s() + hbm.prefetched_byte_s()},
            {"tier_bytes", moves.promoted_bytes().count + moves.demoted_bytes().count},
            {"stall_s", (metrics.request_stall + metrics.engine_stall).s()},
            {"comparable", comparable}};
}

ordered_json card_sections(const LoadedConfig& config, const Platform& platform) {
    const engine::DataPlane& plane = platform.card().data_plane();
    const engine::DataPlaneCounters& counters = plane.counters();
    const engine::Movers& movers = plane.movers();
    const cxl::Link link(config.run.card.link);
    const memory::Dram dram(config.run.card.dram);
    const auto bytes = [&](engine::Mover a, engine::Mover b) {
        return movers.drained(a).count + movers.drained(b).count;
    };
    const auto busy = [&](engine::Mover a, engine::Mover b) {
        return (movers.busy_time(a) + movers.busy_time(b)).s();
    };
    ordered_json sections;
    sections["link"] = {{"wire_gb_s", link.wire_rate().gb_s()},
                        {"to_host_bytes", bytes(engine::kPush, engine::kBulkRead)},
                        {"to_card_bytes", bytes(engine::kPull, engine::kBulkWrite)},
                        {"to_host_busy_s", busy(engine::kPush, engine::kBulkRead)},
                        {"to_card_busy_s", busy(engine::kPull, engine::kBulkWrite)}};
    sections["dram"] = {{"bandwidth_gb_s", dram.bandwidth().gb_s()}};
    const engine::TierCounters& tier = plane.tier().counters();
    const index::EccCounts ecc = platform.index().ecc();
    sections["index"] = {{"intents", counters.intents},
                         {"lookups", counters.lookups},
                         {"sram_entries", platform.index().sram_entries()},
                         {"overflow_entries", platform.index().overflow_entries()},
                         {"full", tier.index_full},
                         {"corrected", ecc.corrected},
                         {"uncorrectable", ecc.uncorrectable},
                         {"entries_lost", ecc.lost},
                         {"entries_rebuilt", tier.rebuilt},
                         {"blocks_lost", tier.lost_blocks},
                         {"tier_blocks_high_water", counters.tier_high_water}};
    sections["index"].update(engine_figures(platform.index().engine()));
    return sections;
}

}  // namespace

ordered_json make_result(const LoadedConfig& config, const Platform& platform,
                         const RunCost& cost) {
    ordered_json result{{"schema", "kvplane.result/1"},
                        {"meta", meta_section(config, platform, cost)},
                        {"placement", placement_section(platform)},
                        {"promotion", promotion_section(platform)},
                        {"demotion", demotion_section(platform)},
                        {"load", load_section(platform)},
                        {"serving", serving_section(platform)},
                        {"objective", objective_section(platform)}};
    result.update(card_sections(config, platform));
    return result;
}

void print_summary(std::ostream& out, const ordered_json& result) {
    const auto number = [&](const char* pointer) {
        return result.at(ordered_json::json_pointer(pointer)).get<double>();
    };
    const auto count = [&](const char* pointer) {
        return result.at(ordered_json::json_pointer(pointer)).get<std::uint64_t>();
    };
    const ordered_json& is_stable = result["serving"]["stable"];
    out << fmt::format("{} requests served in {:.1f} s simulated, {}\n", count("/serving/requests"),
                       number("/serving/simulated_s"),
                       is_stable.is_null()     ? "too short to say whether stable"
                       : is_stable.get<bool>() ? "stable"
                                               : "UNSTABLE: offered more than the node can serve");
    if (count("/serving/infeasible") != 0) {
        out << fmt::format("{} requests are infeasible: larger than the HBM budget alone\n",
                           count("/serving/infeasible"));
    }
    out << fmt::format("TTFT        mean {:.1f} ms, p50 {:.1f}, p99 {:.1f}\n",
                       number("/serving/ttft_ms/mean"), number("/serving/ttft_ms/p50"),
                       number("/serving/ttft_ms/p99"));
    out << fmt::format("ITL         mean {:.2f} ms, p99 {:.2f}; {:.0f} tok/s\n",
                       number("/serving/itl_ms/mean"), number("/serving/itl_ms/p99"),
                       number("/serving/throughput_tok_s"));
    out << fmt::format("stall       request {:.1f} us a token, engine {:.1f}\n",
                       number("/serving/request_stall_us_per_token"),
                       number("/serving/engine_stall_us_per_token"));
    out << fmt::format(
        "placement   {} block refs, hit rate {:.4f}, A_read {:.4f}, A_traffic {:.4f}\n",
        count("/placement/block_refs"), number("/placement/hit_rate"), number("/placement/a_read"),
        number("/placement/a_traffic"));
    out << fmt::format("promotions  {} ({:.1f} GiB), mean {:.1f} us, p50 {:.1f}, p99 {:.1f}\n",
                       count("/promotion/count"), number("/promotion/bytes") / 1024 / 1024 / 1024,
                       number("/promotion/latency_us/mean"), number("/promotion/latency_us/p50"),
                       number("/promotion/latency_us/p99"));
    for (const auto& [stage, mean] : result["promotion"]["stages_us"].items()) {
        if (mean.get<double>() == 0) continue;
        out << fmt::format("  {:<11} {:>14.3f} us\n", stage, mean.get<double>());
    }
    out << fmt::format("demotions   {} ({:.1f} GiB), p99 {:.1f} us\n", count("/demotion/count"),
                       number("/demotion/bytes") / 1024 / 1024 / 1024,
                       number("/demotion/latency_us/p99"));
    if (count("/placement/stores_refused") != 0) {
        out << fmt::format("refused     {} stores: the index was full; {} blocks lost\n",
                           count("/placement/stores_refused"), count("/index/blocks_lost"));
    }
    print_engine(out, result["index"]);
    out << fmt::format("numbers     {}: the weakest class of the inputs; {:.1f} s wall, {} MiB\n",
                       result["meta"]["number_class"].get<std::string>(), number("/meta/wall_s"),
                       count("/meta/peak_rss_mib"));
    if (!result["meta"]["valid"].get<bool>()) {
        out << fmt::format("INVALID     {} breaches of write-once\n",
                           count("/placement/write_once_violations"));
    }
}

ordered_json flat_rows(const ordered_json& result) {
    ordered_json row;
    const auto flatten = [&row](const auto& self, const std::string& prefix,
                                const ordered_json& value) -> void {
        if (!value.is_object()) {
            row[prefix] = value;
            return;
        }
        for (const auto& [key, child] : value.items()) {
            self(self, prefix.empty() ? key : prefix + "." + key, child);
        }
    };
    for (const auto& [key, value] : result.items()) {
        if (key != "schema") flatten(flatten, key, value);
    }
    return {{"schema", "kvplane.run/1"}, {"rows", ordered_json::array({row})}};
}

}  // namespace kvplane::explore
