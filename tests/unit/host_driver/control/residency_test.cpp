// SPDX-License-Identifier: Apache-2.0
/// Residency holds every policy to the chain rule and to pins.
#include "host_driver/control/residency.h"

#include <gtest/gtest.h>

#include "model/common/errors.h"
#include "tests/unit/host_driver/control/chains.h"

namespace kvplane::control {
namespace {

/// A policy that always names the same block.
class Stubborn final : public Policy {
public:
    explicit Stubborn(BlockIndex block) : m_block(block) {}
    void on_insert(BlockIndex /*block*/, const Moment& /*now*/) override {}
    void on_access(const Access& /*access*/) override {}
    void on_remove(BlockIndex /*block*/) override {}
    void set_eligible(BlockIndex /*block*/, bool /*eligible*/) override {}
    BlockIndex victim(const Moment& /*now*/) override { return m_block; }

private:
    BlockIndex m_block;
};

class ResidencyTest : public testing::Test {
protected:
    /// Two blocks of one chain in HBM, and a policy that wants `block` out.
    Residency with_victim(std::uint32_t block) {
        Residency residency(m_workload.blocks, 4, Residency::kUnbounded, m_ledger,
                            std::make_unique<Stubborn>(BlockIndex{block}), make_policy({}, 4, 2));
        for (const std::uint32_t b : {0U, 1U}) {
            residency.expect({b});
            residency.computed({b});
            residency.touch({b});
        }
        return residency;
    }

    workload::Workload m_workload = chains({{"root", "leaf"}});
    block::Ledger m_ledger{2, block::OnBreach::kThrow};
};

TEST_F(ResidencyTest, APolicyThatBreaksTheChainRuleFailsTheRun) {
    Residency residency = with_victim(0);
    EXPECT_THROW((void)residency.next_victim(), InvariantError);
    EXPECT_THROW(residency.evict({0}), InvariantError);
}

TEST_F(ResidencyTest, APolicyThatNamesAPinnedBlockFailsTheRun) {
    Residency residency = with_victim(1);
    residency.pin({1});
    EXPECT_THROW((void)residency.next_victim(), InvariantError);
    residency.unpin({1});
    EXPECT_EQ(residency.next_victim(), BlockIndex{1});
    residency.evict({1});
    residency.audit();
}

TEST_F(ResidencyTest, ABlockWithoutItsAncestorIsUnreachable) {
    Residency residency = with_victim(0);
    EXPECT_EQ(residency.unreachable_blocks(), 0U);
    residency.begin_store({1});
    residency.end_store({1});
    residency.evict({1});
    residency.evict({0});  // the root has no copy left, the leaf has one in the tier
    EXPECT_EQ(residency.unreachable_blocks(), 1U);
}

}  // namespace
}  // namespace kvplane::control
