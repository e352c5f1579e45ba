// SPDX-License-Identifier: Apache-2.0
#include "explore/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

const std::string kBackwards =
    R"({"format":"kvplane-trace/1","tokens_per_id":3})"
    "\n"
    R"({"timestamp_ns":9000,"input_length":4,"output_length":1,"ids":[1,2]})"
    "\n"
    R"({"timestamp_ns":2000,"input_length":3,"output_length":1,"ids":[7]})"
    "\n"
    R"({"timestamp_ns":9000,"input_length":3,"output_length":1,"after":0,"pause_ns":5,"ids":[1]})"
    "\n"
    R"({"timestamp_ns":9500,"input_length":3,"output_length":1,"after":1,"pause_ns":5,"ids":[1]})"
    "\n";

TEST(TraceCommandTest, TimeThatGoesBackwardsCanBeSorted) {
    const TraceFile file(kBackwards);
    std::ostringstream out;
    try {
        print_trace_info({.path = file.path()}, {}, true, out);
        FAIL();
    } catch (const UserError& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("; workload.time_backwards=sort takes"));
    }
    EXPECT_THROW(convert_trace({.path = file.path()}, out), UserError);
    const TraceSource sorted{
        .path = file.path(),
        .options = trace_options(std::vector<std::string>{"workload.time_backwards=sort"})};
    std::ostringstream info;
    print_trace_info(sorted, {}, true, info);
    // Blocks of 16 tokens do not fit ids of 3, so that only the trace's own are counted in.
    const auto rows = nlohmann::json::parse(info.str())["rows"];
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0]["tokens_per_block"], 3);
    EXPECT_EQ(rows[0]["requests"], 4);
    EXPECT_THROW(print_trace_info(sorted, {16}, true, info), UserError);
    std::ostringstream converted;
    convert_trace(sorted, converted);
    const TraceFile again(converted.str());
    const auto raw = workload::read_raw_trace(again.path(), workload::TraceFormat::kKvplane, {});
    ASSERT_EQ(raw.requests.size(), 4U);
    EXPECT_EQ(raw.requests[0].stamp, Time::from_ns(2000));
    EXPECT_EQ(raw.requests[2].after, 1U) << "the request it waits for has moved";
    EXPECT_EQ(raw.requests[3].after, 0U);
    EXPECT_EQ(raw.ids[raw.requests[0].first_id], 7U);
}

TEST(TraceCommandTest, OptionsOfReadingAreSetByTheirKeys) {
    const auto options =
        trace_options(std::vector<std::string>{"seed=9", "workload.azure.continue_permille=250"});
    EXPECT_EQ(options.seed, 9U);
    EXPECT_EQ(options.azure.continue_permille, 250U);
    EXPECT_EQ(options.assemble.backwards, workload::Backwards::kError);
    for (const char* set : {"workload.generator=scan", "control.replacement=lru", "seed"}) {
        EXPECT_THROW((void)trace_options(std::vector<std::string>{set}), UserError) << set;
    }
}

TEST(TraceCommandTest, AConfigWithATraceGeneratesNothing) {
    const TraceFile config("workload: {trace: \"a.jsonl\", zipf_sessions: {turns: 3}}\n");
    std::ostringstream out;
    EXPECT_THROW(generate_trace(load(config.path()), out), UserError);
    generate_trace(load(config.path(), std::vector<std::string>{"workload.trace=null"}), out);
    const std::string text = out.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
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
