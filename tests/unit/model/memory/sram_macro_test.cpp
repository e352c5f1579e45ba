// SPDX-License-Identifier: Apache-2.0
#include "model/memory/sram_macro.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvplane::memory {
namespace {

/// CACTI 7, 22 nm, one bank, one port, SECDED, 360 K, low-standby-power cells: access in ns.
struct Point {
    std::uint64_t kib;
    std::uint32_t port_bits;
    double access;
};
constexpr Point kCacti[] = {{64, 64, 0.47},    {64, 256, 0.45},    {64, 512, 0.48},
                            {256, 64, 0.74},   {256, 256, 0.77},   {256, 512, 0.87},
                            {1024, 64, 1.22},  {1024, 256, 1.34},  {1024, 512, 1.44},
                            {4096, 64, 2.08},  {4096, 256, 2.21},  {4096, 512, 2.35},
                            {16384, 64, 3.69}, {16384, 256, 3.86}, {16384, 512, 3.95},
                            {65536, 64, 6.66}, {65536, 256, 6.81}, {65536, 512, 7.04}};

TEST(SramMacroTest, FollowsCactiWithinTheStatedError) {
    double sum = 0;
    for (const Point& point : kCacti) {
        const Time model = sram_access_time({.capacity = Bytes::from_kib(point.kib),
                                             .port_bits = point.port_bits,
                                             .node = SramNode::k22nm});
        const double error = std::fabs(static_cast<double>(model.ps) / 1e3 / point.access - 1);
        EXPECT_LE(error, 0.16) << point.kib << " KiB, " << point.port_bits << " b";
        sum += error;
    }
    EXPECT_LE(sum / std::size(kCacti), 0.08);
}

/// The sizing table of the index: 8 banks, 512-bit buckets.
struct Row {
    double table_mib;
    double t22;
    double t7;
};

TEST(SramMacroTest, MeetsTheSizingTableAt22And7Nanometres) {
    for (const Row& row : {Row{0.3125, 0.47, 0.30}, Row{1.25, 0.65, 0.42}, Row{5, 1.02, 0.66},
                           Row{20, 1.76, 1.14}, Row{80, 3.23, 2.10}}) {
        SramMacroConfig bank{
            .capacity = {static_cast<std::uint64_t>(row.table_mib * 1024 * 1024 / 8)},
            .port_bits = 512,
            .node = SramNode::k22nm};
        EXPECT_NEAR(static_cast<double>(sram_access_time(bank).ps), row.t22 * 1e3, 6);
        bank.node = SramNode::k7nm;
        EXPECT_NEAR(static_cast<double>(sram_access_time(bank).ps), row.t7 * 1e3, 6);
        const Time at_7nm = sram_access_time(bank);
        bank.node = SramNode::k5nm;
        EXPECT_LT(sram_access_time(bank), at_7nm);
    }
}

}  // namespace
}  // namespace kvplane::memory
