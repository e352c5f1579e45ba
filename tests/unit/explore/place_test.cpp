// SPDX-License-Identifier: Apache-2.0
#include "explore/place.h"

#include <set>
#include <sstream>
#include <vector>

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
    const Json document = place_rows(load_text(kSmall));
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
    const LoadedConfig config = load_text(kSmall);
    EXPECT_EQ(place_rows(config).dump(), place_rows(config).dump());
}

TEST_F(PlaceTest, RecomputingIsNotCalledComparable) {
    const Json document = place_rows(load_text(
        kSmall, {"placement.demotions=[on-evict threshold]", "placement.budgets=[400 MiB]"}));
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
    const Json document = place_rows(load_text(
        kSmall,
        {"placement.workloads=[given, scan, loop, agents]", "placement.seeds=2",
         "placement.budgets=[48 GiB]", "placement.policies=[lru]", "workload.scan.requests=20",
         "workload.loop.documents=4", "workload.loop.rounds=3", "workload.agents.requests=30"}));
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

TEST_F(PlaceTest, TierEvictionsAreCrossedAndNamed) {
    const std::vector<std::string> sets{
        "placement.tier_capacity=200 MiB", "placement.tier_evictions=[lru, fifo, lfu state=full]",
        "placement.policies=[lru]", "placement.presets=[vllm]", "placement.budgets=[400 MiB]"};
    const Json document = place_rows(load_text(kSmall, sets));
    std::vector<std::string> names;
    std::set<std::uint64_t> promotions;
    for (const Json& row : document["rows"]) {
        if (!row.contains("policy")) continue;
        names.push_back(row["tier_eviction"].get<std::string>());
        EXPECT_GT(row["tier_evictions"], 0);
        if (!row.contains("preset")) promotions.insert(row["promotions"].get<std::uint64_t>());
    }
    EXPECT_EQ(names, (std::vector<std::string>{"lru", "lru", "fifo", "fifo", "lfu state=full",
                                               "lfu state=full"}));
    EXPECT_GT(promotions.size(), 1U) << "the tier's policy moves the result";
}

/// The rows of the small study that have the key.
std::vector<Json> rows_with(const Json& document, const char* key) {
    std::vector<Json> rows;
    for (const Json& row : document["rows"]) {
        if (row.contains(key) && row["feasible"].get<bool>()) rows.push_back(row);
    }
    return rows;
}

TEST_F(PlaceTest, LabelsTellAveragesApart) {
    const Json document = place_rows(
        load_text(kSmall, {"placement.policies=[ema, ema alpha=5%, ema clock=wall, lru-2]",
                           "placement.states=[reset]", "placement.budgets=[400 MiB]"}));
    std::vector<std::string> labels;
    for (const Json& row : rows_with(document, "policy")) labels.push_back(row["policy"]);
    EXPECT_EQ(labels,
              (std::vector<std::string>{"ema alpha=1% clock=access", "ema alpha=5% clock=access",
                                        "ema alpha=1% clock=wall", "lru-2 clock=access"}));
}

TEST_F(PlaceTest, RentComesWithItsPriceAndWhatArmsHold) {
    const Json document = place_rows(load_text(
        kSmall, {"placement.rent=1 %", "placement.policies=[lru]", "placement.budgets=[400 MiB]"}));
    const Json bounds = rows_with(document, "lb_rent").at(0);
    EXPECT_EQ(bounds["rent"], 0.01);
    EXPECT_EQ(bounds["recompute_price"], 5.2);
    const Json arm = rows_with(document, "policy").at(0);
    const double paid = arm["promotions"].get<double>() + arm["demotions"].get<double>() +
                        0.01 * arm["idle_block_requests"].get<double>();
    EXPECT_LE(bounds["lb_rent"].get<double>(), paid);
    EXPECT_GT(bounds["lb_rent"], bounds["lb_recompute"]);
    EXPECT_TRUE(rows_with(place_rows(load_text(kSmall)), "lb_rent").empty());
}

TEST_F(PlaceTest, AWarmUpIsSaid) {
    const Json document = place_rows(
        load_text(kSmall, {"placement.warm_up_requests=20", "placement.budgets=[400 MiB]"}));
    std::array<int, 2> seen{};
    for (const Json& row : document["rows"]) {
        const bool arm = row.contains("policy");
        ++seen[arm ? 1 : 0];
        if (arm) {
            EXPECT_EQ(row["warm_up_requests"], 20);
        } else {
            EXPECT_EQ(row["covers"], "whole trace");
        }
    }
    EXPECT_GT(seen[0], 0);
    EXPECT_GT(seen[1], 0);
    try {
        (void)place_rows(load_text(kSmall, {"placement.warm_up_requests=60"}));
        FAIL() << "nothing is left to count";
    } catch (const UserError& e) {
        EXPECT_EQ(std::string(e.what()),
                  "--set: placement.warm_up_requests: 60 leaves none of the 60 requests of "
                  "zipf-sessions to count");
    }
}

TEST_F(PlaceTest, WithoutIterationsThereIsNoDual) {
    const std::vector<std::string> sets{"placement.dual_iterations=0"};
    const auto rows = rows_with(place_rows(load_text(kSmall, sets)), "lb2");
    ASSERT_FALSE(rows.empty());
    for (const Json& row : rows) EXPECT_TRUE(row["lb2"].is_null());
    std::ostringstream out;
    EXPECT_EQ(place({.config = write("study.yaml", kSmall), .sets = sets}, out), 0);
    EXPECT_NE(out.str().find("LB2 not computed"), std::string::npos);
}

TEST_F(PlaceTest, APolicyThatLacksIntentsIsRemarkedOn) {
    const Json document =
        place_rows(load_text(kSmall, {"placement.presets=[tensorrt-llm, vllm]",
                                      "placement.policies=[lru]", "placement.budgets=[400 MiB]"}));
    const auto remarked = rows_with(document, "remark");
    ASSERT_EQ(remarked.size(), 1U);
    EXPECT_EQ(remarked[0]["preset"], "tensorrt-llm");
}

TEST_F(PlaceTest, SeedsDrawTheSessionsOfAnAzureTrace) {
    const std::string azure = write("azure.csv",
                                    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                    "2023-11-16 18:15:46.6805900,374,44\n"
                                    "2023-11-16 18:15:50.9951690,396,109\n"
                                    "2023-11-16 18:15:51.2225670,879,55\n");
    for (const char* format : {"auto", "azure"}) {
        const Json document = place_rows(load_text(
            "seed: 4\n",
            {"workload.trace=" + azure, std::string("workload.format=") + format,
             "placement.seeds=3", "placement.policies=[lru]", "placement.budgets=[1 GiB]"}));
        std::set<int> seeds;
        for (const Json& row : document["rows"]) seeds.insert(row["seed"].get<int>());
        EXPECT_EQ(seeds, (std::set<int>{4, 5, 6})) << format;
    }
}

TEST_F(PlaceTest, SaysWhatItDoesBeforeAnythingIsDone) {
    std::ostringstream progress;
    (void)place_rows(load_text(kSmall), &progress);
    const std::string text = progress.str();
    EXPECT_EQ(text.find("\r0 of 16 rows; reading zipf-sessions, seed 3"), 0U);
    EXPECT_NE(text.find("\r0 of 16 rows; zipf-sessions: bounds of 8 blocks"), std::string::npos);
    EXPECT_NE(text.find("\r16 of 16 rows, 0 s left"), std::string::npos);
    EXPECT_EQ(text.back(), '\n');
    std::ostringstream cut;
    EXPECT_THROW((void)place_rows(load_text(kSmall, {"placement.warm_up_requests=60"}), &cut),
                 UserError);
    EXPECT_EQ(cut.str().back(), '\n') << "the error gets a line of its own";
}

TEST_F(PlaceTest, ALostOutputIsReported) {
    std::ofstream full("/dev/full");
    EXPECT_THROW((void)place({.config = write("study.yaml", kSmall), .json = true}, full),
                 UserError);
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
