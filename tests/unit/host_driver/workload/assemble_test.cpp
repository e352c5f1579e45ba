// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "model/common/random.h"
#include "tests/unit/host_driver/workload/trace_file.h"

namespace kvplane::workload {
namespace {

using testing::HasSubstr;

/// A trace of requests, given as stamp in ms, prompt tokens and ids.
struct Line {
    std::int64_t ms;
    std::uint32_t tokens;
    std::vector<std::uint64_t> ids;
};

RawTrace make_trace(const std::vector<Line>& lines, std::uint32_t tokens_per_id = 512) {
    RawTrace trace{.path = "trace", .tokens_per_id = tokens_per_id};
    int number = 0;
    for (const Line& line : lines) {
        trace.requests.push_back({.stamp = Time::from_ms(line.ms),
                                  .input_tokens = line.tokens,
                                  .output_tokens = 1,
                                  .first_id = trace.ids.size(),
                                  .id_count = static_cast<std::uint32_t>(line.ids.size()),
                                  .line = ++number});
        trace.ids.insert(trace.ids.end(), line.ids.begin(), line.ids.end());
    }
    return trace;
}

std::vector<std::uint32_t> chain(const Workload& workload, std::size_t request) {
    std::vector<std::uint32_t> out;
    for (const BlockIndex b : workload.chain(workload.requests[request])) out.push_back(b.value);
    return out;
}

/// The blocks of a trace, as a table of (ids up to the block, place in the last id).
Workload brute_force(const RawTrace& trace, std::uint32_t tokens_per_block) {
    std::map<std::pair<std::vector<std::uint64_t>, std::uint32_t>, std::uint32_t> known;
    Workload out;
    for (const RawRequest& request : trace.requests) {
        BlockIndex parent = block::kNoBlock;
        std::uint32_t depth = 0;
        for (std::uint32_t token = 0; token < request.input_tokens; token += tokens_per_block) {
            const std::uint32_t end = std::min(request.input_tokens, token + tokens_per_block);
            const std::uint32_t ids = (end + trace.tokens_per_id - 1) / trace.tokens_per_id;
            const auto* first = trace.ids.data() + request.first_id;
            const std::uint32_t place = token % trace.tokens_per_id / tokens_per_block;
            const auto [it, fresh] =
                known.try_emplace({std::vector<std::uint64_t>(first, first + ids), place},
                                  static_cast<std::uint32_t>(out.blocks.size()));
            if (fresh) out.blocks.push_back({{}, parent, depth});
            parent = {it->second};
            ++depth;
            out.refs.push_back(parent);
        }
    }
    return out;
}

/// Random conversations whose ids may be cut anywhere and repeat at other places.
RawTrace random_trace(std::uint64_t seed) {
    RandomStream random(seed, "assemble_test");
    RawTrace trace{.path = "random", .tokens_per_id = 64};
    for (int i = 0; i < 40; ++i) {
        RawRequest request{.stamp = Time::from_ms(i),
                           .input_tokens = static_cast<std::uint32_t>(random.uniform(1, 400)),
                           .output_tokens = 1,
                           .first_id = trace.ids.size()};
        request.id_count = (request.input_tokens + 63) / 64;
        for (std::uint32_t k = 0; k < request.id_count; ++k) {
            trace.ids.push_back(random.uniform(2));
        }
        trace.requests.push_back(request);
    }
    return trace;
}

TEST(AssembleTest, EqualsTheBruteForceOnRandomTraces) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const RawTrace trace = random_trace(seed);
        for (const std::uint32_t tokens : {1U, 4U, 16U, 64U, 128U, 256U}) {
            const Workload expected = brute_force(trace, tokens);
            const Workload actual = assemble(trace, {.tokens_per_block = tokens});
            ASSERT_EQ(actual.refs, expected.refs) << seed << ", " << tokens;
            ASSERT_EQ(actual.blocks.size(), expected.blocks.size());
            std::map<block::BlockKey, std::size_t> keys;
            for (std::size_t b = 0; b < actual.blocks.size(); ++b) {
                ASSERT_EQ(actual.blocks[b].parent, expected.blocks[b].parent);
                ASSERT_EQ(actual.blocks[b].depth, expected.blocks[b].depth);
                ASSERT_TRUE(keys.emplace(actual.blocks[b].key, b).second) << "two blocks, one key";
            }
        }
    }
}

