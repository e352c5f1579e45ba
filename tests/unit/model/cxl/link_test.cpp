// SPDX-License-Identifier: Apache-2.0
/// The wire's closed forms against a calculator's tables: payload in GB/s, two decimals.
#include "model/cxl/link.h"

#include <gtest/gtest.h>

namespace kvplane::cxl {
namespace {

constexpr double kTwoDecimals = 0.0051;

double payload_gb_s(const Link& link, WireCost cost) {
    return link.wire_rate().gb_s() * static_cast<double>(cost.payload) /
           static_cast<double>(cost.wire);
}

LinkConfig x8() {
    LinkConfig config;
    config.width = 8;
    return config;
}

struct TlpRow {
    std::uint64_t mps;
    double write_x16;
    double write_x8;
    double completion_x16;
};

class TlpTable : public testing::TestWithParam<TlpRow> {};

TEST_P(TlpTable, DmaPayload) {
    LinkConfig config;
    config.mps = {GetParam().mps};
    const Link x16(config);
    EXPECT_NEAR(payload_gb_s(x16, x16.dma_write()), GetParam().write_x16, kTwoDecimals);
    EXPECT_NEAR(payload_gb_s(x16, x16.dma_read_data()), GetParam().completion_x16, kTwoDecimals);
    config.width = 8;
    const Link half(config);
    EXPECT_NEAR(payload_gb_s(half, half.dma_write()), GetParam().write_x8, kTwoDecimals);
}

INSTANTIATE_TEST_SUITE_P(Table3, TlpTable,
                         testing::Values(TlpRow{64, 43.13, 21.57, 45.19},
                                         TlpRow{128, 49.94, 24.97, 51.29},
                                         TlpRow{256, 54.23, 27.11, 55.01},
                                         TlpRow{512, 56.65, 28.33, 57.08}),
                         [](const auto& row) { return "Mps" + std::to_string(row.param.mps); });

TEST(LinkTest, PureStreamsOfLinesOnX8) {
    LinkConfig config = x8();
    const auto reads = [&] { return payload_gb_s(Link(config), Link(config).mem_read_data()); };
    const auto writes = [&] { return payload_gb_s(Link(config), Link(config).mem_write_data()); };
    EXPECT_NEAR(reads(), 26.36, kTwoDecimals);
    EXPECT_NEAR(writes(), 23.72, kTwoDecimals);
    config.multi_data_header = false;
    EXPECT_NEAR(reads(), 23.72, kTwoDecimals);
    EXPECT_NEAR(writes(), 23.72, kTwoDecimals);
    config.multi_data_header = true;
    config.sync_header_bypass = true;
    EXPECT_NEAR(reads(), 26.77, kTwoDecimals);
    EXPECT_NEAR(writes(), 24.09, kTwoDecimals);
}

TEST(LinkTest, TheWireIsWidthTimesRateLessItsOverheads) {
    EXPECT_NEAR(Link(x8()).wire_rate().gb_s(), 32.0 * 128 / 130, 1e-6);
    LinkConfig config;
    config.sync_header_bypass = true;
    EXPECT_EQ(Link(config).wire_rate(), Rate::from_gb_s(64));
    config.rate = {16'000'000'000};
    EXPECT_EQ(Link(config).wire_rate(), Rate::from_gb_s(32));
    config.width = 1;
    EXPECT_EQ(Link(config).wire_rate(), Rate::from_gb_s(2));
    config.skp = true;
    EXPECT_EQ(Link(config).wire_rate(), Rate{1'994'600'000});  // x 0.9973
}

TEST(LinkTest, AFlitOfX8TakesTwoNanoseconds) {
    const Link link(x8());
    EXPECT_NEAR(static_cast<double>(link.serialisation(link.flit_bytes()).ps), 2'158, 1);
    EXPECT_NEAR(static_cast<double>(link.serialisation(link.write_tlp_bytes({256})).ps), 9'440, 20);
    EXPECT_EQ(link.serialisation(0), Time{});
}

TEST(LinkTest, TlpsAreWholeAndRoundUp) {
    const Link link(LinkConfig{});
    EXPECT_EQ(link.write_tlp_bytes({256}), 298U);  // 280 x 68 / 64 = 297.5
    EXPECT_EQ(link.write_tlp_bytes({16}), 43U);    // 40 x 68 / 64 = 42.5
    EXPECT_EQ(link.read_tlp_bytes({64}), 90U);     // 84 x 68 / 64 = 89.25
    EXPECT_EQ(link.read_tlp_bytes({256}), 294U);   // one completion: 276
    EXPECT_EQ(link.read_tlp_bytes({257}), 316U);   // two: 297
}

TEST(LinkTest, ReadRequestsCostASmallShareOfTheOtherDirection) {
    const Link link(x8());
    const WireCost request = link.dma_read_request({512});
    EXPECT_NEAR(static_cast<double>(request.wire) / static_cast<double>(request.payload),
                24.0 / 512 * 68 / 64, 1e-9);
    const WireCost line = link.mem_read_request();
    EXPECT_EQ(line.wire * kLine.count, 17 * line.payload);  // a slot of 17 B on the wire
    const WireCost response = link.mem_write_response();
    EXPECT_NEAR(payload_gb_s(link, response) * 17.0 / 128, 31.51, kTwoDecimals);
    EXPECT_NEAR(23.72 * static_cast<double>(response.wire) / static_cast<double>(response.payload),
                3.15, kTwoDecimals);
}

}  // namespace
}  // namespace kvplane::cxl
