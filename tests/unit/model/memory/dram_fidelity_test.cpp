// SPDX-License-Identifier: Apache-2.0
/// The closed form under lines of a host: every timing parameter of its device counts, and what it
/// reaches is near the line model.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

#include "model/common/random.h"
#include "model/memory/ddr5_load.h"
#include "model/memory/dram.h"
#include "perturbed_timings.h"

namespace kvplane::memory {
namespace {

/// A closed loop of `outstanding` lines of the first subchannel, at random or in sequence.
struct Loop {
    std::uint32_t reads = 1;
    std::uint32_t writes = 0;
    bool random = true;
    std::uint32_t outstanding = 64;
    std::uint32_t lines = 20'000;
};

struct Reached {
    double gb_s = 0;
    std::uint64_t digest = 0;  ///< of all times
};

Reached run(const DramConfig& config, const Loop& loop) {
    Dram dram(config);
    RandomStream random(17, "fidelity");
    std::priority_queue<Time, std::vector<Time>, std::greater<>> flight;
    const std::uint64_t all = config.device->data_lines();
    const Ddr5Interleave interleave(*config.device);
    Reached reached;
    Time at{};
    for (std::uint32_t i = 0; i < loop.lines; ++i) {
        if (flight.size() == loop.outstanding) {
            at = std::max(at, flight.top());
            flight.pop();
        }
        const bool write = i % (loop.reads + loop.writes) >= loop.reads;
        const std::uint64_t line = loop.random ? random.uniform(all) : i;
        const Dpa address{interleave.line({0, line}) * kLine.count};
        const Time done = dram.access_line(at, address, write, {});
        reached.digest = reached.digest * 31 + static_cast<std::uint64_t>(done.ps);
        flight.push(done);
    }
    reached.gb_s = loop.lines * 64e3 / static_cast<double>(at.ps);
    return reached;
}

TEST(DramFidelityTest, EachTimingParameterMovesAResult) {
    const auto digest = [](const Ddr5Config& config) {
        const DramConfig burst = burst_config(config);
        std::uint64_t all = 0;
        for (const bool random : {true, false}) {
            all = all * 31 +
                  run(burst, {.reads = 2, .writes = 1, .random = random, .lines = 6'000}).digest;
        }
        return all;
    };
    for (const Perturbed& p : kParameters) {
        Ddr5Config config = config_on(p.on);
        const std::uint64_t before = digest(config);
        config.timing.*p.parameter += p.coarse;
        if (p.bank_cycle) config.timing.rc += p.coarse;
        EXPECT_NE(digest(config), before) << p.name;
    }
}

/// Saturated by lines at random: near the line model on every preset, mixes less so.
TEST(DramFidelityTest, LinesAtRandomReachWhatTheLineModelReaches) {
    for (const DramPreset preset :
         {DramPreset::kDdr5At4800B, DramPreset::kDdr5At5600B, DramPreset::kDdr5At6400B,
          DramPreset::kDdr4At3200AA, DramPreset::kDdr4At1866M}) {
        const Ddr5Config config = Ddr5Config::of(preset);
        const DramConfig burst = burst_config(config);
        for (const auto& [reads, writes] : {std::pair{1U, 0U}, {0U, 1U}, {2U, 1U}}) {
            DramLoad load;
            load.pattern = DramPattern::kRandom;
            load.reads = reads;
            load.writes = writes;
            load.requests = 30'000;
            const DramMeasure line = measure_dram(config, load);
            const double expected = line.reads.gb_s() + line.writes.gb_s();
            const Loop loop{.reads = reads, .writes = writes, .lines = 40'000};
            const double tolerance = reads * writes == 0 ? 0.03 : 0.18;
            EXPECT_NEAR(run(burst, loop).gb_s, expected, tolerance * expected)
                << to_string(preset) << ' ' << reads << ':' << writes;
        }
    }
}

/// A subchannel without a place for another read keeps the lines of all others waiting.
TEST(DramFidelityTest, AFullReadQueueKeepsWhatIsBehindItWaiting) {
    Ddr5Config config;
    config.refresh = DramRefreshMode::kNone;
    const DramConfig burst = burst_config(config);
    const Ddr5Interleave interleave(config);
    const auto other_after = [&](std::uint32_t reads) {
        Dram dram(burst);
        for (std::uint32_t i = 0; i < reads; ++i) {
            static_cast<void>(dram.access_line({}, {interleave.line({0, i}) * 64}, false, {}));
        }
        return dram.access_line({}, {interleave.line({1, 0}) * 64}, false, {});
    };
    EXPECT_EQ(other_after(config.read_queue), other_after(0));
    EXPECT_GT(other_after(config.read_queue + 8), other_after(0) + Time::from_ns(20));
}

/// As many writes as a queue may hold, all to rows of one bank: they drain all the same.
TEST(DramFidelityTest, ABatchMayBeOfOneBank) {
    Ddr5Config config;
    config.write_queue = 1024;
    config.write_high = 1000;
    const Ddr5Interleave interleave(config);
    const AddressMap map(config.mapping, config.geometry);
    Dram dram(burst_config(config));
    const auto access = [&](std::uint32_t row, bool write) {
        const std::uint64_t line = interleave.line({0, map.line({0, row, 0})});
        return dram.access_line({}, {line * kLine.count}, write, {});
    };
    const Time first = access(0, false);
    for (std::uint32_t row = 1; row <= config.write_high + 1; ++row) (void)access(row, true);
    const auto batch = static_cast<std::int64_t>(config.write_high - config.write_low);
    EXPECT_GT(access(0, false),
              first + DramClock(config.timing.speed).at(config.timing.rc) * batch);
}

/// The bound that the line model has: four activates in faw.
TEST(DramFidelityTest, ActivatesBoundLinesAtRandom) {
    Ddr5Config config = Ddr5Config::of(DramPreset::kDdr4At3200AA);
    const double before = run(burst_config(config), {}).gb_s;
    config.timing.faw *= 2;
    EXPECT_NEAR(run(burst_config(config), {}).gb_s, before / 2, 0.03 * before);
    EXPECT_GT(run(burst_config(config), {.random = false}).gb_s, before);
}

}  // namespace
}  // namespace kvplane::memory
