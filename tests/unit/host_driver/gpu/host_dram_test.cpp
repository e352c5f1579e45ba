// SPDX-License-Identifier: Apache-2.0
#include "host_driver/gpu/host_dram.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/systemc_test.h"

namespace kvplane::gpu {
namespace {

using engine::BulkDirection;

constexpr Bytes kSize = Bytes::from_mib(1);

class HostDramTest : public test::SystemCTest, private engine::BulkClient {
protected:
    struct Copy {
        BulkDirection direction{};
        std::uint32_t token = 0;
        Time start;
        Time end;
    };

    void open(HostDram& dram, Rate read, Rate write) {
        dram.open_bulk(BulkDirection::kRead, read, *this);
        dram.open_bulk(BulkDirection::kWrite, write, *this);
    }
    std::vector<Copy> m_done;

private:
    void bulk_done(BulkDirection direction, std::uint32_t token, Time start, Time end) override {
        EXPECT_EQ(end, now());
        m_done.push_back({direction, token, start, end});
    }
    void bulk_failed(BulkDirection, std::uint32_t) override { FAIL() << "host DRAM never fails"; }
};

TEST_F(HostDramTest, CopiesOfADirectionRunOneAfterAnotherAtItsCap) {
    HostDram dram("dram");
    open(dram, Rate::from_gb_s(50), Rate::from_gb_s(25));
    for (std::uint32_t token = 0; token < 3; ++token) {
        dram.start_bulk(BulkDirection::kRead, token, kSize);
    }
    dram.start_bulk(BulkDirection::kWrite, 7, kSize);
    sc_core::sc_start();
    ASSERT_EQ(m_done.size(), 4U);
    const Time each = transfer_time(kSize, Rate::from_gb_s(50));
    std::uint32_t next = 0;
    for (const Copy& copy : m_done) {
        if (copy.direction == BulkDirection::kWrite) {
            EXPECT_EQ(copy.token, 7U);
            EXPECT_NEAR(copy.end.us(), 2 * each.us(), 1e-4);
            continue;
        }
        EXPECT_EQ(copy.token, next);
        EXPECT_NEAR(copy.start.us(), each.us() * next, 1e-4);
        EXPECT_NEAR(copy.end.us(), each.us() * ++next, 1e-4);
    }
}

TEST_F(HostDramTest, BothDirectionsShareTheBandwidth) {
    for (const std::uint64_t gb_s : {60U, 80U, 200U}) {
        {
            HostDram dram("dram", Rate::from_gb_s(gb_s));
            open(dram, Rate::from_gb_s(50), Rate::from_gb_s(50));
            dram.start_bulk(BulkDirection::kRead, 0, kSize);
            dram.start_bulk(BulkDirection::kWrite, 0, kSize);
            sc_core::sc_start();
        }
        ASSERT_EQ(m_done.size(), 2U);
        const double share = std::min(50.0, static_cast<double>(gb_s) / 2);
        for (const Copy& copy : m_done) {
            EXPECT_NEAR(copy.end.us(), static_cast<double>(kSize.count) / share / 1e3, 1e-3);
        }
        m_done.clear();
        fresh_kernel();
    }
}

TEST_F(HostDramTest, HoldsBytes) {
    HostDram dram("dram");
    const std::vector<std::uint8_t> data{1, 2, 3, 4, 5};
    dram.write({4094}, data);
    std::vector<std::uint8_t> back(5);
    dram.read({4094}, back);
    EXPECT_EQ(back, data);
}

}  // namespace
}  // namespace kvplane::gpu
