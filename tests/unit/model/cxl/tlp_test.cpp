// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/tlp.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "model/common/random.h"

namespace kvplane::cxl {
namespace {

TEST(TlpTest, FramingIsThatOfThePciExpressHeaders) {
    const TlpRules plain;
    EXPECT_EQ(tlp_framing(plain, TlpKind::kWrite), 24U);
    EXPECT_EQ(tlp_framing(plain, TlpKind::kRead), 24U);
    EXPECT_EQ(tlp_framing(plain, TlpKind::kCompletion), 20U);
    const TlpRules pasid{.pasid_prefix = true};
    EXPECT_EQ(tlp_framing(pasid, TlpKind::kWrite), 28U);
    EXPECT_EQ(tlp_framing(pasid, TlpKind::kCompletion), 20U);
    const TlpRules flits{.flit_mode = true};
    EXPECT_EQ(tlp_framing(flits, TlpKind::kWrite), 16U);
    EXPECT_EQ(tlp_stream_bytes(plain, {TlpKind::kWrite, {256}}), 280U);
}

std::uint64_t sum(const std::vector<Bytes>& parts) {
    std::uint64_t total = 0;
    for (const Bytes part : parts) total += part.count;
    return total;
}

/// Random requests against the rules, byte by byte.
TEST(TlpTest, SplitsObeyTheirBoundaries) {
    RandomStream random(5, "tlp");
    for (int i = 0; i < 2000; ++i) {
        const TlpRules rules{{std::uint64_t{64} << random.uniform(4)},
                             {std::uint64_t{128} << random.uniform(5)},
                             {random.uniform(2) == 0 ? 64U : 128U}};
        const std::uint64_t address = random.uniform(1 << 16);
        const Bytes length{random.uniform(1, 20'000)};
        const auto check = [&](const std::vector<Bytes>& parts, std::uint64_t most) {
            EXPECT_EQ(sum(parts), length.count);
            std::uint64_t at = address;
            for (const Bytes part : parts) {
                ASSERT_GT(part.count, 0U);
                EXPECT_LE(part.count, most);
                EXPECT_EQ(at / 4096, (at + part.count - 1) / 4096);
                at += part.count;
            }
        };
        check(split_write(rules, address, length), rules.mps.count);
        check(split_read(rules, address, length), rules.mrrs.count);
        const auto completions = split_completion(rules, address, length);
        EXPECT_EQ(sum(completions), length.count);
        std::uint64_t at = address;
        for (std::size_t c = 0; c < completions.size(); ++c) {
            EXPECT_LE(completions[c].count, std::max(rules.mps.count, rules.rcb.count));
            at += completions[c].count;
            EXPECT_TRUE(c + 1 == completions.size() || at % rules.rcb.count == 0);
        }
    }
}

TEST(TlpTest, TagsAreOutOnce) {
    TagPool tags(8);
    std::set<std::uint32_t> out;
    for (int i = 0; i < 8; ++i) {
        const auto tag = tags.take();
        ASSERT_TRUE(tag);
        EXPECT_TRUE(out.insert(*tag).second);
    }
    EXPECT_FALSE(tags.take());
    EXPECT_EQ(tags.in_flight(), 8U);
    EXPECT_TRUE(tags.give_back(3));
    EXPECT_FALSE(tags.give_back(3));
    EXPECT_FALSE(tags.give_back(100));
    EXPECT_EQ(tags.take(), 3U);
}

TEST(TlpTest, CreditsCountHeadersAndSixteenByteUnits) {
    IoCreditCounter credits({{{2, 20}, {1, 0}, {4, 64}}});
    const Tlp write{TlpKind::kWrite, {256}};
    EXPECT_EQ(data_credits({256}), 16U);
    EXPECT_EQ(data_credits({1}), 1U);
    EXPECT_TRUE(credits.take(write));
    EXPECT_FALSE(credits.take(write));  // a header is free, the data are not
    EXPECT_EQ(credits.free(TlpKind::kWrite).headers, 1U);
    EXPECT_TRUE(credits.take({TlpKind::kWrite, {64}}));
    EXPECT_FALSE(credits.take({TlpKind::kWrite, {}}));  // no header
    EXPECT_TRUE(credits.take({TlpKind::kRead, {}}));
    EXPECT_FALSE(credits.take({TlpKind::kRead, {}}));
    credits.give_back(write);
    credits.give_back({TlpKind::kWrite, {64}});
    EXPECT_TRUE(credits.take(write));
}

}  // namespace
}  // namespace kvplane::cxl
