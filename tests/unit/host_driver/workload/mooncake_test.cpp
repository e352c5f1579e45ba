// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/mooncake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host_driver/workload/trace.h"
#include "tests/support/shared_data.h"
#include "tests/unit/host_driver/workload/trace_file.h"

namespace kvplane::workload {
namespace {

using test::TraceFile;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kGood =
    R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [7, 9]})"
    "\n";

std::string line(const std::string& stamp, const std::string& input, const std::string& output,
                 const std::string& ids) {
    return R"({"timestamp": )" + stamp + R"(, "input_length": )" + input +
           R"(, "output_length": )" + output + R"(, "hash_ids": )" + ids + "}";
}

std::string error_of(const std::string& content) {
    const TraceFile file(content);
    return test::user_error(file.path(), [&] {
        return read_trace(file.path(), TraceFormat::kMooncake, TraceOptions{});
    });
}

TEST(MooncakeTest, ReadsEveryField) {
    const TraceFile file(
        R"({"timestamp": 3000, "input_length": 600, "output_length": 5, "hash_ids": [7, 18446744073709551615]})"
        "\n"
        R"({"hash_ids":[7],"other":{"deep":[1,{"hash_ids":[null]}]},"output_length":1,"input_length":1,"timestamp":3000.25})");
    const RawTrace trace = read_mooncake(file.path());
    EXPECT_EQ(trace.tokens_per_id, 512U);
    ASSERT_EQ(trace.requests.size(), 2U);
    EXPECT_EQ(trace.requests[0].stamp, Time::from_s(3));
    EXPECT_EQ(trace.requests[0].input_tokens, 600U);
    EXPECT_EQ(trace.requests[0].output_tokens, 5U);
    EXPECT_EQ(trace.requests[0].id_count, 2U);
    EXPECT_EQ(trace.requests[1].stamp, Time::from_us(3'000'250));
    EXPECT_EQ(trace.requests[1].first_id, 2U);
    EXPECT_EQ(trace.requests[1].line, 2);
    EXPECT_EQ(trace.ids, (std::vector<std::uint64_t>{7, UINT64_MAX, 7}));
}

TEST(MooncakeTest, TakesCrlfBlankLinesByteOrderMarkAndMissingLastNewline) {
    const std::string good = kGood.substr(0, kGood.size() - 1);
    const TraceFile file("\xef\xbb\xbf\r\n" + good + "\r\n\r\n  \t\r\n\n" + good);
    const RawTrace trace = read_mooncake(file.path());
    ASSERT_EQ(trace.requests.size(), 2U);
    EXPECT_EQ(trace.requests[0].line, 2);
    EXPECT_EQ(trace.requests[1].line, 6);
}

