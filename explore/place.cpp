// SPDX-License-Identifier: Apache-2.0
#include "explore/place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "explore/config.h"
#include "explore/platform.h"
#include "host_driver/control/spec_text.h"
#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// A study in the making: collects rows, tells a terminal how far it is.
class Study final : public control::PlaceListener {
public:
    explicit Study(std::size_t total) : m_total(total) {}

    void begin(std::string workload, std::uint64_t seed) {
        m_workload = std::move(workload);
        m_seed = seed;
    }
    void on_bounds(const control::BoundsRow& row) override;
    void on_row(const control::PlaceRow& row) override;
    [[nodiscard]] Json take_rows() { return std::move(m_rows); }

private:
    void advance();

    std::size_t m_total;
    std::size_t m_done = 0;
    bool m_terminal = isatty(STDERR_FILENO) != 0;
    Clock::time_point m_start = Clock::now();
    std::string m_workload;
    std::uint64_t m_seed = 0;
    Json m_rows = Json::array();
};

void Study::advance() {
    ++m_done;
    if (!m_terminal) return;
    const double elapsed = std::chrono::duration<double>(Clock::now() - m_start).count();
    const double left =
        elapsed * static_cast<double>(m_total - m_done) / static_cast<double>(m_done);
    fmt::print(stderr, "\r{} of {} rows, {:.0f} s left   {}", m_done, m_total, left,
               m_done == m_total ? "\n" : "");
}

void Study::on_bounds(const control::BoundsRow& row) {
    Json json;
    json["workload"] = m_workload;
    json["seed"] = m_seed;
    json["budget_blocks"] = row.budget;
    json["distinct_blocks"] = row.distinct;
    if (const auto* none = std::get_if<control::Infeasible>(&row.bounds)) {
        json["feasible"] = false;
        json["largest_read_set"] = none->largest_need;
    } else {
        const auto& bounds = std::get<control::Bounds>(row.bounds);
        json["feasible"] = true;
        json["min_promotions"] = bounds.min_promotions;
        json["min_promotions_streamed"] = bounds.min_promotions_streamed;
        json["min_demoted"] = bounds.min_demoted;
        json["lb1"] = bounds.lb1;
        json["lb2"] = bounds.lb2;
        json["ub"] = bounds.ub;
        if (row.lb_recompute) {
            json["lb_recompute"] = *row.lb_recompute;
            json["ub_recompute"] = *row.ub_recompute;
        }
    }
    m_rows.push_back(std::move(json));
    advance();
}

/// What the arm is.
void describe_arm(Json& json, const control::ReplayConfig& config) {
    control::PolicySpec policy = config.control.replacement;
    const bool keeps = control::keeps_state(policy.replacement);
    json["state"] = keeps ? control::to_string(policy.state) : "none";
    policy.state = {};
    json["policy"] = control::to_string(policy);
    json["admission"] = control::to_string(config.control.admission);
    json["demotion"] = to_string(DemotionArm{config.control.demotion, config.control.store});
    json["pinned"] = config.pinned;
}

void describe_result(Json& json, const control::ReplayResult& result) {
    json["block_refs"] = result.block_refs;
    json["hits"] = result.hits;
    json["hit_rate"] = result.block_refs == 0 ? 0.0
                                              : static_cast<double>(result.hits) /
                                                    static_cast<double>(result.block_refs);
    json["distinct_blocks"] = result.distinct;
    json["promotions"] = result.counts.promotions;
    json["demotions"] = result.counts.demotions;
    json["clean_discards"] = result.counts.clean_discards;
    json["dead_writes"] = result.dead_writes;
    json["recomputed_blocks"] = result.counts.recomputed;
    json["tier_evictions"] = result.counts.tier_evictions;
    json["unbacked_writes"] = result.counts.unbacked_writes;
    json["unreachable_blocks"] = result.unreachable_blocks;
    json["a_read"] = result.a_read();
    json["a_traffic"] = result.a_traffic();
    json["state_bytes"] = result.state_bytes.count;
    json["bounds"] = result.bounded ? "comparable" : "bounds not comparable";
}

