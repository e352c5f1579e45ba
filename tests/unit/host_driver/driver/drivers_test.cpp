// SPDX-License-Identifier: Apache-2.0
/// Both mechanisms over a whole card: what they are asked to move arrives, in order, to the byte.
#include <gmock/gmock.h>

#include <functional>
#include <memory>

#include "host_driver/driver/card_driver.h"
#include "host_driver/driver/host_issued.h"
#include "model/card/type3_card.h"
#include "model/common/errors.h"
#include "model/index/tlm_index.h"
#include "tests/support/systemc_test.h"

namespace kvplane::driver {
namespace {

constexpr Bytes kBlock = Bytes::from_kib(8);
constexpr std::uint32_t kBlocks = 4'096;

block::BlockKey key_of(std::uint32_t b) { return {b * 0x9e3779b97f4a7c15ULL, b + 1ULL}; }

struct Done {
    std::uint32_t token;
    std::size_t moved;
    Time at;
};

/// A driver, a card with real bytes, HBM, and what the client hears.
class Host : public MoveClient {
public:
    Host(Mechanism mechanism, std::uint32_t ring_entries)
        : hbm(kBlocks, kBlock, true), m_card("card", card_config(), kBlock, m_index) {
        DriverConfig config;
        config.mechanism = mechanism;
        config.ring_entries = ring_entries;
        if (mechanism == Mechanism::kCard) {
            auto card_driver = std::make_unique<CardDriver>("driver", config, hbm, metrics);
            card_driver->mmio.bind(m_card.mmio);
            m_card.dma.bind(*card_driver);
            m_card.data_plane().observe(*card_driver);
            m_driver = std::move(card_driver);
        } else {
            auto host_issued = std::make_unique<HostIssuedDriver>(
                config, card_config().tier_capacity, kBlocks, hbm, metrics);
            host_issued->copy_engine.mem.bind(m_card.bulk);
            m_driver = std::move(host_issued);
        }
        m_driver->set_client(*this);
    }

    /// Orders blocks [first, first + count); block b lies in slot b.
    void submit(MoveKind kind, std::uint32_t token, std::uint32_t first, std::uint32_t count = 1) {
        std::vector<Move> moves;
        for (std::uint32_t b = first; b < first + count; ++b) {
            moves.push_back({.block = {b}, .key = key_of(b), .slot = b});
        }
        m_driver->submit({.kind = kind,
                          .token = token,
                          .decided = now(),
                          .frames_ready = now(),
                          .deadline = now(),
                          .moves = moves});
    }
    void produce(std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t b = first; b < first + count; ++b) hbm.produce(b, key_of(b));
    }
    /// Other bytes in the slots.
    void scramble(std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t b = first; b < first + count; ++b) hbm.produce(b, key_of(b + kBlocks));
    }
    void verify(std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t b = first; b < first + count; ++b) hbm.verify(b, key_of(b));
    }
    [[nodiscard]] std::vector<std::uint32_t> tokens() const {
        std::vector<std::uint32_t> out;
        for (const Done& d : done) out.push_back(d.token);
        return out;
    }
    [[nodiscard]] const engine::Tier& tier() const { return m_card.data_plane().tier(); }

    gpu::HbmPool hbm;
    MoveMetrics metrics;
    std::vector<Done> done;
    std::function<void(std::uint32_t)> when_done;

private:
    static card::CardConfig card_config() {
        card::CardConfig config;
        config.tier_capacity = kBlock * 300;
        config.payload = card::Payload::kBytes;
        return config;
    }
    void run_done(std::uint32_t token, engine::Status status, std::size_t moved) override {
        EXPECT_EQ(status, engine::Status::kOk);
        done.push_back({token, moved, now()});
        if (when_done) when_done(token);
    }

    index::TlmIndex m_index{index::IndexConfig{}};
    card::Type3Card m_card;
    std::unique_ptr<Driver> m_driver;
};

void settle() { sc_core::sc_start(100, sc_core::SC_MS); }

class DriversTest : public test::SystemCTest, public testing::WithParamInterface<Mechanism> {};

INSTANTIATE_TEST_SUITE_P(Mechanisms, DriversTest,
                         testing::Values(Mechanism::kCard, Mechanism::kCopyEngine),
                         [](const auto& mechanism) {
                             return mechanism.param == Mechanism::kCard ? "Card" : "CopyEngine";
                         });

