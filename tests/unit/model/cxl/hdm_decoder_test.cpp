// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/hdm_decoder.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"

namespace kvplane::cxl {
namespace {

constexpr std::uint64_t kGrain = HdmDecoders::kGrain.count;
constexpr std::array<std::uint32_t, 8> kWays{1, 2, 3, 4, 6, 8, 12, 16};

struct Program {
    std::uint64_t base = 0;
    std::uint64_t size = kGrain;
    std::uint32_t ways_code = 0;
    std::uint32_t granularity_code = 0;
    std::uint32_t flags = HdmDecoders::kHostOnly;
    std::uint64_t skip = 0;
};

std::uint64_t reg(std::uint32_t decoder, std::uint64_t offset) {
    return HdmDecoders::kFirst + decoder * HdmDecoders::kStride + offset;
}
std::uint32_t control(const HdmDecoders& decoders, std::uint32_t i) {
    return decoders.read(reg(i, 0x10));
}

void program(HdmDecoders& decoders, std::uint32_t i, const Program& p) {
    decoders.write(reg(i, 0x00), static_cast<std::uint32_t>(p.base));
    decoders.write(reg(i, 0x04), static_cast<std::uint32_t>(p.base >> 32));
    decoders.write(reg(i, 0x08), static_cast<std::uint32_t>(p.size));
    decoders.write(reg(i, 0x0C), static_cast<std::uint32_t>(p.size >> 32));
    decoders.write(reg(i, 0x14), static_cast<std::uint32_t>(p.skip));
    decoders.write(reg(i, 0x18), static_cast<std::uint32_t>(p.skip >> 32));
    decoders.write(reg(i, 0x10),
                   p.granularity_code | p.ways_code << 4 | p.flags | HdmDecoders::kCommit);
}

/// Commits and says whether the registers show it, with the error bit as its opposite.
bool commits(HdmDecoders& decoders, std::uint32_t i, const Program& p) {
    program(decoders, i, p);
    const bool committed = (control(decoders, i) & HdmDecoders::kCommitted) != 0;
    EXPECT_EQ((control(decoders, i) & HdmDecoders::kError) != 0, !committed);
    EXPECT_EQ(decoders.error(i) != CommitError::kNone, !committed);
    return committed;
}

HdmDecoders make(std::uint64_t capacity = 64 * kGrain) {
    HdmDecoders decoders({4, {capacity}, true});
    decoders.write(HdmDecoders::kGlobal, HdmDecoders::kEnable);
    return decoders;
}

TEST(HdmDecoderTest, CodesOfWaysAreThoseOfTheRegisters) {
    const std::array<int, 16> expected{1, 2, 4, 8, 16, -1, -1, -1, 3, 6, 12, -1, -1, -1, -1, -1};
    for (std::uint32_t code = 0; code < 16; ++code) {
        const auto ways = interleave_ways(code);
        EXPECT_EQ(ways ? static_cast<int>(*ways) : -1, expected[code]) << code;
    }
    for (const std::uint32_t ways : kWays) {
        ASSERT_TRUE(ways_code(ways));
        EXPECT_EQ(interleave_ways(*ways_code(ways)), ways);
    }
    EXPECT_FALSE(ways_code(5));
    EXPECT_FALSE(ways_code(0));
}

/// Every code of ways and granularity: exactly the legal ones commit.
TEST(HdmDecoderTest, LegalCodesCommitAndOthersDoNot) {
    int legal = 0;
    for (std::uint32_t ways = 0; ways < 16; ++ways) {
        for (std::uint32_t granularity = 0; granularity < 16; ++granularity) {
            HdmDecoders decoders = make();
            const Program p{.base = 48 * kGrain,
                            .size = 48 * kGrain,
                            .ways_code = ways,
                            .granularity_code = granularity};
            const bool expected = interleave_ways(ways).has_value() && granularity <= 6;
            EXPECT_EQ(commits(decoders, 0, p), expected) << ways << " " << granularity;
            legal += expected ? 1 : 0;
            if (!expected) {
                EXPECT_EQ(decoders.error(0),
                          interleave_ways(ways) ? CommitError::kGranularity : CommitError::kWays);
            }
        }
    }
    EXPECT_EQ(legal, 8 * 7);
}

TEST(HdmDecoderTest, IllegalProgramsAreRefusedForTheirReason) {
    const auto why = [](const std::vector<Program>& programs, std::uint64_t capacity) {
        HdmDecoders decoders({4, {capacity}, false});
        CommitError error = CommitError::kNone;
        for (std::uint32_t i = 0; i < programs.size(); ++i) {
            program(decoders, i, programs[i]);
            error = decoders.error(i);
        }
        return error;
    };
    const Program plain;
    EXPECT_EQ(why({plain}, kGrain), CommitError::kNone);
    EXPECT_EQ(why({{.size = 0}}, kGrain), CommitError::kSize);
    EXPECT_EQ(why({{.size = kGrain, .ways_code = 1}}, kGrain), CommitError::kSize);
    EXPECT_EQ(why({{.size = 2 * kGrain, .ways_code = 1}}, kGrain), CommitError::kNone);
    EXPECT_EQ(why({{.size = 4 * kGrain, .ways_code = 8}}, 8 * kGrain), CommitError::kSize);
    EXPECT_EQ(why({{.size = 2 * kGrain}}, kGrain), CommitError::kCapacity);
    EXPECT_EQ(why({{.skip = kGrain}}, kGrain), CommitError::kCapacity);
    EXPECT_EQ(why({{.skip = kGrain}}, 2 * kGrain), CommitError::kNone);
    EXPECT_EQ(why({plain, {.base = 0}}, 8 * kGrain), CommitError::kOverlap);
    EXPECT_EQ(why({plain, {.base = kGrain}}, 8 * kGrain), CommitError::kNone);
    EXPECT_EQ(why({plain, {.base = kGrain}}, kGrain), CommitError::kCapacity);
    EXPECT_EQ(why({{.base = 4 * kGrain}, {.base = 0}}, 8 * kGrain), CommitError::kOverlap);
    EXPECT_EQ(why({{.base = ~std::uint64_t{0} - kGrain + 1, .size = 2 * kGrain}}, 8 * kGrain),
              CommitError::kWrap);
    EXPECT_EQ(why({{.flags = 0}}, kGrain), CommitError::kCoherence);
    EXPECT_EQ(why({{.flags = HdmDecoders::kBackInvalidate}}, kGrain), CommitError::kBackInvalidate);
    HdmDecoders out_of_order = make();
    EXPECT_FALSE(commits(out_of_order, 1, plain));
    EXPECT_EQ(out_of_order.error(1), CommitError::kOrder);
}

TEST(HdmDecoderTest, BackInvalidateNeedsWideFlitsAndACommittedId) {
    const Program coherent{.flags = HdmDecoders::kBackInvalidate};
    HdmDecoders wide({4, {kGrain}, true});
    wide.write(HdmDecoders::kGlobal, HdmDecoders::kEnable);
    EXPECT_FALSE(commits(wide, 0, coherent));
    wide.commit_bi_id(true);
    EXPECT_TRUE(commits(wide, 0, coherent));
    EXPECT_EQ(wide.to_dpa({0})->region, Region::kHdmDb);
    HdmDecoders narrow({4, {kGrain}, false});
    narrow.commit_bi_id(true);
    EXPECT_FALSE(commits(narrow, 0, coherent));
}

TEST(HdmDecoderTest, ACommittedDecoderIgnoresWritesUntilUncommitted) {
    HdmDecoders decoders = make();
    ASSERT_TRUE(commits(decoders, 0, {.base = kGrain}));
    ASSERT_TRUE(commits(decoders, 1, {.base = 2 * kGrain}));
    decoders.write(reg(0, 0x00), 0);
    decoders.write(reg(0, 0x08), 0);
    decoders.write(reg(0, 0x14), static_cast<std::uint32_t>(kGrain));
    EXPECT_EQ(decoders.read(reg(0, 0x00)), kGrain);
    EXPECT_EQ(decoders.read(reg(0, 0x08)), kGrain);
    EXPECT_EQ(decoders.read(reg(0, 0x14)), 0U);
    decoders.write(reg(0, 0x10), 0);  // decoder 1 is committed behind it
    EXPECT_TRUE(decoders.to_dpa({kGrain}));
    decoders.write(reg(1, 0x10), 0);
    decoders.write(reg(0, 0x10), 0);
    EXPECT_FALSE(decoders.to_dpa({kGrain}));
    decoders.write(reg(0, 0x00), 0);
    EXPECT_EQ(decoders.read(reg(0, 0x00)), 0U);
    EXPECT_TRUE(commits(decoders, 0, {}));
}

TEST(HdmDecoderTest, ALockHoldsUntilReset) {
    HdmDecoders decoders = make();
    ASSERT_TRUE(commits(decoders, 0, {.flags = HdmDecoders::kHostOnly | HdmDecoders::kLock}));
    decoders.write(reg(0, 0x10), 0);
    decoders.write(reg(0, 0x00), static_cast<std::uint32_t>(kGrain));
    EXPECT_TRUE(decoders.to_dpa({0}));
    EXPECT_EQ(decoders.read(reg(0, 0x00)), 0U);
    decoders.reset();
    EXPECT_FALSE(decoders.to_dpa({0}));
    EXPECT_EQ(control(decoders, 0), 0U);
}

TEST(HdmDecoderTest, RegistersKeepOnlyWhatTheyHave) {
    HdmDecoders decoders = make();
    decoders.write(reg(2, 0x00), 0xFFFF'FFFF);
    EXPECT_EQ(decoders.read(reg(2, 0x00)), 0xF000'0000U);
    decoders.write(reg(2, 0x10), ~HdmDecoders::kCommit);
    EXPECT_EQ(control(decoders, 2), 0x31FFU);
    EXPECT_EQ(decoders.read(0) & 0xFU, 2U);  // four decoders
    EXPECT_EQ(decoders.read(reg(9, 0x10)), 0U);
    decoders.write(reg(9, 0x10), 1);
    EXPECT_THROW(HdmDecoders({5, {kGrain}, false}), UserError);
}

TEST(HdmDecoderTest, NothingIsDecodedWhileDisabledOrOutside) {
    HdmDecoders decoders = make();
    ASSERT_TRUE(commits(decoders, 0, {.base = kGrain}));
    EXPECT_TRUE(decoders.to_dpa({kGrain}));
    EXPECT_TRUE(decoders.to_dpa({2 * kGrain - 1}));
    EXPECT_FALSE(decoders.to_dpa({kGrain - 1}));
    EXPECT_FALSE(decoders.to_dpa({2 * kGrain}));
    EXPECT_FALSE(decoders.to_hpa({kGrain}));
    EXPECT_FALSE(decoders.to_hpa({0}, 1));
    decoders.write(HdmDecoders::kGlobal, 0);
    EXPECT_FALSE(decoders.to_dpa({kGrain}));
    EXPECT_FALSE(decoders.to_hpa({0}));
}

/// Deals a window out granule by granule, as the words of the specification say.
TEST(HdmDecoderTest, InterleaveIsDealingGranulesInTurn) {
    for (const std::uint32_t ways : kWays) {
        for (std::uint32_t code = 0; code <= 6; ++code) {
            const std::uint64_t granularity = std::uint64_t{256} << code;
            const Interleave window{{kGrain}, {ways * kGrain}, {granularity}, ways};
            std::vector<std::uint64_t> filled(ways, 0);
            for (std::uint64_t granule = 0; granule < 200; ++granule) {
                const auto turn = static_cast<std::uint32_t>(granule % ways);
                for (const std::uint64_t inside : {std::uint64_t{0}, granularity - 1}) {
                    const Hpa address{kGrain + granule * granularity + inside};
                    EXPECT_EQ(window.position(address), turn);
                    EXPECT_EQ(window.to_offset(address), filled[turn] + inside);
                    EXPECT_EQ(window.to_hpa(filled[turn] + inside, turn), address);
                }
                filled[turn] += granularity;
            }
        }
    }
}

/// Random programs of up to four decoders with skips, and random addresses in them, both ways.
TEST(HdmDecoderTest, TenThousandRoundTrips) {
    RandomStream random(11, "hdm");
    int trips = 0;
    while (trips < 10'000) {
        HdmDecoders decoders = make(512 * kGrain);
        decoders.commit_bi_id(true);
        std::uint64_t base = random.uniform(1 << 12) * kGrain;
        std::uint64_t dpa = 0;
        std::vector<std::pair<Program, std::uint64_t>> made;
        const auto count = static_cast<std::uint32_t>(random.uniform(1, 4));
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t ways = kWays[random.uniform(kWays.size())];
            const std::uint64_t share = random.uniform(1, 8) * kGrain;
            Program p{.base = base,
                      .size = ways * share,
                      .ways_code = *ways_code(ways),
                      .granularity_code = static_cast<std::uint32_t>(random.uniform(7)),
                      .flags = random.uniform(2) == 0 ? HdmDecoders::kHostOnly
                                                      : HdmDecoders::kBackInvalidate,
                      .skip = random.uniform(3) * kGrain};
            ASSERT_TRUE(commits(decoders, i, p));
            dpa += p.skip;
            made.emplace_back(p, dpa);
            dpa += share;
            base += p.size + random.uniform(4) * kGrain;
        }
        for (int n = 0; n < 50; ++n, ++trips) {
            const std::uint64_t which = random.uniform(made.size());
            const auto& [p, first] = made[which];
            const Hpa hpa{p.base + random.uniform(p.size)};
            const auto hit = decoders.to_dpa(hpa);
            ASSERT_TRUE(hit);
            EXPECT_EQ(hit->decoder, which);
            EXPECT_EQ(hit->region == Region::kHdmH, p.flags == HdmDecoders::kHostOnly);
            const std::uint32_t ways = *interleave_ways(p.ways_code);
            EXPECT_GE(hit->dpa.value, first);
            EXPECT_LT(hit->dpa.value, first + p.size / ways);
            const std::uint64_t granule = (hpa.value - p.base) >> (8 + p.granularity_code);
            EXPECT_EQ(decoders.to_hpa(hit->dpa, static_cast<std::uint32_t>(granule % ways)), hpa);
        }
    }
}

}  // namespace
}  // namespace kvplane::cxl
