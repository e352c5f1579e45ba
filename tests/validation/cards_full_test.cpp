// SPDX-License-Identifier: Apache-2.0
/// Cards against their references; half a minute.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "explore/config.h"
#include "explore/validate_cards.h"
#include "model/common/errors.h"
#include "model/cxl/link.h"

namespace kvplane::explore {
namespace {

using Rows = std::vector<ValidationRow>;

card::CardConfig card_of(const std::string& name) {
    return load(std::string(KVPLANE_SOURCE_DIR) + "/configs/cards/" + name + ".yaml").run.card;
}

std::set<std::string> fallen(const Rows& rows) {
    std::set<std::string> ids;
    for (const ValidationRow& row : rows) {
        if (!row.passes()) ids.insert(row.id);
    }
    return ids;
}

void expect_sound(const Rows& rows, std::size_t count, std::size_t held_out,
                  const std::set<std::string>& excused) {
    std::set<std::string> ids;
    std::size_t out = 0;
    for (const ValidationRow& row : rows) {
        EXPECT_LE(row.tolerance, row.id.starts_with("V2") ? 0.01 : 0.05) << row.id;
        EXPECT_TRUE(ids.insert(row.id).second) << row.id << " is there twice";
        if (excused.contains(row.id)) {
            EXPECT_TRUE(row.passes()) << row.id << ": " << row.error();
            EXPECT_FALSE(row.reason.empty()) << row.id;
            EXPECT_FALSE(row.holds()) << row.id << " needs no excuse";
        } else {
            EXPECT_TRUE(row.holds()) << row.id << ": " << row.model << " instead of "
                                     << row.reference_low << " to " << row.reference_high;
            EXPECT_TRUE(row.reason.empty()) << row.id;
        }
        out += row.held_out ? 1 : 0;
    }
    EXPECT_EQ(rows.size(), count);
    EXPECT_EQ(out, held_out);
}

TEST(ValidateCardsFullTest, MessCurve) {
    expect_sound(validate_mess_curve(card_of("mess-x8")), 9, 2, {});
}

TEST(ValidateCardsFullTest, CmaBlade) {
    expect_sound(validate_cma_blade(card_of("seagate-cma")), 22, 17,
                 {"V5-slowest-1%", "V6-write-2"});
}

TEST(ValidateCardsFullTest, Cz120) {
    expect_sound(validate_cz120(card_of("micron-cz120")), 1, 0, {});
}

/// Each parameter that was calibrated, or chosen, fells its rows and leaves others.
TEST(ValidateCardsFullTest, AWrongParameterOfTheBladeFellsItsRows) {
    const auto change = [](const std::function<void(card::CardConfig&)>& to) {
        card::CardConfig card = card_of("seagate-cma");
        to(card);
        return fallen(validate_cma_blade(card));
    };
    const auto processing =
        change([](card::CardConfig& c) { c.mem.processing = Time::from_ns(120); });
    EXPECT_TRUE(processing.contains("V5-p50"));
    EXPECT_TRUE(processing.contains("V5-random-4"));
    EXPECT_TRUE(processing.contains("V6-read-4"));
    EXPECT_FALSE(processing.contains("V6-read-1"));
    EXPECT_FALSE(processing.contains("V6-write-1"));
    const auto read = change([](card::CardConfig& c) { c.mem.front_end.read = Time::from_ns(11); });
    EXPECT_TRUE(read.contains("V6-read-1"));
    EXPECT_TRUE(read.contains("V5-random-24"));
    EXPECT_FALSE(read.contains("V5-p50"));
    EXPECT_FALSE(read.contains("V6-write-1"));
    const auto write =
        change([](card::CardConfig& c) { c.mem.front_end.write = Time::from_ns(30); });
    EXPECT_TRUE(write.contains("V6-write-1"));
    EXPECT_TRUE(write.contains("V6-write-4"));
    EXPECT_FALSE(write.contains("V6-read-1"));
    const auto lanes = change([](card::CardConfig& c) { c.mem.front_end.lanes = 4; });
    EXPECT_TRUE(lanes.contains("V5-random-16"));
    EXPECT_TRUE(lanes.contains("V6-write-3"));
    const auto depth = change([](card::CardConfig& c) { c.mem.depth = 128; });
    EXPECT_TRUE(depth.contains("V5-random-16"));
    EXPECT_FALSE(depth.contains("V5-random-4"));
}

TEST(ValidateCardsFullTest, AWrongParameterOfTheOthersFellsItsRows) {
    card::CardConfig card = card_of("micron-cz120");
    card.link.multi_data_header = true;
    EXPECT_EQ(fallen(validate_cz120(card)), std::set<std::string>{"V7"});
    card = card_of("mess-x8");
    card.link.sync_header_bypass = false;
    EXPECT_TRUE(fallen(validate_mess_curve(card)).contains("V2-card-90:10"));
    card = card_of("mess-x8");
    card.mem.processing = Time::from_ns(15);
    EXPECT_TRUE(fallen(validate_mess_curve(card)).contains("V1-idle"));
    card = card_of("mess-x8");
    card.lines.refresh = memory::DramRefreshMode::kAllBank;
    EXPECT_TRUE(fallen(validate_mess_curve(card)).contains("V1-94%"));
}

TEST(ValidateCardsFullTest, CurvesRiseAndStayBelowTheWireAndThePins) {
    for (const auto& file :
         std::filesystem::directory_iterator(std::string(KVPLANE_SOURCE_DIR) + "/configs/cards")) {
        const std::string name = file.path().stem();
        SCOPED_TRACE(name);
        const card::CardConfig card = card_of(name);
        const double pins = line_dram(card).pins().gb_s();
        const double wires = 2 * cxl::Link(card.link).wire_rate().gb_s();
        std::map<std::string, std::vector<LoadedLatencyPoint>> series;
        for (const LoadedLatencyPoint& point : loaded_latency(name, card)) {
            if (!point.reference) series[point.series].push_back(point);
        }
        EXPECT_GE(series.size(), 2U);
        for (const auto& [what, points] : series) {
            SCOPED_TRACE(what);
            EXPECT_GE(points.size(), 7U);
            for (std::size_t i = 0; i < points.size(); ++i) {
                EXPECT_LT(points[i].gb_s, pins);
                EXPECT_LT(points[i].gb_s, wires);
                EXPECT_FALSE(points[i].loop.empty());
                EXPECT_GE(points[i].p99_ns, points[i].p50_ns);
                if (i == 0) continue;
                EXPECT_GT(points[i].gb_s, points[i - 1].gb_s * 0.98);
                EXPECT_GT(points[i].mean_ns, points[i - 1].mean_ns * 0.97);
            }
        }
    }
}

/// A folder whose cards are those of `names`, each with `sets` added.
std::filesystem::path folder_of(const std::vector<std::string>& names, const std::string& sets) {
    const std::filesystem::path folder =
        std::filesystem::path(testing::TempDir()) / "kvplane_validate_cards";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    for (const std::string& name : names) {
        std::ofstream(folder / (name + ".yaml"))
            << "include: " << KVPLANE_SOURCE_DIR << "/configs/cards/" << name << ".yaml\n"
            << sets;
    }
    return folder;
}

/// The command on cards whose files have a wrong number: exit code 1, and its plots all the same.
TEST(ValidateCardsFullTest, ACardThatDoesNotHoldIsAnExitCode) {
    const auto folder = folder_of({"mess-x8", "micron-cz120", "seagate-cma"}, "");
    std::ostringstream out;
    EXPECT_EQ(validate({.only = "cards",
                        .json = true,
                        .out = folder / "out",
                        .cards = folder.string(),
                        .sets = {"card.link.multi_data_header=true", "card.dram.timing.rfc1=1"}},
                       out),
              1);
    const auto object = nlohmann::json::parse(out.str());
    bool tail_fails = false;
    for (const auto& row : object["rows"]) {
        if (row["id"] == "V7") {
            EXPECT_FALSE(row["holds"]) << "--set reaches the cards";
        }
        // Without refreshes the tail is gone, and the excuse of what is left of it does not cover.
        if (row["id"] != "V5-slowest-1%") continue;
        const double error = row["error"];
        const double excused = row["excused"];
        tail_fails = std::abs(error - excused) > kExcuse;
    }
    EXPECT_TRUE(tail_fails);
    std::ifstream plot(folder / "out" / "loaded-latency-micron-cz120.vl.json");
    const auto spec = nlohmann::json::parse(plot);
    EXPECT_GE(spec["data"]["values"].size(), 20U);
    EXPECT_EQ(spec["layer"].size(), 3U);
    EXPECT_TRUE(std::filesystem::exists(folder / "out" / "validate.json"));
    std::filesystem::remove_all(folder);
}

TEST(ValidateCardsFullTest, ACardThatIsMissingIsNamed) {
    const auto message = [](const std::filesystem::path& folder) {
        std::ostringstream out;
        std::string what;
        try {
            (void)validate({.only = "cards", .cards = folder.string()}, out);
        } catch (const UserError& error) {
            what = error.what();
        }
        EXPECT_EQ(out.str(), "");
        return what;
    };
    auto folder = folder_of({"mess-x8", "seagate-cma", "fpga"}, "");
    EXPECT_NE(message(folder).find("micron-cz120.yaml"), std::string::npos);
    folder = folder_of({"fpga"}, "");
    EXPECT_NE(message(folder).find("mess-x8.yaml"), std::string::npos);
    std::filesystem::remove_all(folder);
    EXPECT_NE(message(folder).find("no cards"), std::string::npos);
}

}  // namespace
}  // namespace kvplane::explore
