// SPDX-License-Identifier: Apache-2.0
#include "explore/place.h"

#include <set>
#include <sstream>

#include "config_files.h"
#include "tests/support/shared_data.h"

namespace kvplane::explore {
namespace {

using PlaceTest = ConfigFiles;
using Json = nlohmann::ordered_json;

/// A study that takes a moment.
const char* kSmall = R"(
seed: 3
workload:
  zipf_sessions: {sessions: 5, turns: 60, shared_prefix_tokens: 64, initial_context_min: 64,
                  initial_context_max: 256, appended_min: 16, appended_max: 64}
placement:
  budgets: [40 MiB, 400 MiB]
  policies: [lru, lfu, arc, min]
  states: [reset, full, sketch(64KiB)]
  recompute_price: 520 %
)";

TEST_F(PlaceTest, RowsHaveTheAgreedKeys) {
    const Json document = place_rows(load_text(kSmall).run);
    EXPECT_EQ(document["schema"], "kvplane.place/1");
    int arms = 0;
    int bounds = 0;
    int infeasible = 0;
    for (const Json& row : document["rows"]) {
        EXPECT_TRUE(row.contains("budget_blocks"));
        if (!row["feasible"].get<bool>()) {
            EXPECT_TRUE(row.contains("largest_read_set"));
            ++infeasible;
            continue;
        }
        if (!row.contains("policy")) {
            ++bounds;
            for (const char* key : {"min_promotions", "min_promotions_streamed", "lb1", "lb2", "ub",
                                    "lb_recompute", "ub_recompute"}) {
                EXPECT_TRUE(row.contains(key)) << key;
            }
            EXPECT_LE(row["lb1"], row["ub"]);
            EXPECT_LE(row["lb2"], row["ub"]);
            EXPECT_LE(row["lb_recompute"], row["ub_recompute"]);
            EXPECT_LE(row["lb_recompute"], row["ub"]);
            continue;
        }
        ++arms;
        for (const char* key : {"workload", "seed", "policy", "state", "admission", "demotion",
                                "pinned", "hits", "promotions", "demotions", "clean_discards",
                                "dead_writes", "recomputed_blocks", "a_read", "a_traffic"}) {
            EXPECT_TRUE(row.contains(key)) << key;
        }
        EXPECT_EQ(row["workload"], "zipf-sessions");
        EXPECT_EQ(row["seed"], 3);
        EXPECT_EQ(row["bounds"], "comparable");
    }
    // lru, lfu x 3, arc x 2 (its ghosts are no sketch), min.
    EXPECT_EQ(arms, 7);
    EXPECT_EQ(bounds, 1);
    EXPECT_EQ(infeasible, 8);
}

TEST_F(PlaceTest, TheSameConfigGivesTheSameBytes) {
    const RunConfig config = load_text(kSmall).run;
    EXPECT_EQ(place_rows(config).dump(), place_rows(config).dump());
}

TEST_F(PlaceTest, RecomputingIsNotCalledComparable) {
    const Json document = place_rows(load_text(kSmall, {"placement.demotions=[on-evict threshold]",
                                                        "placement.budgets=[400 MiB]"})
                                         .run);
    for (const Json& row : document["rows"]) {
        if (!row.contains("policy")) continue;
        ASSERT_TRUE(row["feasible"].get<bool>());
        EXPECT_GT(row["recomputed_blocks"], 0);
        EXPECT_EQ(row["bounds"], "bounds not comparable");
        EXPECT_EQ(row["demotion"], "on-evict threshold");
    }
}

TEST_F(PlaceTest, CrossesAllAxes) {
    const RunConfig config =
        load_text(
            "placement: {policies: [lru, lfu state=full], states: [reset, full], "
            "admissions: [none, horizon], demotions: [on-evict, write-through], "
            "pinned: [true, false], presets: [none, vllm, mooncake], "
            "tier_capacity: 1 GiB, warm_up_requests: 7, queue: 9}\n")
            .run;
    const auto arms = place_arms(config.placement, config.block.bytes());
    EXPECT_EQ(arms.size(), 2U * 2 * 2 * 2 + 2 * 2);
    for (const auto& arm : arms) {
        EXPECT_EQ(arm.at(50).tier_blocks, 204U);
        EXPECT_EQ(arm.at(50).first_counted, 7U);
        EXPECT_EQ(arm.at(50).frames, 50U);
        EXPECT_EQ(arm.at(50).queue, 0U);
    }
    EXPECT_EQ(arms[8].preset, control::Preset::kVllm);
}

TEST_F(PlaceTest, WorkloadsAndSeeds) {
    const Json document = place_rows(
        load_text(kSmall, {"placement.workloads=[given, scan, loop, agents]", "placement.seeds=2",
                           "placement.budgets=[48 GiB]", "placement.policies=[lru]",
                           "workload.scan.requests=20", "workload.loop.documents=4",
                           "workload.loop.rounds=3", "workload.agents.requests=30"})
            .run);
    std::set<std::pair<std::string, int>> seen;
    for (const Json& row : document["rows"]) {
        seen.emplace(row["workload"].get<std::string>(), row["seed"].get<int>());
    }
    EXPECT_EQ(seen.size(), 8U);
    EXPECT_TRUE(seen.contains({"agents", 4}));
}

TEST_F(PlaceTest, PrintsATable) {
    std::ostringstream out;
    const std::string path = write("study.yaml", kSmall);
    EXPECT_EQ(place({.config = path, .sets = {"placement.presets=[vllm]"}}, out), 0);
    EXPECT_NE(out.str().find("the tier is unbounded"), std::string::npos);
    EXPECT_NE(out.str().find("lfu / full / none / on-evict"), std::string::npos);
    EXPECT_NE(out.str().find("vllm: lru"), std::string::npos);
    EXPECT_NE(out.str().find("infeasible"), std::string::npos);
}

TEST_F(PlaceTest, MistakesNameTheirPlace) {
    EXPECT_NE(error_of("placement: {policies: [lru, belady]}\n").find("'belady' is none of lru"),
              std::string::npos);
    EXPECT_NE(error_of("placement:\n  demotions: [never]\n").find("config.yaml:2"),
              std::string::npos);
    EXPECT_NE(error_of("placement: {budgets: [1 MiB]}\n").find("cannot hold one block"),
              std::string::npos);
    EXPECT_NE(error_of("control: {replacement: min}\n").find("needs the future"),
              std::string::npos);
}

}  // namespace
}  // namespace kvplane::explore