TEST_P(DriversTest, WhatGoesOutComesBack) {
    Host host(GetParam(), 1'024);
    host.produce(0, 200);
    host.submit(MoveKind::kDemote, 1, 0, 150);
    host.submit(MoveKind::kDemote, 2, 150);
    settle();
    EXPECT_THAT(host.tokens(), testing::ElementsAre(1, 2));
    EXPECT_EQ(host.done[0].moved, 150U);
    host.scramble(0, 200);
    EXPECT_THROW(host.verify(0, 1), InvariantError);
    host.submit(MoveKind::kPromote, 3, 100, 50);
    host.submit(MoveKind::kPromote, 4, 7);
    settle();
    host.verify(100, 50);
    host.verify(7, 1);
    EXPECT_THROW(host.verify(8, 1), InvariantError);  // nobody asked for it
    EXPECT_THAT(host.tokens(), testing::ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(host.hbm.read(), kBlock * 151);
    EXPECT_EQ(host.hbm.written(), kBlock * 51);
}

TEST_P(DriversTest, MetricsSumUp) {
    Host host(GetParam(), 1'024);
    host.produce(0, 60);
    host.submit(MoveKind::kDemote, 1, 0, 60);
    settle();
    host.submit(MoveKind::kPromote, 2, 0, 40);
    host.submit(MoveKind::kPromote, 3, 40, 20);
    const Time start = now();
    settle();
    EXPECT_EQ(host.metrics.promotion().count(), 60U);
    EXPECT_EQ(host.metrics.demotion().count(), 60U);
    EXPECT_EQ(host.metrics.promoted_bytes(), kBlock * 60);
    EXPECT_EQ(host.metrics.demoted_bytes(), kBlock * 60);
    EXPECT_EQ(host.metrics.loaded_bytes(), kBlock * 60);
    EXPECT_EQ(host.metrics.first_block().count(), 2U);
    Int128 stages = 0;
    double shares = 0;
    for (std::size_t i = 0; i < engine::kStages; ++i) {
        stages += host.metrics.stage_sum_ps(static_cast<engine::Stage>(i));
        shares += host.metrics.stage_share(static_cast<engine::Stage>(i));
    }
    EXPECT_TRUE(stages == host.metrics.promotion().sum_ps());
    EXPECT_NEAR(shares, 1, 1e-12);
    // The last block's latency ends when a poll would see its run.
    EXPECT_EQ(host.metrics.last_block().max(), host.done[2].at - start);
    EXPECT_GT(host.metrics.stage_share(engine::Stage::kQueueOwn), 0);
    EXPECT_GT(host.metrics.stage_share(engine::Stage::kQueueOther), 0);
}

TEST_P(DriversTest, DemotionNeverPassesTheDiscardBeforeIt) {
    Host host(GetParam(), 4);
    host.produce(0, 600);
    host.submit(MoveKind::kDemote, 0, 0, 300);  // the tier is full
    settle();
    // Discards with long lists, demotions with short ones or none.
    std::uint32_t token = 1;
    for (std::uint32_t round = 0; round < 20; ++round) {
        host.submit(MoveKind::kDiscard, token++, 6 * round, 6);
        for (std::uint32_t i = 0; i < 4; ++i) {
            host.submit(MoveKind::kDemote, token++, 300 + 6 * round + i);
        }
        host.submit(MoveKind::kDemote, token++, 300 + 6 * round + 4, 2);
    }
    settle();
    EXPECT_EQ(host.done.size(), token);
    host.scramble(300, 120);
    host.submit(MoveKind::kPromote, 999, 300, 120);
    settle();
    host.verify(300, 120);
}

TEST_P(DriversTest, FullRingsKeepWhatIsOrderedInOrder) {
    for (const std::uint32_t entries : {2U, 4U, 64U}) {
        {
            Host host(GetParam(), entries);
            host.produce(0, 200);
            std::vector<std::uint32_t> expected;
            for (std::uint32_t b = 0; b < 200; ++b) {
                host.submit(MoveKind::kDemote, b, b);
                expected.push_back(b);
            }
            settle();
            EXPECT_EQ(host.tokens(), expected) << entries;
            host.scramble(0, 200);
            for (std::uint32_t b = 0; b < 200; ++b) host.submit(MoveKind::kPromote, 1'000 + b, b);
            settle();
            EXPECT_EQ(host.done.size(), 400U) << entries;
            host.verify(0, 200);
        }
        fresh_kernel();
    }
}

TEST_P(DriversTest, ClientsMayOrderMoreWhenARunIsDone) {
    Host host(GetParam(), 2);
    host.produce(0, 100);
    host.when_done = [&](std::uint32_t token) {
        if (token + 1 < 100) host.submit(MoveKind::kDemote, token + 1, token + 1);
    };
    host.submit(MoveKind::kDemote, 0, 0);
    settle();
    EXPECT_EQ(host.done.size(), 100U);
}

class CardDriverTest : public test::SystemCTest {};

TEST_F(CardDriverTest, CardAndHostSeeTheSameTier) {
    Host host(Mechanism::kCard, 8);
    host.produce(0, 300);
    host.submit(MoveKind::kDemote, 0, 0, 300);
    settle();
    EXPECT_EQ(host.tier().blocks(), 300U);
    host.submit(MoveKind::kDiscard, 1, 10, 290);
    settle();
    EXPECT_EQ(host.tier().blocks(), 10U);
}

TEST_F(CardDriverTest, CpuPostsOneDescriptorAfterAnother) {
    // Zero load: each later run's submit stage is one posting longer.
    Host host(Mechanism::kCard, 1'024);
    host.produce(0, 3);
    for (std::uint32_t b = 0; b < 3; ++b) host.submit(MoveKind::kDemote, b, b);
    settle();
    for (std::uint32_t b = 0; b < 3; ++b) host.submit(MoveKind::kPromote, b, b);
    settle();
    const Time submit = DriverConfig{}.submit;
    const Time flight = card::CardConfig{}.flight;
    const Time expected = flight * 3 + submit * (1 + 2 + 3);
    EXPECT_TRUE(host.metrics.stage_sum_ps(engine::Stage::kSubmit) == expected.ps);
}

}  // namespace
}  // namespace kvplane::driver
