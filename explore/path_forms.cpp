// SPDX-License-Identifier: Apache-2.0
#include "explore/path_forms.h"

#include <algorithm>

#include "explore/study.h"
#include "explore/study_index.h"
#include "host_driver/gpu/copy_engine.h"
#include "model/common/errors.h"
#include "model/cxl/link.h"
#include "model/engine/intent.h"
#include "model/engine/movers.h"
#include "model/memory/dram.h"

namespace kvplane::explore {
namespace {

/// The payload rate of a wire on which `cost` is what payload takes.
Rate payload_rate(const cxl::Link& link, cxl::WireCost cost) {
    const Uint128 scaled = static_cast<Uint128>(link.wire_rate().bytes_per_second) * cost.payload;
    return {static_cast<std::uint64_t>(scaled / cost.wire)};
}

/// One order on its own and the bandwidth of many.
struct Limits {
    double alone_us = 0;
    double gb_s = 0;
};

Limits card_limits(const RunConfig& config, const PathPoint& point) {
    const card::CardConfig& card = config.card;
    const cxl::Link link(card.link);
    const Bytes bytes = point.block * point.run;
    const auto lookup = Time{static_cast<std::int64_t>(idle_lookup_ns(card.index) * 1e3)};
    const Time commit = card.index.clock.cycles(index::engine_figures(card.index).latency_cycles());
    Time alone = zero_load_promotion(config, bytes, lookup, commit);
    if (point.run > 1) {
        const Bytes list = Bytes{sizeof(engine::GatherEntry)} * point.run;
        alone += card.flight * 2 + card.engine.host_memory +
                 link.serialisation(link.read_tlp_bytes(list));
    }
    const Rate lanes = codec::lanes_rate(card.codec);
    const Rate wire = payload_rate(link, link.dma_write());
    Rate most = std::min({wire, memory::Dram(card.dram).bandwidth(), lanes});
    if (card.link.push_rate_limit) most = std::min(most, *card.link.push_rate_limit);
    const Time slower = transfer_time(bytes, most) - transfer_time(bytes, wire);
    return {(alone + slower).us(), most.gb_s()};
}

Limits copy_limits(const RunConfig& config, const PathPoint& point) {
    const gpu::CopyEngineConfig& engine = config.driver.copy_engine;
    const cxl::Link link(config.card.link);
    Rate most = std::min({engine.bandwidth, payload_rate(link, link.mem_read_data()),
                          memory::Dram(config.card.dram).bandwidth()});
    if (config.card.link.pull_rate_limit) most = std::min(most, *config.card.link.pull_rate_limit);
    if (engine.window) {
        const double rate =
            static_cast<double>(engine.window->count) / static_cast<double>(engine.round_trip.ps);
        most = std::min(most, Rate{static_cast<std::uint64_t>(rate * 1e12)});
    }
    const Time each = engine.card_latency + transfer_time(point.block, most);
    const Time next = gpu::loop_interval(engine, point.block) + each;
    const Time alone = engine.launch_latency + each + next * (point.run - 1);
    return {alone.us(), static_cast<double>(point.block.count) / 1e3 / next.us()};
}

Limits limits(const RunConfig& config, const PathPoint& point) {
    switch (config.driver.mechanism) {
        case driver::Mechanism::kCard:
            return card_limits(config, point);
        case driver::Mechanism::kCopyEngine:
            return copy_limits(config, point);
    }
    throw InvariantError("unknown mechanism");
}

/// With less staged at a time, a promotion waits for room (docs/validation.md, Small staging).
constexpr Bytes kAmple = Bytes::from_kib(64);

/// Whether orders by the card, alone or several, meet nothing that the form leaves out.
bool applies(const RunConfig& config, const PathPoint& point, const Limits& of) {
    const engine::EngineConfig& engine = config.card.engine;
    if (config.driver.mechanism != driver::Mechanism::kCard) return true;
    if (engine.coalesce > 1 || engine.scheduler.tenant_rate) return false;
    if (std::min(engine.staging, engine.destination_quota) < kAmple) return false;
    if (point.depth == 1) return true;
    const double kilobytes = static_cast<double>((point.block * point.run).count) / 1e3;
    const double service = kilobytes / of.gb_s;
    // Descriptors are fetched one batch after another.
    const bool fetched = config.driver.queue == driver::QueuePlace::kHostMemory;
    const double fetch = fetched ? (config.card.flight * 2 + engine.host_memory).us() : 0;
    const auto fills = [&](double orders) { return orders * service >= of.alone_us + fetch; };
    const double most = std::min(config.driver.ring_entries - 1, engine.in_flight);
    if (config.driver.submit.us() > service || (point.depth == 0 && fetch > service)) return false;
    if (point.depth == 0 || point.depth > most) return fills(most);
    return !fetched || point.depth == 2 || fills(point.depth);
}

}  // namespace

PathForm path_form(const RunConfig& config, const PathPoint& point) {
    const Limits of = limits(config, point);
    if (!applies(config, point, of)) return {};
    const double kilobytes = static_cast<double>((point.block * point.run).count) / 1e3;
    if (point.depth == 1) return {of.alone_us, kilobytes / of.alone_us};
    if (point.depth != 0) {
        const double depth = point.depth;
        const double gb_s = std::min(of.gb_s, depth * kilobytes / of.alone_us);
        return {depth * kilobytes / gb_s, gb_s};
    }
    const double busy = point.offered.gb_s() / of.gb_s;
    if (config.driver.mechanism != driver::Mechanism::kCard || busy >= 1) return {};
    const double service = kilobytes / of.gb_s;
    return {of.alone_us + busy / (2 * (1 - busy)) * service, std::nullopt};
}

}  // namespace kvplane::explore
