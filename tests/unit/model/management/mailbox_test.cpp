// SPDX-License-Identifier: Apache-2.0
#include "model/management/mailbox.h"

#include <gtest/gtest.h>

#include <set>

#include "model/common/random.h"
#include "model/management/bytes.h"
#include "tests/unit/model/management/plain_memory.h"

namespace kvplane::management {
namespace {

using Bytes8 = std::vector<std::uint8_t>;
constexpr std::uint64_t kUnit = 256ULL << 20;

class MailboxTest : public testing::Test {
protected:
    Mailbox::Answer run(std::uint16_t opcode, const Bytes8& input = {}) {
        return m_mailbox.execute(opcode, input, now);
    }
    ReturnCode code(std::uint16_t opcode, const Bytes8& input = {}) {
        return run(opcode, input).code;
    }
    static Bytes8 address(std::uint64_t value) {
        Bytes8 bytes;
        append_le(bytes, 8, value);
        return bytes;
    }
    static Bytes8 clear_of(std::uint64_t value, std::uint8_t fill) {
        Bytes8 bytes = address(value);
        bytes.resize(72, fill);
        return bytes;
    }
    static Bytes8 range(std::uint64_t from, std::uint64_t lines) {
        Bytes8 bytes = address(from);
        append_le(bytes, 8, lines);
        return bytes;
    }

