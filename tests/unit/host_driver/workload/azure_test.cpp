// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/azure.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host_driver/workload/trace.h"
#include "tests/support/shared_data.h"
#include "tests/unit/host_driver/workload/trace_file.h"

namespace kvplane::workload {
namespace {

using test::TraceFile;

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n";

TEST(AzureTest, ReadsStampsRelativeToTheEarliest) {
    const TraceFile file(kHeader +
                         "2024-01-31 23:59:59.9799600,4808,10\r\n"
                         "2024-02-01 00:00:00,3180,8\r\n"
                         "2024-03-01 00:00:00.5+00:00,1,1");
    const RawTrace trace = read_azure(file.path(), {}, 1);
    ASSERT_EQ(trace.requests.size(), 3U);
    EXPECT_EQ(trace.requests[0].stamp, Time{0});
    EXPECT_EQ(trace.requests[1].stamp, Time::from_ns(20'040'000));
    EXPECT_EQ(trace.requests[2].stamp,
              Time::from_s(29 * 86'400) + Time::from_ms(500) + Time::from_ns(20'040'000));
    EXPECT_EQ(trace.requests[0].input_tokens, 4808U);
    EXPECT_EQ(trace.requests[0].output_tokens, 10U);
    EXPECT_EQ(trace.requests[0].id_count, 301U);
    EXPECT_EQ(trace.requests[1].line, 3);
}

TEST(AzureTest, TimeGoingBackwardsIsAnErrorOrSorted) {
    const TraceFile file(kHeader + "2023-11-16 18:17:04,48,10\n2023-11-16 18:17:03,32,8\n");
    TraceOptions options;
    const auto read = [&] { return read_trace(file.path(), TraceFormat::kAuto, options); };
    EXPECT_THAT(test::user_error(file.path(), read),
                testing::StartsWith(":3: timestamp: goes backwards, from 1 s to 0 s"));
    options.assemble.backwards = Backwards::kSort;
    EXPECT_EQ(read().requests[0].input_tokens, 32U);
}

/// Rows one second apart.
std::string rows(const std::vector<std::pair<int, int>>& lengths) {
    std::string out = kHeader;
    int second = 0;
    for (const auto& [input, output] : lengths) {
        out += fmt::format("2023-11-16 18:{:02}:{:02},{},{}\n", second / 60, second % 60, input,
                           output);
        ++second;
    }
    return out;
}

TEST(AzureTest, ARequestContinuesOnlyASessionThatFits) {
    AzureConfig config;
    config.continue_permille = 1000;
    const auto sessions = [&](const std::vector<std::pair<int, int>>& lengths) {
        const TraceFile file(rows(lengths));
        std::vector<std::uint32_t> out;
        for (const RawRequest& r : read_azure(file.path(), config, 1).requests) {
            out.push_back(r.session);
        }
        return out;
    };
    using Sessions = std::vector<std::uint32_t>;
    EXPECT_EQ(sessions({{100, 28}, {129, 1}}), (Sessions{1, 1}));  // context 128 of 129
    EXPECT_EQ(sessions({{100, 28}, {128, 1}}), (Sessions{1, 2}));  // no room for new text
    EXPECT_EQ(sessions({{100, 28}, {256, 1}}), (Sessions{1, 1}));  // just half
    EXPECT_EQ(sessions({{100, 28}, {257, 1}}), (Sessions{1, 2}));  // less than half
    config.longest_idle = Time::from_ms(1'999);
    EXPECT_EQ(sessions({{100, 28}, {1, 1}, {129, 1}}), (Sessions{1, 2, 3}));
    config.longest_idle = Time::from_s(2);
    EXPECT_EQ(sessions({{100, 28}, {1, 1}, {129, 1}}), (Sessions{1, 2, 1}));
    config.continue_permille = 0;
    EXPECT_EQ(sessions({{100, 28}, {129, 1}}), (Sessions{1, 2}));
}

TEST(AzureTest, ATurnBeginsWithTheTokensOfTheOneBefore) {
    AzureConfig config;
    config.continue_permille = 1000;
    const TraceFile file(rows({{100, 28}, {150, 1}}));
    const Workload w = assemble(read_azure(file.path(), config, 1), {});
    const auto first = w.full_chain(w.requests[0]);
    const auto second = w.full_chain(w.requests[1]);
    ASSERT_EQ(first.size(), 6U);
    ASSERT_EQ(second.size(), 9U);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
    EXPECT_EQ(w.blocks.size(), 6U + 1U + 3U + 1U);  // the partial block of 100 tokens is its own
}

TEST(AzureTest, RejectsBadRowsWithFileLineAndColumn) {
    const auto error = [](const std::string& content) {
        const TraceFile file(content);
        return test::user_error(file.path(),
                                [&] { return read_trace(file.path(), TraceFormat::kAzure, {}); });
    };
    const auto row = [&](const std::string& bad) { return error(kHeader + bad + "\n"); };
    EXPECT_EQ(error(""), ":1: the trace has no requests");
    EXPECT_EQ(error(kHeader), ":1: the trace has no requests");
    EXPECT_EQ(error("a,b,c\n"), ":1: expected the header TIMESTAMP,ContextTokens,GeneratedTokens");
    EXPECT_EQ(row("2023-11-16 18:17:03,1"),
              ":2: expected the three columns TIMESTAMP,ContextTokens,GeneratedTokens");
    EXPECT_EQ(row("2023-11-16 18:17:03,1,2,3"),
              ":2: expected the three columns TIMESTAMP,ContextTokens,GeneratedTokens");
    for (const char* stamp :
         {"", "0", "2023-11-16", "2023-11-16 18:17", "2023-13-16 18:17:03", "2023-02-29 18:17:03",
          "1969-12-31 23:59:59", "9999-11-16 18:17:03", "2023-11-16 24:17:03",
          "2023-11-16 18:60:03", "2023-11-16 18:17:60", "2023-11-16T18:17:03",
          "2023-11-16 18:17:03.", "2023-11-16 18:17:03.1e3", "2023-11-16 18:17:03+02:00", "NaN"}) {
        EXPECT_EQ(row(std::string(stamp) + ",1,1"),
                  ":2: TIMESTAMP: must be as 2023-11-16 18:17:03.9799600, not '" +
                      std::string(stamp) + "'");
    }
    for (const char* length :
         {"", "-1", "1.5", "0", "NaN", "1e30", "16777217", "x", " 1", "99999999999999999999999"}) {
        EXPECT_EQ(row("2023-11-16 18:17:03," + std::string(length) + ",1"),
                  ":2: ContextTokens: must be a whole number from 1 to 16777216, not '" +
                      std::string(length) + "'");
        EXPECT_EQ(row("2023-11-16 18:17:03,1," + std::string(length)),
                  ":2: GeneratedTokens: must be a whole number from 1 to 16777216, not '" +
                      std::string(length) + "'");
    }
    EXPECT_EQ(row("2023-11-16 18:17:03,1,1\n2024-11-16 18:17:03,1,1"),
              ":3: TIMESTAMP: more than 45 days after the earliest");
    EXPECT_EQ(row("2023-11-16 18:17:03,1,\xff"), ":2: the line is not UTF-8 text");
}

TEST(AzureTest, TheCodeTraceHasItsKnownLengths) {
    const char* const kTrace = "traces/azure-llm-2023/AzureLLMInferenceTrace_code.csv";
    KVPLANE_REQUIRE_SHARED(kTrace);
    const std::string path = test::shared_path(kTrace).string();
    const Workload workload = read_trace(path, TraceFormat::kAuto, {});
    EXPECT_EQ(workload.requests.size(), 8'819U);
    std::uint64_t input = 0;
    std::uint32_t most = 0;
    for (const Request& request : workload.requests) {
        input += request.input_tokens;
        most = std::max(most, request.input_tokens);
    }
    EXPECT_EQ(input / 8'819, 2'047U);
    EXPECT_EQ(most, 7'437U);
    EXPECT_NEAR(workload.requests.back().arrival.s(), 3'436, 0.5);
    // Another seed draws other sessions for the same lengths.
    TraceOptions other;
    other.seed = 2;
    const Workload again = read_trace(path, TraceFormat::kAuto, other);
    EXPECT_EQ(again.refs.size(), workload.refs.size());
    EXPECT_NE(again.refs, workload.refs);
}

}  // namespace
}  // namespace kvplane::workload