TEST(AssembleTest, SplitsIdsIntoBlocksAndCutsThePartialOne) {
    const Workload w = assemble(make_trace({{0, 1024, {5, 6}}, {1, 545, {5, 7}}}), {});
    EXPECT_EQ(w.tokens_per_block, 16U);
    EXPECT_EQ(w.requests[0].block_count, 64U);
    EXPECT_EQ(w.requests[1].block_count, 35U);  // 32 of id 5; 33 tokens begin 3 of id 7
    EXPECT_EQ(w.full_chain(w.requests[1]).size(), 34U);
    EXPECT_EQ(w.blocks.size(), 67U);
    EXPECT_EQ(chain(w, 1)[31], 31U);
    EXPECT_EQ(chain(w, 1)[32], 64U);
    EXPECT_EQ(w.blocks[64].parent.value, 31U);
}

TEST(AssembleTest, APartialIdThatIsLaterSeenInFullKeepsItsBlocks) {
    const Workload w = assemble(make_trace({{0, 20, {5}}, {1, 16, {6}}, {2, 64, {5}}}), {});
    EXPECT_EQ(chain(w, 0), (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(chain(w, 2), (std::vector<std::uint32_t>{0, 1, 3, 4}));
    EXPECT_EQ(w.blocks[3].parent.value, 1U);
}

TEST(AssembleTest, KeysFollowTheChainOfIds) {
    const block::Slice slice{.first_layer = 0, .last_layer = 3, .head_group = 1};
    const Workload w = assemble(make_trace({{0, 32, {5, 6}}}, 16),
                                {.tokens_per_block = 16, .slice = slice, .salt = 9});
    const block::PrefixHash root = block::extend({}, 5);
    EXPECT_EQ(w.blocks[0].key, block::make_key(root, slice, 9));
    EXPECT_EQ(w.blocks[1].key, block::make_key(block::extend(root, 6), slice, 9));
}

/// Requests of three tenants with one prompt.
RawTrace of_tenants(std::uint32_t tokens_per_id) {
    RawTrace trace =
        make_trace({{0, 48, {5, 6, 7}}, {1, 48, {5, 6, 7}}, {2, 48, {5, 6, 7}}, {3, 48, {5, 6, 7}}},
                   tokens_per_id);
    trace.requests[1].tenant = 1;
    trace.requests[2].tenant = 2;
    trace.requests[3].tenant = 1;
    return trace;
}

TEST(AssembleTest, EqualContentsOfTwoTenantsAreOtherBlocks) {
    for (const std::uint32_t tokens_per_block : {16U, 48U}) {
        const AssembleOptions options{.tokens_per_block = tokens_per_block, .salt = 9};
        const Workload w = assemble(of_tenants(16), options);
        const std::size_t each = 48 / tokens_per_block;
        ASSERT_EQ(w.blocks.size(), 3 * each);
        EXPECT_EQ(chain(w, 3), chain(w, 1)) << "one tenant shares with itself";
        std::set<std::pair<std::uint64_t, std::uint64_t>> keys;
        for (const BlockEntry& block : w.blocks) keys.insert({block.key.high, block.key.low});
        EXPECT_EQ(keys.size(), 3 * each);
        for (std::size_t i = 0; i < each; ++i) {
            EXPECT_EQ(w.blocks[each + i].depth, i);
            EXPECT_EQ(w.blocks[each].parent, block::kNoBlock);
        }
        // The contents are the same: only the salt differs.
        const block::PrefixHash root = block::extend({}, 5);
        if (each == 3) {
            EXPECT_EQ(w.blocks[0].key, block::make_key(root, options.slice, 9));
            EXPECT_EQ(w.blocks[3].key, block::make_key(root, options.slice, private_salt(9, 1)));
            EXPECT_EQ(w.blocks[6].key, block::make_key(root, options.slice, private_salt(9, 2)));
        }
        AssembleOptions shared = options;
        shared.sharing = Sharing::kAll;
        EXPECT_EQ(assemble(of_tenants(16), shared).blocks.size(), each);
    }
}

TEST(AssembleTest, ATenantsSaltIsItsOwnWhateverTheWorkloads) {
    std::set<std::uint64_t> salts;
    for (const std::uint64_t salt : {0ULL, 1ULL, 9ULL, ~0ULL}) {
        EXPECT_EQ(private_salt(salt, 0), salt);
        for (std::uint32_t tenant = 0; tenant < 1'000; ++tenant) {
            EXPECT_TRUE(salts.insert(private_salt(salt, tenant)).second) << salt << " " << tenant;
        }
    }
}

TEST(AssembleTest, OneIdAfterTwoOthersIsTwoBlocks) {
    const RawTrace trace = make_trace({{0, 32, {1, 3}}, {1, 32, {2, 3}}}, 16);
    EXPECT_EQ(assemble(trace, {}).blocks.size(), 4U);
}

TEST(AssembleTest, SpreadsEqualStampsInFileOrderUpToTheNext) {
    std::vector<Line> lines;
    for (const std::int64_t ms : {0, 0, 0, 3000, 9000, 9000}) lines.push_back({ms, 1, {1}});
    const Workload spread = assemble(make_trace(lines), {});
    const std::vector<Time> expected{Time::from_s(0), Time::from_s(1), Time::from_s(2),
                                     Time::from_s(3), Time::from_s(9), Time::from_s(12)};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(spread.requests[i].arrival, expected[i]) << i;
    }
    const Workload kept = assemble(make_trace(lines), {.spread_equal_stamps = false});
    for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(kept.requests[i].arrival, Time::from_ms(lines[i].ms)) << i;
    }
}

