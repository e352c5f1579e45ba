// SPDX-License-Identifier: Apache-2.0
// What burst fidelity takes over from line fidelity.
#include <algorithm>

#include "model/memory/ddr5_load.h"
#include "model/memory/dram.h"

namespace kvplane::memory {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

/// What so many reads and writes reach.
DramMeasure measure(const Ddr5Config& config, DramPattern pattern, std::uint32_t reads,
                    std::uint32_t writes) {
    DramLoad load;
    load.pattern = pattern;
    load.reads = reads;
    load.writes = writes;
    load.requests = pattern == DramPattern::kSequential ? 50'000 : 30'000;
    return measure_dram(config, load);
}

/// The time of a line, in ps.
std::int64_t line_time(const DramMeasure& measure) {
    return transfer_time(kLine, {measure.reads.bytes_per_second + measure.writes.bytes_per_second})
        .ps;
}

/// Of the lines, those for which a row was opened: at most nine in ten, so that the others count.
Ratio share(std::uint64_t activates, std::uint64_t lines) {
    const auto most = static_cast<std::uint64_t>(kMillion) * 9 / 10;
    return {static_cast<std::uint32_t>(
        std::min(most, activates * static_cast<std::uint64_t>(kMillion) / lines))};
}

/// One change of direction, where three lines of a 2:1 mix take `mix` and their services, and a
/// batch makes two.
Time turnaround(std::int64_t mix, std::int64_t services, std::uint32_t batch) {
    const std::int64_t extra = std::max<std::int64_t>(0, mix - services);
    return {std::max<std::int64_t>(1, extra * static_cast<std::int64_t>(batch) / 2)};
}

}  // namespace

DramConfig burst_config(const Ddr5Config& line) {
    check(line);
    const DramTiming& t = line.timing;
    const DramClock clock(t.speed);
    DramConfig burst;
    burst.device = line;
    burst.channels = line.channels;
    burst.subchannels = line.geometry.subchannels;
    burst.speed = t.speed;
    burst.ecc = line.ecc;
    burst.controller = line.controller;
    burst.closed_row = clock.at(1 + t.rcd + t.cl + t.burst);
    burst.write_batch = line.write_batch();

    using enum DramPattern;
    const std::int64_t pins = transfer_time(kLine, pin_rate(t, line.geometry)).ps;
    const DramMeasure stream = measure(line, kSequential, 1, 0);
    const std::int64_t service = line_time(stream);
    burst.service = {static_cast<std::uint32_t>(std::min(kMillion, pins * kMillion / service))};
    burst.turnaround =
        turnaround(3 * line_time(measure(line, kSequential, 2, 1)), 3 * service, burst.write_batch);
    const std::int64_t read = line_time(measure(line, kRandom, 1, 0));
    const std::int64_t write = line_time(measure(line, kRandom, 0, 1));
    burst.rows = {.read = {read},
                  .write = {write},
                  .opens = share(stream.counters.activates, stream.counters.reads)};
    return burst;
}

}  // namespace kvplane::memory
