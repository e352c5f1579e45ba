// SPDX-License-Identifier: Apache-2.0
#include "explore/place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <utility>

#include "explore/output.h"
#include "explore/place_check.h"
#include "explore/place_report.h"
#include "explore/platform.h"
#include "host_driver/control/spec_text.h"
#include "host_driver/workload/trace.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// A study in the making: collects rows, says how far it is.
class Study final : public control::PlaceListener {
public:
    Study(const PlacementConfig& config, std::size_t total, std::ostream* progress)
        : m_config(config), m_total(total), m_line(progress) {}

    void read(const std::string& workload, std::uint64_t seed) {
        m_workload = workload;
        m_seed = seed;
        say(fmt::format("reading {}, seed {}", workload, seed));
    }
    void on_budget(std::uint64_t budget) override {
        say(fmt::format("{}: bounds of {} blocks", m_workload, budget));
    }
    void on_bounds(const control::BoundsRow& row) override {
        m_rows.push_back(row_of(m_workload, m_seed));
        add_bounds(m_rows.back(), row, m_config);
        advance();
    }
    void on_row(const control::PlaceRow& row) override {
        m_rows.push_back(row_of(m_workload, m_seed));
        add_arm(m_rows.back(), row);
        advance();
    }
    [[nodiscard]] Json take_rows() { return std::move(m_rows); }

private:
    void advance() {
        ++m_done;
        say(fmt::format("{}: {} blocks", m_workload, m_rows.back()["budget_blocks"].dump()));
    }
    void say(const std::string& what) {
        const double elapsed = std::chrono::duration<double>(Clock::now() - m_start).count();
        const double left = elapsed * static_cast<double>(m_total - m_done) /
                            static_cast<double>(std::max<std::size_t>(1, m_done));
        m_line.show(fmt::format("{} of {} rows{}; {}", m_done, m_total,
                                m_done == 0 ? "" : fmt::format(", {:.0f} s left", left), what));
    }

    const PlacementConfig& m_config;
    std::size_t m_total;
    std::size_t m_done = 0;
    ProgressLine m_line;
    Clock::time_point m_start = Clock::now();
    std::string m_workload;
    std::uint64_t m_seed = 0;
    Json m_rows = Json::array();
};

/// A listed policy with each of the listed states that it can keep, where it keeps state and says
/// nothing of its own. Each once.
std::vector<control::PolicySpec> with_states(const PlacementConfig& config) {
    std::vector<control::PolicySpec> policies;
    const auto add = [&](const control::PolicySpec& policy) {
        const auto same = [text = control::to_string(policy)](const control::PolicySpec& other) {
            return control::to_string(other) == text;
        };
        if (std::none_of(policies.begin(), policies.end(), same)) policies.push_back(policy);
    };
    for (const control::PolicySpec& policy : config.policies) {
        if (!control::keeps_state(policy.replacement) ||
            policy.state.lifetime != control::Lifetime::kReset) {
            add(policy);
            continue;
        }
        for (const control::StateSpec& state : config.states) {
            control::PolicySpec crossed = policy;
            crossed.state = state;
            if (control::can_keep(crossed.replacement, state.lifetime)) add(crossed);
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
                            .recompute_price = config.placement.recompute_price,
                            .rent = config.placement.rent};
    for (const Bytes budget : config.placement.budgets) plan.budgets.push_back(budget / block);
    return plan;
}

/// A traced workload is the same for every seed, unless its trace leaves the sessions to be drawn.
std::uint64_t seeds_of(const RunConfig& config, PlaceWorkload chosen) {
    const WorkloadConfig& workload = config.workload;
    if (chosen != PlaceWorkload::kGiven || !workload.trace) return config.placement.seeds;
    const workload::TraceFormat format = workload.format == workload::TraceFormat::kAuto
                                             ? workload::detect_format(workload.trace->expanded())
                                             : workload.format;
    return format == workload::TraceFormat::kAzure ? config.placement.seeds : 1;
}

/// What is drawn or read for a study, and where it goes.
void study_workload(const LoadedConfig& config, RunConfig seeded, PlaceWorkload chosen,
                    control::PlacePlan& plan, Study& study) {
    const std::string name = choose_workload(seeded, chosen);
    study.read(name, seeded.seed);
    const workload::Workload workload = load_workload(seeded);
    config.settings.require(
        config.run.placement.warm_up_requests < workload.requests.size(),
        {"placement.warm_up_requests"},
        fmt::format("{} leaves none of the {} requests of {} to count",
                    config.run.placement.warm_up_requests, workload.requests.size(), name));
    plan.recompute_cost = recompute_costs(config.run, workload);
    control::place(workload, plan, study);
}

}  // namespace

std::vector<control::PlaceArm> place_arms(const PlacementConfig& config, Bytes block) {
    control::ReplayConfig base;
    base.first_counted = config.warm_up_requests;
    if (config.tier_capacity) base.tier_blocks = *config.tier_capacity / block;
    std::vector<control::PlaceArm> arms;
    const auto cross = [&](const control::ReplayConfig& with) {
        for (const control::PolicySpec& policy : with_states(config)) {
            control::ReplayConfig replay = with;
            replay.control.replacement = policy;
            const bool looks_ahead = policy.replacement == control::Replacement::kQueueLru;
            replay.queue = looks_ahead ? config.queue : 0;
            arms.push_back({.replay = replay});
        }
    };
    for (const bool pinned : config.pinned) {
        base.pinned = pinned;
        for (const control::PolicySpec& tier_eviction : config.tier_evictions) {
            base.control.tier_eviction = tier_eviction;
            for (const DemotionArm& demotion : config.demotions) {
                base.control.demotion = demotion.demotion;
                base.control.store = demotion.store;
                for (const control::AdmissionSpec& admission : config.admissions) {
                    base.control.admission = admission;
                    cross(base);
                }
            }
            for (const auto& preset : config.presets) {
                if (preset) arms.push_back({.replay = base, .preset = preset});
            }
        }
    }
    return arms;
}

Json place_rows(const LoadedConfig& config, std::ostream* progress) {
    const RunConfig& run = config.run;
    control::PlacePlan plan = make_plan(run);
    std::vector<std::uint64_t> seeds;  // by workload
    for (const PlaceWorkload chosen : run.placement.workloads) {
        seeds.push_back(seeds_of(run, chosen));
    }
    const std::uint64_t studies = std::accumulate(seeds.begin(), seeds.end(), std::uint64_t{0});
    Study study(run.placement, studies * plan.budgets.size() * (1 + plan.arms.size()), progress);
    for (std::size_t w = 0; w < seeds.size(); ++w) {
        for (std::uint64_t i = 0; i < seeds[w]; ++i) {
            RunConfig seeded = run;
            seeded.seed = run.seed + i;
            study_workload(config, std::move(seeded), run.placement.workloads[w], plan, study);
        }
    }
    return {{"schema", "kvplane.place/1"}, {"rows", study.take_rows()}};
}

int place(const PlaceOptions& options, std::ostream& out) {
    const LoadedConfig config = load(options.config, options.sets);
    check_place(config);
    const Json document = place_rows(config, isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr);
    if (options.json) {
        out << document.dump() << "\n";
    } else {
        print_table(document["rows"], config.run.placement, out);
    }
    finish(out);
    return 0;
}

}  // namespace kvplane::explore
