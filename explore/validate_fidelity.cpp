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

struct Traffic {
    const char* name;
    CardPattern pattern;
    std::uint32_t streams;  ///< requesters; of lines at random it makes no difference
    std::uint32_t reads;
    std::uint32_t writes;
};
constexpr std::array kTraffic{
    Traffic{"random-reads", CardPattern::kRandom, 1, 1, 0},
    Traffic{"random-writes", CardPattern::kRandom, 1, 0, 1},
    Traffic{"random-2:1", CardPattern::kRandom, 1, 2, 1},
    Traffic{"stream-reads", CardPattern::kSequential, 1, 1, 0},
    Traffic{"stream-writes", CardPattern::kSequential, 1, 0, 1},
    Traffic{"stream-2:1", CardPattern::kSequential, 1, 2, 1},
    Traffic{"16-streams-reads", CardPattern::kSequential, 16, 1, 0},
};

/// Of what a closed loop reaches. Idle: a line comes every 500 lines' time.
struct Load {
    const char* name;
    double share;
};
constexpr std::array kLoads{Load{"idle", 0.002}, Load{"half", 0.5}, Load{"full", 1.0}};
/// Lines in flight of the closed loop: as many as the card has room for by default.
constexpr std::uint32_t kClosedLoop = 64;
constexpr Bytes kSpan = Bytes::from_mib(256);
/// Root complex and protocol conversion, 50 + 2 x 12 ns (CXL-DMSim), spread as the measured reads
/// of V5. Without the spread streams would march in step.
constexpr Time kHost = Time::from_ns(74);
constexpr Time kHostSpread = Time::from_ns(8);

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
        m_rows.push_back({.id = id,
                          .source = "line fidelity of the same card",
                          .kind = "simulator",
                          .reference_low = line,
                          .reference_high = line,
                          .model = burst,
                          .tolerance = tolerance,
                          .held_out = false,
                          .reason = {}});
    }

    std::vector<ValidationRow>& m_rows;
};

/// The card at both fidelities of link and DRAM.
struct Twins {
    explicit Twins(const card::CardConfig& card) : burst(card), line(card) {
        burst.mem.fidelity = cxl::LinkFidelity::kBurst;
        burst.dram_fidelity = card::DramFidelity::kBurst;
        line.mem.fidelity = cxl::LinkFidelity::kLine;
        line.dram_fidelity = card::DramFidelity::kLine;
    }
    void add(std::vector<ValidationRow>& rows, const std::string& id, const CardLoad& load) const {
        Rows(rows).add(id, measure_card(burst, load), measure_card(line, load));
    }

    card::CardConfig burst;
    card::CardConfig line;
};

CardLoad load_of(const Traffic& traffic) {
    CardLoad load;
    load.pattern = traffic.pattern;
    load.reads = traffic.reads;
    load.writes = traffic.writes;
    load.requesters = traffic.streams;
    load.lines = kClosedLoop / traffic.streams;
    load.requests = 20'000;
    load.span = kSpan;
    load.host = kHost;
    load.host_spread = kHostSpread;
    return load;
}

}  // namespace

std::vector<ValidationRow> validate_fidelity(const card::CardConfig& card) {
    std::vector<ValidationRow> rows;
    const Twins twins(card);
    for (const Traffic& traffic : kTraffic) {
        CardLoad load = load_of(traffic);
        const double peak = measure_card(twins.line, load).gb_s();
        for (const Load& share : kLoads) {
            load.rate = {share.share < 1 ? static_cast<std::uint64_t>(share.share * peak * 1e9)
                                         : 0};
            twins.add(rows, fmt::format("fidelity-{}-{}", traffic.name, share.name), load);
        }
    }
    return rows;
}

}  // namespace kvplane::explore
