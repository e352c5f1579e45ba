// SPDX-License-Identifier: Apache-2.0
/// What a placement study refuses to pass over in silence.
#include "explore/place_check.h"

#include <gmock/gmock.h>

#include "config_files.h"

namespace kvplane::explore {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class PlaceCheckTest : public ConfigFiles {
protected:
    /// What the study says to the config, "" where it takes it.
    std::string refused(const std::string& text, const std::vector<std::string>& sets = {}) {
        try {
            check_place(load_text(text, sets));
        } catch (const UserError& e) {
            return strip(e.what());
        }
        return "";
    }
};

TEST_F(PlaceCheckTest, KeysOfARunNameTheirCounterpart) {
    const std::vector<std::pair<std::string, std::string>> keys{
        {"control.replacement=fifo", "placement.policies"},
        {"control.admission=horizon", "placement.admissions"},
        {"control.tier_eviction=fifo", "placement.tier_evictions"},
        {"host.demotion=on-evict", "placement.demotions"},
        {"workload.warm_up=3 s", "placement.warm_up_requests"},
        {"host.node.kv_budget=64 GiB", "placement.budgets"},
        {"card.tier.capacity=1 TiB", "placement.tier_capacity"}};
    for (const auto& [set, instead] : keys) {
        EXPECT_THAT(refused("seed: 1\n", {set}),
                    testing::AllOf(StartsWith("--set: " + set.substr(0, set.find('='))),
                                   HasSubstr("use " + instead)))
            << set;
    }
    EXPECT_EQ(refused("seed: 1\ncontrol: {replacement: fifo}\n"),
              "config.yaml:2: control.replacement: place does not read this key; use "
              "placement.policies");
}

TEST_F(PlaceCheckTest, KeysWithoutACounterpartMayStandInAFileOnly) {
    EXPECT_THAT(refused("seed: 1\n", {"card.link.width=8"}),
                StartsWith("--set: card.link.width: place does not read"));
    EXPECT_EQ(refused("card: {link: {width: 8}, tier: {capacity: 1 TiB}}\n"
                      "host: {node: {kv_budget: 64 GiB}}\n"
                      "control: {replacement: lru}\n"),
              "");
    EXPECT_EQ(refused("seed: 1\n", {"seed=2", "block.tokens=32", "workload.zipf_sessions.turns=9",
                                    "host.node.hidden=4096", "placement.queue=3"}),
              "");
}

TEST_F(PlaceCheckTest, NothingStandsTwice) {
    EXPECT_THAT(refused("placement: {budgets: [64 GiB, 1 TiB, 65536 MiB]}\n"),
                StartsWith("config.yaml:1: placement.budgets: '64 GiB' stands twice"));
    EXPECT_THAT(refused("placement: {policies: [ema, lru, ema clock=access, min]}\n"),
                HasSubstr("'ema alpha=1% clock=access' stands twice"));
    EXPECT_THAT(refused("placement: {workloads: [scan, scan]}\n"),
                HasSubstr("'scan' stands twice"));
    EXPECT_EQ(refused("placement: {policies: [ema, ema alpha=2%, ema clock=wall]}\n"), "");
}

TEST_F(PlaceCheckTest, EveryPolicyGetsARow) {
    EXPECT_THAT(refused("placement: {policies: [lru, arc], states: [sketch(64KiB)]}\n"),
                StartsWith("config.yaml:1: placement.states: 'arc' can keep none of the states"));
    EXPECT_THAT(refused("placement: {policies: [s3-fifo], states: [sketch(64KiB)]}\n"),
                HasSubstr("'s3-fifo'"));
    EXPECT_EQ(refused("placement: {policies: [arc], states: [sketch(64KiB), full]}\n"), "");
    EXPECT_EQ(refused("placement: {policies: [arc state=full], states: [sketch(64KiB)]}\n"), "");
}

TEST_F(PlaceCheckTest, TakesTheConfigsThatComeAlong) {
    const std::filesystem::path configs = std::filesystem::path(KVPLANE_SOURCE_DIR) / "configs";
    check_place(load((configs / "baseline.yaml").string()));
    int studies = 0;
    for (const auto& file : std::filesystem::directory_iterator(configs / "placement")) {
        check_place(load(file.path().string()));
        ++studies;
    }
    EXPECT_GE(studies, 5);
}

TEST_F(PlaceCheckTest, RulesThatDoNothingAreRefused) {
    EXPECT_THAT(refused("placement: {demotions: [on-evict, on-evict intent]}\n"),
                StartsWith("config.yaml:1: placement.demotions: 'intent' would store nothing"));
    EXPECT_THAT(refused("placement: {tier_evictions: [fifo]}\n"),
                HasSubstr("give placement.tier_capacity"));
    EXPECT_EQ(refused("placement: {tier_evictions: [fifo, lru], tier_capacity: 1 TiB}\n"), "");
    for (const char* policy : {"min", "queue-lru"}) {
        EXPECT_THAT(error_of(std::string("placement: {tier_capacity: 1 TiB, tier_evictions: [") +
                             policy + "]}\n"),
                    HasSubstr("is told of what comes in HBM only"));
    }
}

}  // namespace
}  // namespace kvplane::explore
