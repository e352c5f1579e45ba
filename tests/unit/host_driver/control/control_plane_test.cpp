// SPDX-License-Identifier: Apache-2.0
/// The control plane with a driver that only takes notes.
#include "host_driver/control/control_plane.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "model/common/errors.h"
#include "tests/support/systemc_test.h"

namespace kvplane::control {
namespace {

using driver::MoveKind;

/// Keeps what is ordered until it is told to finish it.
class PatientDriver final : public driver::Driver {
public:
    struct Run {
        MoveKind kind;
        std::uint32_t token;
        std::size_t blocks;
        std::uint16_t tenant = 0;
    };

    void set_client(driver::MoveClient& client) override { m_client = &client; }
    void submit(const driver::MoveRun& run) override {
        runs.push_back({run.kind, run.token, run.moves.size(), run.tenant});
        waiting.push_back(runs.back());
    }
    void finish_next(engine::Status status = engine::Status::kOk) {
        const Run run = waiting.front();
        waiting.pop_front();
        m_client->run_done(run.token, status, run.blocks);
    }
    void finish_all() {
        while (!waiting.empty()) finish_next();
    }

    std::vector<Run> runs;
    std::deque<Run> waiting;

private:
    driver::MoveClient* m_client = nullptr;
};

class ControlPlaneTest : public test::SystemCTest, public ReadyListener {
protected:
    /// One request whose prompt is `blocks` blocks.
    void make(std::uint32_t blocks, std::uint64_t frames, std::uint64_t tier_blocks,
              Demotion demotion, const StoreSpec& store = {}) {
        m_workload.requests.push_back(
            {.input_tokens = blocks * 16, .output_tokens = 1, .block_count = blocks});
        for (std::uint32_t b = 0; b < blocks; ++b) {
            m_workload.refs.push_back({b});
            m_workload.blocks.push_back({.key = {0, b + 1ULL},
                                         .parent = b == 0 ? block::kNoBlock : BlockIndex{b - 1},
                                         .depth = b});
        }
        m_hbm = std::make_unique<gpu::HbmPool>(frames, Bytes::from_kib(4), false);
        m_ledger = std::make_unique<block::Ledger>(blocks, block::OnBreach::kThrow);
        make_control(tier_blocks, demotion, store);
    }
    void make_control(std::uint64_t tier_blocks, Demotion demotion, const StoreSpec& store) {
        ControlConfig config;
        config.demotion = demotion;
        config.store = store;
        m_control = std::make_unique<ControlPlane>(config, m_workload, tier_blocks, *m_hbm,
                                                   *m_ledger, m_driver, *this);
    }
    /// The first `blocks` blocks of the chain, of which all but the last may be reused.
    [[nodiscard]] Demand first(std::uint32_t blocks) const {
        return {.chain = std::span(m_workload.refs).first(blocks),
                .reusable = blocks - 1,
                .prompt_blocks = blocks};
    }
    /// Frames without a chain.
    [[nodiscard]] static Demand nameless(std::uint64_t frames) {
        Demand demand;
        demand.prompt_blocks = frames;
        return demand;
    }
    /// Serves them in one step.
    void serve(std::uint32_t blocks) {
        Holding holding;
        ASSERT_TRUE(m_control->admit(holding, first(blocks)));
        m_driver.finish_all();
        ASSERT_TRUE(holding.ready());
        m_control->activate(holding);
        m_control->computed(holding, blocks);
        m_control->end_of_step();
        m_control->release(holding);
    }
    [[nodiscard]] std::vector<std::size_t> sizes(MoveKind kind) const {
        std::vector<std::size_t> out;
        for (const PatientDriver::Run& run : m_driver.runs) {
            if (run.kind == kind) out.push_back(run.blocks);
        }
        return out;
    }
    void holdings_changed() override { ++m_changes; }

