// SPDX-License-Identifier: Apache-2.0
/// The whole Mooncake conversation trace through the command, as its users run it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "tests/support/shared_data.h"

namespace kvplane::test {
namespace {

constexpr const char* kTrace = "traces/mooncake/conversation_trace.jsonl";

/// CPU time of all processes that have ended and were waited for.
double children_cpu_s() {
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class ConversationTest : public testing::TestWithParam<const char*> {
protected:
    ConversationTest() {
        // Of its own for each test: they run side by side.
        const char* test = testing::UnitTest::GetInstance()->current_test_info()->name();
        m_folder = std::filesystem::path(testing::TempDir()) / "kvplane_conversation" / test;
        std::filesystem::create_directories(m_folder);
    }
    ~ConversationTest() override { std::filesystem::remove_all(m_folder); }

    nlohmann::json replay(const std::vector<std::string>& more) {
        std::vector<std::string> arguments{
            "run",   (source_dir() / "configs/baseline.yaml").string(),
            "--set", "workload.trace=" + shared_path(kTrace).string(),
            "--set", std::string("driver.mechanism=") + GetParam(),
            "--out", "out"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = Command(m_folder, arguments).wait();
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
        return nlohmann::json::parse(read_text(m_folder / "out/result.json"));
    }

    std::filesystem::path m_folder;
};

INSTANTIATE_TEST_SUITE_P(Mechanisms, ConversationTest, testing::Values("card", "copy-engine"),
                         [](const auto& mechanism) {
                             return std::string(mechanism.param) == "card" ? "Card" : "CopyEngine";
                         });

TEST_P(ConversationTest, WholeTraceEndsUnstableInMinutes) {
    KVPLANE_REQUIRE_SHARED(kTrace);
    const double before = children_cpu_s();
    const nlohmann::json result = replay({});
    EXPECT_LT(children_cpu_s() - before, 300);
    EXPECT_EQ(result["meta"]["valid"], true);
    EXPECT_EQ(result["placement"]["write_once_violations"], 0);
    EXPECT_EQ(result["serving"]["requests"], 12'031);
    EXPECT_EQ(result["serving"]["infeasible"], 0);
    EXPECT_EQ(result["serving"]["stable"], false);
    EXPECT_EQ(result["objective"]["comparable"], false);
    EXPECT_GT(result["promotion"]["count"], 100'000);
    EXPECT_EQ(result["promotion"]["count"], result["placement"]["promotions"]);
    double stages = 0;
    for (const auto& [stage, mean] : result["promotion"]["stages_us"].items()) {
        stages += mean.get<double>();
    }
    const double mean = result["promotion"]["latency_us"]["mean"];
    EXPECT_NEAR(stages, mean, 1e-9 * mean);
}

TEST_P(ConversationTest, EightOfSixteenBucketsAreStable) {
    KVPLANE_REQUIRE_SHARED(kTrace);
    const nlohmann::json result = replay({"--set", "workload.buckets=8", "--check"});
    EXPECT_EQ(result["meta"]["valid"], true);
    EXPECT_EQ(result["serving"]["stable"], true);
    EXPECT_EQ(result["placement"]["write_once_violations"], 0);
    EXPECT_GT(result["serving"]["requests"], 5'000);
    EXPECT_GT(result["promotion"]["count"], 100'000);
}

}  // namespace
}  // namespace kvplane::test