void Study::on_row(const control::PlaceRow& row) {
    Json json;
    json["workload"] = m_workload;
    json["seed"] = m_seed;
    if (row.preset) json["preset"] = control::name_of(*row.preset);
    describe_arm(json, row.config);
    json["budget_blocks"] = row.budget;
    json["feasible"] = row.result.feasible;
    if (row.result.feasible) {
        describe_result(json, row.result);
    } else {
        json["largest_read_set"] = row.result.largest_read_set;
    }
    m_rows.push_back(std::move(json));
    advance();
}

/// A listed policy with each of the listed states, where it keeps state and says nothing of its
/// own.
std::vector<control::PolicySpec> with_states(const PlacementConfig& config) {
    std::vector<control::PolicySpec> policies;
    for (const control::PolicySpec& policy : config.policies) {
        if (!control::keeps_state(policy.replacement) ||
            policy.state.lifetime != control::Lifetime::kReset) {
            policies.push_back(policy);
            continue;
        }
        for (const control::StateSpec& state : config.states) {
            control::PolicySpec crossed = policy;
            crossed.state = state;
            if (control::can_keep(crossed.replacement, state.lifetime)) policies.push_back(crossed);
        }
    }
    return policies;
}

/// What recomputing each block takes (F14): its share of the weights' work, and attention over all
/// that comes before it. In units of 2^30 operations.
std::vector<std::uint32_t> recompute_costs(const RunConfig& config,
                                           const workload::Workload& workload) {
    std::vector<std::uint32_t> costs;
    costs.reserve(workload.blocks.size());
    const Uint128 tokens = config.block.tokens;
    for (const workload::BlockEntry& block : workload.blocks) {
        const Uint128 weights = 2 * Uint128{config.node.parameters} * tokens;
        const Uint128 attention = Uint128{4} * config.node.layers * config.node.hidden * tokens *
                                  (block.depth * tokens + tokens / 2);
        costs.push_back(static_cast<std::uint32_t>(
            std::min<Uint128>(UINT32_MAX, 1 + ((weights + attention) >> 30))));
    }
    return costs;
}

/// The config with the workload that the study means, and its name.
std::string choose_workload(RunConfig& config, PlaceWorkload chosen) {
    using workload::Generator;
    workload::GeneratorConfig& generated = config.workload.generated;
    if (chosen != PlaceWorkload::kGiven) config.workload.trace.reset();
    switch (chosen) {
        case PlaceWorkload::kGiven:
            break;
        case PlaceWorkload::kZipfSessions:
            generated.generator = Generator::kZipfSessions;
            break;
        case PlaceWorkload::kScan:
            generated.generator = Generator::kScan;
            break;
        case PlaceWorkload::kLoop:
            generated.generator = Generator::kLoop;
            break;
        case PlaceWorkload::kAgents:
            generated.generator = Generator::kAgents;
            break;
    }
    if (!config.workload.trace) return std::string(workload::name_of(generated.generator));
    return std::filesystem::path(config.workload.trace->expanded()).stem().string();
}

control::PlacePlan make_plan(const RunConfig& config) {
    const Bytes block = config.block.bytes();
    control::PlacePlan plan{.arms = place_arms(config.placement, block),
                            .budgets = {},
                            .dual_iterations = config.placement.dual_iterations,
                            .recompute_price = config.placement.recompute_price};
    for (const Bytes budget : config.placement.budgets) plan.budgets.push_back(budget / block);
    return plan;
}

/// A traced workload is the same for every seed.
std::uint64_t seeds_of(const RunConfig& config, PlaceWorkload chosen) {
    const bool traced = chosen == PlaceWorkload::kGiven && config.workload.trace.has_value();
    return traced ? 1 : config.placement.seeds;
}

std::string cell(const Json& row, const char* key) {
    if (!row.contains(key)) return "";
    const Json& value = row[key];
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return fmt::format("{:.4f}", value.get<double>());
    return value.dump();
}

void print_bounds(const Json& row, std::ostream& out) {
    out << fmt::format("\n{}, seed {}, {} blocks: ", cell(row, "workload"), cell(row, "seed"),
                       cell(row, "budget_blocks"));
    if (!row["feasible"].get<bool>()) {
        out << fmt::format("infeasible where pinned, the largest read set has {} blocks\n",
                           cell(row, "largest_read_set"));
        return;
    }
    out << fmt::format("promotions >= {} ({} streamed); moves >= {} (LB1 {}, LB2 {}), <= {}",
                       cell(row, "min_promotions"), cell(row, "min_promotions_streamed"),
                       std::max(row["lb1"].get<std::uint64_t>(), row["lb2"].get<std::uint64_t>()),
                       cell(row, "lb1"), cell(row, "lb2"), cell(row, "ub"));
    if (row.contains("lb_recompute")) {
        out << fmt::format("; with recomputing {} to {}", cell(row, "lb_recompute"),
                           cell(row, "ub_recompute"));
    }
    out << "\n";
}

