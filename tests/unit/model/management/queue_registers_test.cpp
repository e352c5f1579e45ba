// SPDX-License-Identifier: Apache-2.0
#include "model/management/queue_registers.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace kvplane::management {
namespace {

class Bells final : public DoorbellListener {
public:
    void submission_tail(std::uint32_t queue, std::uint32_t tail) override {
        submissions.emplace_back(queue, tail);
    }
    void completion_head(std::uint32_t queue, std::uint32_t head) override {
        completions.emplace_back(queue, head);
    }
    void bus_master(bool enabled) override { masters += enabled ? 1 : 0; }
    void invalidate(std::uint32_t, Hpa address) override { invalidated = address; }
    int masters = 0;
    Hpa invalidated;
    using Rings = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
    Rings submissions;
    Rings completions;
};

class QueueRegistersTest : public testing::Test {
protected:
    Bells m_bells;
    QueueRegisters m_registers{2, Bytes::from_gib(3), Bytes::from_kib(4), m_bells};

    bool write(std::uint32_t queue, QueueRegister which, std::uint64_t value) {
        return m_registers.write(queue_register(queue, which), value);
    }
    std::optional<std::uint64_t> read(std::uint64_t offset) const {
        std::uint64_t value = 0;
        if (!m_registers.read(offset, value)) return std::nullopt;
        return value;
    }
};

using enum QueueRegister;

TEST_F(QueueRegistersTest, OffsetsAreAsDocumented) {
    EXPECT_EQ(queue_register(0, kSubmissionBase), 0x1000U);
    EXPECT_EQ(queue_register(0, kCompletionBase), 0x1008U);
    EXPECT_EQ(queue_register(0, kEntries), 0x1010U);
    EXPECT_EQ(queue_register(0, kEnable), 0x1018U);
    EXPECT_EQ(queue_register(0, kSubmissionTail), 0x1020U);
    EXPECT_EQ(queue_register(3, kCompletionHead), 0x4028U);
    EXPECT_EQ(read(0x00), 0x31454E414C50564BU);  // "KVPLANE1" in memory
    EXPECT_EQ(read(0x08), 0U);
    EXPECT_EQ(read(0x10), Bytes::from_gib(3).count);
    EXPECT_EQ(read(0x18), 2U);
}

TEST_F(QueueRegistersTest, AQueueIsSetUpThenEnabledThenRung) {
    EXPECT_FALSE(write(0, kEnable, 1)) << "no entries yet";
    EXPECT_TRUE(write(0, kSubmissionBase, 0x1'0000'0000));
    EXPECT_TRUE(write(0, kCompletionBase, 0x2'0000'0000));
    EXPECT_TRUE(write(0, kEntries, 16));
    EXPECT_FALSE(write(0, kSubmissionTail, 1)) << "not enabled";
    EXPECT_TRUE(write(0, kEnable, 1));
    EXPECT_TRUE(write(0, kSubmissionTail, 15));
    EXPECT_TRUE(write(0, kCompletionHead, 3));
    EXPECT_FALSE(write(0, kSubmissionTail, 16)) << "outside the ring";
    EXPECT_FALSE(write(0, kCompletionHead, 16));
    EXPECT_EQ(m_bells.submissions, (Bells::Rings{{0, 15}}));
    EXPECT_EQ(m_bells.completions, (Bells::Rings{{0, 3}}));
    EXPECT_EQ(read(queue_register(0, kSubmissionBase)), 0x1'0000'0000U);
    EXPECT_EQ(read(queue_register(0, kCompletionBase)), 0x2'0000'0000U);
    EXPECT_EQ(read(queue_register(0, kEntries)), 16U);
    EXPECT_EQ(read(queue_register(0, kEnable)), 1U);
    EXPECT_EQ(read(queue_register(1, kEnable)), 0U);
    EXPECT_EQ(m_registers.queue(0).submission_base, Hpa{0x1'0000'0000});
}

TEST_F(QueueRegistersTest, AnEnabledQueueStaysAsItIs) {
    ASSERT_TRUE(write(1, kEntries, 4));
    ASSERT_TRUE(write(1, kEnable, 1));
    EXPECT_FALSE(write(1, kSubmissionBase, 1));
    EXPECT_FALSE(write(1, kCompletionBase, 1));
    EXPECT_FALSE(write(1, kEntries, 8));
    EXPECT_FALSE(write(1, kEnable, 0));  // rings in use cannot shrink
    EXPECT_TRUE(write(1, kEnable, 1));
    EXPECT_EQ(m_registers.queue(1).entries, 4U);
    EXPECT_TRUE(m_registers.queue(1).enabled);
}

TEST_F(QueueRegistersTest, RingsHaveAPowerOfTwoOfEntries) {
    for (const std::uint64_t bad : {0ULL, 1ULL, 3ULL, 65'537ULL, 131'072ULL, 1ULL << 40}) {
        EXPECT_FALSE(write(0, kEntries, bad)) << bad;
    }
    EXPECT_TRUE(write(0, kEntries, 2));
    EXPECT_TRUE(write(0, kEntries, 65'536));
}

TEST_F(QueueRegistersTest, AWindowIsSlotsStrideAndShards) {
    using enum WindowRegister;
    const Window& window = m_registers.queue(1).windows[2];
    EXPECT_FALSE(window.holds(0, {1}));
    const auto set = [&](WindowRegister which, std::uint64_t value, std::uint32_t shard = 0) {
        return m_registers.write(window_register(1, 2, which, shard), value);
    };
    EXPECT_TRUE(set(kSlots, 10));
    EXPECT_TRUE(set(kStride, 4'096));
    EXPECT_FALSE(set(kShards, 0));
    EXPECT_FALSE(set(kShards, 9));
    EXPECT_TRUE(set(kShards, 8));
    for (std::uint32_t shard = 0; shard < 8; ++shard) {
        EXPECT_TRUE(set(kBase, 0x1'0000'0000ULL * shard, shard));
        EXPECT_EQ(read(window_register(1, 2, kBase, shard)), 0x1'0000'0000ULL * shard);
    }
    EXPECT_FALSE(m_registers.write(window_register(1, 3, kBase, 8), 0)) << "behind all windows";
    EXPECT_TRUE(window.holds(9, {8 * 4'096}));
    EXPECT_FALSE(window.holds(10, {8 * 4'096}));
    EXPECT_FALSE(window.holds(9, {8 * 4'096 + 8})) << "longer than a slot";
    EXPECT_FALSE(window.holds(9, {4'097})) << "not in whole parts";
    EXPECT_EQ(window.address(3, 5), Hpa{0x5'0000'3000});
    EXPECT_FALSE(m_registers.queue(0).windows[2].holds(0, {8})) << "another queue's";
}

TEST_F(QueueRegistersTest, AWindowOfAnEnabledQueueStaysAsItIs) {
    using enum WindowRegister;
    const auto set = [&](std::uint32_t window, WindowRegister which, std::uint64_t value) {
        return m_registers.write(window_register(0, window, which), value);
    };
    ASSERT_TRUE(set(1, kSlots, 10));
    EXPECT_TRUE(set(1, kStride, 4'096)) << "not enabled yet";
    ASSERT_TRUE(write(0, kEntries, 4));
    ASSERT_TRUE(write(0, kEnable, 1));
    for (const WindowRegister which : {kStride, kShards, kFlags, kBase, kSlots}) {
        EXPECT_FALSE(set(1, which, 2)) << static_cast<std::uint64_t>(which);
        EXPECT_TRUE(set(2, which, 2)) << "added";
    }
    EXPECT_FALSE(set(2, kSlots, 0)) << "nor taken away";
    EXPECT_FALSE(m_registers.write(window_register(0, 1, kBase, 7), 2));
    EXPECT_EQ(m_registers.queue(0).windows[1].slots, 10U);
    EXPECT_EQ(m_registers.queue(0).windows[1].stride, 4'096U);
    EXPECT_EQ(m_registers.queue(0).windows[1].shards, 1U);
}

TEST_F(QueueRegistersTest, NoSlotLiesBehindTheLastAddress) {
    Window window;
    window.slots = UINT64_MAX;
    window.stride = 4'096;
    const std::uint64_t last = UINT64_MAX / 4'096;
    EXPECT_TRUE(window.holds(last, {4'096})) << "its last byte has the last address";
    EXPECT_FALSE(window.holds(last + 1, {4'096}));
    EXPECT_FALSE(window.holds(UINT64_MAX - 1, {4'096}));
    window.base[0] = {1};
    EXPECT_FALSE(window.holds(last, {4'096}));
    EXPECT_TRUE(window.holds(last, {4'095}));
    window.base[0] = {};
    window.shards = 2;
    window.base[1] = {~0ULL - 4'095};
    EXPECT_TRUE(window.holds(0, {8'192}));
    EXPECT_FALSE(window.holds(1, {8'192})) << "its second part wraps";
    window = {};
    window.slots = UINT64_MAX;
    window.stride = ~0ULL;
    EXPECT_TRUE(window.holds(0, {4'096}));
    EXPECT_TRUE(window.holds(1, {1}));
    EXPECT_FALSE(window.holds(1, {2}));
    EXPECT_FALSE(window.holds(2, {1}));
    window = {};
    window.slots = 100;
    window.stride = 4'096;
    window.flags = {~0ULL - 15};
    EXPECT_TRUE(window.holds(1, {4'096}));
    EXPECT_FALSE(window.holds(2, {4'096})) << "its flag wraps";
}

TEST_F(QueueRegistersTest, ARingEndsBeforeTheLastAddress) {
    ASSERT_TRUE(write(0, kEntries, 16));
    ASSERT_TRUE(write(0, kSubmissionBase, ~0ULL - 16 * 64 + 2));
    EXPECT_FALSE(write(0, kEnable, 1));
    ASSERT_TRUE(write(0, kSubmissionBase, ~0ULL - 16 * 64 + 1));
    ASSERT_TRUE(write(0, kCompletionBase, ~0ULL - 16 * 16 + 2));
    EXPECT_FALSE(write(0, kEnable, 1));
    ASSERT_TRUE(write(0, kCompletionBase, ~0ULL - 16 * 16 + 1));
    EXPECT_TRUE(write(0, kEnable, 1));
}

TEST_F(QueueRegistersTest, ARegionEndsWhereItEnds) {
    ASSERT_TRUE(write(0, kRegionBase, 0x1000));
    EXPECT_FALSE(m_registers.queue(0).in_region({0x1000}, {1}));
    ASSERT_TRUE(write(0, kRegionSize, 0x100));
    const QueueSetup& setup = m_registers.queue(0);
    EXPECT_TRUE(setup.in_region({0x1000}, {0x100}));
    EXPECT_TRUE(setup.in_region({0x10FF}, {1}));
    EXPECT_FALSE(setup.in_region({0xFFF}, {1}));
    EXPECT_FALSE(setup.in_region({0x10FF}, {2}));
    EXPECT_FALSE(setup.in_region({~0ULL}, {2}));
    EXPECT_FALSE(setup.in_region({0x1000}, {~0ULL}));
}

TEST_F(QueueRegistersTest, ARingInTheCardLiesInItsMemoryForRings) {
    const std::uint64_t first = Bytes::from_gib(3).count;
    EXPECT_EQ(read(0x28), first);
    EXPECT_EQ(read(0x30), 4'096U);
    EXPECT_FALSE(write(0, kPlace, 3));
    ASSERT_TRUE(write(0, kPlace, static_cast<std::uint64_t>(QueuePlace::kHdm)));
    ASSERT_TRUE(write(0, kEntries, 32));
    for (const std::uint64_t bad : {first - 1, first + 2'049, std::uint64_t{0}, UINT64_MAX}) {
        ASSERT_TRUE(write(0, kSubmissionBase, bad));
        EXPECT_FALSE(write(0, kEnable, 1)) << bad;
    }
    ASSERT_TRUE(write(0, kSubmissionBase, first + 2'048));
    EXPECT_TRUE(write(0, kEnable, 1));
}

TEST_F(QueueRegistersTest, TenantAndPasidShareARegister) {
    ASSERT_TRUE(write(1, kTenant, 0xABCDE'0000'1234));
    EXPECT_EQ(m_registers.queue(1).tenant, 0x1234U);
    EXPECT_EQ(m_registers.queue(1).pasid, 0xABCDEU);
    EXPECT_EQ(read(queue_register(1, kTenant)), 0xABCDE'0000'1234U);
}

TEST_F(QueueRegistersTest, BusMasterEnableIsOffAfterAReset) {
    EXPECT_FALSE(m_registers.bus_master());
    EXPECT_TRUE(m_registers.write(kCommandRegister, kBusMasterEnable));
    EXPECT_TRUE(m_registers.bus_master());
    EXPECT_EQ(m_bells.masters, 1);
    EXPECT_TRUE(m_registers.write(kCommandRegister, ~kBusMasterEnable));
    EXPECT_FALSE(m_registers.bus_master());
    EXPECT_TRUE(m_registers.write(kCommandRegister, kBusMasterEnable));
    m_registers.reset(false);
    EXPECT_FALSE(m_registers.bus_master());
}

TEST_F(QueueRegistersTest, InvalidationsAreCountedWhenTheyAreDone) {
    ASSERT_TRUE(write(0, kEntries, 2));
    EXPECT_FALSE(write(0, kInvalidate, 0x2000)) << "not enabled";
    ASSERT_TRUE(write(0, kEnable, 1));
    EXPECT_TRUE(write(0, kInvalidate, 0x2000));
    EXPECT_EQ(m_bells.invalidated, Hpa{0x2000});
    EXPECT_EQ(read(queue_register(0, kInvalidated)), 0U);
    m_registers.invalidated(0);
    EXPECT_EQ(read(queue_register(0, kInvalidated)), 1U);
}

TEST_F(QueueRegistersTest, WhatIsNotThereOrNotAlignedIsRefused) {
    for (const std::uint64_t offset : {0x0ULL, 0x8ULL, 0x10ULL, 0x18ULL}) {
        EXPECT_FALSE(m_registers.write(offset, 0)) << "read only: " << offset;
    }
    for (const std::uint64_t offset : {0x38ULL, 0xF8ULL, 0x120ULL, 0x1060ULL, 0x1300ULL, 0x1120ULL,
                                       0x3000ULL, 0x1004ULL, 0x1ULL, ~7ULL}) {
        EXPECT_FALSE(m_registers.write(offset, 1)) << offset;
        EXPECT_EQ(read(offset), std::nullopt) << offset;
    }
    EXPECT_EQ(read(queue_register(0, kSubmissionTail)), std::nullopt);  // write only
    EXPECT_EQ(read(queue_register(0, kCompletionHead)), std::nullopt);
}

}  // namespace
}  // namespace kvplane::management
