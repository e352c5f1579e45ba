// SPDX-License-Identifier: Apache-2.0
#include "model/management/mailbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
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

    static constexpr std::uint32_t kListed = 64;
    PoisonList poison{kListed};
    PlainMemory memory{poison};
    EventLog events{8};
    Mailbox m_mailbox{{.capacity = {8 * kUnit},
                       .payload = 512,
                       .event_records = 8,
                       .poison_records = kListed,
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
    m_mailbox.health().status = 2;
    m_mailbox.set_viral(true);
    EXPECT_EQ(run(0x4200).payload[0], 3) << "maintenance needed";

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

/// Nanoseconds since 1970, as Linux sets them, and whatever else fits into the field.
TEST_F(MailboxTest, TheClockKeepsWhatTheHostSets) {
    for (const std::uint64_t set : {1'700'000'000'000'000'000ULL, 0ULL, 1ULL, ~0ULL}) {
        EXPECT_EQ(code(0x0301, address(set)), ReturnCode::kSuccess);
        EXPECT_EQ(get_le(run(0x0300).payload, 0, 8), set);
        now += Time::from_us(3);
        EXPECT_EQ(get_le(run(0x0300).payload, 0, 8), set + 3'000);
    }
    m_mailbox.restart();
    EXPECT_NE(get_le(run(0x0300).payload, 0, 8), 0U) << "a reset of registers alone";
    m_mailbox.reset();
    EXPECT_EQ(get_le(run(0x0300).payload, 0, 8), 0U);
}

/// Of records, of lost records, and of the poison list's overflow: one clock, the host's.
TEST_F(MailboxTest, EventsTellTheTimeOfTheHost) {
    constexpr std::uint64_t kEpoch = 1'700'000'000'000'000'000ULL;
    EXPECT_EQ(code(0x0301, address(kEpoch)), ReturnCode::kSuccess);  // at 5 us
    for (int i = 0; i < 11; ++i) {
        events.add(Severity::kFatal, MediaEvent::kUncorrected, {0}, now + Time::from_us(i));
    }
    const auto answer = run(0x0100, {3});
    EXPECT_EQ(get_le(answer.payload, 4, 8), kEpoch + 8'000);
    EXPECT_EQ(get_le(answer.payload, 12, 8), kEpoch + 10'000);
    EXPECT_EQ(get_le(answer.payload, 32 + 24, 8), kEpoch);
    EXPECT_EQ(get_le(answer.payload, 32 + 128 + 24, 8), kEpoch + 1'000);
    const auto empty = run(0x0100, {0});
    EXPECT_EQ(get_le(empty.payload, 4, 8), 0U) << "nothing is lost";
    for (std::uint64_t i = 0; i <= kListed; ++i) {
        poison.add({64 * i}, PoisonSource::kExternal, now + Time::from_us(20));
    }
    EXPECT_EQ(get_le(run(0x4300, range(0, 1)).payload, 2, 8), kEpoch + 20'000);
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
    poison.add({192}, PoisonSource::kInternal, now);
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

TEST_F(MailboxTest, InjectedPoisonIsBounded) {
    for (std::uint64_t i = 0; i < 40; ++i) {
        EXPECT_EQ(code(0x4301, address(64 * i)), ReturnCode::kSuccess);
    }
    EXPECT_EQ(code(0x4301, address(64ULL * 40)), ReturnCode::kInjectPoisonLimit);
}

/// The addresses of a page of the poison list.
std::vector<std::uint64_t> lines_of(const Mailbox::Answer& answer) {
    std::vector<std::uint64_t> lines;
    for (std::size_t i = 0; i < get_le(answer.payload, 10, 2); ++i) {
        lines.push_back(get_le(answer.payload, 32 + 16 * i, 8) & ~std::uint64_t{7});
    }
    return lines;
}

/// As Linux reads it: the same input for as long as there is more. 30 records fit into 512 B.
TEST_F(MailboxTest, TheSameInputReadsThePoisonListToItsEnd) {
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < kListed; ++i) {
        poison.add({128 * i}, PoisonSource::kExternal, now);
        expected.push_back(128 * i);
    }
    const auto read = [&](const Bytes8& input) {
        std::vector<std::uint64_t> lines;
        for (int pages = 0; pages < 9; ++pages) {
            const auto answer = run(0x4300, input);
            for (const std::uint64_t line : lines_of(answer)) lines.push_back(line);
            if ((answer.payload[0] & 1U) == 0) break;
            EXPECT_EQ(get_le(answer.payload, 10, 2), 30U);
        }
        return lines;
    };
    const Bytes8 whole = range(0, 1000);
    EXPECT_EQ(read(whole), expected);
    EXPECT_EQ(read(whole), expected) << "after the last page comes the first";
    // Other input starts anew, and so does the first input after it.
    EXPECT_EQ(lines_of(run(0x4300, whole)).front(), 0U);
    EXPECT_EQ(lines_of(run(0x4300, range(0, 999))).front(), 0U);
    EXPECT_EQ(lines_of(run(0x4300, whole)).front(), 0U);
    // Other commands do not; a line that goes meanwhile is not told, the others are, once.
    EXPECT_EQ(code(0x4302, clear_of(128ULL * 30, 0)), ReturnCode::kSuccess);
    EXPECT_EQ(lines_of(run(0x4300, whole)).front(), 128U * 31);
    m_mailbox.restart();
    EXPECT_EQ(lines_of(run(0x4300, whole)).front(), 0U) << "after a reset";
}

/// What the host poisons has no bound, the list has: it says so, and when.
TEST_F(MailboxTest, TheListedPoisonIsBoundedAndSaysWhatItLacks) {
    const auto list = [&] {
        std::vector<std::uint64_t> lines;
        std::uint64_t more = 1;
        for (int pages = 0; more != 0 && pages < 9; ++pages) {
            const auto answer = run(0x4300, range(0, 1000));
            more = answer.payload[0] & 1U;
            for (const std::uint64_t line : lines_of(answer)) lines.push_back(line);
            EXPECT_EQ((answer.payload[0] & 2U) != 0, poison.size() > kListed);
            EXPECT_EQ(get_le(answer.payload, 2, 8), poison.size() > kListed ? 100'064U : 0U);
        }
        return lines;
    };
    // Downwards, so that what comes late lies first.
    for (std::uint64_t i = 0; i < kListed + 40; ++i) {
        poison.add({64 * (200 - i)}, PoisonSource::kExternal,
                   Time::from_us(100) + Time::from_ns(static_cast<std::int64_t>(i)));
        if (i + 1 == kListed) {
            EXPECT_EQ(list().size(), kListed);
        }
    }
    const auto full = list();
    EXPECT_EQ(full.size(), kListed);
    EXPECT_EQ(full.front(), 64 * (200 - (kListed - 1))) << "a full list keeps what it has";
    for (std::uint64_t i = 0; i < kListed + 40; ++i) EXPECT_TRUE(poison.contains({64 * (200 - i)}));
    EXPECT_EQ(code(0x4301, address(64ULL * 500)), ReturnCode::kInjectPoisonLimit);
    // A place that falls free goes to a line that was left out.
    EXPECT_EQ(code(0x4302, clear_of(64ULL * 200, 0)), ReturnCode::kSuccess);
    const auto refilled = list();
    EXPECT_EQ(refilled.size(), kListed);
    EXPECT_EQ(refilled.front(), 64 * (200 - (kListed + 39)));
    for (std::uint64_t i = 1; i < 40; ++i) {
        EXPECT_EQ(code(0x4302, clear_of(64 * (200 - i), 0)), ReturnCode::kSuccess);
    }
    EXPECT_EQ(list().size(), kListed) << "and all are listed again";
    poison.clear();
    EXPECT_EQ(list().size(), 0U);
}

/// Bytes 48 to 58 of a General Media Event Record.
TEST_F(MailboxTest, MediaEventsAreEncodedAsTheStandardHasThem) {
    struct Row {
        MediaEvent event;
        std::uint8_t descriptor;
        std::uint8_t transaction;
    };
    for (const Row& row :
         {Row{MediaEvent::kPoisonInjected, 1, 4}, Row{MediaEvent::kPoisonRead, 1, 1},
          Row{MediaEvent::kPoisonMoved, 1, 0}, Row{MediaEvent::kCorrected, 0, 0},
          Row{MediaEvent::kUncorrected, 1, 0}}) {
        events.add(Severity::kWarning, row.event, {0x12340}, now);
        const auto answer = run(0x0100, {1});
        EXPECT_EQ(get_le(answer.payload, 32 + 48, 8), 0x12341U) << "volatile";
        EXPECT_EQ(answer.payload[32 + 56], row.descriptor);
        EXPECT_EQ(answer.payload[32 + 57], 0) << "media ECC error";
        EXPECT_EQ(answer.payload[32 + 58], row.transaction);
        events.clear_all(Severity::kWarning);
    }
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
        EXPECT_EQ(get_le(answer.payload, at + 20, 2), i + 1);        // handle
        EXPECT_EQ(get_le(answer.payload, at + 24, 8), 5'000U);       // ns of the simulation
        EXPECT_EQ(get_le(answer.payload, at + 48, 8), 64 * i | 1U);  // address, volatile
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
    PoisonList list(1000);
    std::set<std::uint64_t> twin;
    for (int i = 0; i < 20'000; ++i) {
        const Dpa line{random.uniform(200) * 64};
        if (random.uniform(2) == 0) {
            list.add(line, PoisonSource::kInjected, {});
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

/// Listed are as many as there are, up to the bound, and never one less.
TEST(PoisonListTest, ListsAsManyAsFit) {
    RandomStream random(6, "listed");
    constexpr std::size_t kMost = 30;
    PoisonList list(kMost);
    std::optional<Time> since;
    std::uint64_t overflows = 0;
    for (int i = 0; i < 20'000; ++i) {
        const Time at = Time::from_ns(i);
        const Dpa line{random.uniform(60) * 64};
        const std::set<std::uint64_t> before = [&] {
            std::set<std::uint64_t> lines;
            for (const auto& record : list.within({0}, {6400})) {
                if (record.listed) lines.insert(record.line.value);
            }
            return lines;
        }();
        // Drifts up, then down.
        if (random.uniform(10) < (i / 500 % 2 == 0 ? 6U : 4U)) {
            list.add(line, PoisonSource::kExternal, at);
        } else {
            list.remove(line);
        }
        if (list.size() <= kMost) since.reset();
        if (list.size() > kMost && !since) {
            since = at;
            ++overflows;
        }
        EXPECT_EQ(list.overflow(), since);
        std::size_t listed = 0;
        for (const auto& record : list.within({0}, {6400})) {
            listed += record.listed ? 1 : 0;
            EXPECT_TRUE(record.listed || before.count(record.line.value) == 0) << "it was listed";
        }
        EXPECT_EQ(listed, std::min(list.size(), kMost));
    }
    EXPECT_GT(overflows, 10U);
}

}  // namespace
}  // namespace kvplane::management
