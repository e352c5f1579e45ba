// SPDX-License-Identifier: Apache-2.0
#include "model/memory/sram_macro.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "model/common/errors.h"
#include "tests/support/shared_data.h"

namespace kvplane::memory {
namespace {

using enum SramNode;
using Row = std::map<std::string, std::string>;

/// CACTI's points of low-standby-power cells from 32 KiB, of `banks` banks and `ports`.
std::vector<Row> cacti_rows(const std::string& ports, const std::string& banks) {
    std::ifstream file(test::shared_path("facts/cacti.csv"));
    std::vector<std::string> names;
    std::vector<Row> rows;
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream cells(line);
        std::string cell;
        Row row;
        std::vector<std::string> values;
        while (std::getline(cells, cell, ',')) values.push_back(cell);
        if (names.empty()) {
            names = values;
            continue;
        }
        for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = values.at(i);
        if (row["cell"] == "itrs-lstp" && row["ports"] == ports && row["banks"] == banks &&
            std::stod(row["size_KiB"]) >= 32) {
            rows.push_back(row);
        }
    }
    return rows;
}

SramMacro model_of(Row row) {
    return sram_macro({.capacity = Bytes::from_kib(std::stoull(row["size_KiB"])),
                       .port_bits = static_cast<std::uint32_t>(std::stoul(row["port_bits"])),
                       .node = k22nm,
                       .banks = static_cast<std::uint32_t>(std::stoul(row["banks"])),
                       .ports = row["ports"] == "1R1W" ? SramPorts::k1r1w : SramPorts::k1rw});
}

struct Error {
    double mean = 0;
    double max = 0;
};

/// The errors of one figure over rows; cycles over 64-bit ports alone.
Error error_of(const std::vector<Row>& rows, const std::string& column) {
    Error error;
    int count = 0;
    for (Row row : rows) {
        if (column == "cycle_ns" && row["port_bits"] != "64") continue;
        const SramMacro macro = model_of(row);
        const std::map<std::string, double> figures{
            {"access_ns", static_cast<double>(macro.access.ps) / 1e3},
            {"cycle_ns", static_cast<double>(macro.cycle.ps) / 1e3},
            {"read_pJ", static_cast<double>(macro.read_fj) / 1e3},
            {"write_pJ", static_cast<double>(macro.write_fj) / 1e3},
            {"area_mm2", static_cast<double>(macro.area_um2) / 1e6},
            {"leak_mW_total", static_cast<double>(macro.leakage_uw) / 1e3}};
        const double one = std::fabs(figures.at(column) / std::stod(row[column]) - 1);
        error.mean += one;
        error.max = std::max(error.max, one);
        ++count;
    }
    error.mean /= count;
    return error;
}

struct Stated {
    const char* column;
    Error error;
};

/// Holds the errors to the figures of the header, from both sides: one that is stated too large
/// is as wrong as one that is stated too small.
void expect_stated(const std::string& ports, const std::string& banks, std::size_t points,
                   const std::vector<Stated>& stated) {
    const std::vector<Row> rows = cacti_rows(ports, banks);
    ASSERT_EQ(rows.size(), points) << ports << " " << banks;
    for (const Stated& figure : stated) {
        const Error error = error_of(rows, figure.column);
        SCOPED_TRACE(ports + ", " + banks + " banks, " + figure.column);
        EXPECT_NEAR(error.mean, figure.error.mean, 0.006);
        EXPECT_NEAR(error.max, figure.error.max, 0.012);
    }
}

TEST(SramMacroTest, FollowsTheFittedPointsWithinTheStatedErrors) {
    KVPLANE_REQUIRE_SHARED("facts/cacti.csv");
    expect_stated("1RW", "1", 42,
                  {{"access_ns", {0.069, 0.16}},
                   {"cycle_ns", {0.0, 0.0}},
                   {"read_pJ", {0.037, 0.10}},
                   {"write_pJ", {0.041, 0.18}},
                   {"area_mm2", {0.074, 0.20}},
                   {"leak_mW_total", {0.33, 0.93}}});
}

TEST(SramMacroTest, FollowsPointsThatWereNotFittedWithinTheStatedErrors) {
    KVPLANE_REQUIRE_SHARED("facts/cacti.csv");
    expect_stated("1RW", "2", 33,
                  {{"access_ns", {0.083, 0.19}},
                   {"cycle_ns", {0.16, 1.04}},
                   {"read_pJ", {0.051, 0.13}},
                   {"write_pJ", {0.051, 0.18}},
                   {"area_mm2", {0.104, 0.27}},
                   {"leak_mW_total", {0.351, 0.90}}});
    expect_stated("1RW", "4", 33,
                  {{"access_ns", {0.075, 0.18}},
                   {"cycle_ns", {0.16, 1.04}},
                   {"read_pJ", {0.057, 0.26}},
                   {"write_pJ", {0.068, 0.26}},
                   {"area_mm2", {0.107, 0.29}},
                   {"leak_mW_total", {0.413, 0.87}}});
    expect_stated("1RW", "8", 33,
                  {{"access_ns", {0.079, 0.23}},
                   {"cycle_ns", {0.20, 1.04}},
                   {"read_pJ", {0.095, 0.39}},
                   {"write_pJ", {0.068, 0.34}},
                   {"area_mm2", {0.105, 0.33}},
                   {"leak_mW_total", {0.434, 0.93}}});
    expect_stated("1R1W", "1", 12,
                  {{"access_ns", {0.053, 0.14}},
                   {"cycle_ns", {0.224, 0.35}},
                   {"read_pJ", {0.048, 0.13}},
                   {"write_pJ", {0.069, 0.13}},
                   {"area_mm2", {0.064, 0.147}},
                   {"leak_mW_total", {0.20, 0.32}}});
}

/// The sizing table of the index: eight independent banks, 512-bit buckets, two read a lookup.
struct Sizing {
    double table_mib;
    double t22;
    double t7;
    double pj22;
    double pj7;
    double mm22;
    double mm7;
    double mm5;
};

TEST(SramMacroTest, MeetsTheSizingTableAtEveryNode) {
    for (const Sizing& row : {Sizing{0.3125, 0.47, 0.30, 36, 22, 0.7, 0.16, 0.12},
                              Sizing{1.25, 0.65, 0.42, 89, 53, 2.0, 0.62, 0.47},
                              Sizing{5, 1.02, 0.66, 193, 116, 6.3, 2.5, 1.9},
                              Sizing{20, 1.76, 1.14, 403, 242, 22, 10, 7.6},
                              Sizing{80, 3.23, 2.10, 822, 493, 80, 40, 30}}) {
        SramMacroConfig bank{
            .capacity = {static_cast<std::uint64_t>(row.table_mib * 1024 * 1024 / 8)},
            .port_bits = 512,
            .node = k22nm};
        const SramMacro at_22 = sram_macro(bank);
        EXPECT_NEAR(static_cast<double>(at_22.access.ps), row.t22 * 1e3, 6);
        EXPECT_NEAR(static_cast<double>(2 * at_22.read_fj) / 1e3, row.pj22, 0.8);
        EXPECT_NEAR(static_cast<double>(8 * at_22.area_um2) / 1e6, row.mm22, 0.05 * row.mm22);
        bank.node = k7nm;
        const SramMacro at_7 = sram_macro(bank);
        EXPECT_NEAR(static_cast<double>(at_7.access.ps), row.t7 * 1e3, 6);
        EXPECT_NEAR(static_cast<double>(2 * at_7.read_fj) / 1e3, row.pj7, 0.6);
        EXPECT_NEAR(static_cast<double>(8 * at_7.area_um2) / 1e6, row.mm7, 0.04 * row.mm7);
        bank.node = k5nm;
        EXPECT_NEAR(static_cast<double>(8 * sram_macro(bank).area_um2) / 1e6, row.mm5,
                    0.04 * row.mm5);
        EXPECT_LT(sram_macro(bank).access, at_7.access);
    }
}

TEST(SramMacroTest, CornersEncloseTheTypicalFigure) {
    for (const SramNode node : {k22nm, k7nm, k5nm}) {
        const SramMacroConfig config{
            .capacity = Bytes::from_mib(1), .port_bits = 512, .node = node};
        const SramMacro low = sram_macro(config, Corner::kLow);
        const SramMacro typical = sram_macro(config);
        const SramMacro high = sram_macro(config, Corner::kHigh);
        EXPECT_TRUE(low.access < typical.access && typical.access < high.access);
        EXPECT_TRUE(low.cycle < typical.cycle && typical.cycle < high.cycle);
        EXPECT_TRUE(low.read_fj < typical.read_fj && typical.read_fj < high.read_fj);
        EXPECT_TRUE(low.write_fj < typical.write_fj && typical.write_fj < high.write_fj);
        EXPECT_TRUE(low.area_um2 < typical.area_um2 && typical.area_um2 < high.area_um2);
        EXPECT_TRUE(low.leakage_uw < typical.leakage_uw && typical.leakage_uw < high.leakage_uw);
    }
}

TEST(SramMacroTest, EachParameterMovesWhatItShould) {
    const SramMacroConfig base{.capacity = Bytes::from_mib(1), .port_bits = 64, .node = k22nm};
    const SramMacro macro = sram_macro(base);
    EXPECT_EQ(macro.access, Time{1155});  // 214 + 933 + 8.44
    EXPECT_EQ(macro.read_fj, 20'510U);
    EXPECT_EQ(macro.leakage_uw, 29'000U);
    EXPECT_EQ(macro.area_um2, 949'000U);
    SramMacroConfig other = base;
    other.capacity = Bytes::from_mib(4);
    EXPECT_EQ(sram_macro(other).access, Time{2088});
    EXPECT_EQ(sram_macro(other).leakage_uw, 4 * macro.leakage_uw);
    other = base;
    other.port_bits = 512;
    EXPECT_GT(sram_macro(other).read_fj, 5 * macro.read_fj);
    EXPECT_GT(sram_macro(other).area_um2, macro.area_um2);
    other = base;
    other.banks = 8;
    EXPECT_LT(sram_macro(other).access, macro.access);
    EXPECT_GT(sram_macro(other).area_um2, macro.area_um2);
    other = base;
    other.ports = SramPorts::k1r1w;
    EXPECT_EQ(sram_macro(other).area_um2, macro.area_um2 * 1956 / 1000);
    EXPECT_GT(sram_macro(other).access, macro.access);
}

TEST(SramMacroTest, KnowsWhereItsFitEnds) {
    EXPECT_TRUE(in_fit({.capacity = Bytes::from_kib(32), .port_bits = 512}));
    EXPECT_FALSE(in_fit({.capacity = Bytes::from_kib(31), .port_bits = 512}));
    EXPECT_TRUE(in_fit({.capacity = Bytes::from_mib(64)}));
    EXPECT_FALSE(in_fit({.capacity = Bytes::from_mib(65)}));
    EXPECT_FALSE(in_fit({.capacity = Bytes::from_mib(1), .port_bits = 1024}));
    // A tiny wide macro's read would come out negative: the floor holds.
    EXPECT_EQ(sram_macro({.capacity = {512}, .port_bits = 512, .node = k22nm}).read_fj, 500U);
}

TEST(SramMacroTest, RefusesWhatIsNoMacro) {
    EXPECT_THROW((void)sram_macro({.capacity = {}}), InvariantError);
    for (const std::uint32_t banks : {0U, 3U, 16U}) {
        EXPECT_THROW((void)sram_macro({.capacity = {4096}, .banks = banks}), InvariantError);
    }
    EXPECT_THROW((void)sram_macro({.capacity = {4096}, .port_bits = 65}), InvariantError);
}

}  // namespace
}  // namespace kvplane::memory
