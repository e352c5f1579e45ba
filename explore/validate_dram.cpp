// SPDX-License-Identifier: Apache-2.0
/// One DRAM subchannel at line fidelity against a cycle-level simulator, Ramulator 2.1 with the
/// timings of the speed bin. Without controller delay or ECC, as it has none.
#include <fmt/format.h>

#include <array>

#include "explore/validate.h"
#include "model/memory/address_map.h"
#include "model/memory/ddr5_load.h"

namespace kvplane::explore {
namespace {

using memory::Ddr5Config;
using memory::DramLoad;
using memory::DramMeasure;
using memory::DramPattern;
using memory::DramPreset;

constexpr double kReads = 0.03;
constexpr double kMixes = 0.05;
constexpr double kLoaded = 0.05;
constexpr const char* kClosedLoop = "Ramulator 2.1; closed loop, 32 + 32 queued";
constexpr const char* kOpenLoop = "Ramulator 2.1; open loop, Bernoulli arrivals";

Ddr5Config device(DramPreset preset) {
    Ddr5Config config = Ddr5Config::of(preset);
    config.controller = {};
    config.ecc = memory::DramEcc::kNone;
    return config;
}

double gb_s(const DramMeasure& measure) { return measure.reads.gb_s() + measure.writes.gb_s(); }

struct Pattern {
    const char* name;
    DramPattern pattern;
    std::uint32_t reads;
    std::uint32_t writes;
    double ddr5;  ///< GB/s
    double ddr4;
};

constexpr std::array kPatterns{
    Pattern{"sequential", DramPattern::kSequential, 1, 0, 17.54, 24.05},
    Pattern{"random", DramPattern::kRandom, 1, 0, 17.13, 11.13},
    Pattern{"sequential-2:1", DramPattern::kSequential, 2, 1, 15.60, 21.13},
    Pattern{"random-2:1", DramPattern::kRandom, 2, 1, 13.97, 11.10},
};

/// The scheduler's rules were chosen with the DDR5 figures in sight; DDR4 is held out.
void bandwidths(std::vector<ValidationRow>& rows) {
    for (const Pattern& p : kPatterns) {
        DramLoad load;
        load.pattern = p.pattern;
        load.reads = p.reads;
        load.writes = p.writes;
        const double tolerance = p.writes == 0 ? kReads : kMixes;
        const auto add = [&](const char* name, DramPreset preset, double reference, bool held_out) {
            rows.push_back({fmt::format("dram-{}-{}", name, p.name),
                            kClosedLoop,
                            "simulator",
                            reference,
                            reference,
                            gb_s(measure_dram(device(preset), load)),
                            tolerance,
                            held_out,
                            {}});
        };
        add("ddr5-4800b", DramPreset::kDdr5At4800B, p.ddr5, false);
        add("ddr4-3200aa", DramPreset::kDdr4At3200AA, p.ddr4, true);
    }
}

/// What the simulators give when one thing about the device or its mapping is another.
void variants(std::vector<ValidationRow>& rows) {
    const auto add = [&](const char* id, const Ddr5Config& config, DramPattern pattern,
                         double reference) {
        DramLoad load;
        load.pattern = pattern;
        rows.push_back({id,
                        kClosedLoop,
                        "simulator",
                        reference,
                        reference,
                        gb_s(measure_dram(config, load)),
                        kReads,
                        true,
                        {}});
    };
    Ddr5Config config = device(DramPreset::kDdr5At4800B);
    config.refresh = memory::DramRefreshMode::kNone;
    add("dram-no-refresh-sequential", config, DramPattern::kSequential, 19.17);
    add("dram-no-refresh-random", config, DramPattern::kRandom, 18.99);
    config = device(DramPreset::kDdr5At4800B);
    config.mapping = "row-bank-column";
    add("dram-row-bank-column", config, DramPattern::kSequential, 16.68);
    config = device(DramPreset::kDdr5At4800B);
    config.timing.faw = 48;
    add("dram-faw-48", config, DramPattern::kRandom, 11.5);
}

/// Cycles of a read at a time to an open, a closed and another row, without refresh.
std::array<double, 3> unloaded_cycles(DramPreset preset) {
    Ddr5Config config = device(preset);
    config.refresh = memory::DramRefreshMode::kNone;
    const memory::AddressMap map(config.mapping, config.geometry);
    memory::Ddr5Subchannel channel(config);
    memory::Cycle at = 0;
    const auto cycles = [&](std::uint32_t row) {
        at += 10'000;
        channel.submit(channel.clock().at(at), {map.line({0, row, 0}), memory::LineOp::kRead});
        const Time answered = channel.take_answer(0);
        return static_cast<double>(channel.clock().first_at(answered) - at);
    };
    const double closed = cycles(1);
    const double hit = cycles(1);
    return {hit, closed, cycles(2)};
}

/// One read at a time to chosen rows, no refresh: within a clock of the formula, and of what the
/// simulators print, which have a cycle of queueing as the model has.
void unloaded(std::vector<ValidationRow>& rows) {
    struct Case {
        const char* name;
        DramPreset preset;
        std::array<double, 3> formula;  ///< cycles: hit, closed, conflict
        std::array<double, 3> simulators;
    };
    constexpr std::array kCases{
        Case{"ddr5-4800b", DramPreset::kDdr5At4800B, {48, 87, 126}, {49, 88, 126}},
        Case{"ddr4-3200aa", DramPreset::kDdr4At3200AA, {26, 48, 70}, {27, 49, 71}},
    };
    for (const Case& c : kCases) {
        const std::array<double, 3> model = unloaded_cycles(c.preset);
        constexpr std::array kNames{"hit", "closed", "conflict"};
        for (std::size_t i = 0; i < model.size(); ++i) {
            const auto add = [&](const char* of, const char* source, const char* kind,
                                 double reference) {
                rows.push_back({fmt::format("dram-{}-unloaded-{}{}", c.name, kNames[i], of),
                                source,
                                kind,
                                reference,
                                reference,
                                model[i],
                                1.0001 / reference,
                                true,
                                {}});
            };
            add("", "CL + BL/2, + RCD, + RP; cycles", "arithmetic", c.formula[i]);
            add("-simulated", "Ramulator 2.1; one read at a time; cycles", "simulator",
                c.simulators[i]);
        }
    }
}

struct Loaded {
    double gb_s;
    double ns;
};

constexpr std::array kCurve{Loaded{1.92, 66.1},  Loaded{4.81, 75.3},  Loaded{9.60, 92.5},
                            Loaded{13.4, 122.8}, Loaded{15.3, 159.8}, Loaded{16.5, 216.7}};
/// Rates between those: the latency must lie between the neighbours'.
constexpr std::array kBetween{3.4, 7.2, 11.5, 14.4};
constexpr double kRamulatorPins = 19.23;  ///< GB/s, at its clock of 416 ps

double loaded_ns(double rate) {
    DramLoad load;
    load.pattern = DramPattern::kRandom;
    load.rate = {static_cast<std::uint32_t>(rate / kRamulatorPins * 1e6)};
    return measure_dram(device(DramPreset::kDdr5At4800B), load).read_latency.mean_us() * 1e3;
}

void loaded(std::vector<ValidationRow>& rows) {
    for (const Loaded& point : kCurve) {
        rows.push_back({fmt::format("dram-loaded-{}", point.gb_s),
                        kOpenLoop,
                        "simulator",
                        point.ns,
                        point.ns,
                        loaded_ns(point.gb_s),
                        kLoaded,
                        false,
                        {}});
    }
    for (const double rate : kBetween) {
        std::size_t above = 0;
        while (kCurve[above].gb_s < rate) ++above;
        rows.push_back({fmt::format("dram-loaded-{}", rate),
                        "Ramulator 2.1, between its neighbouring rates; open loop",
                        "simulator",
                        kCurve[above - 1].ns,
                        kCurve[above].ns,
                        loaded_ns(rate),
                        0,
                        true,
                        {}});
    }
}

}  // namespace

std::vector<ValidationRow> validate_dram() {
    std::vector<ValidationRow> rows;
    bandwidths(rows);
    variants(rows);
    unloaded(rows);
    loaded(rows);
    return rows;
}

}  // namespace kvplane::explore
