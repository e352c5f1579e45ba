// SPDX-License-Identifier: Apache-2.0
#include "model/memory/ddr5_config.h"

#include <algorithm>
#include <bit>
#include <string>

#include "model/common/errors.h"
#include "model/memory/address_map.h"

namespace kvplane::memory {
namespace {

constexpr std::uint32_t kMostChannels = 64;
constexpr std::uint32_t kDeepest = 1024;
constexpr Ratio kLeastCap{10'000};
constexpr Ratio kWhole{1'000'000};

void require(bool holds, const char* message) {
    if (!holds) throw UserError(std::string("dram: ") + message);
}

void check_queues(const Ddr5Config& config) {
    require(config.read_queue >= 2 && config.read_queue <= kDeepest,
            "read_queue must be 2 to 1024");
    require(config.write_queue >= 2 && config.write_queue <= kDeepest,
            "write_queue must be 2 to 1024");
    require(config.write_high < config.write_queue, "write_high must be below write_queue");
    require(config.write_low >= 1 && config.write_low <= config.write_high,
            "write_low must be 1 to write_high");
    require(config.starvation > Time{} && config.starvation <= Time::from_ms(1),
            "starvation must be above 0 and at most 1 ms");
}

/// Between two refreshes a row must open, serve one line and close, or no request is ever served.
void check_refresh(const Ddr5Config& config) {
    if (config.refresh == DramRefreshMode::kNone) return;
    const DramTiming& t = config.timing;
    require(config.refresh != DramRefreshMode::kSameBank || t.rfc_sb != 0,
            "the device has no refresh of a bank; use all-bank");
    const Cycle serve = t.rcd + t.command_long + std::max(t.rtp, t.cwl + t.burst + t.wr) + t.rp;
    const Cycle needed = config.refresh_time() + t.command_long + std::max(t.rc, serve);
    if (config.refresh_interval() > needed) return;
    throw UserError("dram: a refresh every " + std::to_string(config.refresh_interval()) +
                    " cycles leaves no time for an access; with one of " +
                    std::to_string(config.refresh_time()) + " it needs more than " +
                    std::to_string(needed));
}

void check_ras(const Ddr5Config& config) {
    require(config.ecc != DramEcc::kInline ||
                (config.ecc_buffer > config.read_queue && config.ecc_buffer <= 4 * kDeepest),
            "ecc_buffer must hold more lines than read_queue, and at most 4096");
    require(config.scrub_interval == Time{} || (config.scrub_interval >= Time::from_ns(100) &&
                                                config.scrub_interval <= Time::from_s(3600)),
            "scrub_interval must be 0 (none), or 100 ns to 1 h");
    require(config.corrected_threshold >= 1 && config.corrected_threshold <= UINT16_MAX,
            "corrected_threshold must be 1 to 65535");
    require(config.thermal.bandwidth_cap >= kLeastCap && config.thermal.bandwidth_cap <= kWhole,
            "bandwidth_cap must be 1 to 100 %");
}

}  // namespace

Ddr5Config Ddr5Config::of(DramPreset preset) {
    Ddr5Config config;
    config.timing = timing_of(preset);
    config.geometry = geometry_of(preset);
    return config;
}

Cycle Ddr5Config::refresh_interval() const {
    const Cycle halves = thermal.double_refresh ? 2 : 1;
    switch (refresh) {
        case DramRefreshMode::kAllBank:
            return timing.refi1 / halves;
        case DramRefreshMode::kFineAllBank:
            return timing.refi2 / halves;
        case DramRefreshMode::kSameBank:
            return timing.refi2 / (halves * static_cast<Cycle>(geometry.banks));
        case DramRefreshMode::kNone:
            return 0;
    }
    throw InvariantError("refresh_interval: no such mode");
}

Cycle Ddr5Config::refresh_time() const {
    switch (refresh) {
        case DramRefreshMode::kAllBank:
            return timing.rfc1;
        case DramRefreshMode::kFineAllBank:
            return timing.rfc2;
        case DramRefreshMode::kSameBank:
            return timing.rfc_sb;
        case DramRefreshMode::kNone:
            return 0;
    }
    throw InvariantError("refresh_time: no such mode");
}

void check(const Ddr5Config& config) {
    check(config.timing);
    check(config.geometry, config.timing);
    require(config.channels >= 1 && config.channels <= kMostChannels, "channels must be 1 to 64");
    require(std::has_single_bit(config.interleave.count) && config.interleave >= kLine &&
                config.interleave <= Bytes::from_mib(1),
            "interleave must be a power of two, 64 B to 1 MiB");
    static_cast<void>(AddressMap(config.mapping, config.geometry));
    check_queues(config);
    check_refresh(config);
    check_ras(config);
    require(config.controller >= Time{} && config.controller <= Time::from_us(10),
            "controller must be 0 to 10 us");
}

}  // namespace kvplane::memory
