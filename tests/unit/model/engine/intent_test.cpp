// SPDX-License-Identifier: Apache-2.0
#include "model/engine/intent.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "model/common/crc32c.h"

namespace kvplane::engine {
namespace {

template <class T>
std::vector<std::uint8_t> bytes_of(const T& value) {
    std::vector<std::uint8_t> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

/// `bytes[from, to)` as a little-endian number.
std::uint64_t field(const std::vector<std::uint8_t>& bytes, std::size_t from, std::size_t to) {
    std::uint64_t value = 0;
    for (std::size_t i = to; i-- > from;) value = value << 8 | bytes[i];
    return value;
}

TEST(IntentTest, EveryFieldIsAtItsByte) {
    const Intent intent{.opcode = 0x01,
                        .flags = 0x02,
                        .transfer_class = 0x03,
                        .priority = 0x04,
                        .tenant = 0x0605,
                        .count = 0x0807,
                        .id = 0x0C0B0A09,
                        .epoch = 0x100F0E0D,
                        .key_low = 0x1817161514131211,
                        .key_high = 0x201F1E1D1C1B1A19,
                        .deadline_ns = 0x2827262524232221,
                        .target = 0x302F2E2D2C2B2A29,
                        .length_4k = 0x34333231,
                        .argument = 0x38373635,
                        .format_version = 0x39,
                        .boot_generation = 0x3A,
                        .reserved = 0x3C3B,
                        .crc = 0x403F3E3D};
    const std::vector<std::uint8_t> bytes = bytes_of(intent);
    ASSERT_EQ(bytes.size(), 64U);
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(bytes[i], i + 1) << "byte " << i;
}

TEST(IntentTest, DefaultsAreOneBlockOfThisFormat) {
    const std::vector<std::uint8_t> bytes = bytes_of(Intent{});
    EXPECT_EQ(field(bytes, 6, 8), 1U);
    EXPECT_EQ(field(bytes, 56, 57), kFormatVersion);
    EXPECT_EQ(field(bytes, 57, 60), 0U);
}

TEST(IntentTest, OpcodesAndOutcomesHaveTheirNumbers) {
    EXPECT_EQ(static_cast<int>(Opcode::kPromote), 1);
    EXPECT_EQ(static_cast<int>(Opcode::kPrefetch), 2);
    EXPECT_EQ(static_cast<int>(Opcode::kDemote), 3);
    EXPECT_EQ(static_cast<int>(Opcode::kDiscard), 4);
    EXPECT_EQ(static_cast<int>(Status::kOk), 0);
    EXPECT_EQ(static_cast<int>(Status::kClipped), 1);
    EXPECT_EQ(static_cast<int>(Status::kRejected), 2);
    EXPECT_EQ(static_cast<int>(Status::kMissing), 3);
    EXPECT_EQ(static_cast<int>(Status::kPoisoned), 5);
    EXPECT_EQ(static_cast<int>(Status::kBusy), 6);
    EXPECT_EQ(static_cast<int>(Status::kMalformed), 7);
}

std::uint32_t crc_of(std::string_view text) {
    return crc32c({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(IntentTest, Crc32cMeetsItsKnownVectors) {
    EXPECT_EQ(crc_of("123456789"), 0xE3069283U);
    EXPECT_EQ(crc_of(""), 0U);
    // RFC 3720, appendix B.4: 32 bytes of zero, and of ones.
    EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0x00)), 0x8A9136AAU);
    EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0xFF)), 0x62A8AB43U);
}

TEST(IntentTest, TheCrcCoversEveryBitButItsOwn) {
    Intent intent{.opcode = 1, .id = 7};
    const std::uint32_t crc = intent_crc(intent);
    intent.crc = ~crc;
    EXPECT_EQ(intent_crc(intent), crc);
    for (std::size_t bit = 0; bit < 60 * 8; ++bit) {
        std::vector<std::uint8_t> bytes = bytes_of(intent);
        bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
        Intent flipped;
        std::memcpy(&flipped, bytes.data(), sizeof(flipped));
        EXPECT_NE(intent_crc(flipped), crc) << bit;
    }
}

TEST(IntentTest, TargetsAreAWindowAndALowPart) {
    EXPECT_EQ(make_target(0xABCD, 0x123456789ABC), 0xABCD123456789ABCU);
    EXPECT_EQ(make_target(1, 0), std::uint64_t{1} << 48);
}

TEST(IntentTest, GatherEntriesHave24Bytes) {
    const block::BlockKey key{.high = 0x100F0E0D0C0B0A09, .low = 0x0807060504030201};
    GatherEntry entry = make_gather_entry(key, 0x14131211, 0x171615);
    entry.flags = 0x18;
    const std::vector<std::uint8_t> bytes = bytes_of(entry);
    ASSERT_EQ(bytes.size(), 24U);
    EXPECT_EQ(field(bytes, 0, 8), key.low);
    EXPECT_EQ(field(bytes, 8, 16), key.high);
    EXPECT_EQ(field(bytes, 16, 20), 0x14131211U);
    EXPECT_EQ(field(bytes, 20, 23), 0x171615U);
    EXPECT_EQ(field(bytes, 23, 24), 0x18U);
    EXPECT_EQ(entry.key(), key);
    EXPECT_EQ(entry.length(), 0x171615U);
}

TEST(IntentTest, CompletionEntriesHave16Bytes) {
    const CompletionEntry entry{.id = 0x04030201,
                                .status = 0x05,
                                .phase_and_flags = 0x06,
                                .queue = 0x0807,
                                .argument = 0x100F0E0D0C0B0A09};
    const std::vector<std::uint8_t> bytes = bytes_of(entry);
    ASSERT_EQ(bytes.size(), 16U);
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(bytes[i], i + 1);
}

}  // namespace
}  // namespace kvplane::engine
