// SPDX-License-Identifier: Apache-2.0
#include "model/memory/dram_timing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"
#include "model/memory/address_map.h"
#include "model/memory/ddr5_config.h"
#include "model/memory/ddr5_subchannel.h"

namespace kvplane::memory {
namespace {

constexpr DramPreset kPresets[] = {DramPreset::kDdr5At4800B, DramPreset::kDdr5At5600B,
                                   DramPreset::kDdr5At6400B, DramPreset::kDdr4At3200AA,
                                   DramPreset::kDdr4At1866M};

TEST(DramTimingTest, PresetsAreLegalAndHaveThePinsOfTheirName) {
    for (const DramPreset preset : kPresets) {
        EXPECT_NO_THROW(check(Ddr5Config::of(preset))) << to_string(preset);
    }
    EXPECT_EQ(Ddr5Config::of(DramPreset::kDdr5At4800B).pins(), Rate{38'400'000'000});
    EXPECT_EQ(Ddr5Config::of(DramPreset::kDdr5At5600B).pins(), Rate{44'800'000'000});
    EXPECT_EQ(Ddr5Config::of(DramPreset::kDdr5At6400B).pins(), Rate{51'200'000'000});
    EXPECT_EQ(Ddr5Config::of(DramPreset::kDdr4At3200AA).pins(), Rate{25'600'000'000});
    EXPECT_EQ(Ddr5Config::of(DramPreset::kDdr4At1866M).pins(), Rate{14'928'000'000});
    EXPECT_EQ(Ddr5Config{}.capacity(), Bytes::from_gib(16));
}

/// The rules in ns and least cycles, as published for the speed bins.
TEST(DramTimingTest, Ddr5PresetsFollowTheRulesInNanoseconds) {
    for (const DramPreset preset :
         {DramPreset::kDdr5At4800B, DramPreset::kDdr5At5600B, DramPreset::kDdr5At6400B}) {
        const DramTiming t = timing_of(preset);
        const auto cycles = [&](double ns) {
            return static_cast<Cycle>(
                std::ceil(ns * static_cast<double>(t.speed.per_second) / 2e9 - 1e-9));
        };
        EXPECT_EQ(t.ras, cycles(32));
        EXPECT_EQ(t.ccd_l, cycles(5));
        EXPECT_EQ(t.ccd_l_wr, cycles(20));
        EXPECT_EQ(t.ccd_l_wr2, cycles(10));
        EXPECT_EQ(t.rrd_l, cycles(5));
        EXPECT_EQ(t.wtr_s, cycles(2.5));
        EXPECT_EQ(t.wtr_l, cycles(10));
        EXPECT_EQ(t.rtp, cycles(7.5));
        EXPECT_EQ(t.wr, cycles(30));
        EXPECT_EQ(t.rfc1, cycles(295));
        EXPECT_EQ(t.rfc2, cycles(160));
        EXPECT_EQ(t.rfc_sb, cycles(130));
        EXPECT_EQ(t.refsb_rd, cycles(30));
        EXPECT_EQ(t.refi1, cycles(3900));
        EXPECT_EQ(t.refi2, cycles(1950));
        EXPECT_EQ(t.faw, 32);
        EXPECT_EQ(t.cwl, t.cl - 2);
        EXPECT_EQ(t.rc, t.ras + t.rp);
    }
}

TEST(DramTimingTest, TheClockDoesNotDriftAndComesBack) {
    for (const DramPreset preset : kPresets) {
        const TransferRate speed = timing_of(preset).speed;
        const DramClock clock(speed);
        const auto mega = static_cast<Cycle>(speed.per_second / 1'000'000);
        EXPECT_EQ(clock.at(mega * 1'000'000'000 / 2), Time::from_ms(1'000'000))
            << "a thousand seconds are a whole number of cycles";
        RandomStream random(1, "clock");
        for (int i = 0; i < 2'000; ++i) {
            const auto cycle = static_cast<Cycle>(random.uniform(1ULL << random.uniform(1, 45)));
            EXPECT_EQ(clock.first_at(clock.at(cycle)), cycle);
            EXPECT_EQ(clock.last_at(clock.at(cycle)), cycle);
            EXPECT_EQ(clock.last_at(clock.at(cycle + 1) - Time{1}), cycle);
            EXPECT_EQ(clock.first_at(clock.at(cycle) + Time{1}), cycle + 1);
        }
    }
}

struct Bad {
    const char* why;  ///< a word of the message
    void (*spoil)(Ddr5Config&);
};

constexpr Bad kBad[] = {
    {"speed", [](Ddr5Config& c) { c.timing.speed = {0}; }},
    {"speed", [](Ddr5Config& c) { c.timing.speed = {100'000'000'000}; }},
    {"whole number", [](Ddr5Config& c) { c.timing.speed = {4'800'000'001}; }},
    {"cl must", [](Ddr5Config& c) { c.timing.cl = 0; }},
    {"cwl must", [](Ddr5Config& c) { c.timing.cwl = -3; }},
    {"rcd must", [](Ddr5Config& c) { c.timing.rcd = 0; }},
    {"rp must", [](Ddr5Config& c) { c.timing.rp = 0; }},
    {"rtp must", [](Ddr5Config& c) { c.timing.rtp = 2'000'000; }},
    {"burst must", [](Ddr5Config& c) { c.timing.burst = 0; }},
    {"pins", [](Ddr5Config& c) { c.timing.ccd_s = 7; }},
    {"line of 64 B", [](Ddr5Config& c) { c.timing.burst = 4; }},
    {"line of 64 B", [](Ddr5Config& c) { c.geometry.bus_bytes = 8; }},
    {"rc must", [](Ddr5Config& c) { c.timing.rc = 100; }},
    {"ras must", [](Ddr5Config& c) { c.timing.ras = 38; }},
    {"bank group", [](Ddr5Config& c) { c.timing.ccd_l = 7; }},
    {"bank group", [](Ddr5Config& c) { c.timing.ccd_l_wr = 23; }},
    {"faw", [](Ddr5Config& c) { c.timing.faw = 7; }},
    {"refi", [](Ddr5Config& c) { c.timing.refi1 = 700; }},
    {"go together", [](Ddr5Config& c) { c.timing.refsb_rd = 0; }},
    {"ranks", [](Ddr5Config& c) { c.geometry.ranks = 3; }},
    {"rows", [](Ddr5Config& c) { c.geometry.rows = 65'535; }},
    {"lines of a row", [](Ddr5Config& c) { c.geometry.lines_per_row = 0; }},
    {"channels", [](Ddr5Config& c) { c.channels = 0; }},
    {"interleave", [](Ddr5Config& c) { c.interleave = {96}; }},
    {"interleave", [](Ddr5Config& c) { c.interleave = {32}; }},
    {"mapping", [](Ddr5Config& c) { c.mapping = "mop5"; }},
    {"read_queue", [](Ddr5Config& c) { c.read_queue = 1; }},
    {"write_queue", [](Ddr5Config& c) { c.write_queue = 5'000; }},
    {"write_high", [](Ddr5Config& c) { c.write_high = 32; }},
    {"write_low", [](Ddr5Config& c) { c.write_low = 0; }},
    {"starvation", [](Ddr5Config& c) { c.starvation = {}; }},
    {"scrub", [](Ddr5Config& c) { c.scrub_interval = {1}; }},
    {"cap", [](Ddr5Config& c) { c.thermal.bandwidth_cap = {0}; }},
    {"cap", [](Ddr5Config& c) { c.thermal.bandwidth_cap = {1'000'001}; }},
    {"controller", [](Ddr5Config& c) { c.controller = {-1}; }},
    {"ecc_buffer",
     [](Ddr5Config& c) {
         c.ecc = DramEcc::kInline;
         c.ecc_buffer = 32;
     }},
    {"no refresh of a bank",
     [](Ddr5Config& c) {
         c = Ddr5Config::of(DramPreset::kDdr4At3200AA);
         c.refresh = DramRefreshMode::kSameBank;
     }},
    {"command_long must be 1 to 16", [](Ddr5Config& c) { c.timing.command_long = 17; }},
    {"faw must be 1 to 4096", [](Ddr5Config& c) { c.timing.faw = 4'097; }},
    {"no time for an access", [](Ddr5Config& c) { c.timing.refi1 = 900; }},
    {"no time for an access", [](Ddr5Config& c) { c.timing.rfc1 = 9'200; }},
    {"no time for an access",
     [](Ddr5Config& c) {
         c.timing.rc = 4'000;
         c.timing.refi1 = 4'700;
     }},
    {"no time for an access",
     [](Ddr5Config& c) {
         c.timing.refi1 = 1'400;
         c.thermal.double_refresh = true;
     }},
};

TEST(DramTimingTest, WhatCannotBeIsRefusedInOneLine) {
    for (const Bad& bad : kBad) {
        Ddr5Config config;
        bad.spoil(config);
        std::string message;
        try {
            const Ddr5Subchannel channel(config);
        } catch (const UserError& error) {
            message = error.what();
        }
        EXPECT_NE(message.find(bad.why), std::string::npos) << bad.why << ": " << message;
        EXPECT_EQ(message.find('\n'), std::string::npos);
    }
}

TEST(AddressMapTest, EveryMappingIsOneToOne) {
    for (const DramPreset preset : kPresets) {
        DramGeometry geometry = geometry_of(preset);
        geometry.rows = 32;
        geometry.ranks = 2;
        for (const std::string order :
             {"mop4", "mop4-xor", "row-bank-column", "bank-interleave", "bank-row-column",
              "row column group column3 bank rank xor", "column rank row bank group column1"}) {
            const AddressMap map(order, geometry);
            std::vector<bool> seen(geometry.lines());
            for (std::uint64_t line = 0; line < geometry.lines(); ++line) {
                const DramPlace place = map.place(line);
                ASSERT_LT(place.bank, geometry.all_banks());
                ASSERT_LT(place.row, geometry.rows);
                ASSERT_LT(place.column, geometry.lines_per_row);
                ASSERT_EQ(map.line(place), line) << order;
                const std::uint64_t flat = (std::uint64_t{place.bank} * geometry.rows + place.row) *
                                               geometry.lines_per_row +
                                           place.column;
                ASSERT_FALSE(seen[flat]) << order << ", line " << line;
                seen[flat] = true;
            }
        }
    }
}

TEST(AddressMapTest, NamesMeanWhatTheySay) {
    const DramGeometry g = geometry_of(DramPreset::kDdr5At4800B);
    const AddressMap mop("mop4", g);
    EXPECT_EQ(mop.place(3), (DramPlace{0, 0, 3}));
    EXPECT_EQ(mop.place(4), (DramPlace{4, 0, 0})) << "the next bank group";
    EXPECT_EQ(mop.place(32), (DramPlace{1, 0, 0})) << "the next bank";
    EXPECT_EQ(mop.place(128), (DramPlace{0, 0, 4}));
    EXPECT_EQ(mop.place(2048), (DramPlace{0, 1, 0}));
    EXPECT_EQ(AddressMap("mop4-xor", g).place(2048), (DramPlace{4, 1, 0}));
    EXPECT_EQ(AddressMap("bank-interleave", g).place(1), (DramPlace{4, 0, 0}));
    EXPECT_EQ(AddressMap("row-bank-column", g).place(64), (DramPlace{4, 0, 0}));
    EXPECT_EQ(AddressMap("bank-row-column", g).place(64), (DramPlace{0, 1, 0}));
}

TEST(AddressMapTest, MistakesAreNamed) {
    const DramGeometry g;
    for (const char* order :
         {"", "row", "row rank bank group", "row row rank bank group column",
          "row rank bank group column xor column2", "row rank bank group colum",
          "row rank bank group column9", "column2 row rank bank group column",
          "row rank bank group column2", "row rank bank group column column0"}) {
        EXPECT_THROW(AddressMap(order, g), UserError) << "'" << order << "'";
    }
}

}  // namespace
}  // namespace kvplane::memory
