// SPDX-License-Identifier: Apache-2.0
#include "explore/place_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "host_driver/control/spec_text.h"
#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

/// A key of a run, and the key of a placement study that means the same.
struct Counterpart {
    std::string_view key;
    std::string_view instead;
    /// What a run needs anyway, and so stands in files that serve both.
    bool of_run = false;
};

constexpr std::array kCounterparts =
    std::to_array<Counterpart>({{"control.replacement", "placement.policies"},
                                {"control.admission", "placement.admissions"},
                                {"control.tier_eviction", "placement.tier_evictions"},
                                {"control.store", "placement.demotions"},
                                {"host.demotion", "placement.demotions"},
                                {"workload.warm_up", "placement.warm_up_requests"},
                                {"host.node.kv_budget", "placement.budgets", true},
                                {"card.tier.capacity", "placement.tier_capacity", true}});

/// What gdsf's cost of recomputing comes from.
constexpr std::array kOfNode = std::to_array<std::string_view>(
    {"host.node.parameters", "host.node.layers", "host.node.hidden"});

bool is_read(std::string_view key) {
    if (key == "workload.warm_up") return false;
    return key == "seed" || key.starts_with("block.") || key.starts_with("workload.") ||
           key.starts_with("placement.") ||
           std::find(kOfNode.begin(), kOfNode.end(), key) != kOfNode.end();
}

void check_read(const Setting& setting) {
    if (setting.origin == "default" || is_read(setting.info.path)) return;
    const bool by_hand = setting.origin == "--set";
    const auto counterpart =
        std::find_if(kCounterparts.begin(), kCounterparts.end(),
                     [&](const Counterpart& c) { return c.key == setting.info.path; });
    if (counterpart == kCounterparts.end()) {
        if (!by_hand) return;
        throw UserError(fmt::format("{}: {}: place does not read this key, and knows no time",
                                    setting.origin, setting.info.path));
    }
    if (!by_hand && (counterpart->of_run || setting.is_default())) return;
    throw UserError(fmt::format("{}: {}: place does not read this key; use {}", setting.origin,
                                setting.info.path, counterpart->instead));
}

/// The items of a list as the effective config prints it.
std::vector<std::string_view> items_of(std::string_view list) {
    std::vector<std::string_view> items;
    list = list.substr(1, list.size() - 2);
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(", "), list.size());
        items.push_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 2, list.size()));
    }
    return items;
}

void check_duplicates(const Settings& settings) {
    for (const Setting& setting : settings.all()) {
        if (!setting.info.path.starts_with("placement.") || !setting.value.starts_with('[')) {
            continue;
        }
        std::vector<std::string_view> items = items_of(setting.value);
        std::sort(items.begin(), items.end());
        const auto twice = std::adjacent_find(items.begin(), items.end());
        settings.require(twice == items.end(), {setting.info.path},
                         twice == items.end() ? "" : fmt::format("'{}' stands twice", *twice));
    }
}

void check_states(const PlacementConfig& placement, const Settings& settings) {
    for (const control::PolicySpec& policy : placement.policies) {
        const bool keeps = std::any_of(
            placement.states.begin(), placement.states.end(), [&](const control::StateSpec& state) {
                return control::can_keep(policy.replacement, state.lifetime);
            });
        settings.require(
            keeps || !control::keeps_state(policy.replacement) ||
                policy.state.lifetime != control::Lifetime::kReset,
            {"placement.states", "placement.policies"},
            fmt::format("'{}' can keep none of the states, and would get no row; add reset, full "
                        "or ghosts(N)",
                        control::name_of(policy.replacement)));
    }
}

}  // namespace

void check_place(const LoadedConfig& config) {
    const PlacementConfig& placement = config.run.placement;
    const Settings& settings = config.settings;
    for (const Setting& setting : settings.all()) check_read(setting);
    check_duplicates(settings);
    check_states(placement, settings);
    for (const DemotionArm& arm : placement.demotions) {
        settings.require(arm.store.selection != control::Selection::kIntent,
                         {"placement.demotions"},
                         "'intent' would store nothing: no request carries intents yet");
    }
    settings.require(
        placement.tier_capacity || settings.at("placement.tier_evictions").is_default(),
        {"placement.tier_evictions", "placement.tier_capacity"},
        "nothing leaves a tier without a limit; give placement.tier_capacity");
}

}  // namespace kvplane::explore
