// SPDX-License-Identifier: Apache-2.0
/// What a host's CXL.mem reads wait while the card moves blocks. A read passes what waits, and
/// waits itself for what is on its way already, so that there is a most that it can take.
#include <fmt/format.h>

#include <array>

#include "explore/move_load.h"
#include "explore/validate.h"

namespace kvplane::explore {
namespace {

using driver::MoveKind;

/// Payload that the default link carries by DMA, GB/s: promotions, demotions.
constexpr std::array kWire{54.22, 55.02};

/// Of the wire; the last one is a closed loop.
constexpr std::array kShares{0.01, 0.25, 0.5, 0.75, 0.9, 1.0};

/// A read on its own, ns; and the most that it waits while anything moves: a TLP of 256 B each way
/// (4.7 ns) and a turnaround of the DRAM (20 ns).
constexpr double kAlone = 109.84;
constexpr double kWait = 29.4;
constexpr double kMedian = 0.03;
constexpr double kTail = 0.10;

double ns(Time time) { return static_cast<double>(time.ps) / 1e3; }

class HostReads {
public:
    explicit HostReads(const RunConfig& config) : m_config(config) {
        m_config.driver.mechanism = driver::Mechanism::kCard;
    }

    ValidationPart part() {
        for (const MoveMix& mix : kMoveMixes) {
            for (const double share : kShares) measure(mix, share);
        }
        return std::move(m_part);
    }

private:
    void measure(const MoveMix& mix, double share) {
        MoveLoad load;
        load.host_reads = true;
        load.warm_up = 20;
        load.orders = share < 0.1 ? 20 : 300;
        load.flows.clear();
        for (std::size_t i = 0; i < kWire.size(); ++i) {
            if (!(i == 0 ? mix.promotes : mix.demotes)) continue;
            MoveFlow flow{.kind = i == 0 ? MoveKind::kPromote : MoveKind::kDemote, .depth = 8};
            if (share < 1) {
                flow.depth = 0;
                flow.rate = {static_cast<std::uint64_t>(share * kWire.at(i) * 1e9)};
            }
            load.flows.push_back(flow);
        }
        const MoveMeasure measure = measure_moves(m_config, load);
        double gb_s = 0;
        for (const MoveMeasure::Flow& flow : measure.flows) gb_s += flow.payload.gb_s();
        const Histogram& reads = measure.host_read;
        if (share == kShares.front() || share == kShares.back()) {
            const bool idle = share < 1;
            const double most = kAlone + (idle ? 0 : kWait);
            const std::string id =
                fmt::format("host-reads-{}-{}", mix.name, idle ? "idle" : "full");
            row(id + "-p50", most, ns(reads.percentile(500)), kMedian);
            row(id + "-p99", most, ns(reads.percentile(990)), kTail);
        }
        m_part.curves.push_back({.card = "baseline",
                                 .series = fmt::format("beside {}", mix.name),
                                 .loop = share < 1 ? "open" : "closed, 8 orders",
                                 .offered_gb_s = share < 1 ? gb_s : 0,
                                 .gb_s = gb_s,
                                 .mean_ns = reads.mean_us() * 1e3,
                                 .p50_ns = ns(reads.percentile(500)),
                                 .p99_ns = ns(reads.percentile(990))});
    }

    void row(const std::string& id, double most, double model, double tolerance) {
        m_part.rows.push_back({id,
                               "alone + a TLP each way + a turnaround; ns",
                               "arithmetic",
                               kAlone,
                               most,
                               model,
                               tolerance,
                               false,
                               {}});
    }

    RunConfig m_config;
    ValidationPart m_part;
};

}  // namespace

ValidationPart validate_host_reads(const RunConfig& config) { return HostReads(config).part(); }

}  // namespace kvplane::explore
