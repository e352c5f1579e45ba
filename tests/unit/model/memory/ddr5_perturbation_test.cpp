// SPDX-License-Identifier: Apache-2.0
/// No parameter of a device or a controller is without effect: each, moved, moves a result.
#include <gtest/gtest.h>

#include <vector>

#include "perturbed_timings.h"
#include "random_traffic.h"

namespace kvplane::memory {
namespace {

std::uint64_t result(const Ddr5Config& config) {
    test::RandomTraffic traffic(config, 11);
    traffic.run(20'000);
    return traffic.digest();
}

TEST(Ddr5PerturbationTest, EachTimingParameterMovesAResult) {
    for (const Perturbed& p : kParameters) {
        Ddr5Config config = config_on(p.on);
        const std::uint64_t before = result(config);
        ASSERT_EQ(result(config), before) << "the same again";
        config.timing.*p.parameter += p.by;
        if (p.bank_cycle) config.timing.rc += p.by;
        EXPECT_NE(result(config), before) << p.name;
    }
}

struct Choice {
    const char* name;
    void (*change)(Ddr5Config&);
};

constexpr Choice kChoices[] = {
    {"speed", [](Ddr5Config& c) { c.timing.speed = {5'200'000'000}; }},
    {"ranks", [](Ddr5Config& c) { c.geometry.ranks = 2; }},
    {"groups", [](Ddr5Config& c) { c.geometry.groups = 4; }},
    {"banks", [](Ddr5Config& c) { c.geometry.banks = 2; }},
    {"rows", [](Ddr5Config& c) { c.geometry.rows = 32'768; }},
    {"lines_per_row", [](Ddr5Config& c) { c.geometry.lines_per_row = 32; }},
    {"mapping", [](Ddr5Config& c) { c.mapping = "mop4"; }},
    {"read_queue", [](Ddr5Config& c) { c.read_queue = 16; }},
    {"write_queue", [](Ddr5Config& c) { c.write_queue = 27; }},
    {"write_high", [](Ddr5Config& c) { c.write_high = 12; }},
    {"write_low", [](Ddr5Config& c) { c.write_low = 2; }},
    {"starvation", [](Ddr5Config& c) { c.starvation = Time::from_ns(50); }},
    {"writes_modify", [](Ddr5Config& c) { c.writes_modify = false; }},
    {"refresh", [](Ddr5Config& c) { c.refresh = DramRefreshMode::kSameBank; }},
    {"ecc none", [](Ddr5Config& c) { c.ecc = DramEcc::kNone; }},
    {"ecc inline", [](Ddr5Config& c) { c.ecc = DramEcc::kInline; }},
    {"scrub", [](Ddr5Config& c) { c.scrub_interval = Time::from_us(1); }},
    {"double_refresh", [](Ddr5Config& c) { c.thermal.double_refresh = true; }},
    {"bandwidth_cap", [](Ddr5Config& c) { c.thermal.bandwidth_cap = {500'000}; }},
    {"controller", [](Ddr5Config& c) { c.controller = Time::from_ns(21); }},
};

TEST(Ddr5PerturbationTest, EachChoiceOfTheControllerMovesAResult) {
    const std::uint64_t before = result(Ddr5Config{});
    for (const Choice& choice : kChoices) {
        Ddr5Config config;
        choice.change(config);
        EXPECT_NE(result(config), before) << choice.name;
    }
    Ddr5Config config;
    config.ecc = DramEcc::kInline;
    const std::uint64_t small = result(config);
    config.ecc_buffer = 256;
    EXPECT_NE(result(config), small) << "ecc_buffer";
}

}  // namespace
}  // namespace kvplane::memory