TEST(AssembleTest, OneDistinctStampIsNotSpread) {
    const Workload w = assemble(make_trace({{7, 1, {1}}, {7, 1, {1}}}), {});
    EXPECT_EQ(w.requests[1].arrival, Time::from_ms(7));
}

TEST(AssembleTest, TheLongestStepStaysWithinTime) {
    const std::int64_t last = kLatestStamp.ps / 1'000'000'000;
    const Workload w = assemble(make_trace({{0, 1, {1}}, {last, 1, {1}}, {last, 1, {1}}}), {});
    EXPECT_EQ(w.requests[2].arrival.ps, kLatestStamp.ps + kLatestStamp.ps / 2);
}

TEST(AssembleTest, BucketsAreTheSecondIdOrTheOnlyOneModuloSixteen) {
    const RawTrace trace =
        make_trace({{0, 513, {3, 16}}, {1, 513, {3, 33}}, {2, 5, {15}}, {3, 1025, {3, 18, 15}}});
    const auto taken = [&](std::uint32_t buckets, std::uint32_t offset) {
        std::vector<std::int64_t> out;
        const Workload w = assemble(trace, {.buckets = buckets, .bucket_offset = offset});
        for (const Request& r : w.requests) out.push_back(r.arrival.ps / 1'000'000'000);
        return out;
    };
    EXPECT_EQ(taken(1, 0), (std::vector<std::int64_t>{0}));
    EXPECT_EQ(taken(2, 1), (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(taken(2, 15), (std::vector<std::int64_t>{0, 2}));  // 15 and 0
    EXPECT_EQ(taken(16, 5), (std::vector<std::int64_t>{0, 1, 2, 3}));
    EXPECT_THAT(test::user_error("trace", [&] { return taken(1, 7); }),
                HasSubstr("no request falls into the 1 buckets from 7"));
}

TEST(AssembleTest, SessionsAreFoundByLongPrefixesThatFewShare) {
    std::vector<Line> lines;
    // All begin with 0, 1, 2, 3: an instruction that everyone shares.
    lines.push_back({0, 5 * 512, {0, 1, 2, 3, 10}});
    lines.push_back({1, 5 * 512, {0, 1, 2, 3, 20}});
    lines.push_back({2, 6 * 512, {0, 1, 2, 3, 10, 11}});
    lines.push_back({3, 4 * 512 + 5, {0, 1, 2, 3, 30}});  // its full part is shared by all
    lines.push_back({4, 4 * 512 + 6, {0, 1, 2, 3, 31}});
    lines.push_back({5, 2 * 512, {90, 91}});
    lines.push_back({6, 3 * 512, {90, 91, 92}});  // a prefix of two ids is too short
    for (int i = 7; i < 300; ++i) {
        lines.push_back({i, 4 * 512, {0, 1, 2, 3}});
    }
    const Workload w = assemble(make_trace(lines), {.tokens_per_block = 512});
    std::vector<std::uint32_t> sessions;
    for (std::size_t i = 0; i < 7; ++i) sessions.push_back(w.requests[i].session);
    EXPECT_EQ(sessions, (std::vector<std::uint32_t>{1, 2, 1, 3, 4, 5, 6}));
}

TEST(AssembleTest, GivenSessionsAreKept) {
    RawTrace trace = make_trace({{0, 5, {1}}, {1, 5, {1}}});
    trace.requests[1].session = 8;
    const Workload w = assemble(trace, {});
    EXPECT_EQ(w.requests[0].session, 0U);
    EXPECT_EQ(w.requests[1].session, 8U);
}

TEST(AssembleTest, ClosedLoopLinksFollowTheirRequests) {
    RawTrace trace = make_trace({{9, 5, {0}}, {1, 5, {1}}, {3, 5, {0}}, {4, 5, {1}}});
    trace.requests[2].after = 0;
    trace.requests[3].after = 1;
    trace.requests[3].pause = Time::from_s(2);
    const AssembleOptions sorted{.backwards = Backwards::kSort};
    const Workload w = assemble(trace, sorted);
    EXPECT_EQ(w.requests[2].after, 0U);  // stamps 1, 3, 4, 9
    EXPECT_EQ(w.requests[2].pause, Time::from_s(2));
    // The predecessor of stamp 3 comes later in time: it cannot be waited for.
    EXPECT_EQ(w.requests[1].after, kNoRequest);
    const Workload half =
        assemble(trace, {.buckets = 1, .bucket_offset = 1, .backwards = Backwards::kSort});
    ASSERT_EQ(half.requests.size(), 2U);
    EXPECT_EQ(half.requests[1].after, 0U);
}

TEST(AssembleTest, RejectsBlocksThatDoNotFitAndBadBuckets) {
    const RawTrace trace = make_trace({{0, 5, {1}}});
    const auto error = [&](const AssembleOptions& options) {
        return test::user_error("trace", [&] { return assemble(trace, options); });
    };
    EXPECT_THAT(error({.tokens_per_block = 48}), HasSubstr("a block of 48 tokens does not fit"));
    EXPECT_THAT(error({.tokens_per_block = 0}), HasSubstr("a block of 0 tokens does not fit"));
    EXPECT_THAT(error({.buckets = 0}), HasSubstr("buckets: 0 from 0"));
    EXPECT_THAT(error({.buckets = 17}), HasSubstr("buckets: 17 from 0"));
    EXPECT_THAT(error({.bucket_offset = 16}), HasSubstr("buckets: 16 from 16"));
    EXPECT_EQ(test::user_error("trace", [] { return assemble(make_trace({}), {}); }),
              ":1: the trace has no requests");
}

}  // namespace
}  // namespace kvplane::workload
