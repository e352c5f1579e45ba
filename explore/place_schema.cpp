// SPDX-License-Identifier: Apache-2.0
/// Keys of a placement study.
#include "explore/control_form.h"
#include "explore/place_config.h"
#include "host_driver/control/spec_text.h"

namespace kvplane::explore {
namespace {

using enum NumberClass;

constexpr const char* kWriteThrough = "write-through";
constexpr const char* kOnEvict = "on-evict";

Form<DemotionArm> demotion_form() {
    Form<DemotionArm> form;
    form.type = "demotion";
    form.range =
        "on-evict, write-through; either with a store rule behind it: " + store_form().range;
    form.parse = [](const Value& value) {
        return parse_demotion_arm(scalar_text(value, "demotion"));
    };
    form.print = [](const DemotionArm& arm) { return to_string(arm); };
    form.examples = {kOnEvict, kWriteThrough, "on-evict threshold references=3",
                     "write-through threshold counter=sketch(64KiB)"};
    return form;
}

Form<PlaceWorkload> workload_form() {
    return choice<PlaceWorkload>({{"given", PlaceWorkload::kGiven},
                                  {"zipf-sessions", PlaceWorkload::kZipfSessions},
                                  {"scan", PlaceWorkload::kScan},
                                  {"loop", PlaceWorkload::kLoop},
                                  {"agents", PlaceWorkload::kAgents}});
}

void describe_arms(Table& t, PlacementConfig& c) {
    t.key("policies", c.policies, policy_form(), {kChosen, "free choice", "Replacement policies."});
    t.key("states", c.states, state_form(),
          {kChosen, "free choice", "What policies that keep state remember of blocks that left."});
    t.key("admissions", c.admissions, admission_form(),
          {kChosen, "free choice", "Which blocks are worth holding."});
    t.key("demotions", c.demotions, demotion_form(),
          {kChosen, "free choice", "When and which blocks get a copy in the tier."});
    t.key("pinned", c.pinned, flag(),
          {kChosen, "free choice",
           "true: a request's chain is resident together; false: block by block."});
    t.key("presets", c.presets, preset_form(),
          {kChosen, "free choice", "What serving stacks do today, beside the above."});
}

}  // namespace

DemotionArm parse_demotion_arm(const std::string& text) {
    const std::string when = text.substr(0, text.find(' '));
    DemotionArm arm;
    if (when == kWriteThrough) {
        arm.demotion = control::Demotion::kWriteThrough;
    } else if (when != kOnEvict) {
        const std::vector<std::string> names{kOnEvict, kWriteThrough};
        reject_choice(when, names);
    }
    if (when.size() < text.size()) arm.store = control::parse_store(text.substr(when.size()));
    return arm;
}

std::string to_string(const DemotionArm& arm) {
    std::string out = arm.demotion == control::Demotion::kOnEvict ? kOnEvict : kWriteThrough;
    if (arm.store.selection != control::Selection::kAll) {
        out += " " + control::to_string(arm.store);
    }
    return out;
}

void describe(Table& t, PlacementConfig& c) {
    t.key("workloads", c.workloads, workload_form(),
          {kChosen, "free choice", "given: what the section workload says; or a generator."});
    t.key("seeds", c.seeds, between<std::uint32_t>(1, 1'000, "seeds"),
          {kChosen, "free choice", "Seeds of a generated workload, from `seed` on."});
    t.key("budgets", c.budgets, between<Bytes>(Bytes::from_kib(4), Bytes::from_gib(65'536)),
          {kChosen, "64, 256 and 1024 GiB around the default node's 384", "HBM for KV blocks."});
    describe_arms(t, c);
    t.key("tier_capacity", c.tier_capacity,
          between<Bytes>(Bytes::from_kib(4), Bytes::from_gib(1'048'576)),
          {kChosen, "free choice", "Of the tier; null: unbounded."});
    t.key("tier_evictions", c.tier_evictions, policy_form(),
          {kChosen, "baseline: LRU, leaf first",
           "Which copy leaves the tier where it has a capacity."});
    t.key("queue", c.queue, between<std::uint32_t>(1, 65'536, "requests"),
          {kAssumed, "assumed", "Requests ahead that queue-lru is told of."});
    t.key("warm_up_requests", c.warm_up_requests,
          between<std::uint64_t>(0, 1'000'000'000, "requests"),
          {kChosen, "free choice", "Requests that are served but not counted."});
    t.key("dual_iterations", c.dual_iterations, between<std::uint32_t>(0, 1'000'000, "iterations"),
          {kChosen, "3,000 settle within 1 % on recorded traces", "Of the Lagrangian bound."});
    t.key("recompute_price", c.recompute_price, between<Ratio>({10'000}, {4'000'000'000}),
          {kDerived, "the default node: 520 % for 16 tokens, 0.52 ms against 0.10 ms on x16",
           "Recomputing a block in moves of it; null: no bounds with recomputing."});
    t.key("rent", c.rent, between<Ratio>({1}, {1'000'000}),
          {kChosen, "free choice",
           "Holding a block through a request that does not read it, in moves of it; null: none."});
}

}  // namespace kvplane::explore
