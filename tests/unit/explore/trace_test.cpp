// SPDX-License-Identifier: Apache-2.0
#include "explore/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/shared_data.h"
#include "tests/unit/host_driver/workload/trace_file.h"

namespace kvplane::explore {
namespace {

using test::TraceFile;

const std::string kTwoTurns =
    R"({"timestamp": 0, "input_length": 512, "output_length": 5, "hash_ids": [1]})"
    "\n"
    R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]})"
    "\n"
    R"({"timestamp": 4000, "input_length": 20, "output_length": 7, "hash_ids": [3]})"
    "\n";

TEST(TraceCommandTest, InfoPrintsOneJsonRow) {
    const TraceFile file(kTwoTurns);
    std::ostringstream out;
    TraceSource source{.path = file.path()};
    print_trace_info(source, {16}, true, out);
    const auto object = nlohmann::json::parse(out.str());
    EXPECT_EQ(object["schema"], "kvplane.trace/1");
    ASSERT_EQ(object["rows"].size(), 1U);
    const auto& row = object["rows"][0];
    EXPECT_EQ(row["trace"], file.path());
    EXPECT_EQ(row["format"], "mooncake");
    EXPECT_EQ(row["tokens_per_block"], 16);
    EXPECT_EQ(row["requests"], 3);
    EXPECT_EQ(row["block_refs"], 32 + 38 + 2);
    EXPECT_EQ(row["unique_blocks"], 32 + 6 + 2);
    EXPECT_EQ(row["max_read_set"], 38);
    EXPECT_DOUBLE_EQ(row["infinite_hit_rate"], 32.0 / 72);
    EXPECT_EQ(row["span_s"], 4.0);  // of the stamps, which are not spread here
    EXPECT_EQ(row["output_tokens_max"], 7);
    for (const auto& [key, value] : row.items()) EXPECT_TRUE(value.is_primitive()) << key;
}

TEST(TraceCommandTest, InfoPrintsATable) {
    const TraceFile file(kTwoTurns);
    std::ostringstream out;
    print_trace_info({.path = file.path()}, {16}, false, out);
    EXPECT_THAT(out.str(), testing::HasSubstr("\nunique_blocks          40\n"));
    EXPECT_THAT(out.str(), testing::HasSubstr("\ninfinite_hit_rate      0.4444\n"));
}

TEST(TraceCommandTest, ConvertedTracesGiveTheSameWorkload) {
    const TraceFile file(kTwoTurns);
    std::ostringstream out;
    convert_trace({.path = file.path()}, out);
    const TraceFile converted(out.str());
    const auto a = workload::read_trace(file.path(), workload::TraceFormat::kAuto, {});
    const auto b = workload::read_trace(converted.path(), workload::TraceFormat::kAuto, {});
    EXPECT_EQ(a.refs, b.refs);
    ASSERT_EQ(a.requests.size(), b.requests.size());
    for (std::size_t i = 0; i < a.requests.size(); ++i) {
        EXPECT_EQ(a.requests[i].arrival, b.requests[i].arrival);
        EXPECT_EQ(a.requests[i].session, b.requests[i].session);
    }
    for (std::size_t i = 0; i < a.blocks.size(); ++i) EXPECT_EQ(a.blocks[i].key, b.blocks[i].key);
}

TEST(TraceCommandTest, GeneratedTracesReadBack) {
    workload::GeneratorConfig config;
    config.zipf_sessions.turns = 40;
    std::ostringstream out;
    generate_trace(config, 3, 64, out);
    const TraceFile file(out.str());
    const auto w = workload::read_trace(file.path(), workload::TraceFormat::kAuto, {});
    EXPECT_EQ(w.requests.size(), 40U);
}

TEST(TraceCommandTest, AFullDiskIsReported) {
    std::ofstream full("/dev/full");
    workload::GeneratorConfig config;
    config.zipf_sessions.turns = 4;
    EXPECT_THROW(generate_trace(config, 1, 16, full), UserError);
}

TEST(TraceCommandTest, InfoOfTheConversationTrace) {
    const char* const kTrace = "traces/mooncake/conversation_trace.jsonl";
    KVPLANE_REQUIRE_SHARED(kTrace);
    TraceSource source{.path = test::shared_path(kTrace).string()};
    std::ostringstream out;
    print_trace_info(source, {16}, true, out);
    const auto row = nlohmann::json::parse(out.str())["rows"][0];
    EXPECT_EQ(row["block_refs"], 9'055'233);
    EXPECT_EQ(row["unique_blocks"], 5'674'025);
    EXPECT_EQ(row["max_read_set"], 7'888);  // 38.5 GiB
}

}  // namespace
}  // namespace kvplane::explore
