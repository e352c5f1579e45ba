// SPDX-License-Identifier: Apache-2.0
#include "explore/study.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "config_files.h"
#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;

class StudyTest : public ConfigFiles {
protected:
    static RunConfig config(const std::vector<std::string>& sets) { return load("", sets).run; }
    static const std::vector<std::string>& small_sram() {
        static const std::vector<std::string> sets{
            "study.sram.tiers=[1 GiB]", "study.sram.blocks=[64 KiB]",
            "study.sram.srams=[64 KiB, 128 KiB, 512 KiB]", "study.sram.lookups=60000"};
        return sets;
    }
    static std::vector<std::string> with(std::vector<std::string> sets, std::string more) {
        sets.push_back(std::move(more));
        return sets;
    }
    static std::vector<std::string> small_lookup() {
        return {"study.lookup.srams=[256 KiB]",
                "study.lookup.loads=[80 %]",
                "study.lookup.banks=[8]",
                "study.lookup.lookups=[100 %, 60 %]",
                "study.lookup.offered=[10 %, 90 %, 120 %]",
                "study.lookup.requests=40000"};
    }
};

TEST_F(StudyTest, AnUnloadedPromotionTakesWhatItsStagesDo) {
    // 5 MiB, ring in host memory, flag: 98.95 us on x16 and 195.64 us on x8 by arithmetic.
    const auto us = [](const std::vector<std::string>& sets) {
        return zero_load_promotion(config(sets), Bytes::from_mib(5), Time::from_ns(6),
                                   Time::from_ns(4))
            .us();
    };
    EXPECT_NEAR(us({}), 98.95, 0.01);
    EXPECT_NEAR(us({"card.link.width=8"}), 195.64, 0.01);
    EXPECT_NEAR(us({"card.completion.fence=read_flush"}), 99.69, 0.01);
}