void print_arm(const Json& row, std::ostream& out) {
    std::string name = fmt::format("{} / {} / {} / {}{}", cell(row, "policy"), cell(row, "state"),
                                   cell(row, "admission"), cell(row, "demotion"),
                                   row["pinned"].get<bool>() ? "" : " / unpinned");
    if (row.contains("preset")) name = cell(row, "preset") + ": " + name;
    if (!row["feasible"].get<bool>()) {
        out << fmt::format("  {:<56} infeasible\n", name);
        return;
    }
    out << fmt::format("  {:<56} {:>8.2f} % {:>10} {:>10} {:>10} {:>8.3f} {:>8.3f}{}\n", name,
                       row["hit_rate"].get<double>() * 100, cell(row, "promotions"),
                       cell(row, "demotions"), cell(row, "recomputed_blocks"),
                       row["a_read"].get<double>(), row["a_traffic"].get<double>(),
                       cell(row, "bounds") == "comparable" ? "" : "  bounds not comparable");
}

void print_table(const Json& rows, const RunConfig& config, std::ostream& out) {
    out << "One request's chain is one read set, a partial last block included; the tier is "
        << (config.placement.tier_capacity ? to_string(*config.placement.tier_capacity)
                                           : std::string("unbounded"))
        << ".\n"
        << fmt::format("  {:<56} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8}\n",
                       "policy / state / admission / demotion", "hits", "promotions", "demotions",
                       "recomputed", "A_read", "A_traff.");
    for (const Json& row : rows) {
        if (row.contains("policy")) {
            print_arm(row, out);
        } else {
            print_bounds(row, out);
        }
    }
}

}  // namespace

std::vector<control::PlaceArm> place_arms(const PlacementConfig& config, Bytes block) {
    control::ReplayConfig base;
    base.first_counted = config.warm_up_requests;
    if (config.tier_capacity) base.tier_blocks = *config.tier_capacity / block;
    std::vector<control::PlaceArm> arms;
    for (const bool pinned : config.pinned) {
        base.pinned = pinned;
        for (const DemotionArm& demotion : config.demotions) {
            base.control.demotion = demotion.demotion;
            base.control.store = demotion.store;
            for (const control::AdmissionSpec& admission : config.admissions) {
                base.control.admission = admission;
                for (const control::PolicySpec& policy : with_states(config)) {
                    base.control.replacement = policy;
                    const bool looks_ahead = policy.replacement == control::Replacement::kQueueLru;
                    base.queue = looks_ahead ? config.queue : 0;
                    arms.push_back({.replay = base});
                }
            }
        }
        base.queue = 0;
        for (const auto& preset : config.presets) {
            if (preset) arms.push_back({.replay = base, .preset = preset});
        }
    }
    return arms;
}

Json place_rows(const RunConfig& config) {
    control::PlacePlan plan = make_plan(config);
    std::size_t studies = 0;
    for (const PlaceWorkload chosen : config.placement.workloads) {
        studies += seeds_of(config, chosen);
    }
    Study study(studies * plan.budgets.size() * (1 + plan.arms.size()));
    for (const PlaceWorkload chosen : config.placement.workloads) {
        for (std::uint64_t i = 0; i < seeds_of(config, chosen); ++i) {
            RunConfig seeded = config;
            seeded.seed = config.seed + i;
            const std::string name = choose_workload(seeded, chosen);
            const workload::Workload workload = load_workload(seeded);
            plan.recompute_cost = recompute_costs(config, workload);
            study.begin(name, seeded.seed);
            control::place(workload, plan, study);
        }
    }
    return {{"schema", "kvplane.place/1"}, {"rows", study.take_rows()}};
}

int place(const PlaceOptions& options, std::ostream& out) {
    const LoadedConfig loaded = load(options.config, options.sets);
    const Json document = place_rows(loaded.run);
    if (options.json) {
        out << document.dump() << "\n";
    } else {
        print_table(document["rows"], loaded.run, out);
    }
    return 0;
}

}  // namespace kvplane::explore
