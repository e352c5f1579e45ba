// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/qwen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host_driver/workload/trace.h"
#include "tests/unit/host_driver/workload/trace_file.h"

namespace kvplane::workload {
namespace {

using test::TraceFile;

std::string line(const std::string& chat, const std::string& parent, const std::string& stamp,
                 const std::string& tokens, const std::string& ids) {
    return R"({"chat_id": )" + chat + R"(, "parent_chat_id": )" + parent + R"(, "timestamp": )" +
           stamp + R"(, "input_length": )" + tokens +
           R"(, "output_length": 9, "type": "text", "turn": 1, "hash_ids": )" + ids + "}\n";
}

TEST(QwenTest, ReadsSecondsAndSessions) {
    const TraceFile file(
        line("159", "-1", "61.114", "33", "[5, 6, 7]") + line("7", "-1", "61.5", "1", "[5]") +
        line("160", "159", "62", "32", "[5, 6]") + line("9", "8", "63", "1", "[5]") +
        line("161", "160", "64", "1", "[5]") + line("10", "8", "65", "1", "[5]"));
    const RawTrace trace = read_qwen(file.path());
    EXPECT_EQ(trace.tokens_per_id, 16U);
    std::vector<std::uint32_t> sessions;
    for (const RawRequest& request : trace.requests) sessions.push_back(request.session);
    EXPECT_EQ(sessions, (std::vector<std::uint32_t>{1, 2, 1, 3, 1, 3}));
    EXPECT_EQ(trace.requests[0].stamp, Time::from_ms(61'114));
    EXPECT_EQ(trace.requests[0].input_tokens, 33U);
    EXPECT_EQ(trace.requests[0].output_tokens, 9U);
    EXPECT_EQ(trace.requests[0].id_count, 3U);
}

TEST(QwenTest, IdsAreChained) {
    // Id 6 at two places: two blocks.
    const TraceFile file(line("1", "-1", "0", "32", "[5, 6]") +
                         line("2", "-1", "1", "48", "[7, 6, 6]"));
    EXPECT_EQ(read_trace(file.path(), TraceFormat::kAuto, {}).blocks.size(), 5U);
}

TEST(QwenTest, NoChatIsItsOwnParent) {
    const TraceFile file(line("1", "-1", "0", "1", "[5]") + line("2", "2", "1", "1", "[5]"));
    const std::string error = test::user_error(file.path(), [&] { return read_qwen(file.path()); });
    EXPECT_EQ(error, ":2: parent_chat_id: 2 is the chat itself");
}

TEST(QwenTest, ANegativeZeroIsZero) {
    const TraceFile file(line("-0", "-1", "-0", "33", "[5, -0, 7]"));
    const RawTrace trace = read_qwen(file.path());
    EXPECT_EQ(trace.requests[0].stamp, Time{});
    EXPECT_EQ(trace.ids, (std::vector<std::uint64_t>{5, 0, 7}));
}

TEST(QwenTest, GroupsIdsIntoLongerBlocks) {
    std::string ids = "[0";
    for (int i = 1; i < 33; ++i) ids += ", " + std::to_string(i);
    const TraceFile file(line("1", "-1", "0", "528", ids + "]"));
    TraceOptions options;
    options.assemble.tokens_per_block = 512;
    const Workload workload = read_trace(file.path(), TraceFormat::kQwen, options);
    EXPECT_EQ(workload.blocks.size(), 2U);
    EXPECT_EQ(workload.full_chain(workload.requests[0]).size(), 1U);
}

TEST(QwenTest, RejectsBadLinesWithFileLineAndKey) {
    const auto error = [](const std::string& bad) {
        const TraceFile file(line("1", "-1", "0", "16", "[5]") + bad);
        return test::user_error(file.path(), [&] { return read_qwen(file.path()); });
    };
    EXPECT_EQ(error(line("1", "-1", "0", "16", "[5]")),
              ":2: chat_id: 1 stands on an earlier line, too");
    EXPECT_EQ(error(line("\"x\"", "-1", "0", "16", "[5]")),
              ":2: chat_id: must be a whole number from 0 to 9223372036854775807, not 'x'");
    EXPECT_EQ(error(line("2", "1.5", "0", "16", "[5]")),
              ":2: parent_chat_id: must be a whole number from 0 to 9223372036854775807, not 1.5");
    EXPECT_EQ(error(line("2", "1", "0", "17", "[5]")),
              ":2: hash_ids: has 1 ids where 17 tokens at 16 an id need 2");
    EXPECT_THAT(error(line("2", "1", "3888001", "16", "[5]")),
                testing::StartsWith(":2: timestamp: must be a time from 0 to 45 days"));
    EXPECT_EQ(error(R"({"chat_id": 2, "timestamp": 1, "input_length": 1, "output_length": 1})"),
              ":2: parent_chat_id: missing");
}

}  // namespace
}  // namespace kvplane::workload
