// SPDX-License-Identifier: Apache-2.0
/// The link alone, flit by flit and in closed form, against arithmetic from the slot and TLP rules
/// (V4), against a manufacturer's curve (V2) and against public P2P writes (V11).
#include <fmt/format.h>

#include <array>

#include "explore/validate.h"
#include "model/cxl/link.h"
#include "model/cxl/link_load.h"

namespace kvplane::explore {
namespace {

using cxl::FlitLayout;
using cxl::LinkConfig;
using cxl::LinkLoad;
using cxl::LinkMeasure;
using cxl::MemMix;

constexpr double kTight = 0.005;
constexpr double kRecalled = 0.03;  // layouts of 256 B flits
constexpr double kCurve = 0.01;
constexpr std::uint64_t kGen6 = 64'000'000'000;

LinkConfig narrow() {
    LinkConfig config;
    config.width = 8;
    return config;
}

class Rows {
public:
    void arithmetic(std::string id, double reference, double model, double tolerance = kTight) {
        add({std::move(id),
             "slot and TLP rules",
             "arithmetic",
             reference,
             reference,
             model,
             tolerance,
             false,
             {}});
    }
    void add(ValidationRow row) { m_rows.push_back(std::move(row)); }

    /// Payload both ways of a mix, flit by flit and in closed form.
    void mix(const std::string& id, const LinkConfig& config, const MemMix& mix, double reference,
             double tolerance = kTight) {
        if (reference == 0) return;
        LinkLoad load;
        load.mix = mix;
        const LinkMeasure measure = measure_link(config, load);
        arithmetic(id, reference, measure.reads.gb_s() + measure.writes.gb_s(), tolerance);
        arithmetic(id + "-burst", reference, cxl::Link(config).mem_bandwidth(mix).gb_s(),
                   tolerance);
    }

