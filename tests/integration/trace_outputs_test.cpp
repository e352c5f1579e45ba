// SPDX-License-Identifier: Apache-2.0
/// What `kvplane run` writes while it runs (--intents, --events), and `kvplane trace intents`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "command.h"
#include "tests/support/shared_data.h"

namespace kvplane::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TraceOutputsTest : public CommandTest {
protected:
    static Arguments run(const Arguments& more, int turns = 30) {
        Arguments arguments{"run",   (source_dir() / "configs/baseline.yaml").string(),
                            "--out", "there",
                            "--set", "workload.zipf_sessions.turns=" + std::to_string(turns)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    /// Exit 2, one line that says `what`, and no folder left behind.
    void expect_mistake(const Arguments& arguments, const std::string& what) {
        SCOPED_TRACE(testing::PrintToString(arguments));
        const Outcome outcome = kvplane(arguments);
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_THAT(outcome.err, testing::StartsWith("kvplane: "));
        EXPECT_THAT(outcome.err, HasSubstr(what));
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_FALSE(fs::exists(m_folder / "there"));
    }
    nlohmann::json intents(const std::string& file) {
        const Outcome outcome = kvplane({"trace", "intents", file, "--json"});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out)["rows"];
    }
    nlohmann::json result() {
        return nlohmann::json::parse(read_text(m_folder / "there/result.json"));
    }
    /// Two tenants in turns, their prompts from a few roots each.
    std::string two_tenants() {
        std::string text = "{\"format\": \"kvplane-trace/1\", \"tokens_per_id\": 512}\n";
        for (int i = 0; i < 60; ++i) {
            const int root = i % 6;
            text += R"({"timestamp_ns": )" + std::to_string(i * 200'000'000LL) +
                    R"(, "input_length": 2048, "output_length": 8, "tenant": )" +
                    std::to_string(1 + root % 2) + R"(, "ids": [)" + std::to_string(4 * root) +
                    ", " + std::to_string(4 * root + 1) + ", " + std::to_string(4 * root + 2) +
                    ", " + std::to_string(4 * root + 3) + "]}\n";
        }
        return write("two.jsonl", text);
    }
};

TEST_F(TraceOutputsTest, AFullDiskEndsTheRunWithOneLine) {
    const Arguments longer{"--set", "workload.zipf_sessions.sessions=8", "--set",
                           "host.node.kv_budget=10 GiB"};
    for (const std::string option : {"--events", "--intents"}) {
        for (const int turns : {5, 400}) {  // at the end, and on the way
            Arguments arguments{option, "/dev/full"};
            arguments.insert(arguments.end(), longer.begin(), longer.end());
            expect_mistake(run(arguments, turns), "/dev/full: cannot be written: No space left");
        }
    }
}

TEST_F(TraceOutputsTest, OutputsAreTriedBeforeTheRun) {
    for (const std::string option : {"--events", "--intents"}) {
        expect_mistake(run({option, "none/x"}), "none/x: cannot be written");
        expect_mistake(run({option, "there/none/x"}), "there/none/x: cannot be written");
    }
    EXPECT_EQ(kvplane(run({"--events", "there/e.json", "--intents", "there/i.bin"})).exit_code, 0);
    EXPECT_TRUE(fs::exists(m_folder / "there/e.json"));
    EXPECT_TRUE(fs::exists(m_folder / "there/i.bin"));
    // A folder that was there stays.
    fs::remove_all(m_folder / "there");
    fs::create_directories(m_folder / "there");
    EXPECT_EQ(kvplane(run({"--events", "none/x"})).exit_code, 2);
    EXPECT_TRUE(fs::exists(m_folder / "there"));
}

TEST_F(TraceOutputsTest, NoOutputTakesThePlaceOfAnotherOrOfAnInput) {
    const auto whole = [this](const std::string& file) {
        return fs::weakly_canonical(m_folder / file).string() + " too";
    };
    const std::string config = write("c.yaml", "seed: 1\n");
    expect_mistake(run({"--events", "x", "--intents", "./x"}), "is the file of --intents");
    expect_mistake({"run", config, "--out", "there", "--intents", "c.yaml"},
                   "--intents c.yaml is the file of the config " + whole(config));
    expect_mistake({"run", config, "--out", "there", "--events",
                    "../" + m_folder.filename().string() + "/c.yaml:0 s,1 s"},
                   "is the file of the config " + whole(config));
    const std::string part = write("part.yaml", "seed: 1\n");
    const std::string all = write("config.yaml", "include: part.yaml\n");
    expect_mistake({"run", all, "--out", "there", "--intents", part},
                   "is the file of the config " + whole(part));
    expect_mistake({"run", all, "--out", "."},
                   "config.yaml of --out is the file of the config " + whole(all));
    EXPECT_EQ(read_text(m_folder / "config.yaml"), "include: part.yaml\n");
    expect_mistake(run({"--events", "there/result.json"}), "is the file of result.json of --out");
    const std::string trace = two_tenants();
    expect_mistake(run({"--set", "workload.trace=" + trace, "--intents", trace}),
                   "is the file of workload.trace too");
    EXPECT_EQ(read_text(m_folder / "c.yaml"), "seed: 1\n");
    EXPECT_EQ(kvplane(run({"--events", "/dev/null", "--intents", "/dev/null"})).exit_code, 0);
}

/// Every intent is posted, taken in, moved block by block, and answered, in this order.
TEST_F(TraceOutputsTest, IntentsEventsAndCompletionsAreAllThere) {
    ASSERT_EQ(kvplane(run({"--intents", "i.bin", "--set", "workload.zipf_sessions.sessions=8",
                           "--set", "host.node.kv_budget=10 GiB"},
                          60))
                  .exit_code,
              0);
    struct Life {
        std::uint64_t posted_ps = 0;
        std::size_t blocks = 0;
        std::size_t crossed = 0;
        bool moves = false;
        bool taken_in = false;
    };
    std::map<std::uint32_t, Life> open;
    std::map<std::string, std::size_t> crossed;
    std::map<std::uint32_t, std::string> opcodes;
    std::size_t completions = 0;
    for (const auto& row : intents("i.bin")) {
        const std::uint32_t id = row.value("id", 0U);
        if (row["record"] == "intent") {
            ASSERT_FALSE(open.contains(id));
            open[id] = {row["time_ps"].get<std::uint64_t>(), row["count"].get<std::size_t>(), 0,
                        row["opcode"] != "discard", false};
            opcodes[id] = row["opcode"].get<std::string>();
        } else if (row["record"] == "block") {
            ASSERT_TRUE(open.contains(id));
            EXPECT_LT(row["block"], open[id].blocks);
            EXPECT_EQ(row["key"].get<std::string>().size(), 32U);
            EXPECT_EQ(row["bytes"], 5'242'880);
        } else if (row["record"] == "completion") {
            ASSERT_TRUE(open.contains(id));
            EXPECT_TRUE(open[id].taken_in);
            EXPECT_EQ(row["status"], "ok");
            EXPECT_EQ(row["argument"], open[id].blocks);
            EXPECT_EQ(open[id].crossed, open[id].moves ? open[id].blocks : 0);
            EXPECT_GT(row["time_ps"], open[id].posted_ps);
            open.erase(id);
            ++completions;
        } else if (row["event"] == "taken-in") {
            open.at(id).taken_in = true;
        } else if (row["event"] == "crossed") {
            EXPECT_EQ(row["block"], open.at(id).crossed++);
            EXPECT_LT(row["from_ps"], row["until_ps"]);
            ++crossed[opcodes[id]];
        } else {
            EXPECT_EQ(row["event"], "doorbell");
        }
    }
    EXPECT_TRUE(open.empty());
    EXPECT_GT(completions, 10U);
    EXPECT_GT(crossed["promote"], 0U);
    EXPECT_EQ(crossed["promote"], result()["placement"]["promotions"]);
    EXPECT_EQ(crossed["demote"], result()["placement"]["demotions"]);
    const Outcome text = kvplane({"trace", "intents", "i.bin"});
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_THAT(text.out, HasSubstr("completion: ok, argument "));
    EXPECT_THAT(text.out, HasSubstr("taken in by the card"));
    EXPECT_THAT(text.out, HasSubstr("block 0 crossed, "));
    EXPECT_THAT(text.out, HasSubstr("doorbell, tail 1"));
}

/// What limits each tenant limits each, and two pass twice of it.
TEST_F(TraceOutputsTest, IntentsNameTheirRequestsTenant) {
    const Arguments trace{"--set", "workload.trace=" + two_tenants(), "--set",
                          "host.node.kv_budget=2 GiB"};
    const auto with = [&](const Arguments& more) {
        Arguments arguments = trace;
        arguments.insert(arguments.end(), more.begin(), more.end());
        EXPECT_EQ(kvplane(run(arguments)).exit_code, 0);
    };
    with({"--intents", "i.bin", "--check"});
    std::map<std::string, std::set<int>> tenant_of;  // by key
    std::set<int> tenants;
    std::map<std::uint32_t, int> by_id;
    for (const auto& row : intents("i.bin")) {
        if (row["record"] == "intent") {
            by_id[row["id"].get<std::uint32_t>()] = row["tenant"].get<int>();
            tenants.insert(row["tenant"].get<int>());
        } else if (row["record"] == "block") {
            tenant_of[row["key"].get<std::string>()].insert(by_id[row["id"].get<std::uint32_t>()]);
        }
    }
    EXPECT_EQ(tenants, (std::set<int>{1, 2}));
    EXPECT_FALSE(tenant_of.empty());
    for (const auto& [key, of] : tenant_of) EXPECT_EQ(of.size(), 1U) << key;
    const auto wait = [&](const Arguments& more) {
        with(more);
        return result()["promotion"]["latency_us"]["mean"].get<double>();
    };
    const double free = wait({});
    const double limited = wait({"--set", "card.scheduler.tenant_rate=300 MB/s"});
    const double as_one =
        wait({"--set", "card.scheduler.tenant_rate=300 MB/s", "--set", "workload.sharing=all"});
    EXPECT_GT(limited, 2 * free);
    EXPECT_GT(as_one, 0);
    with({"--check", "--set", "workload.sharing=all"});
}

}  // namespace
}  // namespace kvplane::test