TEST(MooncakeTest, ReadsLinesLongerThanItsFirstBuffer) {
    // 100,000 ids are about 700 kB on one line.
    std::string ids = "0";
    for (int i = 1; i < 100'000; ++i) ids += ", " + std::to_string(i);
    // The length is the largest there is, and too long for the ids.
    const std::string error = error_of(kGood + line("0", "16777216", "1", "[" + ids + "]"));
    EXPECT_EQ(error, ":2: hash_ids: has 100000 ids where 16777216 tokens at 512 an id need 32768");
}

struct BadLine {
    std::string name;
    std::string line;
    std::string message;  ///< after ":2: "
};

void PrintTo(const BadLine& bad, std::ostream* out) { *out << bad.name; }

class MooncakeBadLineTest : public testing::TestWithParam<BadLine> {};

TEST_P(MooncakeBadLineTest, IsRejectedWithFileLineAndKey) {
    const std::string error = error_of(kGood + GetParam().line + "\n" + kGood);
    EXPECT_THAT(error, StartsWith(":2: " + GetParam().message));
    EXPECT_THAT(error, Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    All, MooncakeBadLineTest,
    testing::Values(
        BadLine{"truncated", R"({"timestamp": 0, "input_length": 60)",
                "input_length: not valid JSON at column 36: syntax error while parsing object - "
                "unexpected end of input"},
        BadLine{"truncated_ids", R"({"timestamp": 0, "hash_ids": [1, 2)",
                "hash_ids: not valid JSON"},
        BadLine{"two_objects", R"({"timestamp": 0} {"timestamp": 0})", "timestamp: not valid JSON"},
        BadLine{"no_object", "[1, 2]", "expected one JSON object on the line"},
        BadLine{"a_number", "17", "expected one JSON object on the line"},
        BadLine{"not_json", "hello", "not valid JSON at column 1: syntax error"},
        BadLine{"negative_input", line("0", "-600", "5", "[7, 9]"),
                "input_length: must be a whole number from 1 to 16777216, not -600"},
        BadLine{"fractional_input", line("0", "600.5", "5", "[7, 9]"),
                "input_length: must be a whole number from 1 to 16777216, not 600.5"},
        BadLine{"zero_prompt", line("0", "0", "5", "[]"), "input_length: must be a whole number"},
        BadLine{"absurd_input", line("0", "4294967297", "5", "[7]"),
                "input_length: must be a whole number from 1 to 16777216, not 4294967297"},
        BadLine{"huge_input", line("0", "1e30", "5", "[7]"),
                "input_length: must be a whole number from 1 to 16777216, not 1e30"},
        BadLine{"text_input", line("0", "\"600\"", "5", "[7, 9]"),
                "input_length: must be a whole number from 1 to 16777216, not '600'"},
        BadLine{"array_input", line("0", "[600]", "5", "[7, 9]"),
                "input_length: must be a whole number from 1 to 16777216, not a value of another"},
        BadLine{"null_input", line("0", "null", "5", "[7, 9]"),
                "input_length: must be a whole number from 1 to 16777216, not null"},
        BadLine{"negative_output", line("0", "600", "-5", "[7, 9]"),
                "output_length: must be a whole number from 1 to 16777216, not -5"},
        BadLine{"zero_output", line("0", "600", "0", "[7, 9]"), "output_length: must be"},
        BadLine{"nan", line("0", "600", "NaN", "[7, 9]"),
                "output_length: not valid JSON at column 56: syntax error while parsing value - "
                "invalid literal"},
        BadLine{"overflowing_stamp", line("1e999", "600", "5", "[7, 9]"),
                "timestamp: not valid JSON"},
        BadLine{"absurd_stamp", line("1e30", "600", "5", "[7, 9]"),
                "timestamp: must be a time from 0 to 45 days after the start of the trace, not "
                "1e30"},
        BadLine{"negative_stamp", line("-1", "600", "5", "[7, 9]"),
                "timestamp: must be a time from 0"},
        BadLine{"negative_fraction_stamp", line("-0.5", "600", "5", "[7, 9]"),
                "timestamp: must be a time from 0"},
        BadLine{"late_stamp", line("3888000001", "600", "5", "[7, 9]"),
                "timestamp: must be a time from 0"},
        BadLine{"missing_ids", R"({"timestamp": 0, "input_length": 600, "output_length": 5})",
                "hash_ids: missing"},
        BadLine{"missing_stamp", R"({"input_length": 1, "output_length": 5, "hash_ids": [1]})",
                "timestamp: missing"},
        BadLine{"missing_input", R"({"timestamp": 0, "output_length": 5, "hash_ids": [1]})",
                "input_length: missing"},
        BadLine{"missing_output", R"({"timestamp": 0, "input_length": 5, "hash_ids": [1]})",
                "output_length: missing"},
        BadLine{"short_ids", line("0", "600", "5", "[7]"),
                "hash_ids: has 1 ids where 600 tokens at 512 an id need 2"},
        BadLine{"long_ids", line("0", "512", "5", "[7, 9]"),
                "hash_ids: has 2 ids where 512 tokens at 512 an id need 1"},
        BadLine{"no_array", line("0", "512", "5", "7"), "hash_ids: must be an array of ids"},
        BadLine{"null_ids", line("0", "512", "5", "null"), "hash_ids: must be an array of ids"},
        BadLine{"overflowing_id", line("0", "600", "5", "[7, 18446744073709551616]"),
                "hash_ids: entry 2 is not a whole number from 0 to 18446744073709551615"},
        BadLine{"negative_id", line("0", "600", "5", "[-7, 9]"), "hash_ids: entry 1 is not"},
        BadLine{"fractional_id", line("0", "600", "5", "[7, 9.5]"), "hash_ids: entry 2 is not"},
        BadLine{"text_id", line("0", "600", "5", "[7, \"9\"]"), "hash_ids: entry 2 is not"},
        BadLine{"nested_ids", line("0", "600", "5", "[7, [9]]"), "hash_ids: entry 2 is not"},
        BadLine{"object_id", line("0", "600", "5", "[7, {}]"), "hash_ids: entry 2 is not"},
        BadLine{"null_id", line("0", "600", "5", "[7, null]"), "hash_ids: entry 2 is not"},
        BadLine{"twice",
                R"({"timestamp": 0, "input_length": 1, "input_length": 1, "output_length": 1})",
                "input_length: the key stands twice on the line"},
        BadLine{"twice_ids", R"({"hash_ids": [1], "hash_ids": [2]})",
                "hash_ids: the key stands twice on the line"},
        BadLine{"twice_unknown", R"({"other": 1, "other": 2})",
                "other: the key stands twice on the line"},
        BadLine{"not_utf8", "{\"timestamp\": 0, \"a\": \"\xff\"}", "the line is not UTF-8 text"},
        BadLine{"overlong_utf8", "{\"timestamp\": 0, \"a\": \"\xc0\xaf\"}",
                "the line is not UTF-8"},
        BadLine{"cut_utf8", "\xe2\x82", "the line is not UTF-8"}),
    [](const auto& test) { return test.param.name; });

TEST(MooncakeTest, TimeGoingBackwardsIsAnErrorOrSorted) {
    const std::string late =
        R"({"timestamp": 9000, "input_length": 3, "output_length": 5, "hash_ids": [1]})"
        "\n";
    const std::string early =
        R"({"timestamp": 3000, "input_length": 4, "output_length": 5, "hash_ids": [2]})"
        "\n";
    EXPECT_THAT(error_of(late + early),
                StartsWith(":2: timestamp: goes backwards, from 9 s to 3 s; "));

    const TraceFile file(late + early + late);
    TraceOptions options;
    options.assemble.backwards = Backwards::kSort;
    const Workload sorted = read_trace(file.path(), TraceFormat::kMooncake, options);
    ASSERT_EQ(sorted.requests.size(), 3U);
    EXPECT_EQ(sorted.requests[0].input_tokens, 4U);
    EXPECT_EQ(sorted.requests[0].arrival, Time::from_s(3));
    EXPECT_EQ(sorted.requests[1].arrival, Time::from_s(9));
    EXPECT_EQ(sorted.requests[2].arrival, Time::from_s(12));
    EXPECT_EQ(sorted.refs, (std::vector<BlockIndex>{{0}, {1}, {1}}));  // order of first reference
}

TEST(MooncakeTest, EmptyOrUnreadableFilesAreRejected) {
    EXPECT_EQ(error_of(""), ":1: the trace has no requests");
    EXPECT_EQ(error_of("\r\n\n  \n"), ":1: the trace has no requests");
    const auto read = [](const std::string& path) {
        return test::user_error(path, [&] { return read_mooncake(path); });
    };
    EXPECT_EQ(read("/nonexistent/trace.jsonl"),
              ": cannot open the trace: No such file or directory");
    EXPECT_EQ(read(testing::TempDir()), ": cannot read the trace: Is a directory");
}

class ConversationTest : public testing::Test {
protected:
    static Workload read(std::uint32_t tokens_per_block, std::uint32_t buckets = kBuckets,
                         std::uint32_t offset = 0) {
        TraceOptions options;
        options.assemble.tokens_per_block = tokens_per_block;
        options.assemble.buckets = buckets;
        options.assemble.bucket_offset = offset;
        return read_trace(test::shared_path(kTrace).string(), TraceFormat::kAuto, options);
    }
    static constexpr const char* kTrace = "traces/mooncake/conversation_trace.jsonl";
};

TEST_F(ConversationTest, HasTheKnownBlocksAt16Tokens) {
    KVPLANE_REQUIRE_SHARED(kTrace);
    const Workload workload = read(16);
    EXPECT_EQ(workload.requests.size(), 12'031U);
    EXPECT_EQ(workload.refs.size(), 9'055'233U);
    EXPECT_EQ(workload.blocks.size(), 5'674'025U);
    for (const Request& request : workload.requests) {
        BlockIndex parent = block::kNoBlock;
        std::uint32_t depth = 0;
        for (const BlockIndex b : workload.chain(request)) {
            ASSERT_EQ(workload.blocks[b.value].parent, parent);
            ASSERT_EQ(workload.blocks[b.value].depth, depth++);
            parent = b;
        }
    }
}

TEST_F(ConversationTest, HasTheKnownBlocksAt512Tokens) {
    KVPLANE_REQUIRE_SHARED(kTrace);
    const Workload workload = read(512);
    EXPECT_EQ(workload.refs.size(), 288'500U);
    EXPECT_EQ(workload.blocks.size(), 182'790U);
}

TEST_F(ConversationTest, HasTheKnownSessions) {
    KVPLANE_REQUIRE_SHARED(kTrace);
    const Workload workload = read(512);
    std::vector<std::uint32_t> turns;
    for (const Request& request : workload.requests) {
        if (request.session > turns.size()) turns.resize(request.session, 0);
        ++turns[request.session - 1];
    }
    EXPECT_EQ(turns.size(), 8'469U);
    EXPECT_EQ(*std::max_element(turns.begin(), turns.end()), 43U);
    const auto multi = std::count_if(turns.begin(), turns.end(), [](auto n) { return n > 1; });
    EXPECT_EQ(multi, 1'803);  // 21.3 %
}

TEST_F(ConversationTest, BucketsPartitionTheRequestsAndKeepTheirArrivals) {
    KVPLANE_REQUIRE_SHARED(kTrace);
    const Workload all = read(512);
    const Workload low = read(512, 8, 0);
    const Workload high = read(512, 8, 8);
    EXPECT_EQ(low.requests.size() + high.requests.size(), all.requests.size());
    std::vector<Time> merged;
    for (const Request& request : low.requests) merged.push_back(request.arrival);
    for (const Request& request : high.requests) merged.push_back(request.arrival);
    std::sort(merged.begin(), merged.end());
    for (std::size_t i = 0; i < merged.size(); ++i) {
        ASSERT_EQ(merged[i], all.requests[i].arrival) << i;
    }
    // Ten buckets from 8 on are 8 to 15, 0 and 1.
    EXPECT_EQ(read(512, 10, 8).requests.size(),
              high.requests.size() + read(512, 2, 0).requests.size());
}

}  // namespace
}  // namespace kvplane::workload
