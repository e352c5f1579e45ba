// SPDX-License-Identifier: Apache-2.0
/// `kvplane run` with the lookup engine as RTL: the three implementations, and waveforms.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "tests/support/shared_data.h"

namespace kvplane::test {
namespace {

namespace fs = std::filesystem;

class RtlCommandTest : public CommandTest {
protected:
    Outcome run(const std::string& implementation, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"run",   (source_dir() / "configs/rtl.yaml").string(),
                                           "--set", "workload.zipf_sessions.turns=30",
                                           "--set", "card.index.implementation=" + implementation,
                                           "--out", implementation};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return Command(m_folder, arguments).wait();
    }
    nlohmann::json result(const std::string& out) {
        return nlohmann::json::parse(read_text(m_folder / out / "result.json"));
    }
};

TEST_F(RtlCommandTest, TheThreeImplementationsTellTheSameStory) {
    for (const char* implementation : {"tlm", "rtl", "lockstep"}) {
        const Outcome outcome = run(implementation);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(result(implementation)["meta"]["index"], implementation);
    }
    const nlohmann::json tlm = result("tlm");
    const nlohmann::json rtl = result("rtl");
    const nlohmann::json both = result("lockstep");
    EXPECT_EQ(tlm["placement"], rtl["placement"]);
    EXPECT_EQ(rtl["placement"], both["placement"]);
    EXPECT_EQ(rtl["promotion"], both["promotion"]);
    EXPECT_GT(rtl["index"]["engine_requests"], 100);
    EXPECT_EQ(rtl["index"]["engine_matched"], rtl["index"]["engine_requests"]);
    EXPECT_EQ(both["index"]["lockstep_matched"], rtl["index"]["engine_requests"]);
    EXPECT_GE(both["index"]["lockstep_within_a_cycle"].get<double>(), 0.99);
    EXPECT_NEAR(both["index"]["lockstep_latency_ratio"].get<double>(), 1.0, 0.02);
}

TEST_F(RtlCommandTest, WavesAreWrittenWhereRtlRuns) {
    for (const char* implementation : {"rtl", "lockstep"}) {
        const Outcome outcome = run(implementation, {"--waves", "w.fst:0 s,20 s"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_GT(fs::file_size(m_folder / "w.fst"), 10'000U);
        fs::remove(m_folder / "w.fst");
    }
    const Outcome tlm = run("tlm", {"--waves", "w.fst"});
    EXPECT_EQ(tlm.exit_code, 2);
    EXPECT_NE(tlm.err.find("card.index.implementation"), std::string::npos) << tlm.err;
    EXPECT_EQ(run("rtl", {"--waves", "w.fst:2 s,1 s"}).exit_code, 2);
    EXPECT_FALSE(fs::exists(m_folder / "w.fst"));
}

}  // namespace
}  // namespace kvplane::test
