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
    using Rings = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
    Rings submissions;
    Rings completions;
};

class QueueRegistersTest : public testing::Test {
protected:
    Bells m_bells;
    QueueRegisters m_registers{2, Bytes::from_gib(3), m_bells};

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

TEST_F(QueueRegistersTest, WindowsHoldAsManySlotsAsWereRegistered) {
    EXPECT_FALSE(m_registers.in_window(0, 0));
    EXPECT_TRUE(m_registers.write(kWindowRegisters + 8 * 2, 10));
    EXPECT_EQ(read(kWindowRegisters + 8 * 2), 10U);
    EXPECT_TRUE(m_registers.in_window(2, 9));
    EXPECT_FALSE(m_registers.in_window(2, 10));
    EXPECT_FALSE(m_registers.in_window(1, 0));
    EXPECT_FALSE(m_registers.in_window(kWindows, 0));
    EXPECT_FALSE(m_registers.in_window(65'535, 0));
}

TEST_F(QueueRegistersTest, WhatIsNotThereOrNotAlignedIsRefused) {
    for (const std::uint64_t offset : {0x0ULL, 0x8ULL, 0x10ULL, 0x18ULL}) {
        EXPECT_FALSE(m_registers.write(offset, 0)) << "read only: " << offset;
    }
    for (const std::uint64_t offset :
         {0x20ULL, 0xF8ULL, 0x120ULL, 0x1030ULL, 0x3000ULL, 0x1004ULL, 0x1ULL, ~7ULL}) {
        EXPECT_FALSE(m_registers.write(offset, 1)) << offset;
        EXPECT_EQ(read(offset), std::nullopt) << offset;
    }
    EXPECT_EQ(read(queue_register(0, kSubmissionTail)), std::nullopt);  // write only
    EXPECT_EQ(read(queue_register(0, kCompletionHead)), std::nullopt);
}

}  // namespace
}  // namespace kvplane::management
