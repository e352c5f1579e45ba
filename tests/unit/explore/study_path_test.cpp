// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <set>
#include <sstream>

#include "config_files.h"
#include "explore/study.h"
#include "model/common/errors.h"
#include "model/engine/stage_clock.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;
using Sets = std::vector<std::string>;

class StudyPathTest : public ConfigFiles {
protected:
    static Json rows(Sets sets) {
        sets.emplace_back("study.path.moves=2000");
        return study_path(load("", sets).run).rows;
    }
    /// A grid of a few points: 64 KiB by the card, depth 1.
    static Sets small() {
        return {"study.path.blocks=[64 KiB]",      "study.path.mechanisms=[card]",
                "study.path.widths=[16]",          "study.path.mps=[256 B]",
                "study.path.queues=[host-memory]", "study.path.fences=[in_band_flag]",
                "study.path.depths=[1]",           "study.path.loads=[50 %]",
                "study.path.indexes=[tlm]",        "study.path.gathered=null"};
    }
    static Sets with(const std::string& more) {
        Sets sets = small();
        sets.push_back(more);
        return sets;
    }
    static std::size_t count(const Json& rows, const std::function<bool(const Json&)>& which) {
        return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), which));
    }
};

TEST_F(StudyPathTest, EveryFactorIsWalkedOnce) {
    const Json all = rows({});
    const auto varying = [&](const std::string& factor) {
        return count(all, [&](const Json& row) { return row["varies"] == factor; });
    };
    // Six blocks, five of them also as fragments of 5 MiB; two mechanisms; two links.
    EXPECT_EQ(varying("block x mechanism x link"), (6U + 5U) * 2 * 2);
    EXPECT_EQ(varying("mps"), 2U);
    EXPECT_EQ(varying("ring"), 2U);
    EXPECT_EQ(varying("fence"), 1U);
    EXPECT_EQ(varying("index"), 1U);
    EXPECT_EQ(varying("depth"), 3U * 2);
    EXPECT_EQ(varying("load"), 2U * 2);
    std::set<std::string> points;
    for (const Json& row : all) {
        Json factors = row;
        for (const auto& [key, value] : row.items()) {
            if (key == "mean_us") break;
            points.insert(key);
        }
        EXPECT_LE(row["p50_us"].get<double>(), row["p99_us"].get<double>());
        EXPECT_GT(row["gb_s"].get<double>(), 0);
    }
    EXPECT_EQ(points.size(), 12U);
}

TEST_F(StudyPathTest, ClosedFormsHold) {
    for (const Json& row : rows({})) {
        const bool open = row["depth"].is_null();
        if (row["ring"] == "hdm") {
            // The host waits for the write of its descriptor before it rings: not in the form.
            EXPECT_GT(row["form_us_error"].get<double>(), 0);
            EXPECT_LT(row["form_us_error"].get<double>(), 0.2);
            continue;
        }
        if (!open) {
            EXPECT_LT(std::abs(row["form_us_error"].get<double>()), 0.01) << row.dump();
            EXPECT_LT(std::abs(row["form_gb_s_error"].get<double>()), 0.01) << row.dump();
        } else if (row["mechanism"] == "card") {
            // Of 2,000 arrivals at random.
            EXPECT_LT(std::abs(row["form_us_error"].get<double>()), 0.1) << row.dump();
            EXPECT_NEAR(row["gb_s"].get<double>() / row["offered_gb_s"].get<double>(), 1, 0.05);
        } else {
            EXPECT_TRUE(row["form_us"].is_null());
        }
    }
}

/// Where something else than stages and bytes sets the pace there is none.
TEST_F(StudyPathTest, FormsAreOnlyWhereTheyHold) {
    const auto forms = [&](const Sets& more) {
        Sets sets = small();
        sets.insert(sets.end(), more.begin(), more.end());
        std::size_t given = 0;
        for (const Json& row : rows(sets)) {
            EXPECT_EQ(row["form_us"].is_null(), row["form_us_error"].is_null());
            if (row["form_us"].is_null()) {
                EXPECT_TRUE(row["form_gb_s"].is_null());
                continue;
            }
            ++given;
            const double tolerance = row["depth"].is_null() ? 0.1 : 0.01;
            EXPECT_LT(std::abs(row["form_us_error"].get<double>()), tolerance) << row.dump();
        }
        return given;
    };
    const std::string depths = "study.path.depths=[1, 2, 8, 32]";
    EXPECT_EQ(forms({depths}), 5U);  // the open load is the fifth
    EXPECT_EQ(forms({depths, "driver.ring_entries=2"}), 1U);
    EXPECT_EQ(forms({depths, "card.in_flight=2"}), 2U);
    EXPECT_EQ(forms({depths, "card.completion.coalesce=4"}), 0U);
    EXPECT_EQ(forms({depths, "card.scheduler.tenant_rate=1 GB/s"}), 0U);
    EXPECT_EQ(forms({depths, "study.path.blocks=[8 KiB]"}), 3U);
    EXPECT_EQ(forms({depths, "study.path.blocks=[4 KiB]"}), 1U);
    EXPECT_EQ(forms({depths, "study.path.mechanisms=[copy-engine]", "driver.ring_entries=2"}), 4U);
}

