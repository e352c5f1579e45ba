// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/kvplane_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "host_driver/workload/generators.h"
#include "host_driver/workload/mooncake.h"
#include "host_driver/workload/trace.h"
#include "tests/support/shared_data.h"
#include "tests/unit/host_driver/workload/trace_file.h"

namespace kvplane::workload {
namespace {

using test::TraceFile;

std::string written(const RawTrace& trace) {
    std::ostringstream out;
    write_kvplane(trace, out);
    return out.str();
}

void expect_same(const RawTrace& a, const RawTrace& b) {
    EXPECT_EQ(a.tokens_per_id, b.tokens_per_id);
    EXPECT_EQ(a.ids, b.ids);
    ASSERT_EQ(a.requests.size(), b.requests.size());
    for (std::size_t i = 0; i < a.requests.size(); ++i) {
        const RawRequest& x = a.requests[i];
        const RawRequest& y = b.requests[i];
        ASSERT_EQ(x.stamp, y.stamp) << i;
        ASSERT_EQ(x.input_tokens, y.input_tokens) << i;
        ASSERT_EQ(x.output_tokens, y.output_tokens) << i;
        ASSERT_EQ(x.first_id, y.first_id) << i;
        ASSERT_EQ(x.id_count, y.id_count) << i;
        ASSERT_EQ(x.session, y.session) << i;
        ASSERT_EQ(x.tenant, y.tenant) << i;
        ASSERT_EQ(x.after, y.after) << i;
        ASSERT_EQ(x.pause, y.pause) << i;
    }
}

void expect_round_trip(const RawTrace& trace) {
    const std::string text = written(trace);
    const TraceFile file(text);
    EXPECT_EQ(detect_format(file.path()), TraceFormat::kKvplane);
    const RawTrace back = read_kvplane(file.path());
    expect_same(trace, back);
    EXPECT_EQ(written(back), text);
}

TEST(KvplaneTraceTest, WritesWhatTheDocumentSays) {
    RawTrace trace{.path = "x", .tokens_per_id = 512};
    trace.requests.push_back({.stamp = Time::from_ns(1'500),
                              .input_tokens = 600,
                              .output_tokens = 5,
                              .first_id = 0,
                              .id_count = 2});
    trace.requests.push_back({.stamp = Time::from_ns(2'000),
                              .input_tokens = 10,
                              .output_tokens = 1,
                              .first_id = 2,
                              .id_count = 1,
                              .session = 3,
                              .tenant = 2,
                              .after = 0,
                              .pause = Time::from_us(5)});
    trace.ids = {7, UINT64_MAX, 7};
    EXPECT_EQ(
        written(trace),
        R"({"format":"kvplane-trace/1","tokens_per_id":512})"
        "\n"
        R"({"timestamp_ns":1500,"input_length":600,"output_length":5,"ids":[7,18446744073709551615]})"
        "\n"
        R"({"timestamp_ns":2000,"input_length":10,"output_length":1,"session":3,"tenant":2,"after":0,"pause_ns":5000,"ids":[7]})"
        "\n");
    expect_round_trip(trace);
}

TEST(KvplaneTraceTest, EveryGeneratorRoundTrips) {
    GeneratorConfig config;
    config.zipf_sessions.turns = 200;
    config.scan.requests = 50;
    config.loop.rounds = 1;
    config.agents.requests = 200;
    for (const Generator generator :
         {Generator::kZipfSessions, Generator::kScan, Generator::kLoop, Generator::kAgents}) {
        config.generator = generator;
        expect_round_trip(generate(config, 1, 64));
    }
}

TEST(KvplaneTraceTest, TheConversationTraceRoundTrips) {
    const char* const kTrace = "traces/mooncake/conversation_trace.jsonl";
    KVPLANE_REQUIRE_SHARED(kTrace);
    expect_round_trip(read_mooncake(test::shared_path(kTrace).string()));
}

TEST(KvplaneTraceTest, RejectsWhatTheFormatDoesNotAllow) {
    const std::string header = R"({"format": "kvplane-trace/1", "tokens_per_id": 16})"
                               "\n";
    const std::string good =
        R"({"timestamp_ns": 0, "input_length": 16, "output_length": 1, "ids": [1]})"
        "\n";
    const auto error = [](const std::string& content) {
        const TraceFile file(content);
        return test::user_error(file.path(),
                                [&] { return read_trace(file.path(), TraceFormat::kKvplane, {}); });
    };
    const auto with = [&](const std::string& more) {
        return error(header + good +
                     R"({"timestamp_ns": 0, "input_length": 16, "output_length": 1, "ids": [1], )" +
                     more + "}\n");
    };
    EXPECT_EQ(error(""), ":1: the trace has no requests");
    EXPECT_EQ(error(header), ":1: the trace has no requests");
    EXPECT_EQ(error(good), ":1: timestamp_ns: unknown key; known are format, tokens_per_id");
    EXPECT_EQ(error(R"({"format": "kvplane-trace/2", "tokens_per_id": 16})"),
              ":1: format: must be 'kvplane-trace/1'");
    EXPECT_EQ(error(R"({"format": 1, "tokens_per_id": 16})"), ":1: format: must be a text, not 1");
    EXPECT_EQ(error(R"({"format": "kvplane-trace/1"})"), ":1: tokens_per_id: missing");
    EXPECT_EQ(error(R"({"format": "kvplane-trace/1", "tokens_per_id": 0})"),
              ":1: tokens_per_id: must be a whole number from 1 to 16777216, not 0");
    EXPECT_THAT(with(R"("tenent": 1)"),
                testing::StartsWith(":3: tenent: unknown key; known are timestamp_ns, "));
    EXPECT_EQ(with(R"("session": -1)"),
              ":3: session: must be a whole number from 0 to 4294967295, not -1");
    EXPECT_EQ(with(R"("tenant": 4294967296)"),
              ":3: tenant: must be a whole number from 0 to 4294967295, not 4294967296");
    EXPECT_EQ(with(R"("after": 0)"), ":3: pause_ns: missing: after and pause_ns go together");
    EXPECT_EQ(with(R"("pause_ns": 0)"), ":3: after: missing: after and pause_ns go together");
    EXPECT_EQ(with(R"("after": 1, "pause_ns": 0)"),
              ":3: after: must be a whole number from 0 to 0, not 1");
    EXPECT_EQ(error(header + R"({"timestamp_ns": 0, "input_length": 16, "output_length": 1, )"
                             R"("ids": [1], "after": 0, "pause_ns": 0})"),
              ":2: after: the first request cannot wait for another");
}

TEST(TraceTest, TheFirstLineDecidesTheFormat) {
    const auto format = [](const std::string& content) {
        const TraceFile file(content);
        return detect_format(file.path());
    };
    EXPECT_EQ(format("\n\n {\"timestamp\": 0"), TraceFormat::kMooncake);
    EXPECT_EQ(format("{\"chat_id\": 0"), TraceFormat::kQwen);
    EXPECT_EQ(format("TIMESTAMP,ContextTokens,GeneratedTokens"), TraceFormat::kAzure);
    EXPECT_EQ(format("{\"tokens_per_id\": 16, \"format\": \"kvplane-trace/1\"}"),
              TraceFormat::kKvplane);
    const TraceFile other("hello\n");
    EXPECT_THAT(test::user_error(other.path(), [&] { return detect_format(other.path()); }),
                testing::StartsWith(":1: the first line is neither"));
    const TraceFile empty("\n");
    EXPECT_EQ(test::user_error(empty.path(), [&] { return detect_format(empty.path()); }),
              ":1: the trace is empty");
}

TEST(TraceTest, FormatsHaveNames) {
    for (const char* name : {"auto", "mooncake", "qwen", "azure", "kvplane"}) {
        EXPECT_EQ(name_of(parse_format(name)), name);
    }
    EXPECT_THROW((void)parse_format("csv"), UserError);
}

}  // namespace
}  // namespace kvplane::workload