    workload::Workload m_workload;
    PatientDriver m_driver;
    std::unique_ptr<gpu::HbmPool> m_hbm;
    std::unique_ptr<block::Ledger> m_ledger;
    std::unique_ptr<ControlPlane> m_control;
    int m_changes = 0;
};

TEST_F(ControlPlaneTest, RunsAreUnderWayUntilTheyEnd) {
    make(4, 8, 8, Demotion::kWriteThrough);
    serve(4);
    EXPECT_EQ(m_control->runs_under_way(), 1U);
    m_driver.finish_all();
    EXPECT_EQ(m_control->runs_under_way(), 0U);
}

TEST_F(ControlPlaneTest, MovesOfTenantsAreRunsOfTheirOwn) {
    // Blocks 0 to 3 are read by tenants 3 and 4, the next by tenant 3, the last by 4 alone.
    make(12, 40, 40, Demotion::kWriteThrough);
    m_workload.requests = {
        {.input_tokens = 8 * 16, .output_tokens = 1, .block_count = 8, .tenant = 3},
        {.input_tokens = 4 * 16, .output_tokens = 1, .block_count = 4, .tenant = 4},
        {.input_tokens = 4 * 16,
         .output_tokens = 1,
         .first_ref = 8,
         .block_count = 4,
         .tenant = 4}};
    make_control(40, Demotion::kWriteThrough, {});
    serve(12);
    std::vector<std::pair<int, std::size_t>> runs;
    for (const PatientDriver::Run& run : m_driver.runs) runs.emplace_back(run.tenant, run.blocks);
    EXPECT_EQ(runs, (std::vector<std::pair<int, std::size_t>>{{0, 4}, {3, 4}, {4, 4}}));
    m_driver.finish_all();
    m_control->audit();
    m_workload.requests[0].tenant = 65'535;
    EXPECT_THROW(make_control(40, Demotion::kWriteThrough, {}), UserError);
}

TEST_F(ControlPlaneTest, LongRunsAreSplit) {
    constexpr std::uint32_t kMany = 2 * driver::kLongestRun + 3;
    const std::vector<std::size_t> split{driver::kLongestRun, driver::kLongestRun, 3};
    make(kMany + 1, kMany + 1, kMany + 1, Demotion::kWriteThrough);
    serve(kMany);
    EXPECT_EQ(sizes(MoveKind::kDemote), split);
    m_driver.finish_all();
    EXPECT_EQ(m_control->tier_used(), kMany);
    EXPECT_EQ(m_changes, 3);
    m_control->audit();
}

TEST_F(ControlPlaneTest, LongLoadsAreSplitAndWaitedFor) {
    constexpr std::uint32_t kMany = driver::kLongestRun + 5;
    make(kMany, kMany + 1, kMany, Demotion::kWriteThrough);
    serve(kMany);
    m_driver.finish_all();
    // A demand for all frames drives the chain out.
    Holding all;
    ASSERT_TRUE(m_control->admit(all, nameless(kMany + 1)));
    m_control->activate(all);
    m_control->release(all);
    Holding holding;
    ASSERT_TRUE(m_control->admit(holding, first(kMany)));
    EXPECT_EQ(holding.loads, kMany - 1);
    EXPECT_EQ(sizes(MoveKind::kPromote), (std::vector<std::size_t>{driver::kLongestRun, 4}));
    EXPECT_EQ(holding.missing, kMany - 1);
    m_driver.finish_next();
    EXPECT_EQ(holding.missing, 4U);
    m_driver.finish_next();
    EXPECT_TRUE(holding.ready());
    m_control->audit();
}

TEST_F(ControlPlaneTest, RefusedAdmissionChangesNothing) {
    make(8, 8, 8, Demotion::kWriteThrough);
    serve(4);
    m_driver.finish_all();
    const std::size_t runs = m_driver.runs.size();
    Holding holding;
    Demand demand = first(8);
    demand.extra_blocks = 1;
    EXPECT_FALSE(m_control->admit(holding, demand));
    demand.extra_blocks = 0;
    demand.spare = 1;
    EXPECT_FALSE(m_control->admit(holding, demand));
    EXPECT_EQ(m_driver.runs.size(), runs);
    EXPECT_EQ(m_control->counts().block_refs, 4U);
    demand.spare = 0;
    EXPECT_TRUE(m_control->admit(holding, demand));
    EXPECT_EQ(m_control->counts().hits, 4U);
    m_control->audit();
}

TEST_F(ControlPlaneTest, SelectiveWritesABlockWhenItsUsesMakeItWorthwhileAndOnce) {
    const StoreSpec twice{.selection = Selection::kThreshold, .references = 2};
    make(8, 8, 8, Demotion::kSelective, twice);
    serve(4);
    m_control->end_of_step();
    EXPECT_EQ(sizes(MoveKind::kDemote), std::vector<std::size_t>{}) << "used once";
    serve(3);
    m_control->end_of_step();
    EXPECT_EQ(sizes(MoveKind::kDemote), std::vector<std::size_t>{3});
    m_driver.finish_all();
    serve(3);
    m_control->end_of_step();
    EXPECT_EQ(sizes(MoveKind::kDemote), std::vector<std::size_t>{3}) << "written already";
    // What was used once leaves without a copy, what has one without a move.
    Holding all;
    ASSERT_TRUE(m_control->admit(all, nameless(8)));
    EXPECT_TRUE(all.ready());
    EXPECT_EQ(sizes(MoveKind::kDemote), std::vector<std::size_t>{3});
    EXPECT_EQ(m_control->tier_used(), 3U);
    m_control->audit();
}

TEST_F(ControlPlaneTest, SelectiveWritesWhatItChoseLateAsItLeaves) {
    const StoreSpec twice{.selection = Selection::kThreshold, .references = 2};
    make(8, 8, 8, Demotion::kSelective, twice);
    serve(4);
    serve(4);  // chosen at its end; no step has ended since
    Holding all;
    ASSERT_TRUE(m_control->admit(all, nameless(8)));
    EXPECT_FALSE(all.ready());
    EXPECT_EQ(sizes(MoveKind::kDemote), std::vector<std::size_t>{4});
    m_driver.finish_all();
    EXPECT_TRUE(all.ready());
    m_control->end_of_step();
    EXPECT_EQ(sizes(MoveKind::kDemote), std::vector<std::size_t>{4});
    m_control->audit();
}

TEST_F(ControlPlaneTest, OneFrameWaiterAtATime) {
    make(8, 8, 8, Demotion::kOnEvict);
    serve(8);
    Holding waiter;
    ASSERT_TRUE(m_control->admit(waiter, nameless(3)));
    EXPECT_FALSE(waiter.ready());  // three blocks are on their way out
    EXPECT_EQ(sizes(MoveKind::kDemote), std::vector<std::size_t>{3});
    Holding other;
    EXPECT_FALSE(m_control->admit(other, nameless(1)));
    m_driver.finish_all();
    EXPECT_TRUE(waiter.ready());
    EXPECT_TRUE(m_control->admit(other, nameless(1)));
    m_control->audit();
}

TEST_F(ControlPlaneTest, CardThatRefusesWhatTheDirectoryAllowsIsABrokenInvariant) {
    make(4, 4, 4, Demotion::kWriteThrough);
    serve(4);
    EXPECT_THROW(m_driver.finish_next(engine::Status::kClipped), InvariantError);
}

TEST_F(ControlPlaneTest, ReadOfWhatIsNotInHbmIsFound) {
    make(4, 8, 4, Demotion::kWriteThrough);
    serve(3);
    m_driver.finish_all();
    Holding all;
    ASSERT_TRUE(m_control->admit(all, nameless(8)));
    m_control->release(all);
    Holding holding;
    ASSERT_TRUE(m_control->admit(holding, first(4)));
    ASSERT_EQ(holding.loads, 3U);
    EXPECT_THROW(m_control->check_read_set(holding), InvariantError);
    m_driver.finish_all();
    m_control->check_read_set(holding);
}

}  // namespace
}  // namespace kvplane::control