TEST_F(StudyPathTest, StagesSumToTheMeanOfABlock) {
    for (const Json& row : rows({})) {
        double sum = 0;
        for (const std::string_view stage : engine::kStageNames) {
            sum += row[std::string(stage) + "_us"].get<double>();
        }
        EXPECT_NEAR(sum, row["block_mean_us"].get<double>(), 1e-9 * sum);
        if (row["run"] == 1) {
            EXPECT_NEAR(sum, row["mean_us"].get<double>(), 0.01 * sum);
        }
        EXPECT_EQ(row["lookup_share"].is_null(), row["mechanism"] == "copy-engine");
        if (row["lookup_share"].is_null()) continue;
        EXPECT_NEAR(row["lookup_share"].get<double>(), row["lookup_us"].get<double>() / sum, 1e-9);
        EXPECT_GT(row["lookup_record_share"], row["lookup_share"]);
    }
}

TEST_F(StudyPathTest, ALookupsShareFallsWithTheBlock) {
    double last = 1;
    for (const Json& row :
         rows({"study.path.blocks=[4 KiB, 64 KiB, 256 KiB, 5 MiB]", "study.path.widths=[16]",
               "study.path.mechanisms=[card]", "study.path.gathered=null"})) {
        if (row["varies"] != "block x mechanism x link") continue;
        EXPECT_LT(row["lookup_record_share"].get<double>(), last);
        last = row["lookup_record_share"];
    }
    EXPECT_LT(last, 0.001);
}

TEST_F(StudyPathTest, WhatAPathIsMadeOfMovesIt) {
    const Json before = rows(small());
    for (const char* set :
         {"card.index.clock=500 MHz", "card.dram.closed_row=60 ns", "driver.submit=500 ns",
          "driver.poll_interval=1 us", "card.flight=500 ns", "card.codec.fill=100 ns",
          "study.path.blocks=[128 KiB]", "study.path.widths=[8]", "study.path.mps=[512 B]",
          "study.path.queues=[portal]", "study.path.fences=[read_flush]", "study.path.depths=[2]",
          "study.path.loads=[60 %]", "study.path.indexes=[rtl]",
          "study.path.mechanisms=[copy-engine]", "seed=9"}) {
        EXPECT_NE(rows(with(set)), before) << set;
    }
    EXPECT_EQ(rows(small()), before);
}

TEST_F(StudyPathTest, WhatAnAxisReplacesIsRefused) {
    const auto mistake = [](const std::string& set) -> std::string {
        std::ostringstream out;
        StudyOptions options;
        options.sets = {set};
        try {
            (void)study("path", options, out);
        } catch (const UserError& error) {
            return error.what();
        }
        return "none";
    };
    for (const auto& [set, axis] : std::vector<std::pair<std::string, std::string>>{
             {"driver.mechanism=copy-engine", "study.path.mechanisms"},
             {"driver.queue=portal", "study.path.queues"},
             {"card.link.width=8", "study.path.widths"},
             {"card.link.mps=512 B", "study.path.mps"},
             {"card.completion.fence=read_flush", "study.path.fences"},
             {"card.index.implementation=rtl", "study.path.indexes"}}) {
        EXPECT_EQ(mistake(set), "--set: " + set.substr(0, set.find('=')) +
                                    ": the study takes it from its axis " + axis);
    }
    EXPECT_EQ(mistake("study.path.depths=[1, 4, 1]"),
              "--set: study.path.depths: names a point twice");
    EXPECT_TRUE(mistake("card.index.banks=2")
                    .starts_with("--set: card.index.banks: study.path.indexes names rtl, and "
                                 "card.index is not what is built: "))
        << mistake("card.index.banks=2");
}

}  // namespace
}  // namespace kvplane::explore