    std::vector<ValidationRow> take() { return std::move(m_rows); }

private:
    std::vector<ValidationRow> m_rows;
};

struct MixReference {
    const char* name;
    MemMix mix;
    double coded;
    double bypass;
    double single_header;
    double naive;
    double curve;  ///< V2; 0: none
};

constexpr std::array kMixes{
    MixReference{"100:0", {100, 0, 0}, 26.36, 26.77, 23.72, 26.77, 0},
    MixReference{"90:10", {90, 10, 0}, 29.11, 29.56, 26.36, 29.38, 29.50},
    MixReference{"76:24", {76, 24, 0}, 34.09, 34.62, 31.22, 34.02, 34.42},
    MixReference{"2:1", {2, 1, 0}, 38.47, 39.07, 35.59, 38.03, 0},
    MixReference{"60:40", {60, 40, 0}, 42.36, 43.03, 39.54, 41.53, 42.80},
    MixReference{"50:50", {50, 50, 0}, 39.54, 40.16, 39.54, 0, 0},
    MixReference{"10:90", {10, 90, 0}, 25.79, 26.19, 25.79, 0, 26.17},
    MixReference{"0:100", {0, 100, 0}, 23.72, 24.09, 23.72, 0, 0},
    MixReference{"partial", {0, 0, 100}, 19.77, 0, 0, 0, 0},
};

void small_flits(Rows& rows) {
    for (const MixReference& row : kMixes) {
        const std::string id = fmt::format("V4-t1-{}-", row.name);
        LinkConfig config = narrow();
        rows.mix(id + "coded", config, row.mix, row.coded);
        config.multi_data_header = false;
        rows.mix(id + "mdh_off", config, row.mix, row.single_header);
        config.multi_data_header = true;
        config.sync_header_bypass = true;
        rows.mix(id + "bypass", config, row.mix, row.bypass);
        if (row.curve != 0) {
            LinkLoad load;
            load.mix = row.mix;
            const LinkMeasure measure = measure_link(config, load);
            rows.add({fmt::format("V2-{}", row.name),
                      "Mess CXL curves, peak; closed loop, 256 outstanding",
                      "simulator",
                      row.curve,
                      row.curve,
                      measure.reads.gb_s() + measure.writes.gb_s(),
                      kCurve,
                      true,
                      {}});
        }
        config.packing = cxl::Packing::kNaive;
        rows.mix(id + "naive", config, row.mix, row.naive);
    }
}

struct WideReference {
    const char* name;
    FlitLayout layout;
    double two_one;            ///< % of raw
    std::array<double, 2> x8;  ///< Gen5: reads, writes
    std::array<double, 2> x16;
    std::array<double, 2> gen6;  ///< x8
};

constexpr std::array kWide{
    WideReference{
        "hbr", FlitLayout::k256BStandardHbr, 122.2, {26.66, 23.63}, {53.32, 47.26}, {54.15, 48.00}},
    WideReference{"ll-hbr",
                  FlitLayout::k256BLowLatencyHbr,
                  116.7,
                  {25.45, 22.06},
                  {50.90, 44.11},
                  {51.69, 44.80}},
    WideReference{
        "pbr", FlitLayout::k256BStandardPbr, 118.4, {26.26, 22.06}, {52.51, 44.11}, {53.33, 44.80}},
    WideReference{"ll-pbr",
                  FlitLayout::k256BLowLatencyPbr,
                  114.5,
                  {25.38, 20.48},
                  {50.76, 40.96},
                  {51.56, 41.60}},
};

void wide_flits(Rows& rows) {
    for (const WideReference& row : kWide) {
        LinkConfig config = narrow();
        config.flit = row.layout;
        const auto both = [&](const char* where, const std::array<double, 2>& reference) {
            const std::string id = fmt::format("V4-t2-{}-{}-", row.name, where);
            rows.mix(id + "reads", config, {1, 0, 0}, reference[0], kRecalled);
            rows.mix(id + "writes", config, {0, 1, 0}, reference[1], kRecalled);
        };
        both("x8", row.x8);
        const double raw = cxl::Link(config).wire_rate().gb_s() / 100;
        rows.mix(fmt::format("V4-t2-{}-x8-2:1", row.name), config, {2, 1, 0}, row.two_one * raw,
                 kRecalled);
        config.width = 16;
        both("x16", row.x16);
        config.width = 8;
        config.rate = {kGen6};
        both("x8gen6", row.gen6);
    }
}

struct TlpReference {
    std::uint64_t mps;
    double x16;
    double x8;
    double pasid;
    double wide_gen5;
    double wide_gen6;
    double completions;
};

constexpr std::array kTlps{
    TlpReference{64, 43.13, 21.57, 41.26, 0, 0, 45.19},
    TlpReference{128, 49.94, 24.97, 48.66, 51.64, 104.9, 51.29},
    TlpReference{256, 54.23, 27.11, 53.46, 54.68, 111.1, 55.01},
    TlpReference{512, 56.65, 28.33, 56.23, 56.33, 114.4, 57.08},
};

LinkLoad pushing() {
    LinkLoad load;
    load.promotions = cxl::LoadKind::kSaturating;
    return load;
}

double closed_form(const LinkConfig& config, const cxl::WireCost& cost) {
    return cxl::Link(config).wire_rate().gb_s() * static_cast<double>(cost.payload) /
           static_cast<double>(cost.wire);
}

void dma(Rows& rows) {
    for (const TlpReference& row : kTlps) {
        LinkConfig config;
        config.mps = {row.mps};
        const auto push = [&](const char* name, double reference) {
            if (reference == 0) return;
            const std::string id = fmt::format("V4-t3-{}-{}", row.mps, name);
            rows.arithmetic(id, reference, measure_link(config, pushing()).promoted.gb_s());
            rows.arithmetic(id + "-burst", reference,
                            closed_form(config, cxl::Link(config).dma_write()));
        };
        push("x16", row.x16);
        LinkLoad pulls;
        pulls.demotions = cxl::LoadKind::kSaturating;
        rows.arithmetic(fmt::format("V4-t3-{}-cpld", row.mps), row.completions,
                        measure_link(config, pulls).demoted.gb_s());
        rows.arithmetic(fmt::format("V4-t3-{}-cpld-burst", row.mps), row.completions,
                        closed_form(config, cxl::Link(config).dma_read_data()));
        config.width = 8;
        push("x8", row.x8);
        config.width = 16;
        config.pasid = true;
        push("pasid", row.pasid);
        config.pasid = false;
        config.flit = FlitLayout::k256BStandardHbr;
        push("256b-gen5", row.wide_gen5);
        config.rate = {kGen6};
        push("256b-gen6", row.wide_gen6);
    }
    rows.add({"V11",
              "public P2P writes, x16 Gen5",
              "silicon",
              53,
              56.6,
              measure_link({}, pushing()).promoted.gb_s(),
              0.05,
              true,
              {}});
}

void mixed_traffic(Rows& rows) {
    const std::array<std::array<double, 2>, 4> beside{
        {{5, 21.97}, {10, 16.83}, {13.18, 13.56}, {20, 6.54}}};
    for (const auto& [reads, promoted] : beside) {
        LinkLoad load = pushing();
        load.burst_reads = {static_cast<std::uint64_t>(reads * 1e9)};
        rows.arithmetic(fmt::format("V4-t4-reads-{}", reads), promoted,
                        measure_link(narrow(), load).promoted.gb_s());
    }
    LinkLoad pulled = pushing();
    pulled.demotions = cxl::LoadKind::kSaturating;
    const LinkMeasure pull = measure_link(narrow(), pulled);
    rows.arithmetic("V4-t4-pulled-down", 27.51, pull.demoted.gb_s());
    rows.arithmetic("V4-t4-pulled-up", 25.93, pull.promoted.gb_s());
    rows.arithmetic("V4-t4-pulled-duplex", 53.44, pull.demoted.gb_s() + pull.promoted.gb_s());
    LinkLoad pushed = pushing();
    pushed.mix = {0, 1, 0};
    const LinkMeasure push = measure_link(narrow(), pushed);
    rows.arithmetic("V4-t4-pushed-down", 23.72, push.writes.gb_s());
    rows.arithmetic("V4-t4-pushed-up", 24.40, push.promoted.gb_s());
    rows.arithmetic("V4-t4-pushed-duplex", 48.12, push.writes.gb_s() + push.promoted.gb_s());
}

void small_blocks(Rows& rows) {
    LinkLoad small = pushing();
    small.promotion = Bytes::from_kib(4);
    rows.add({"V4-t4-4KiB",
              "slot and TLP rules: 97.5 % of 27.11 GB/s or more",
              "arithmetic",
              0.975 * 27.11,
              27.11,
              measure_link(narrow(), small).promoted.gb_s(),
              kTight,
              false,
              {}});
}

void probes(Rows& rows) {
    LinkLoad probed = pushing();
    probed.probes = 4000;
    probed.duration = Time::from_ms(1);
    LinkConfig config = narrow();
    rows.arithmetic("V4-t4-wait-flit", 2.158,
                    static_cast<double>(measure_link(config, probed).worst_probe_wait.ps) / 1e3);
    config.arbitration = cxl::Arbitration::kTlp;
    rows.arithmetic("V4-t4-wait-tlp", 9.442,
                    static_cast<double>(measure_link(config, probed).worst_probe_wait.ps) / 1e3);
}

}  // namespace

std::vector<ValidationRow> validate_link() {
    Rows rows;
    small_flits(rows);
    wide_flits(rows);
    dma(rows);
    mixed_traffic(rows);
    small_blocks(rows);
    probes(rows);
    return rows.take();
}

}  // namespace kvplane::explore