    PlainMemory memory;
    PoisonList poison;
    EventLog events{8};
    Mailbox m_mailbox{{.capacity = {8 * kUnit},
                       .payload = 512,
                       .event_records = 8,
                       .poison_records = 64,
                       .inject_limit = 40},
                      memory,
                      poison,
                      events};
    Time now = Time::from_us(5);
};

TEST_F(MailboxTest, IdentifyHasLinuxLayout) {
    const auto answer = run(0x4000);
    ASSERT_EQ(answer.code, ReturnCode::kSuccess);
    ASSERT_EQ(answer.payload.size(), 67U);
    EXPECT_EQ(std::string(answer.payload.begin(), answer.payload.begin() + 7), "kvplane");
    EXPECT_EQ(get_le(answer.payload, 16, 8), 8U);  // total, in 256 MiB
    EXPECT_EQ(get_le(answer.payload, 24, 8), 8U);  // volatile
    EXPECT_EQ(get_le(answer.payload, 32, 8), 0U);  // persistent
    EXPECT_EQ(get_le(answer.payload, 40, 8), 0U);  // alignment
    for (std::size_t log = 0; log < 4; ++log)
        EXPECT_EQ(get_le(answer.payload, 48 + 2 * log, 2), 8U);
    EXPECT_EQ(get_le(answer.payload, 56, 4), 0U);   // label storage
    EXPECT_EQ(get_le(answer.payload, 60, 3), 64U);  // poison list
    EXPECT_EQ(get_le(answer.payload, 63, 2), 40U);  // inject limit
    EXPECT_EQ(answer.payload[66], 0);
}

TEST_F(MailboxTest, HealthPartitionAndTimestampHaveLinuxLayouts) {
    m_mailbox.health() = {1, 0, 2, 3, -5, 77};
    const auto health = run(0x4200);
    ASSERT_EQ(health.payload.size(), 18U);
    EXPECT_EQ(health.payload[0], 1);
    EXPECT_EQ(health.payload[2], 2);
    EXPECT_EQ(health.payload[3], 3);
    EXPECT_EQ(get_le(health.payload, 4, 2), 0xFFFBU);
    EXPECT_EQ(get_le(health.payload, 10, 4), 77U);

    const auto partition = run(0x4100);
    ASSERT_EQ(partition.payload.size(), 32U);
    EXPECT_EQ(get_le(partition.payload, 0, 8), 8U);
    Bytes8 set = address(8);
    set.push_back(1);
    EXPECT_EQ(code(0x4101, set), ReturnCode::kSuccess);
    set[0] = 7;
    EXPECT_EQ(code(0x4101, set), ReturnCode::kInvalidInput);

    EXPECT_EQ(get_le(run(0x0300).payload, 0, 8), 0U) << "not set yet";
    EXPECT_EQ(code(0x0301, address(1'000'000)), ReturnCode::kSuccess);
    now += Time::from_us(3);
    EXPECT_EQ(get_le(run(0x0300).payload, 0, 8), 1'003'000U);
}

/// Every opcode: known ones by the length of their input, others unsupported.
TEST_F(MailboxTest, EveryOpcodeIsKnownOrUnsupported) {
    const std::set<std::uint16_t> known{0x0100, 0x0101, 0x0300, 0x0301, 0x0400, 0x0401, 0x4000,
                                        0x4100, 0x4101, 0x4200, 0x4300, 0x4301, 0x4302};
    for (unsigned opcode = 0; opcode < 0x10000; ++opcode) {
        const auto short_opcode = static_cast<std::uint16_t>(opcode);
        const ReturnCode answer = code(short_opcode, Bytes8(5));
        EXPECT_EQ(answer, known.count(short_opcode) != 0 ? ReturnCode::kInvalidPayloadLength
                                                         : ReturnCode::kUnsupported)
            << std::hex << opcode;
    }
}

TEST_F(MailboxTest, TheEffectsLogListsTheCommandsThatAreThere) {
    const auto logs = run(0x0400);
    ASSERT_EQ(logs.payload.size(), 8U + 20U);
    EXPECT_EQ(get_le(logs.payload, 0, 2), 1U);
    const Bytes8 uuid(logs.payload.begin() + 8, logs.payload.begin() + 24);
    EXPECT_EQ(uuid[0], 0x0d);
    EXPECT_EQ(uuid[15], 0x17);
    const std::uint64_t size = get_le(logs.payload, 24, 4);
    Bytes8 input = uuid;
    append_le(input, 4, 0);
    append_le(input, 4, size);
    const auto log = run(0x0401, input);
    ASSERT_EQ(log.payload.size(), size);
    for (std::size_t i = 0; i < size; i += 4) {
        const auto opcode = static_cast<std::uint16_t>(get_le(log.payload, i, 2));
        EXPECT_NE(code(opcode, Bytes8(5)), ReturnCode::kUnsupported);
    }
    put_le(input, 16, 4, 4);  // offset: now one entry too long
    EXPECT_EQ(code(0x0401, input), ReturnCode::kInvalidInput);
    put_le(input, 20, 4, size - 4);
    EXPECT_EQ(run(0x0401, input).payload, Bytes8(log.payload.begin() + 4, log.payload.end()));
    input[3] ^= 1;
    EXPECT_EQ(code(0x0401, input), ReturnCode::kInvalidLog);
}

TEST_F(MailboxTest, PoisonIsInjectedListedAndCleared) {
    EXPECT_EQ(code(0x4301, address(128)), ReturnCode::kSuccess);
    EXPECT_EQ(code(0x4301, address(64)), ReturnCode::kSuccess);
    EXPECT_EQ(code(0x4301, address(64)), ReturnCode::kSuccess) << "again: nothing new";
    poison.add({192}, PoisonSource::kInternal);
    EXPECT_EQ(code(0x4301, address(65)), ReturnCode::kInvalidInput);
    EXPECT_EQ(code(0x4301, address(8 * kUnit)), ReturnCode::kInvalidPhysicalAddress);
    const auto list = run(0x4300, range(0, 8 * kUnit / 64));
    ASSERT_EQ(list.payload.size(), 32U + 3 * 16U);
    EXPECT_EQ(list.payload[0], 0);
    EXPECT_EQ(get_le(list.payload, 10, 2), 3U);
    EXPECT_EQ(get_le(list.payload, 32, 8), 64U | 3U);
    EXPECT_EQ(get_le(list.payload, 40, 4), 1U);
    EXPECT_EQ(get_le(list.payload, 48, 8), 128U | 3U);
    EXPECT_EQ(get_le(list.payload, 64, 8), 192U | 2U);
    EXPECT_EQ(get_le(run(0x4300, range(128, 1)).payload, 10, 2), 1U);
    EXPECT_EQ(get_le(run(0x4300, range(256, 4)).payload, 10, 2), 0U);
    EXPECT_EQ(code(0x4300, range(0, 8 * kUnit / 64 + 1)), ReturnCode::kInvalidPhysicalAddress);

    EXPECT_EQ(code(0x4302, clear_of(128, 0xAB)), ReturnCode::kSuccess);
    EXPECT_FALSE(poison.contains({128}));
    std::array<std::uint8_t, 64> line{};
    memory.read({128}, line);
    EXPECT_EQ(line[63], 0xAB) << "clearing writes the line";
    EXPECT_EQ(poison.injected(), 1U);
}

TEST_F(MailboxTest, PoisonIsBoundedAndListedInPages) {
    for (std::uint64_t i = 0; i < 40; ++i) {
        EXPECT_EQ(code(0x4301, address(64 * i)), ReturnCode::kSuccess);
    }
    EXPECT_EQ(code(0x4301, address(64 * 40)), ReturnCode::kInjectPoisonLimit);
    // 30 records fit into 512 B.
    const auto first = run(0x4300, range(0, 100));
    EXPECT_EQ(first.payload[0], 1) << "more";
    EXPECT_EQ(get_le(first.payload, 10, 2), 30U);
    const auto rest = run(0x4300, range(30 * 64, 70));
    EXPECT_EQ(rest.payload[0], 0);
    EXPECT_EQ(get_le(rest.payload, 10, 2), 10U);
}

TEST_F(MailboxTest, EventsAreReadAndClearedInOrder) {
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(code(0x4301, address(64 * i)), ReturnCode::kSuccess);
    }
    const auto answer = run(0x0100, {0});
    ASSERT_EQ(answer.payload.size(), 32U + 3 * 128U);  // three fit
    EXPECT_EQ(answer.payload[0], 2) << "more";
    EXPECT_EQ(get_le(answer.payload, 20, 2), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t at = 32 + 128 * i;
        EXPECT_EQ(answer.payload[at], 0xfb);
        EXPECT_EQ(answer.payload[at + 16], 128);
        EXPECT_EQ(get_le(answer.payload, at + 20, 2), i + 1);   // handle
        EXPECT_EQ(get_le(answer.payload, at + 24, 8), 5'000U);  // ns
        EXPECT_EQ(get_le(answer.payload, at + 48, 8), 64 * i);  // address
    }
    EXPECT_EQ(code(0x0101, {0, 0, 1, 0, 0, 0, 2, 0}), ReturnCode::kInvalidHandle) << "not oldest";
    EXPECT_EQ(code(0x0101, {0, 0, 2, 0, 0, 0, 1, 0}), ReturnCode::kInvalidPayloadLength);
    EXPECT_EQ(code(0x0101, {0, 0, 0, 0, 0, 0}), ReturnCode::kInvalidInput);
    EXPECT_EQ(code(0x0101, {4, 0, 1, 0, 0, 0, 1, 0}), ReturnCode::kInvalidInput);
    EXPECT_EQ(events.size(Severity::kInformational), 5U);
    EXPECT_EQ(code(0x0101, {0, 0, 2, 0, 0, 0, 1, 0, 2, 0}), ReturnCode::kSuccess);
    EXPECT_EQ(events.size(Severity::kInformational), 3U);
    EXPECT_EQ(code(0x0101, {0, 1, 0, 0, 0, 0}), ReturnCode::kSuccess);
    EXPECT_EQ(events.size(Severity::kInformational), 0U);
    EXPECT_EQ(code(0x0100, {4}), ReturnCode::kInvalidInput);
}

TEST_F(MailboxTest, AFullLogCountsWhatItLoses) {
    for (int i = 0; i < 11; ++i) {
        events.add(Severity::kFatal, MediaEvent::kUncorrected, {0}, Time::from_us(i));
    }
    const auto answer = run(0x0100, {3});
    EXPECT_EQ(answer.payload[0], 3);  // overflow, more
    EXPECT_EQ(get_le(answer.payload, 2, 2), 3U);
    EXPECT_EQ(get_le(answer.payload, 4, 8), 8'000U);
    EXPECT_EQ(get_le(answer.payload, 12, 8), 10'000U);
    EXPECT_EQ(events.status(), 0b1000);
}

TEST_F(MailboxTest, MediaCommandsNeedMedia) {
    m_mailbox.set_media_ready(false);
    EXPECT_EQ(code(0x4301, address(0)), ReturnCode::kMediaDisabled);
    EXPECT_EQ(code(0x4000), ReturnCode::kSuccess);
    m_mailbox.set_media_ready(true);
    EXPECT_EQ(code(0x4301, address(0)), ReturnCode::kSuccess);
}

/// Random bytes at random commands: no answer overflows the payload, and nothing throws.
TEST_F(MailboxTest, AFloodOfNonsenseIsAnswered) {
    RandomStream random(9, "flood");
    const std::vector<std::uint16_t> opcodes{0x0100, 0x0101, 0x0300, 0x0301, 0x0400, 0x0401, 0x4000,
                                             0x4100, 0x4101, 0x4200, 0x4300, 0x4301, 0x4302};
    for (int i = 0; i < 50'000; ++i) {
        Bytes8 input(random.uniform(80));
        for (auto& byte : input) {
            byte = static_cast<std::uint8_t>(random.uniform(4) == 0 ? random.uniform(256) : 0);
        }
        const auto answer = run(opcodes[random.uniform(opcodes.size())], input);
        EXPECT_LE(answer.payload.size(), 512U);
        EXPECT_TRUE(answer.code == ReturnCode::kSuccess || answer.payload.empty());
        EXPECT_LE(poison.injected(), 40U);
    }
}

/// The list against a plain set.
TEST(PoisonListTest, HoldsWhatASetHolds) {
    RandomStream random(4, "poison");
    PoisonList list;
    std::set<std::uint64_t> twin;
    for (int i = 0; i < 20'000; ++i) {
        const Dpa line{random.uniform(200) * 64};
        if (random.uniform(2) == 0) {
            list.add(line, PoisonSource::kInjected);
            twin.insert(line.value);
        } else {
            EXPECT_EQ(list.remove(line), twin.erase(line.value) == 1);
        }
        const Dpa from{random.uniform(200) * 64};
        const Bytes length{random.uniform(50) * 64};
        const auto first = twin.lower_bound(from.value);
        const auto last = twin.lower_bound(from.value + length.count);
        EXPECT_EQ(list.within(from, length).size(),
                  static_cast<std::size_t>(std::distance(first, last)));
        EXPECT_EQ(list.contains(from), twin.count(from.value) == 1);
        EXPECT_EQ(list.injected(), twin.size());
    }
}

}  // namespace
}  // namespace kvplane::management
