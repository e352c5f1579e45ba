// SPDX-License-Identifier: Apache-2.0
/// No command of the line model comes too early, by a checker that knows only the standard; and the
/// checker sees it where one does.
#include <gtest/gtest.h>

#include <string>

#include "jedec_checker.h"
#include "model/memory/address_map.h"
#include "random_traffic.h"

namespace kvplane::memory {
namespace {

constexpr DramPreset kPresets[] = {DramPreset::kDdr5At4800B, DramPreset::kDdr5At5600B,
                                   DramPreset::kDdr5At6400B, DramPreset::kDdr4At3200AA,
                                   DramPreset::kDdr4At1866M};

/// Random traffic on a config that may have been tampered with, watched by the rules of `preset`.
class Watched {
public:
    Watched(DramPreset preset, const Ddr5Config& config, std::uint32_t requests,
            std::uint64_t seed = 1)
        : checker(preset, config.geometry, config.refresh, config.thermal.double_refresh) {
        test::RandomTraffic traffic(config, seed, &checker);
        const Time end = traffic.run(requests);
        refreshed = checker.refreshed_enough(traffic.channel().clock().last_at(end));
    }
    [[nodiscard]] bool finds(const std::string& rule) const {
        for (const std::string& violation : checker.violations()) {
            if (violation.find(rule) != std::string::npos) return true;
        }
        return false;
    }
    void expect_clean(const std::string& what) const {
        for (const std::string& violation : checker.violations()) {
            ADD_FAILURE() << what << ": " << violation;
        }
        EXPECT_GT(checker.commands(), 1'000U) << what;
        EXPECT_TRUE(refreshed) << what;
    }

    test::JedecChecker checker;
    bool refreshed = false;
};

TEST(Ddr5JedecTest, NoCommandIsTooEarlyOnAnyPresetAndMapping) {
    for (const DramPreset preset : kPresets) {
        for (const char* mapping : AddressMap::names()) {
            Ddr5Config config = Ddr5Config::of(preset);
            config.mapping = mapping;
            Watched(preset, config, 4'000)
                .expect_clean(std::string(to_string(preset)) + ", " + mapping);
        }
    }
}

TEST(Ddr5JedecTest, NorInAnyRefreshModeNumberOfRanksAndTemperature) {
    for (const DramPreset preset : kPresets) {
        for (const std::uint32_t ranks : {1U, 2U, 4U}) {
            for (const DramRefreshMode mode :
                 {DramRefreshMode::kAllBank, DramRefreshMode::kFineAllBank,
                  DramRefreshMode::kSameBank}) {
                Ddr5Config config = Ddr5Config::of(preset);
                if (mode == DramRefreshMode::kSameBank && config.timing.rfc_sb == 0) continue;
                config.geometry.ranks = ranks;
                config.refresh = mode;
                config.thermal.double_refresh = ranks == 2;
                Watched(preset, config, 6'000, ranks)
                    .expect_clean(std::string(to_string(preset)) + ", ranks " +
                                  std::to_string(ranks) + ", refresh mode " +
                                  std::to_string(static_cast<int>(mode)));
            }
        }
    }
}

TEST(Ddr5JedecTest, NorWithInlineEccScrubThrottleAndOtherQueues) {
    Ddr5Config config = Ddr5Config::of(DramPreset::kDdr5At5600B);
    config.ecc = DramEcc::kInline;
    config.scrub_interval = Time::from_ns(300);
    Watched(DramPreset::kDdr5At5600B, config, 20'000).expect_clean("inline ECC and scrub");
    config.thermal.bandwidth_cap = {300'000};
    Watched(DramPreset::kDdr5At5600B, config, 10'000).expect_clean("throttled");
    config = Ddr5Config::of(DramPreset::kDdr5At4800B);
    config.read_queue = 4;
    config.write_queue = 4;
    config.write_high = 2;
    config.write_low = 1;
    config.starvation = Time::from_ns(50);
    Watched(DramPreset::kDdr5At4800B, config, 20'000).expect_clean("short queues");
}

struct Sabotage {
    const char* rule;  ///< that the checker must name
    void (*shorten)(Ddr5Config&);
};

constexpr Sabotage kSabotages[] = {
    {"tRCD", [](Ddr5Config& c) { c.timing.rcd -= 1; }},
    {"tRP", [](Ddr5Config& c) { c.timing.rp -= 1; }},
    {"tRAS", [](Ddr5Config& c) { c.timing.ras -= 1; }},
    {"tRC",
     [](Ddr5Config& c) {
         c.timing.ras -= 20;
         c.timing.rc -= 20;
     }},
    {"tCCD_L", [](Ddr5Config& c) { c.timing.ccd_l -= 1; }},
    {"tCCD_L_WR", [](Ddr5Config& c) { c.timing.ccd_l_wr -= 1; }},
    {"tCCD_L_WR", [](Ddr5Config& c) { c.writes_modify = false; }},
    {"tRRD_S", [](Ddr5Config& c) { c.timing.rrd_s -= 1; }},
    {"tRRD_L", [](Ddr5Config& c) { c.timing.rrd_l -= 1; }},
    {"tFAW",
     [](Ddr5Config& c) {
         c.timing.rrd_s -= 1;
         c.timing.faw -= 1;
     }},
    {"tWTR_S", [](Ddr5Config& c) { c.timing.wtr_s -= 1; }},
    {"tWTR_L", [](Ddr5Config& c) { c.timing.wtr_l -= 1; }},
    {"RD to WR", [](Ddr5Config& c) { c.timing.rtw_gap -= 1; }},
    {"RD to WR", [](Ddr5Config& c) { c.timing.cl -= 1; }},
    {"tWTR", [](Ddr5Config& c) { c.timing.cwl -= 1; }},
    {"tRTP", [](Ddr5Config& c) { c.timing.rtp = 1; }},
    {"tWR", [](Ddr5Config& c) { c.timing.wr -= 1; }},
    {"tPPD", [](Ddr5Config& c) { c.timing.ppd -= 1; }},
    {"tRFC", [](Ddr5Config& c) { c.timing.rfc1 -= 1; }},
    {"refresh before", [](Ddr5Config& c) { c.timing.refi1 *= 6; }},
    {"command bus", [](Ddr5Config& c) { c.timing.command_long -= 1; }},
    {"tRFC",
     [](Ddr5Config& c) {
         c.refresh = DramRefreshMode::kFineAllBank;
         c.timing.rfc2 -= 1;
     }},
    {"tRFCsb",
     [](Ddr5Config& c) {
         c.refresh = DramRefreshMode::kSameBank;
         c.timing.rfc_sb -= 1;
     }},
    {"tREFSBRD",
     [](Ddr5Config& c) {
         c.refresh = DramRefreshMode::kSameBank;
         c.timing.refsb_rd -= 1;
     }},
    {"data before",  // on the pins: ranks take turns
     [](Ddr5Config& c) {
         c.geometry.ranks = 2;
         c.timing.cl -= 4;
     }},
};

TEST(Ddr5JedecTest, TheCheckerSeesEachParameterThatIsTooShort) {
    for (const Sabotage& sabotage : kSabotages) {
        Ddr5Config config = Ddr5Config::of(DramPreset::kDdr5At4800B);
        sabotage.shorten(config);
        const Watched watched(DramPreset::kDdr5At4800B, config, 40'000);
        EXPECT_TRUE(watched.finds(sabotage.rule))
            << sabotage.rule << " is not missed; "
            << (watched.checker.violations().empty() ? "nothing is"
                                                     : watched.checker.violations().front());
    }
}

TEST(Ddr5JedecTest, DutiesOfRefreshAreCountedOverIdleTime) {
    const Ddr5Config config = Ddr5Config::of(DramPreset::kDdr5At4800B);
    test::JedecChecker checker(DramPreset::kDdr5At4800B, config.geometry, config.refresh);
    Ddr5Subchannel channel(config, &checker);
    channel.submit({}, {.line = 0});
    channel.submit(Time::from_s(3600), {.line = 1});
    channel.advance(Time::from_s(3600) + Time::from_us(10));
    EXPECT_TRUE(checker.violations().empty());
    const auto expected = static_cast<std::uint64_t>(channel.clock().last_at(Time::from_s(3600)) /
                                                     config.timing.refi1);
    EXPECT_NEAR(static_cast<double>(channel.counters().refreshes), static_cast<double>(expected),
                4);
}

}  // namespace
}  // namespace kvplane::memory