TEST_F(StudyTest, HitRatiosFollowTheClosedFormAndGrowWithTheSram) {
    // 16,384 blocks; 4,096, 8,192 and 32,768 entries of SRAM.
    const Study study = study_sram(config(small_sram()));
    const Study closed = study_sram(config(with(small_sram(), "study.sram.simulate_up_to=0")));
    ASSERT_EQ(study.rows.size(), 6U);
    for (std::size_t i = 0; i < study.rows.size(); ++i) {
        const Json& row = study.rows[i];
        EXPECT_EQ(row["entries"], 16'384);
        EXPECT_EQ(row["hit_basis"], "simulated");
        EXPECT_EQ(closed.rows[i]["hit_basis"], "closed form");
        EXPECT_TRUE(closed.rows[i]["lookup_p99_ns"].is_null());
        const double hits = row["sram_hit_ratio"];
        EXPECT_NEAR(hits, closed.rows[i]["sram_hit_ratio"].get<double>(), 0.015) << row.dump();
        if (row["hot_lookups"] == 0.1) {
            EXPECT_NEAR(hits, std::min(1.0, row["sram_kib"].get<double>() / 256), 0.015);
        }
        if (i >= 2) {
            EXPECT_GT(hits, study.rows[i - 2]["sram_hit_ratio"].get<double>());
            EXPECT_LT(row["lookup_mean_ns"].get<double>(),
                      study.rows[i - 2]["lookup_mean_ns"].get<double>());
        }
        // The closed form has one line a probe and no queue at the DRAM.
        const double closed_mean = closed.rows[i]["lookup_mean_ns"];
        EXPECT_GE(row["lookup_mean_ns"].get<double>(), 0.95 * closed_mean);
        EXPECT_LE(row["lookup_mean_ns"].get<double>(), 1.35 * closed_mean);
    }
    EXPECT_EQ(study.rows.back()["sram_hit_ratio"], 1.0);
    EXPECT_EQ(study.rows.back()["lookup_mean_ns"], 6.0);
    // A tenth of the blocks takes nine tenths of the lookups: far more than a quarter hits.
    EXPECT_GT(study.rows[1]["sram_hit_ratio"].get<double>(), 0.7);
}

TEST_F(StudyTest, ALookupsShareFallsWithTheBlock) {
    const Study study = study_sram(
        config({"study.sram.tiers=[1 TiB]", "study.sram.blocks=[4 KiB, 64 KiB, 256 KiB, 5 MiB]",
                "study.sram.srams=[8 MiB]", "study.sram.hot_lookups=[10 %]",
                "study.sram.simulate_up_to=0"}));
    double last = 1;
    for (const Json& row : study.rows) {
        EXPECT_LT(row["lookup_share"].get<double>(), last);
        last = row["lookup_share"];
        EXPECT_NEAR(row["lookup_share"].get<double>(),
                    row["lookup_mean_ns"].get<double>() / 1e3 / row["promotion_us"].get<double>(),
                    1e-9);
    }
    EXPECT_LT(last, 0.001);
}

TEST_F(StudyTest, NodesAndRangesAreOrdered) {
    const Study study = study_sram(config(with(small_sram(), "study.sram.simulate_up_to=0")));
    for (const Json& row : study.rows) {
        for (const char* node : {"_22nm", "_7nm", "_5nm"}) {
            for (const char* figure : {"lookup_pj", "area_mm2", "leakage_mw"}) {
                const std::string name = std::string(figure) + node;
                EXPECT_LT(row[name + "_low"].get<double>(), row[name].get<double>());
                EXPECT_LT(row[name].get<double>(), row[name + "_high"].get<double>());
            }
        }
        EXPECT_LT(row["area_mm2_5nm"].get<double>(), row["area_mm2_7nm"].get<double>());
        EXPECT_LT(row["area_mm2_7nm"].get<double>(), row["area_mm2_22nm"].get<double>());
        EXPECT_LT(row["lookup_pj_7nm"].get<double>(), row["lookup_pj_22nm"].get<double>());
    }
}

TEST_F(StudyTest, ALoadedEngineWaitsAsAQueueOfOneServerDoes) {
    // Lookups alone: arrivals at random, one served a cycle. The mean wait is r / (2 (1 - r)).
    const Study study = study_lookup(config(small_lookup()));
    ASSERT_EQ(study.rows.size(), 6U);
    for (const Json& row : study.rows) {
        EXPECT_EQ(row["stable"], row["offered"] != 1.2);
        if (row["offered"] == 1.2) {
            EXPECT_NEAR(row["accepted_per_cycle"].get<double>(), 1.0, 0.01);
            EXPECT_TRUE(row["lookup_p99_ns"].is_null());
            EXPECT_TRUE(row["lookup_share_4kib"].is_null());
            continue;
        }
        const double r = row["offered"];
        EXPECT_NEAR(row["accepted_per_cycle"].get<double>(), r, 0.02);
        const double wait = row["lookup_mean_ns"].get<double>() - 6;
        EXPECT_GE(wait, r / (2 * (1 - r)) * 0.85);
        EXPECT_LE(wait, r / (2 * (1 - r)) * 1.15 + 0.6);
        EXPECT_LE(row["lookup_p50_ns"].get<double>(), row["lookup_p99_ns"].get<double>());
        if (row["lookups"] == 1.0) {
            EXPECT_TRUE(row["kicks_per_insert"].is_null());
        } else {
            // 0.32 while a table fills, 0.47 when it has long been full.
            EXPECT_NEAR(row["kicks_per_insert"].get<double>(), 0.4, 0.12);
            EXPECT_GT(row["conflicts_per_request"].get<double>(), 0.005);
        }
    }
}

TEST_F(StudyTest, LatenciesAreThoseOfLookupsAlone) {
    // Updates that wait for a place in the store buffer do not count; lookups behind them do.
    const Study study =
        study_lookup(config({"study.lookup.srams=[256 KiB]", "study.lookup.loads=[80 %]",
                             "study.lookup.banks=[8]", "study.lookup.lookups=[0 %, 1 %, 100 %]",
                             "study.lookup.offered=[10 %]", "study.lookup.requests=40000"}));
    ASSERT_EQ(study.rows.size(), 3U);
    EXPECT_EQ(study.rows[0]["stable"], true);
    for (const char* column : {"lookup_mean_ns", "lookup_p50_ns", "lookup_p99_ns", "lookup_max_ns",
                               "lookup_share_4kib", "lookup_share_5mib"}) {
        EXPECT_TRUE(study.rows[0][column].is_null()) << column;
        EXPECT_FALSE(study.rows[1][column].is_null()) << column;
    }
}

TEST_F(StudyTest, FiguresOutsideTheMacrosFitSaySo) {
    const auto in_fit = [&](const std::vector<std::string>& sets) {
        return study_sram(config(with(with(small_sram(), "study.sram.simulate_up_to=0"), sets[0])))
            .rows.back()["in_fit"]
            .get<bool>();
    };
    EXPECT_TRUE(in_fit({"card.index.banks=8"}));              // 512 KiB in eight
    EXPECT_FALSE(in_fit({"card.index.banks=32"}));            // 16 KiB each
    EXPECT_FALSE(in_fit({"card.index.slots=8"}));             // 1024 bits
    EXPECT_FALSE(in_fit({"card.index.fingerprint_bits=8"}));  // 4 KiB of fingerprints
}

TEST_F(StudyTest, WhatAStudyIsMadeOfMovesIt) {
    // What is measured, without the axes that were set.
    const auto measured = [](const Study& study) {
        Json rows = study.rows;
        for (Json& row : rows) {
            for (const char* axis : {"sram_kib", "load_target", "banks", "hot_lookups"}) {
                row.erase(axis);
            }
        }
        return rows;
    };
    const auto base = small_lookup();
    const Json before = measured(study_lookup(config(base)));
    for (const char* set :
         {"card.index.node=22 nm", "card.index.clock=2 GHz", "card.index.store_buffer=1",
          "study.lookup.banks=[2]", "study.lookup.loads=[50 %]", "study.lookup.srams=[1 MiB]",
          "seed=9", "card.index.slots=8", "card.index.fingerprint_bits=16"}) {
        EXPECT_NE(measured(study_lookup(config(with(base, set)))), before) << set;
    }
    EXPECT_EQ(measured(study_lookup(config(base))), before);
    const Json sram = measured(study_sram(config(small_sram())));
    for (const char* set :
         {"card.dram.closed_row=60 ns", "card.link.width=8", "card.index.clock=2 GHz",
          "card.index.fill=false", "study.sram.hot_lookups=[50 %]", "driver.submit=500 ns",
          "card.completion.fence=read_flush"}) {
        EXPECT_NE(measured(study_sram(config(with(small_sram(), set)))), sram) << set;
    }
    EXPECT_EQ(measured(study_sram(config(small_sram()))), sram);
}

TEST_F(StudyTest, EveryRowHasEveryColumnAndFiguresThatRestOnAnAssumptionSaySo) {
    const Study sram = study_sram(config(with(small_sram(), "study.sram.simulate_up_to=0")));
    const Study lookup = study_lookup(config(small_lookup()));
    for (const Study* study : {&sram, &lookup}) {
        std::set<std::string> assumed;
        for (const StudyColumn& column : study->columns) {
            if (!column.assumption.empty()) assumed.insert(column.name);
        }
        for (const Json& row : study->rows) {
            ASSERT_EQ(row.size(), study->columns.size());
            for (const StudyColumn& column : study->columns) {
                ASSERT_TRUE(row.contains(column.name)) << column.name;
            }
        }
        // All times, shares and figures of scaled nodes do.
        for (const StudyColumn& column : study->columns) {
            const bool scaled = column.name.find("_7nm") != std::string::npos ||
                                column.name.find("_5nm") != std::string::npos;
            const bool time = column.unit == "us" || column.unit == "ns";
            const bool share = column.name.find("share") != std::string::npos;
            if (scaled || time || share || column.name == "sram_hit_ratio") {
                EXPECT_TRUE(assumed.count(column.name) == 1) << column.name;
            }
        }
        const Json document = study_document(*study);
        EXPECT_EQ(document["schema"], "kvplane.study/1");
        EXPECT_EQ(document["study"], study->name);
        EXPECT_EQ(document["columns"].size(), study->columns.size());
    }
}

TEST_F(StudyTest, TheCommandPrintsATableOrJsonAndWritesPlots) {
    StudyOptions options;
    options.sets = small_lookup();
    std::ostringstream table;
    EXPECT_EQ(study("lookup", options, table), 0);
    EXPECT_NE(table.str().find("SRAM KiB"), std::string::npos);
    EXPECT_NE(table.str().find("* rests on what is assumed"), std::string::npos);
    options.json = true;
    options.out = testing::TempDir() + "kvplane_study_test";
    std::ostringstream json;
    EXPECT_EQ(study("lookup", options, json), 0);
    const Json document = Json::parse(json.str());
    EXPECT_EQ(document["rows"].size(), 6U);
    std::ifstream file(options.out + "/study.json");
    EXPECT_EQ(Json::parse(file), document);
    for (const char* name : {"lookup_p99", "lookup_conflicts", "lookup_kicks"}) {
        std::ifstream plot(options.out + "/" + name + ".vl.json");
        const Json spec = Json::parse(plot);
        EXPECT_NE(spec["$schema"].get<std::string>().find("vega-lite"), std::string::npos);
        EXPECT_EQ(spec["data"]["values"], document["rows"]);
        // Every field that is drawn is a column.
        for (const char* channel : {"x", "y", "color"}) {
            const std::string field = spec["encoding"][channel]["field"];
            EXPECT_TRUE(document["rows"][0].contains(field)) << field;
        }
    }
    std::filesystem::remove_all(options.out);
    EXPECT_THROW((void)study("nothing", options, json), UserError);
}

TEST_F(StudyTest, TheEnginesLogicComesFromWhatWasSynthesised) {
    StudyOptions options;
    options.sets = {"study.sram.tiers=[1 GiB]", "study.sram.blocks=[64 KiB]",
                    "study.sram.srams=[64 KiB, 8 MiB]", "study.sram.hot_lookups=[50 %]",
                    "study.sram.simulate_up_to=0"};
    options.json = true;
    const std::string shape =
        R"("Slots": 4, "Banks": 8, "Stash": 16, "KickLimit": 32, "SramLatency": 1,)";
    const auto rows = [&](const std::string& more) {
        options.synthesis =
            write("synthesis.json", R"({"schema": "kvplane.synthesis/1", "rows": [{)" + shape +
                                        more + R"("gates": 60000, "flip_flops": 8000,
                                        "gate_path": 70}]})");
        std::ostringstream out;
        EXPECT_EQ(study("sram", options, out), 0);
        return Json::parse(out.str())["rows"];
    };
    const Json found = rows(R"("BucketsLog2": 16, "StoreBuffer": 16,)");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_TRUE(found[0]["logic_gates"].is_null());  // 64 KiB: of another shape
    EXPECT_EQ(found[1]["logic_gates"], 60000);
    EXPECT_EQ(found[1]["logic_flip_flops"], 8000);
    EXPECT_EQ(found[1]["logic_path"], 70);
    EXPECT_TRUE(rows(R"("BucketsLog2": 16, "StoreBuffer": 8,)")[1]["logic_gates"].is_null());
    EXPECT_EQ(rows(R"("BucketsLog2": 9, "StoreBuffer": 16,)")[0]["logic_gates"], 60000);

    std::ostringstream out;
    options.synthesis = write("other.json", R"({"schema": "kvplane.study/1", "rows": []})");
    EXPECT_THROW((void)study("sram", options, out), UserError);
    options.synthesis = write("row.json", R"({"schema": "kvplane.synthesis/1", "rows": [{}]})");
    EXPECT_THROW((void)study("sram", options, out), UserError);
    options.synthesis = "no_such.json";
    EXPECT_THROW((void)study("sram", options, out), UserError);
}

TEST_F(StudyTest, AnotherImplementationThanTheTlmFormIsTheUsersMistake) {
    for (const char* name : {"sram", "lookup"}) {
        for (const char* implementation : {"rtl", "lockstep"}) {
            StudyOptions options;
            options.sets = {std::string("card.index.implementation=") + implementation};
            std::ostringstream out;
            try {
                (void)study(name, options, out);
                FAIL() << name << " takes " << implementation;
            } catch (const UserError& error) {
                const std::string line = error.what();
                EXPECT_NE(line.find("card.index.implementation"), std::string::npos) << line;
                EXPECT_EQ(line.find('\n'), std::string::npos) << line;
            }
            EXPECT_TRUE(out.str().empty());
        }
    }
}

TEST_F(StudyTest, AxesOutOfRangeAreTheUsersMistake) {
    for (const char* set :
         {"study.sram.srams=[32 KiB]", "study.sram.srams=[100 KiB]", "study.lookup.loads=[99 %]",
          "study.lookup.banks=[3]", "study.sram.tiers=[]", "study.lookup.offered=[0 %]"}) {
        EXPECT_THROW((void)config({set}), UserError) << set;
    }
}

}  // namespace
}  // namespace kvplane::explore
