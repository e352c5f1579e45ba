// SPDX-License-Identifier: Apache-2.0
#include "explore/validate_cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "explore/card_load.h"
#include "model/memory/ddr5_load.h"

namespace kvplane::explore {
namespace {

constexpr double kTolerance = 0.05;
constexpr double kPeak = 0.01;

double ns(Time time) { return static_cast<double>(time.ps) / 1e3; }
double mean_ns(const CardMeasure& measure) { return measure.read_latency.mean_us() * 1e3; }
Rate rate_of(double gb_s) { return {static_cast<std::uint64_t>(gb_s * 1e9)}; }

/// Why a row is off, and by how much.
struct Excuse {
    double error = 0;
    const char* reason = "";
};

ValidationRow make_row(std::string id, const char* source, const char* kind, double low,
                       double high, double model, bool held_out, const Excuse& excuse = {}) {
    ValidationRow row{std::move(id), source, kind, low, high, model, kTolerance, held_out, {}};
    if (row.holds()) return row;
    row.reason = excuse.reason;
    row.excused = excuse.error;
    return row;
}

// --- the Mess curves ----------------------------------------------------------------------------

constexpr const char* kMess =
    "Mess CXL curves, at the device's pins; closed loop, 288 outstanding; ns";
constexpr const char* kMessPeak = "Mess CXL curves, peak; closed loop, 288 outstanding; GB/s";
/// As its benchmark: streams that pause between their lines. At the reference's peaks 267 to 285
/// lines are in flight.
constexpr std::uint32_t kMessStreams = 24;
constexpr std::uint32_t kMessLines = 12;

CardLoad mess_load(std::uint32_t read_percent) {
    CardLoad load;
    load.pattern = CardPattern::kSequential;
    load.reads = read_percent;
    load.writes = 100 - read_percent;
    load.requesters = kMessStreams;
    load.lines = kMessLines;
    load.probe = true;
    return load;
}

/// A closed loop whose pauses make it reach `gb_s`.
CardLoad paused(const card::CardConfig& card, CardLoad load, double gb_s) {
    const double cycle_ns = 64.0 * load.requesters * load.lines / gb_s;
    const std::uint64_t requests = load.requests;
    load.requests = 10'000;
    double latency_ns = 120;
    for (int i = 0; i < 4; ++i) {
        load.pause = {std::max<std::int64_t>(0, std::llround((cycle_ns - latency_ns) * 1e3))};
        latency_ns =
            64.0 * load.requesters * load.lines / measure_card(card, load).gb_s() - ns(load.pause);
    }
    load.requests = requests;
    return load;
}

/// One read at a time, at random times: else it would fall in step with refreshes.
CardLoad idle_load() {
    CardLoad load;
    load.lines = 1;
    load.pause = Time::from_us(1);
    load.random_pause = true;
    load.requests = 20'000;
    return load;
}

// --- the CMA blade ------------------------------------------------------------------------------

/// Lines that a thread of that host keeps in flight: bandwidth of one thread x latency / 64 B.
constexpr std::uint32_t kRandomLines = 15;      // 1.9 GB/s x 507 ns
constexpr std::uint32_t kSequentialLines = 43;  // 5.4 GB/s x 507 ns: prefetchers
constexpr std::uint32_t kWrittenLines = 19;     // 3.5 GB/s x 346 ns
constexpr std::uint32_t kThreads = 48;
/// Reads that the host has in flight at most: calibrated on four blades, 94.9 GB/s.
constexpr std::uint32_t kHostReads = 785;

constexpr const char* kCma = "Weisgut et al., PVLDB 18(9) 2025, figure 4; closed loop; GB/s";
constexpr const char* kCmaLatency =
    "Weisgut et al., PVLDB 18(9) 2025, figure 5; one random read at a time; ns";

struct Plateau {
    std::uint32_t blades;
    double low;
    double high;
    bool held_out;
    Excuse excuse{};
};

Plateau at_most(std::uint32_t blades, double gb_s, bool held_out, const Excuse& excuse = {}) {
    return {blades, gb_s, gb_s, held_out, excuse};
}

/// What the host adds to an access, from random reads of its own DRAM (eight channels of
/// DDR5-4800): a median of 145 ns, less that DRAM; and half of what is read within 140 to 151 ns,
/// as of a normal with a spread of 8 ns.
struct HostShare {
    Time mean;
    Time spread = Time::from_ns(8);
};

HostShare cma_host_share() {
    constexpr Time kLocal = Time::from_ns(145);
    memory::DramLoad load;
    load.pattern = memory::DramPattern::kRandom;
    load.rate = {1'000};
    load.requests = 20'000;
    const memory::Ddr5Config dram = memory::Ddr5Config::of(memory::DramPreset::kDdr5At4800B);
    return {kLocal - measure_dram(dram, load).read_latency.percentile(500)};
}

CardLoad cma_load(const HostShare& host, std::uint32_t threads) {
    CardLoad load;
    load.host = host.mean;
    load.host_spread = host.spread;
    load.requesters = threads;
    load.lines = kRandomLines;
    load.outstanding = kHostReads;
    return load;
}

CardLoad cma_stream(const HostShare& host, std::uint32_t blades, bool write) {
    CardLoad load = cma_load(host, kThreads);
    load.pattern = CardPattern::kSequential;
    load.lines = write ? kWrittenLines : kSequentialLines;
    load.reads = write ? 0 : 1;
    load.writes = write ? 1 : 0;
    load.cards = blades;
    load.requests = 40'000ULL * blades;
    return load;
}

struct ThreadPoint {
    std::uint32_t threads;
    double gb_s;
};
/// The lines of a thread follow from the first: it is not held out.
constexpr std::array kRandomReads{
    ThreadPoint{1, 1.9},   ThreadPoint{4, 7.5},   ThreadPoint{8, 14.7}, ThreadPoint{12, 21.5},
    ThreadPoint{16, 27.4}, ThreadPoint{20, 32.2}, ThreadPoint{24, 35.2}};

void cma_latency(const card::CardConfig& card, const HostShare& host,
                 std::vector<ValidationRow>& rows) {
    struct Percentile {
        const char* name;
        std::uint32_t per_mille;
        double ns;
    };
    constexpr std::array kPercentiles{Percentile{"p25", 250, 501}, Percentile{"p50", 500, 507},
                                      Percentile{"p75", 750, 515}, Percentile{"p90", 900, 523},
                                      Percentile{"p95", 950, 536}};
    CardLoad load = idle_load();
    load.host = host.mean;
    load.host_spread = host.spread;
    load.requests = 40'000;
    const CardMeasure measure = measure_card(card, load);
    for (const Percentile& p : kPercentiles) {
        rows.push_back(make_row(fmt::format("V5-{}", p.name), kCmaLatency, "silicon", p.ns, p.ns,
                                ns(measure.read_latency.percentile(p.per_mille)),
                                p.per_mille != 500));
    }
    rows.push_back(make_row("V5-mean", kCmaLatency, "silicon", 518, 518, mean_ns(measure), true));
    double tail = 0;
    for (std::uint32_t p = 990; p < 1000; ++p) tail += ns(measure.read_latency.percentile(p)) / 10;
    rows.push_back(make_row("V5-slowest-1%", kCmaLatency, "silicon", 880, 931, tail, true,
                            {-0.064,
                             "its p99 and p99.9 lie 373 and 424 ns above the median: a refresh of "
                             "350 ns (JEDEC, 8 Gb) ends before, one of 550 ns (16 Gb) would be too "
                             "frequent for p95"}));
}

void cma_plateaus(const card::CardConfig& card, const HostShare& host,
                  std::vector<ValidationRow>& rows) {
    constexpr const char* kMoreThanTwice =
        "two blades write 15.0 GB/s each where one, three and four write 13.2 to 13.7: no "
        "parameter of one device does that";
    const std::array reads{Plateau{1, 37.7, 39.8, false}, at_most(2, 74.0, true),
                           Plateau{3, 88.5, 89.0, true}, at_most(4, 94.9, false)};
    const std::array writes{Plateau{1, 13.6, 14.2, false},
                            at_most(2, 30.0, true, {-0.087, kMoreThanTwice}),
                            at_most(3, 40.5, true), at_most(4, 52.8, true)};
    const auto add = [&](const char* name, const Plateau& p, double model) {
        rows.push_back(make_row(fmt::format("V6-{}-{}", name, p.blades), kCma, "silicon", p.low,
                                p.high, model, p.held_out, p.excuse));
    };
    for (const Plateau& p : reads) {
        add("read", p, measure_card(card, cma_stream(host, p.blades, false)).gb_s());
    }
    for (const Plateau& p : writes) {
        add("write", p, measure_card(card, cma_stream(host, p.blades, true)).gb_s());
    }
}

// --- curves -------------------------------------------------------------------------------------

struct CurvePoint {
    double gb_s;
    double ns;
};
struct ReferenceCurve {
    std::uint32_t read_percent;
    std::array<CurvePoint, 8> points;
};
/// The last is at the peak, where the reference's own outstanding limit is the latency.
constexpr std::array kMessCurves{
    ReferenceCurve{90,
                   {{{0, 107.4},
                     {16.0, 112.6},
                     {18.3, 113.6},
                     {23.7, 117.7},
                     {26.65, 123.2},
                     {27.8, 127.3},
                     {29.08, 139.6},
                     {29.50, 578.5}}}},
    ReferenceCurve{76,
                   {{{0, 107.4},
                     {18.3, 115.6},
                     {21.3, 117.7},
                     {25.6, 121.4},
                     {30.5, 129.1},
                     {32.0, 133.5},
                     {33.7, 146.3},
                     {34.42, 525.7}}}},
    ReferenceCurve{60,
                   {{{0, 107.4},
                     {21.3, 120.2},
                     {25.6, 123.8},
                     {33.7, 133.4},
                     {37.6, 141.7},
                     {40.0, 149.5},
                     {42.6, 221.4},
                     {42.80, 426.8}}}},
    ReferenceCurve{10,
                   {{{0, 107.4},
                     {12.8, 118.5},
                     {16.0, 123.0},
                     {21.3, 128.6},
                     {23.7, 131.6},
                     {25.6, 137.4},
                     {26.17, 156.7},
                     {26.17, 156.7}}}},
};

/// Rates of a curve, in percent of what a closed loop reaches.
constexpr std::array kShares{5, 15, 30, 45, 60, 70, 80, 88, 94};

/// Requesters of an open loop, and lines that it has in flight at most.
constexpr std::uint32_t kStreams = 32;
constexpr std::uint32_t kOpenOutstanding = 512;
constexpr std::uint64_t kCurveRequests = 20'000;

class Curves {
public:
    Curves(std::string name, const card::CardConfig& card)
        : m_name(std::move(name)), m_card(card) {}

    /// Open loop at nine rates, and a closed loop at the end.
    void sweep(const std::string& series, CardLoad load) {
        load.requests = kCurveRequests;
        const CardMeasure full = measure_card(m_card, load);
        for (const int share : kShares) {
            load.rate = rate_of(full.gb_s() * share / 100);
            add(series, fmt::format("open, at most {} outstanding", load.outstanding),
                load.rate.gb_s(), measure_card(m_card, load));
        }
        add(series, fmt::format("closed, {} outstanding", load.lines * load.requesters), 0, full);
    }
    /// The same with pauses instead of an open loop.
    void paused_sweep(const std::string& series, CardLoad load) {
        load.requests = kCurveRequests;
        const CardMeasure full = measure_card(m_card, load);
        const std::string loop =
            fmt::format("closed, {} outstanding", load.lines * load.requesters);
        for (const int share : kShares) {
            add(series, loop + ", pauses", 0,
                measure_card(m_card, paused(m_card, load, full.gb_s() * share / 100)));
        }
        add(series, loop, 0, full);
    }
    void add(const std::string& series, const std::string& loop, double offered,
             const CardMeasure& measure) {
        m_points.push_back({m_name, series, loop, offered, measure.gb_s(), mean_ns(measure),
                            ns(measure.read_latency.percentile(500)),
                            ns(measure.read_latency.percentile(990)), false});
    }
    void reference(const std::string& series, double gb_s, double latency) {
        m_points.push_back({m_name, series, "", 0, gb_s, latency, 0, 0, true});
    }
    std::vector<LoadedLatencyPoint> take() { return std::move(m_points); }

private:
    std::string m_name;
    const card::CardConfig& m_card;
    std::vector<LoadedLatencyPoint> m_points;
};

void mess_curves(Curves& curves) {
    for (const ReferenceCurve& curve : kMessCurves) {
        const std::string reads = fmt::format("{} % reads", curve.read_percent);
        curves.paused_sweep(reads, mess_load(curve.read_percent));
        for (const CurvePoint& point : curve.points) {
            curves.reference("Mess, " + reads, point.gb_s, point.ns);
        }
    }
}

/// Threads of the blade's host; the reference's latency follows from its lines in flight.
void cma_curve(Curves& curves, const card::CardConfig& card) {
    const HostShare host = cma_host_share();
    for (const ThreadPoint& point : kRandomReads) {
        curves.add("random reads by threads, host included",
                   fmt::format("closed, {} a thread", kRandomLines), 0,
                   measure_card(card, cma_load(host, point.threads)));
        curves.reference("measured, random reads by threads", point.gb_s,
                         point.threads * kRandomLines * 64 / point.gb_s);
    }
}

CardLoad random_load(std::uint32_t reads, std::uint32_t writes) {
    CardLoad load;
    load.reads = reads;
    load.writes = writes;
    load.requesters = kStreams;
    load.lines = kOpenOutstanding / kStreams;
    load.outstanding = kOpenOutstanding;
    return load;
}

}  // namespace

std::vector<ValidationRow> validate_mess_curve(const card::CardConfig& card) {
    std::vector<ValidationRow> rows;
    rows.push_back(make_row("V1-idle", kMess, "simulator", 107.4, 107.4,
                            mean_ns(measure_card(card, idle_load())), false));
    const auto loaded = [&](const char* id, std::uint32_t reads, double gb_s, double reference) {
        CardLoad load = mess_load(reads);
        load.requests = 100'000;
        rows.push_back(make_row(id, kMess, "simulator", reference, reference,
                                mean_ns(measure_card(card, paused(card, load, gb_s))),
                                reads != 90));
    };
    loaded("V1-80%", 90, 0.80 * 29.5, 117.7);
    loaded("V1-94%", 90, 0.94 * 29.5, 127.3);
    loaded("V1-76:24-74%", 76, 25.6, 121.4);
    loaded("V1-76:24-93%", 76, 32.0, 133.5);
    for (const ReferenceCurve& curve : kMessCurves) {
        CardLoad load = mess_load(curve.read_percent);
        load.probe = false;
        const double peak = curve.points.back().gb_s;
        rows.push_back(
            make_row(fmt::format("V2-card-{}:{}", curve.read_percent, 100 - curve.read_percent),
                     kMessPeak, "simulator", peak, peak, measure_card(card, load).gb_s(), false));
        rows.back().tolerance = kPeak;
    }
    return rows;
}

std::vector<ValidationRow> validate_cma_blade(const card::CardConfig& card) {
    std::vector<ValidationRow> rows;
    const HostShare host = cma_host_share();
    cma_latency(card, host, rows);
    for (const ThreadPoint& point : kRandomReads) {
        rows.push_back(make_row(
            fmt::format("V5-random-{}", point.threads), kCma, "silicon", point.gb_s, point.gb_s,
            measure_card(card, cma_load(host, point.threads)).gb_s(), point.threads != 1));
    }
    cma_plateaus(card, host, rows);
    return rows;
}

std::vector<ValidationRow> validate_cz120(const card::CardConfig& card) {
    CardLoad load;
    load.pattern = CardPattern::kSequential;
    load.reads = 2;
    load.writes = 1;
    load.requesters = 64;
    load.lines = 8;
    return {make_row("V7", "Micron, MLC, two reads to a write; closed loop, 512 outstanding; GB/s",
                     "vendor", 36, 36, measure_card(card, load).gb_s(), false)};
}

std::vector<LoadedLatencyPoint> loaded_latency(const std::string& name,
                                               const card::CardConfig& card) {
    Curves curves(name, card);
    if (name == "mess-x8") {
        mess_curves(curves);
        return curves.take();
    }
    curves.sweep("random reads", random_load(1, 0));
    curves.sweep("random, 2 reads to a write", random_load(2, 1));
    if (name == "seagate-cma") cma_curve(curves, card);
    if (name == "micron-cz120") curves.reference("vendor, 2 reads to a write", 36, 0);
    return curves.take();
}

}  // namespace kvplane::explore
