// SPDX-License-Identifier: Apache-2.0
/// Burst fidelity against line fidelity of the same card: link and DRAM in closed form beside flits
/// and commands formed one by one, under the same lines of a host.
#include <fmt/format.h>

#include <array>

#include "explore/card_load.h"
#include "explore/validate.h"

namespace kvplane::explore {
namespace {

constexpr double kBandwidth = 0.01;
constexpr double kMedian = 0.03;
constexpr double kTail = 0.10;

/// Of lines at random.
struct Traffic {
    const char* name;
    std::uint32_t reads;
    std::uint32_t writes;
};
constexpr std::array kTraffic{Traffic{"reads", 1, 0}, Traffic{"writes", 0, 1},
                              Traffic{"2:1", 2, 1}};

/// Of what a closed loop reaches. Idle: a line comes every 500 lines' time.
struct Load {
    const char* name;
    double share;
};
constexpr std::array kLoads{Load{"idle", 0.002}, Load{"half", 0.5}, Load{"full", 1.0}};
/// Lines in flight of the closed loop: as many as the card has room for by default.
constexpr std::uint32_t kClosedLoop = 64;
constexpr Bytes kSpan = Bytes::from_mib(256);

class Rows {
public:
    explicit Rows(std::vector<ValidationRow>& rows) : m_rows(rows) {}

    void add(const std::string& prefix, const CardMeasure& burst, const CardMeasure& line) {
        row(prefix + "-gb/s", line.gb_s(), burst.gb_s(), kBandwidth);
        latency(prefix + "-read", line.read_latency, burst.read_latency);
        latency(prefix + "-write", line.write_latency, burst.write_latency);
    }

private:
    void latency(const std::string& id, const Histogram& line, const Histogram& burst) {
        if (line.count() == 0) return;
        const auto ns = [](Time time) { return static_cast<double>(time.ps) / 1e3; };
        row(id + "-p50", ns(line.percentile(500)), ns(burst.percentile(500)), kMedian);
        row(id + "-p99", ns(line.percentile(990)), ns(burst.percentile(990)), kTail);
    }
    void row(const std::string& id, double line, double burst, double tolerance) {
        m_rows.push_back({id,
                          "line fidelity of the same card",
                          "simulator",
                          line,
                          line,
                          burst,
                          tolerance,
                          false,
                          {}});
    }

    std::vector<ValidationRow>& m_rows;
};

}  // namespace

std::vector<ValidationRow> validate_fidelity(const card::CardConfig& card) {
    std::vector<ValidationRow> rows;
    card::CardConfig burst = card;
    burst.mem.fidelity = cxl::LinkFidelity::kBurst;
    burst.dram_fidelity = card::DramFidelity::kBurst;
    card::CardConfig line = card;
    line.mem.fidelity = cxl::LinkFidelity::kLine;
    line.dram_fidelity = card::DramFidelity::kLine;
    for (const Traffic& traffic : kTraffic) {
        CardLoad load;
        load.reads = traffic.reads;
        load.writes = traffic.writes;
        load.lines = kClosedLoop;
        load.requests = 20'000;
        load.span = kSpan;
        const double peak = measure_card(line, load).gb_s();
        for (const Load& share : kLoads) {
            if (share.share < 1) {
                load.rate = {static_cast<std::uint64_t>(share.share * peak * 1e9)};
            } else {
                load.rate = {};
            }
            Rows(rows).add(fmt::format("fidelity-random-{}-{}", traffic.name, share.name),
                           measure_card(burst, load), measure_card(line, load));
        }
    }
    return rows;
}

}  // namespace kvplane::explore
