// SPDX-License-Identifier: Apache-2.0
/// The link against the published arithmetic: flits formed and counted, and in closed form.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/cxl/link_load.h"

namespace kvplane::cxl {
namespace {

LinkConfig x8() {
    LinkConfig config;
    config.width = 8;
    return config;
}

double total(const LinkMeasure& measure) { return measure.reads.gb_s() + measure.writes.gb_s(); }

struct MixRow {
    MemMix mix;
    double coded;  ///< GB/s with 128b/130b
    double bypass;
    double single;  ///< multi-data-header off
    double naive;   ///< bypass, naive packer; 0: not given
};

/// Payload both ways of 68 B flits on x8 Gen5, from the packing rules.
const std::vector<MixRow>& mix_rows() {
    static const std::vector<MixRow> rows{
        {{100, 0, 0}, 26.36, 26.77, 23.72, 26.77},
        {{90, 10, 0}, 29.11, 29.56, 26.36, 29.38},
        {{76, 24, 0}, 34.09, 34.62, 31.22, 34.02},
        {{2, 1, 0}, 38.47, 39.07, 35.59, 38.03},
        {{60, 40, 0}, 42.36, 43.03, 39.54, 41.53},
        {{50, 50, 0}, 39.54, 40.16, 39.54, 0},
        {{10, 90, 0}, 25.79, 26.19, 25.79, 0},
        {{0, 100, 0}, 23.72, 24.09, 23.72, 0},
        {{0, 0, 100}, 19.77, 0, 0, 0},
    };
    return rows;
}

void expect_mix(const LinkConfig& config, const MemMix& mix, double expected,
                const std::string& what) {
    if (expected == 0) return;
    LinkLoad load;
    load.mix = mix;
    const std::string where = what + " " + std::to_string(mix.reads) + ":" +
                              std::to_string(mix.writes + mix.partial_writes);
    EXPECT_NEAR(total(measure_link(config, load)) / expected, 1, 0.005) << where << ", line";
    EXPECT_NEAR(Link(config).mem_bandwidth(mix).gb_s() / expected, 1, 0.005) << where << ", burst";
}

TEST(LinkTrafficTest, MixesOf68ByteFlitsMeetTheArithmetic) {
    for (const MixRow& row : mix_rows()) {
        LinkConfig config = x8();
        expect_mix(config, row.mix, row.coded, "128b/130b");
        config.multi_data_header = false;
        expect_mix(config, row.mix, row.single, "single header");
        config.multi_data_header = true;
        config.sync_header_bypass = true;
        expect_mix(config, row.mix, row.bypass, "bypass");
        config.packing = Packing::kNaive;
        expect_mix(config, row.mix, row.naive, "naive");
    }
}

struct WideRow {
    FlitLayout layout;
    double reads;  ///< % of raw
    double two_one;
    double writes;
};

TEST(LinkTrafficTest, MixesOf256ByteFlitsMeetTheArithmetic) {
    const std::vector<WideRow> rows{
        {FlitLayout::k256BStandardHbr, 84.62, 122.2, 75.0},
        {FlitLayout::k256BLowLatencyHbr, 80.77, 116.7, 70.0},
        {FlitLayout::k256BStandardPbr, 83.33, 118.4, 70.0},
        {FlitLayout::k256BLowLatencyPbr, 80.56, 114.5, 65.0},
    };
    for (const WideRow& row : rows) {
        for (const std::uint64_t rate : {32'000'000'000, 64'000'000'000}) {
            LinkConfig config = x8();
            config.flit = row.layout;
            config.rate = {rate};
            const double raw = Link(config).wire_rate().gb_s() / 100;
            const auto name = "256 B " + std::to_string(static_cast<int>(row.layout));
            expect_mix(config, {1, 0, 0}, row.reads * raw, name);
            expect_mix(config, {2, 1, 0}, row.two_one * raw, name);
            expect_mix(config, {0, 1, 0}, row.writes * raw, name);
        }
    }
}

/// Any mix, any layout: the closed form is what the flits give.
TEST(LinkTrafficTest, ClosedFormHoldsForEveryMix) {
    RandomStream random(3, "mixes");
    for (int i = 0; i < 60; ++i) {
        LinkConfig config = x8();
        config.flit = static_cast<FlitLayout>(random.uniform(5));
        config.packing = static_cast<Packing>(random.uniform(2));
        config.multi_data_header = random.uniform(3) != 0;
        MemMix mix{random.uniform(0, 10), random.uniform(0, 10), random.uniform(0, 3)};
        if (mix.reads + mix.writes + mix.partial_writes == 0) mix.reads = 1;
        LinkLoad load;
        load.mix = mix;
        load.duration = Time::from_us(60);
        const double line = total(measure_link(config, load));
        EXPECT_NEAR(Link(config).mem_bandwidth(mix).gb_s() / line, 1, 0.01)
            << "layout " << static_cast<int>(config.flit) << " packing "
            << static_cast<int>(config.packing) << " mdh " << config.multi_data_header << " mix "
            << mix.reads << ":" << mix.writes << ":" << mix.partial_writes;
    }
}

struct TlpRow {
    std::uint64_t mps;
    double x16;
    double pasid;
    double gen5_256;
    double gen6_256;
    double completions;
};

LinkMeasure pushes(const LinkConfig& config) {
    LinkLoad load;
    load.promotions = LoadKind::kSaturating;
    return measure_link(config, load);
}

TEST(LinkTrafficTest, DmaWritesMeetTheArithmetic) {
    const std::vector<TlpRow> rows{{64, 43.13, 41.26, 0, 0, 45.19},
                                   {128, 49.94, 48.66, 51.64, 104.9, 51.29},
                                   {256, 54.23, 53.46, 54.68, 111.1, 55.01},
                                   {512, 56.65, 56.23, 56.33, 114.4, 57.08}};
    for (const TlpRow& row : rows) {
        LinkConfig config;
        config.mps = {row.mps};
        config.mrrs = {512};
        const auto check = [&](double expected, const char* what) {
            if (expected == 0) return;
            const WireCost cost = Link(config).dma_write();
            const double burst = Link(config).wire_rate().gb_s() *
                                 static_cast<double>(cost.payload) / static_cast<double>(cost.wire);
            EXPECT_NEAR(burst / expected, 1, 0.005) << what << " MPS " << row.mps << ", burst";
            EXPECT_NEAR(pushes(config).promoted.gb_s() / expected, 1, 0.005)
                << what << " MPS " << row.mps << ", line";
        };
        check(row.x16, "x16");
        config.width = 8;
        check(row.x16 / 2, "x8");
        config.width = 16;
        config.pasid = true;
        check(row.pasid, "PASID");
        config.pasid = false;
        LinkLoad pulls;
        pulls.demotions = LoadKind::kSaturating;
        EXPECT_NEAR(measure_link(config, pulls).demoted.gb_s() / row.completions, 1, 0.005);
        config.flit = FlitLayout::k256BStandardHbr;
        check(row.gen5_256, "256 B Gen5");
        config.rate = {64'000'000'000};
        check(row.gen6_256, "256 B Gen6");
    }
}

TEST(LinkTrafficTest, HostReadsBesidePromotionsShareTheWire) {
    for (const auto& [reads, promoted] : std::vector<std::pair<double, double>>{
             {5, 21.97}, {10, 16.83}, {13.18, 13.56}, {20, 6.54}}) {
        LinkLoad load;
        load.promotions = LoadKind::kSaturating;
        load.burst_reads = {static_cast<std::uint64_t>(reads * 1e9)};
        const LinkMeasure measure = measure_link(x8(), load);
        EXPECT_NEAR(measure.reads.gb_s() / reads, 1, 0.005);
        EXPECT_NEAR(measure.promoted.gb_s() / promoted, 1, 0.005) << reads;
    }
}

TEST(LinkTrafficTest, DemotionsBesidePromotionsCostTheirRequestsAndCompletions) {
    LinkLoad pulled;
    pulled.promotions = LoadKind::kSaturating;
    pulled.demotions = LoadKind::kSaturating;
    const LinkMeasure pull = measure_link(x8(), pulled);
    EXPECT_NEAR(pull.demoted.gb_s() / 27.51, 1, 0.005);
    EXPECT_NEAR(pull.promoted.gb_s() / 25.93, 1, 0.005);
    EXPECT_NEAR((pull.demoted.gb_s() + pull.promoted.gb_s()) / 53.44, 1, 0.005);

    LinkLoad pushed;
    pushed.promotions = LoadKind::kSaturating;
    pushed.mix = {0, 1, 0};
    const LinkMeasure push = measure_link(x8(), pushed);
    EXPECT_NEAR(push.writes.gb_s() / 23.72, 1, 0.005);
    EXPECT_NEAR(push.promoted.gb_s() / 24.40, 1, 0.005);
}

TEST(LinkTrafficTest, SmallPromotionsReachNearlyTheLongOnes) {
    LinkLoad load;
    load.promotions = LoadKind::kSaturating;
    load.promotion = Bytes::from_kib(4);
    const double share = measure_link(x8(), load).promoted.gb_s() / 27.11;
    EXPECT_GE(share, 0.975);
    EXPECT_LE(share, 1.0);
}

TEST(LinkTrafficTest, AHostReadWaitsForOneFlitOrOneTlp) {
    LinkLoad load;
    load.promotions = LoadKind::kSaturating;
    load.probes = 4000;
    load.duration = Time::from_ms(1);
    LinkConfig config = x8();
    const LinkMeasure by_flit = measure_link(config, load);
    EXPECT_NEAR(static_cast<double>(by_flit.worst_probe_wait.ps) / 2158, 1, 0.005);
    EXPECT_NEAR(static_cast<double>(by_flit.mean_probe_wait.ps) / 1079, 1, 0.05);
    config.arbitration = Arbitration::kTlp;
    const LinkMeasure by_tlp = measure_link(config, load);
    EXPECT_NEAR(static_cast<double>(by_tlp.worst_probe_wait.ps) / 9442, 1, 0.005);
    EXPECT_NEAR(static_cast<double>(by_tlp.mean_probe_wait.ps) / 4721, 1, 0.05);
}

TEST(LinkTrafficTest, SkipOrderedSetsCostTheirShare) {
    LinkConfig config = x8();
    config.skp = true;
    EXPECT_NEAR(Link(config).wire_rate().gb_s() / (31.5077 * 0.9973), 1, 1e-4);
}

}  // namespace
}  // namespace kvplane::cxl
