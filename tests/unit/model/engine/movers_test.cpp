// SPDX-License-Identifier: Apache-2.0
/// What the movers of a card get where they meet: x8 Gen5, MPS 256, unless said.
#include "model/engine/movers.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvplane::engine {
namespace {

constexpr double kTwoDecimals = 0.011;

class Deaf final : public FlowClient {
    void block_drained(std::uint32_t, std::uint32_t, std::uint32_t, Time, Time) override {}
    void job_drained(std::uint32_t, std::uint32_t, Time) override {}
    void job_given_up(std::uint32_t, std::uint32_t, std::uint32_t, FlowEnd, Time) override {}
};

MoversConfig x8() {
    MoversConfig config;
    config.link.width = 8;
    config.flight = Time::from_ns(370);
    return config;
}

/// Movers that are busy for ever.
class BusyMovers {
public:
    BusyMovers(const MoversConfig& config, std::vector<Mover> busy, Rate bulk_cap = {UINT64_MAX})
        : m_flows(config, m_client) {
        m_flows.limit_cap(kBulkRead, bulk_cap);
        for (const Mover mover : busy) {
            m_flows.push(mover, {.block_bytes = Bytes::from_gib(1'000)}, {});
        }
    }
    [[nodiscard]] double operator[](Mover mover) const { return m_flows.rate(mover).gb_s(); }
    Movers& flows() { return m_flows; }

private:
    Deaf m_client;
    FlowMovers m_flows;
};

TEST(MoversTest, AloneEachReachesItsClosedForm) {
    EXPECT_NEAR(BusyMovers(x8(), {kPush})[kPush], 27.11, kTwoDecimals);
    EXPECT_NEAR(BusyMovers(x8(), {kPull})[kPull], 27.51, kTwoDecimals);
    EXPECT_NEAR(BusyMovers(x8(), {kBulkRead})[kBulkRead], 26.36, kTwoDecimals);
    EXPECT_NEAR(BusyMovers(x8(), {kBulkWrite})[kBulkWrite], 23.72, kTwoDecimals);
    MoversConfig x16 = x8();
    x16.link.width = 16;
    EXPECT_NEAR(BusyMovers(x16, {kPush})[kPush], 54.23, 2 * kTwoDecimals);
    EXPECT_NEAR(BusyMovers(x16, {kPull})[kPull], 55.01, 2 * kTwoDecimals);
}

TEST(MoversTest, PulledDemotionBesidePromotions) {
    const BusyMovers movers(x8(), {kPush, kPull});
    EXPECT_NEAR(movers[kPull], 27.51, kTwoDecimals);
    EXPECT_NEAR(movers[kPush], 25.93, 2 * kTwoDecimals);
    EXPECT_NEAR(movers[kPush] + movers[kPull], 53.44, 3 * kTwoDecimals);
}

TEST(MoversTest, PushedDemotionBesidePromotions) {
    const BusyMovers movers(x8(), {kPush, kBulkWrite});
    EXPECT_NEAR(movers[kBulkWrite], 23.72, kTwoDecimals);
    EXPECT_NEAR(movers[kPush], 24.40, 2 * kTwoDecimals);
}

TEST(MoversTest, HostReadsBesidePromotionsShareTheWire) {
    struct Row {
        std::uint64_t reads_mb_s;
        double promotions;
    };
    for (const Row& row : {Row{5'000, 21.97}, Row{10'000, 16.83}, Row{13'180, 13.56}}) {
        // A copy engine that takes so much; and single lines that add up to it.
        const Rate reads{row.reads_mb_s * 1'000'000};
        const BusyMovers flows(x8(), {kPush, kBulkRead}, reads);
        EXPECT_NEAR(flows[kBulkRead], reads.gb_s(), 1e-3);
        EXPECT_NEAR(flows[kPush], row.promotions, 2 * kTwoDecimals);
    }
    for (const Row& row :
         {Row{5'000, 21.97}, Row{10'000, 16.83}, Row{13'180, 13.56}, Row{20'000, 6.54}}) {
        BusyMovers movers(x8(), {kPush});
        movers.flows().set_host_load(
            {row.reads_mb_s * 1'000'000 * 9 * 68 / (8 * 64), 0, row.reads_mb_s * 1'000'000, 0}, {});
        EXPECT_NEAR(movers[kPush], row.promotions, 2 * kTwoDecimals) << row.reads_mb_s;
    }
}

TEST(MoversTest, NoResourceIsEverOverfullAndOverheadSettles) {
    for (const std::uint32_t width : {4U, 8U, 16U}) {
        for (const std::uint64_t mps : {64U, 128U, 256U, 512U}) {
            for (const std::uint32_t channels : {1U, 2U, 4U}) {
                MoversConfig config = x8();
                config.link.width = width;
                config.link.mps = {mps};
                config.dram.channels = channels;
                for (std::uint32_t mask = 1; mask < 16; ++mask) {
                    std::vector<Mover> busy;
                    for (std::uint32_t i = 0; i < 4; ++i) {
                        if ((mask >> i & 1U) != 0) busy.push_back(static_cast<Mover>(i));
                    }
                    BusyMovers movers(config, busy);
                    const std::uint64_t wire = cxl::Link(config.link).wire_rate().bytes_per_second;
                    const std::uint64_t dram =
                        memory::Dram(config.dram).bandwidth().bytes_per_second;
                    const std::uint64_t up = movers.flows().in_use(kUplink);
                    const std::uint64_t down = movers.flows().in_use(kDownlink);
                    const std::uint64_t lines = movers.flows().in_use(kDram);
                    EXPECT_LE(up, wire);
                    EXPECT_LE(down, wire);
                    EXPECT_LE(lines, dram);
                    // Something is full, within the 3 % of the overhead's rounds.
                    EXPECT_TRUE(up * 100 >= wire * 97 || down * 100 >= wire * 97 ||
                                lines * 100 >= dram * 97)
                        << "mask " << mask << " width " << width << " mps " << mps;
                }
            }
        }
    }
}

TEST(MoversTest, DramFeedsBothDirectionsAndMixedWritesCostMore) {
    MoversConfig config = x8();
    config.link.width = 16;
    config.dram.channels = 1;  // 40.8 GB/s
    EXPECT_NEAR(BusyMovers(config, {kPush})[kPush], 40.77, 0.02);
    EXPECT_NEAR(BusyMovers(config, {kPull})[kPull], 40.77, 0.02) << "writes alone turn never";
    const BusyMovers both(config, {kPush, kPull});
    const double extra = 1.666 / 3.14;  // two turnarounds of 20 ns over 24 lines, in lines
    EXPECT_NEAR(both[kPush], 40.77 / (2 + extra), 0.05);
    EXPECT_NEAR(both[kPull], 40.77 / (2 + extra), 0.05);
}

TEST(MoversTest, LanesServeBothDirectionsTogether) {
    MoversConfig config = x8();
    config.codec.lanes = 1;
    config.codec.bytes_per_cycle = {32};  // 32 GB/s
    const BusyMovers both(config, {kPush, kPull});
    EXPECT_NEAR(both[kPush], 16, 0.01);
    EXPECT_NEAR(both[kPull], 16, 0.01);
    EXPECT_NEAR(BusyMovers(config, {kBulkRead})[kBulkRead], 26.36, kTwoDecimals)
        << "no codec there";
}

TEST(MoversTest, OutstandingReadsOverTheRoundTripCapDemotions) {
    MoversConfig config = x8();
    config.engine.read_outstanding = 16;
    EXPECT_NEAR(BusyMovers(config, {kPull})[kPull], 16 * 512 / 840.0, 0.001);
    config.engine.read_outstanding = 1'000'000;
    config.engine.staging = {4'200};
    EXPECT_NEAR(BusyMovers(config, {kPull})[kPull], 5.0, 0.001);
    // Staging over the residence of a line caps promotions: DRAM and fill, a TLP of 256 B through
    // the lanes and on the wire, propagation.
    EXPECT_NEAR(BusyMovers(config, {kPush})[kPush], 27.11, kTwoDecimals);
    config.engine.staging = {606};
    const cxl::Link link(config.link);
    const Time tlp = link.serialisation(link.write_tlp_bytes({256})) +
                     transfer_time({256}, codec::lanes_rate(config.codec));
    EXPECT_NEAR(BusyMovers(config, {kPush})[kPush], 606 / (60.6 + 10 + tlp.us() * 1e3), 0.001);
}

TEST(MoversTest, RateLimitsHold) {
    MoversConfig config = x8();
    config.link.push_rate_limit = Rate::from_gb_s(7);
    config.link.pull_rate_limit = Rate::from_gb_s(6);
    const BusyMovers movers(config, {kPush, kBulkRead});
    EXPECT_NEAR(movers[kPush], 7, 1e-6);
    EXPECT_NEAR(movers[kBulkRead], 6, 1e-6);
    EXPECT_NEAR(BusyMovers(config, {kPull})[kPull], 27.51, kTwoDecimals);
    config.engine.demotion_rate_cap = Rate::from_gb_s(5);
    EXPECT_NEAR(BusyMovers(config, {kPull})[kPull], 5, 1e-6);
    EXPECT_NEAR(BusyMovers(config, {kPush, kPull})[kPush], 7, 1e-6);
    config.engine.demotion_rate_cap = Rate::from_gb_s(50);
    EXPECT_NEAR(BusyMovers(config, {kPull})[kPull], 27.51, kTwoDecimals) << "no more than it can";
}

}  // namespace
}  // namespace kvplane::engine
