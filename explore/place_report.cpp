// SPDX-License-Identifier: Apache-2.0
#include "explore/place_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "host_driver/control/spec_text.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNoEviction = "none";
/// What bounds count where arms have a warm-up, and where they have none.
constexpr const char* kWhole = "whole trace";
constexpr const char* kCounted = "counted requests";

double moves(Ratio price) { return static_cast<double>(price.ppm) / 1e6; }

/// What the arm is.
void describe_arm(Json& json, const control::ReplayConfig& config) {
    control::PolicySpec policy = config.control.replacement;
    const bool keeps = control::keeps_state(policy.replacement);
    json["state"] = keeps ? control::to_string(policy.state) : "none";
    policy.state = {};
    json["policy"] = control::to_string(policy);
    json["admission"] = control::to_string(config.control.admission);
    json["demotion"] = to_string(DemotionArm{config.control.demotion, config.control.store});
    json["tier_eviction"] = config.tier_blocks == control::Residency::kUnbounded
                                ? kNoEviction
                                : control::to_string(config.control.tier_eviction);
    json["pinned"] = config.pinned;
    json["warm_up_requests"] = config.first_counted;
    if (policy.replacement == control::Replacement::kPriority) {
        json["remark"] = "no intents here: all priorities are equal, as lru";
    }
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
    json["recomputed_blocks"] = result.recomputed;
    json["private_copies"] = result.private_copies;
    json["tier_evictions"] = result.counts.tier_evictions;
    json["unbacked_writes"] = result.counts.unbacked_writes;
    json["unreachable_blocks"] = result.unreachable_blocks;
    json["idle_block_requests"] = result.idle_block_requests;
    json["a_read"] = result.a_read();
    json["a_traffic"] = result.a_traffic();
    json["state_bytes"] = result.state_bytes.count;
    json["bounds"] = result.bounded ? "comparable" : "bounds not comparable";
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
    const std::uint64_t lb1 = row["lb1"].get<std::uint64_t>();
    out << fmt::format("promotions >= {} ({} streamed); moves >= {} (LB1 {}, LB2 {}), <= {}",
                       cell(row, "min_promotions"), cell(row, "min_promotions_streamed"),
                       row["lb2"].is_null() ? lb1 : std::max(lb1, row["lb2"].get<std::uint64_t>()),
                       lb1, row["lb2"].is_null() ? "not computed" : cell(row, "lb2"),
                       cell(row, "ub"));
    if (row.contains("lb_recompute")) {
        out << fmt::format("; with recomputing {} to {}", cell(row, "lb_recompute"),
                           cell(row, "ub_recompute"));
    }
    if (row.contains("lb_rent")) {
        out << fmt::format("; with rent {} to {}", cell(row, "lb_rent"), cell(row, "ub_rent"));
    }
    if (row["covers"] != kCounted) out << fmt::format("; of the {}", cell(row, "covers"));
    out << "\n";
}

void print_arm(const Json& row, std::ostream& out) {
    const bool bounded_tier = row["tier_eviction"] != kNoEviction;
    std::string name = fmt::format("{} / {} / {} / {}{}{}", cell(row, "policy"), cell(row, "state"),
                                   cell(row, "admission"), cell(row, "demotion"),
                                   bounded_tier ? " / tier " + cell(row, "tier_eviction") : "",
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
    if (row.contains("remark")) out << fmt::format("    {}\n", cell(row, "remark"));
}

}  // namespace

Json row_of(const std::string& workload, std::uint64_t seed) {
    return {{"workload", workload}, {"seed", seed}};
}

void add_bounds(Json& row, const control::BoundsRow& bounds, const PlacementConfig& config) {
    row["budget_blocks"] = bounds.budget;
    row["distinct_blocks"] = bounds.distinct;
    row["covers"] = config.warm_up_requests == 0 ? kCounted : kWhole;
    if (const auto* none = std::get_if<control::Infeasible>(&bounds.bounds)) {
        row["feasible"] = false;
        row["largest_read_set"] = none->largest_need;
        return;
    }
    const auto& values = std::get<control::Bounds>(bounds.bounds);
    row["feasible"] = true;
    row["min_promotions"] = values.min_promotions;
    row["min_promotions_streamed"] = values.min_promotions_streamed;
    row["min_demoted"] = values.min_demoted;
    row["lb1"] = values.lb1;
    row["lb2"] = config.dual_iterations == 0 ? Json(nullptr) : Json(values.lb2);
    row["ub"] = values.ub;
    if (bounds.recompute) {
        row["recompute_price"] = moves(*config.recompute_price);
        row["lb_recompute"] = bounds.recompute->lower;
        row["ub_recompute"] = bounds.recompute->upper;
    }
    if (bounds.rent) {
        row["rent"] = moves(*config.rent);
        row["lb_rent"] = bounds.rent->lower;
        row["ub_rent"] = bounds.rent->upper;
    }
}

void add_arm(Json& row, const control::PlaceRow& arm) {
    if (arm.preset) row["preset"] = control::name_of(*arm.preset);
    describe_arm(row, arm.config);
    row["budget_blocks"] = arm.budget;
    row["feasible"] = arm.result.feasible;
    if (arm.result.feasible) {
        describe_result(row, arm.result);
    } else {
        row["largest_read_set"] = arm.result.largest_read_set;
    }
}

void print_table(const Json& rows, const PlacementConfig& config, std::ostream& out) {
    out << "One request's chain is one read set, a partial last block included; the tier is "
        << (config.tier_capacity ? to_string(*config.tier_capacity) : std::string("unbounded"))
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

}  // namespace kvplane::explore
