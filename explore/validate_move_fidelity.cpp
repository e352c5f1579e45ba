// SPDX-License-Identifier: Apache-2.0
/// Burst fidelity against line fidelity of the same card's moves: flows beside DRAM lines and TLPs
/// formed one by one, under the same scheduler and the same orders of a host.
#include <fmt/format.h>

#include <array>

#include "explore/move_load.h"
#include "explore/validate.h"

namespace kvplane::explore {
namespace {

using driver::MoveKind;

constexpr double kBandwidth = 0.01;
/// Percentiles, and where blocks are small or the open load is high.
constexpr double kLatency = 0.03;
constexpr double kSmallLatency = 0.05;
constexpr double kHostMedian = 0.03;
constexpr double kHostTail = 0.10;

struct Size {
    const char* name;
    Bytes block;
    std::uint32_t depth;  ///< of the closed loop
    std::uint64_t orders;
};
constexpr std::array kSizes{Size{"4KiB", Bytes::from_kib(4), 32, 3'000},
                            Size{"64KiB", Bytes::from_kib(64), 16, 500},
                            Size{"5MiB", Bytes::from_mib(5), 4, 16}};

/// Share of what the closed loop reaches at line fidelity; full is that loop.
struct Load {
    const char* name;
    double share;
};
constexpr std::array kLoads{Load{"idle", 0.02}, Load{"half", 0.5}, Load{"full", 1.0}};

class Rows {
public:
    explicit Rows(const RunConfig& config) : m_burst(config), m_line(config) {
        m_burst.driver.mechanism = m_line.driver.mechanism = driver::Mechanism::kCard;
        m_burst.card.mem.fidelity = cxl::LinkFidelity::kBurst;
        m_burst.card.dram_fidelity = card::DramFidelity::kBurst;
        m_line.card.mem.fidelity = cxl::LinkFidelity::kLine;
        m_line.card.dram_fidelity = card::DramFidelity::kLine;
    }

    void add(const MoveMix& mix, const Size& size) {
        MoveLoad load;
        load.block = size.block;
        load.flows.clear();
        if (mix.promotes) load.flows.push_back({.kind = MoveKind::kPromote, .depth = size.depth});
        if (mix.demotes) load.flows.push_back({.kind = MoveKind::kDemote, .depth = size.depth});
        load.warm_up = 2 * size.depth;
        load.orders = size.orders;
        load.host_reads = true;
        const MoveMeasure peak = measure_moves(m_line, load);
        for (const Load& share : kLoads) {
            if (share.share == 1) {
                compare(mix, size, share, measure_moves(m_burst, load), peak);
                continue;
            }
            for (std::size_t i = 0; i < load.flows.size(); ++i) {
                const double rate = share.share * peak.flows[i].payload.gb_s();
                load.flows[i].depth = 0;
                load.flows[i].rate = {static_cast<std::uint64_t>(rate * 1e9)};
            }
            compare(mix, size, share, measure_moves(m_burst, load), measure_moves(m_line, load));
            for (MoveFlow& flow : load.flows) flow = {.kind = flow.kind, .depth = size.depth};
        }
    }
    std::vector<ValidationRow> rows;

private:
    void compare(const MoveMix& mix, const Size& size, const Load& share, const MoveMeasure& burst,
                 const MoveMeasure& line) {
        const bool small = size.block < Bytes::from_mib(1);
        for (std::size_t i = 0; i < line.flows.size(); ++i) {
            const bool promotes = mix.promotes && i == 0;
            const std::string id = fmt::format("fidelity-{}-{}-{}-{}", mix.name, size.name,
                                               share.name, promotes ? "promotion" : "demotion");
            row(id + "-gb/s", line.flows[i].payload.gb_s(), burst.flows[i].payload.gb_s(),
                kBandwidth);
            const double tolerance = small ? kSmallLatency : kLatency;
            for (const auto& [name, per_mille] : {std::pair{"-p50", 500U}, {"-p99", 990U}}) {
                row(id + name, us(line.flows[i].latency.percentile(per_mille)),
                    us(burst.flows[i].latency.percentile(per_mille)), tolerance);
            }
        }
        const std::string host =
            fmt::format("fidelity-{}-{}-{}-host-read", mix.name, size.name, share.name);
        row(host + "-p50", us(line.host_read.percentile(500)), us(burst.host_read.percentile(500)),
            kHostMedian);
        row(host + "-p99", us(line.host_read.percentile(990)), us(burst.host_read.percentile(990)),
            kHostTail);
    }
    static double us(Time time) { return time.us(); }
    void row(const std::string& id, double line, double burst, double tolerance) {
        rows.push_back({id,
                        "line fidelity of the same card",
                        "simulator",
                        line,
                        line,
                        burst,
                        tolerance,
                        false,
                        {}});
    }

    RunConfig m_burst;
    RunConfig m_line;
};

}  // namespace

std::vector<ValidationRow> validate_move_fidelity(const RunConfig& config) {
    Rows rows(config);
    for (const MoveMix& mix : kMoveMixes) {
        for (const Size& size : kSizes) rows.add(mix, size);
    }
    return std::move(rows.rows);
}

}  // namespace kvplane::explore
