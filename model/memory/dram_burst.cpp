// SPDX-License-Identifier: Apache-2.0
// What burst fidelity takes over from line fidelity.
#include <algorithm>

#include "model/memory/ddr5_load.h"
#include "model/memory/dram.h"

namespace kvplane::memory {
namespace {

/// The time of a line, in ps, in a sequential stream of so many reads and writes.
std::int64_t line_time(const Ddr5Config& config, std::uint32_t reads, std::uint32_t writes) {
    DramLoad load;
    load.reads = reads;
    load.writes = writes;
    load.requests = 50'000;
    const DramMeasure measure = measure_dram(config, load);
    return transfer_time(kLine, {measure.reads.bytes_per_second + measure.writes.bytes_per_second})
        .ps;
}

}  // namespace

DramConfig burst_config(const Ddr5Config& line) {
    check(line);
    constexpr std::int64_t kMillion = 1'000'000;
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
    // From above the high watermark to below the low one.
    burst.write_batch = line.write_high - line.write_low + 2;

    const std::int64_t pins = transfer_time(kLine, pin_rate(t, line.geometry)).ps;
    const std::int64_t service = line_time(line, 1, 0);
    burst.service = {static_cast<std::uint32_t>(std::min(kMillion, pins * kMillion / service))};
    // Three lines of a 2:1 mix take three services and the extra of one write.
    const std::int64_t extra = std::max<std::int64_t>(0, 3 * (line_time(line, 2, 1) - service));
    burst.turnaround = {
        std::max<std::int64_t>(1, extra * static_cast<std::int64_t>(burst.write_batch) / 2)};
    return burst;
}

}  // namespace kvplane::memory
