// SPDX-License-Identifier: Apache-2.0
/// `kvplane run` and `kvplane config` as their users meet them: exit codes, messages, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "command.h"
#include "tests/support/shared_data.h"

namespace kvplane::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunCommandTest : public CommandTest {
protected:
    /// Runs the baseline with `turns` turns.
    static Arguments run(const Arguments& more, int turns = 30) {
        Arguments arguments{"run", baseline(), "--set",
                            "workload.zipf_sessions.turns=" + std::to_string(turns)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    /// One that takes seconds.
    static Arguments long_run() {
        return run({"--out", "there", "--set", "workload.zipf_sessions.max_context=16384"}, 4'000);
    }
    static std::string baseline() { return (source_dir() / "configs/baseline.yaml").string(); }

    nlohmann::json result(const std::string& out) {
        return nlohmann::json::parse(read_text(m_folder / out / "result.json"));
    }
    /// result.json without the lines that may differ.
    std::string comparable(const std::string& out) {
        std::istringstream lines(read_text(m_folder / out / "result.json"));
        std::string kept;
        int dropped = 0;
        for (std::string line; std::getline(lines, line);) {
            const bool cost = line.find("\"wall_s\":") != std::string::npos ||
                              line.find("\"peak_rss_mib\":") != std::string::npos;
            dropped += cost ? 1 : 0;
            if (!cost) kept += line + "\n";
        }
        EXPECT_EQ(dropped, 2);
        return kept;
    }

    /// The user's mistake: exit 2, one line that says `what`, and no folder "out" left behind.
    void expect_mistake(const Arguments& arguments, const std::string& what) {
        SCOPED_TRACE(testing::PrintToString(arguments));
        const Outcome outcome = kvplane(arguments);
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_THAT(outcome.err, testing::StartsWith("kvplane: "));
        EXPECT_THAT(outcome.err, HasSubstr(what));
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_FALSE(fs::exists(m_folder / "out"));
    }
};

TEST_F(RunCommandTest, MistakesInAConfig) {
    const auto file = [&](const std::string& text) {
        return Arguments{"run", write("bad.yaml", text), "--out", "out"};
    };
    expect_mistake(file("seed: 1\ncard: {link: {widht: 8}}\n"), "bad.yaml:2: card.link.widht");
    expect_mistake(file("seed: 1\ncard: {link: {widht: 8}}\n"), "did you mean 'card.link.width'?");
    expect_mistake(file("seed: 1\nhost: {}\nseed: 2\n"), "bad.yaml:3: ");
    expect_mistake(file("driver:\n  submit: 25 KiB\n"), "bad.yaml:2: driver.submit: '25 KiB'");
    expect_mistake(file("driver: {submit: 25}\n"), "bad.yaml:1: driver.submit: '25'");
    expect_mistake(file("block: {tokens: 8192}\n"), "bad.yaml:1: block.tokens: a block of 2.5 GiB");
    expect_mistake(file("card:\n  tier: {capacity: 1 MiB}\n"), "bad.yaml:2: card.tier.capacity");
    expect_mistake(file("host: {node: nodes/none.yaml}\n"), "bad.yaml:1: host.node");
    expect_mistake(file("seed: [\n"), "bad.yaml:");
    expect_mistake({"run", "missing.yaml", "--out", "out"}, "missing.yaml");
}

TEST_F(RunCommandTest, MistakesInSets) {
    const auto set = [](const std::string& text) { return run({"--out", "out", "--set", text}); };
    expect_mistake(set("nonsense.key=1"), "--set: nonsense.key: unknown key");
    expect_mistake(set("seed"), "--set: 'seed' must have the form path=value");
    expect_mistake(set("=3"), "--set: '=3' must have the form path=value");
    expect_mistake(set("seed=-1"), "--set: seed: '-1'");
    expect_mistake(set("card.link.width=3"), "--set: card.link.width: '3'");
    expect_mistake(set("driver.mechanism=telepathy"), "--set: driver.mechanism");
    expect_mistake(set("host.node.kv_budget=1 MiB"), "--set: host.node.kv_budget");
    expect_mistake(set("card.dma.read_size=1 KiB"), "--set: card.dma.read_size");
}

TEST_F(RunCommandTest, MistakesInATrace) {
    const auto trace = [&](const std::string& name) {
        return run({"--out", "out", "--set", "workload.trace=" + name});
    };
    const std::string good =
        R"({"timestamp": 0, "input_length": 20, "output_length": 5, "hash_ids": [1]})"
        "\n";
    expect_mistake(trace("none.jsonl"), "none.jsonl");
    expect_mistake(trace(write("empty.jsonl", "")), "empty.jsonl");
    expect_mistake(trace(write("cut.jsonl", good + "{\"timestamp\": 27, \"inp\n")),
                   "cut.jsonl:2: ");
    expect_mistake(trace(write("negative.jsonl", good + good + "\n" +
                                                     R"({"timestamp": 9, "input_length": -3,)"
                                                     R"( "output_length": 5, "hash_ids": [1]})")),
                   "negative.jsonl:4: ");
    expect_mistake(
        trace(write("short.jsonl",
                    R"({"timestamp": 0, "input_length": 999, "output_length": 5, "hash_ids": [1]})"
                    "\n")),
        "short.jsonl:1: ");
    expect_mistake(trace("."), "");
}

TEST_F(RunCommandTest, MistakesOnTheCommandLine) {
    expect_mistake({}, "subcommand");
    expect_mistake({"rnu"}, "there is no command 'rnu'; did you mean 'run'?");
    expect_mistake({"telepathy"}, "the commands are run");
    expect_mistake({"run"}, "config");
    expect_mistake({"config"}, "subcommand");
    expect_mistake({"config", "shwo"}, "did you mean 'show'?");
    expect_mistake({"run", baseline(), "--nonsense"}, "--nonsense");
    expect_mistake({"run", baseline(), "other.yaml"}, "other.yaml");
    expect_mistake({"run", baseline(), "--set"}, "--set");
    expect_mistake({"run", baseline(), "--out"}, "--out");
    expect_mistake({"config", "check", write("bad.yaml", "seeed: 1\n")}, "bad.yaml:1: seeed");
}

TEST_F(RunCommandTest, UnwritableOutIsAMistake) {
    write("file", "in the way");
    expect_mistake(run({"--out", "file"}), "file");
    expect_mistake(run({"--out", "file/below"}), "file/below");
    if (fs::exists("/proc/self")) expect_mistake(run({"--out", "/proc"}), "/proc");
    EXPECT_EQ(read_text(m_folder / "file"), "in the way");
}

TEST_F(RunCommandTest, HelpIsNoMistake) {
    for (const Arguments& arguments : {Arguments{"--help"}, Arguments{"run", "--help"}}) {
        const Outcome outcome = kvplane(arguments);
        EXPECT_EQ(outcome.exit_code, 0);
        EXPECT_THAT(outcome.out, HasSubstr("Usage"));
        EXPECT_EQ(outcome.err, "");
    }
}

TEST_F(RunCommandTest, SummarySaysWhereTheResultIs) {
    const Outcome outcome = kvplane(run({"--out", "there/below"}));
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");  // piped: no progress
    EXPECT_THAT(outcome.out, HasSubstr("30 requests served"));
    EXPECT_THAT(outcome.out, HasSubstr("there/below/result.json\n"));
    const nlohmann::json written = result("there/below");
    EXPECT_EQ(written["schema"], "kvplane.result/1");
    EXPECT_EQ(written["serving"]["requests"], 30);
    EXPECT_EQ(written["meta"]["valid"], true);
    int files = 0;
    for (const auto& entry : fs::directory_iterator(m_folder / "there/below")) {
        const std::string name = entry.path().filename();
        EXPECT_TRUE(name == "result.json" || name == "config.yaml") << name;
        ++files;
    }
    EXPECT_EQ(files, 2);
}

TEST_F(RunCommandTest, JsonPrintsOneObject) {
    const Outcome outcome = kvplane(run({"--out", "there", "--json", "--check"}));
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
    const auto object = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(object["schema"], "kvplane.run/1");
    ASSERT_EQ(object["rows"].size(), 1U);
    const auto& row = object["rows"][0];
    for (const auto& [key, value] : row.items()) EXPECT_TRUE(value.is_primitive()) << key;
    const auto flat = result("there").flatten();
    EXPECT_EQ(row.size(), flat.size() - 1);  // without the schema
    EXPECT_EQ(row["promotion.latency_us.p99"], flat["/promotion/latency_us/p99"]);
}

TEST_F(RunCommandTest, DefaultFolderIsNamedAfterConfigAndHash) {
    EXPECT_EQ(kvplane(run({})).exit_code, 0);
    ASSERT_TRUE(fs::exists(m_folder / "out"));
    const fs::path made = fs::directory_iterator(m_folder / "out")->path();
    const auto written = result("out/" + made.filename().string());
    EXPECT_EQ(made.filename(), "baseline-" + written["meta"]["config_hash"].get<std::string>());
    // Another config, another folder.
    EXPECT_EQ(kvplane(run({"--set", "seed=2"})).exit_code, 0);
    EXPECT_EQ(std::distance(fs::directory_iterator(m_folder / "out"), {}), 2);
}

TEST_F(RunCommandTest, ExistingResultIsReplaced) {
    fs::create_directories(m_folder / "there");
    write("there/result.json", std::string(1 << 20, 'x'));
    write("there/config.yaml", std::string(1 << 20, 'x'));
    EXPECT_EQ(kvplane(run({"--out", "there"})).exit_code, 0);
    EXPECT_EQ(result("there")["serving"]["requests"], 30);
    EXPECT_EQ(kvplane(run({"--out", "there"}, 20)).exit_code, 0);
    EXPECT_EQ(result("there")["serving"]["requests"], 20);
    EXPECT_THAT(read_text(m_folder / "there/config.yaml"), HasSubstr("turns: 20 "));
}

TEST_F(RunCommandTest, SameSeedSameBytes) {
    for (const std::string mechanism : {"card", "copy-engine"}) {
        const Arguments set{"--set", "driver.mechanism=" + mechanism, "--set",
                            "host.node.kv_budget=16 GiB"};
        const auto into = [&](const std::string& out, const Arguments& more) {
            Arguments arguments = run({"--out", out}, 100);
            arguments.insert(arguments.end(), set.begin(), set.end());
            arguments.insert(arguments.end(), more.begin(), more.end());
            EXPECT_EQ(kvplane(arguments).exit_code, 0);
        };
        into("a", {});
        into("b", {});
        into("c", {"--set", "seed=2"});
        EXPECT_GT(result("a")["promotion"]["count"], 0);
        EXPECT_EQ(comparable("a"), comparable("b"));
        EXPECT_EQ(read_text(m_folder / "a/config.yaml"), read_text(m_folder / "b/config.yaml"));
        EXPECT_NE(result("a")["placement"], result("c")["placement"]);
        EXPECT_NE(result("a")["serving"], result("c")["serving"]);
    }
}

TEST_F(RunCommandTest, EffectiveConfigGivesTheSameResult) {
    EXPECT_EQ(kvplane(run({"--out", "a", "--set", "host.demotion=on-evict", "--set",
                           "card.link.width=8", "--set", "workload.warm_up=1.5 s"}))
                  .exit_code,
              0);
    EXPECT_EQ(kvplane({"run", "a/config.yaml", "--out", "b"}).exit_code, 0);
    EXPECT_EQ(result("a")["meta"]["config_hash"], result("b")["meta"]["config_hash"]);
    EXPECT_EQ(comparable("a"), comparable("b"));
}

TEST_F(RunCommandTest, KilledRunLeavesNoHalfFile) {
    // The folder is made when the workload is there.
    Command command(m_folder, long_run());
    while (!fs::exists(m_folder / "there")) usleep(1'000);
    usleep(20'000);
    command.kill();
    EXPECT_TRUE(fs::is_empty(m_folder / "there"));
}

TEST_F(RunCommandTest, KilledRunLeavesTheOldResult) {
    EXPECT_EQ(kvplane(run({"--out", "there"})).exit_code, 0);
    const std::string old = read_text(m_folder / "there/result.json");
    Command command(m_folder, long_run());
    usleep(100'000);
    command.kill();
    EXPECT_EQ(read_text(m_folder / "there/result.json"), old);
    EXPECT_THAT(read_text(m_folder / "there/config.yaml"), HasSubstr("turns: 30 "));
}

TEST_F(RunCommandTest, ChecksChangeNothing) {
    ASSERT_EQ(kvplane(run({"--out", "a"})).exit_code, 0);
    ASSERT_EQ(kvplane(run({"--out", "b", "--check", "--events", "e.json"})).exit_code, 0);
    EXPECT_EQ(comparable("a"), comparable("b"));
}

/// Small enough to look at all of it: every span has its place, none lies over another.
TEST_F(RunCommandTest, EventsAreATraceOfTheCard) {
    const Arguments busy =
        run({"--out", "there", "--events", "e.json", "--set", "workload.zipf_sessions.sessions=8",
             "--set", "host.node.kv_budget=10 GiB"},
            60);
    ASSERT_EQ(kvplane(busy).exit_code, 0);
    const nlohmann::json trace = nlohmann::json::parse(read_text(m_folder / "e.json"));
    std::map<int, std::string> names;
    std::map<int, std::vector<std::pair<double, double>>> spans;
    for (const auto& event : trace["traceEvents"]) {
        if (event["name"] == "thread_name") {
            names[event["tid"]] = event["args"]["name"];
        } else if (event["ph"] == "X") {
            spans[event["tid"]].emplace_back(event["ts"], event["dur"]);
        }
    }
    std::map<std::string, std::size_t> count;
    for (auto& [tid, of] : spans) {
        ASSERT_TRUE(names.contains(tid));
        std::sort(of.begin(), of.end());
        for (std::size_t i = 0; i < of.size(); ++i) {
            EXPECT_GT(of[i].second, 0);
            // Microseconds as doubles.
            if (i == 0) continue;
            EXPECT_GE(of[i].first + 1e-3, of[i - 1].first + of[i - 1].second);
        }
        count[names[tid].substr(0, names[tid].find_last_not_of("0123456789 ") + 1)] += of.size();
    }
    const auto placement = result("there")["placement"];
    EXPECT_EQ(count["uplink"], placement["promotions"]);
    EXPECT_EQ(count["downlink"], placement["demotions"]);
    EXPECT_GT(count["uplink"], 0U);
    EXPECT_EQ(count["DRAM"], count["uplink"] + count["downlink"]);
    EXPECT_EQ(count["lanes"], count["DRAM"]);
    EXPECT_EQ(count["index lookup"], count["DRAM"]);
    EXPECT_EQ(count["record"], count["uplink"]);
    EXPECT_EQ(count["submission"], count["completion"]);
    EXPECT_EQ(count["submission"], count["fetch"]);
    EXPECT_GE(count["fetch"], count["commit"]);
    EXPECT_EQ(count["fence"], 0U) << "a flag in band takes no time";
    // One job drains at a time.
    EXPECT_EQ(std::count_if(names.begin(), names.end(),
                            [](const auto& name) { return name.second.starts_with("uplink"); }),
              1);
}

TEST_F(RunCommandTest, EventsOfAWindow) {
    const auto spans = [&](const std::string& option) {
        EXPECT_EQ(kvplane(run({"--out", "there", "--events", option})).exit_code, 0);
        std::vector<std::pair<double, double>> all;
        const nlohmann::json trace = nlohmann::json::parse(read_text(m_folder / "e.json"));
        for (const auto& event : trace["traceEvents"]) {
            if (event["ph"] == "X") all.emplace_back(event["ts"], event["dur"]);
        }
        return all;
    };
    const auto all = spans("e.json");
    const auto some = spans("e.json:5 s,9 s");
    EXPECT_GT(some.size(), 0U);
    EXPECT_LT(some.size(), all.size());
    for (const auto& [from, length] : some) {
        EXPECT_LT(from, 9e6);
        EXPECT_GE(from + length, 5e6);
    }
}

TEST_F(RunCommandTest, KilledRunLeavesNoHalfEvents) {
    Arguments arguments = long_run();
    arguments.insert(arguments.end(), {"--events", "e.json"});
    Command command(m_folder, arguments);
    while (!fs::exists(m_folder / "there")) usleep(1'000);
    usleep(50'000);
    command.kill();
    EXPECT_FALSE(fs::exists(m_folder / "e.json"));
}

TEST_F(RunCommandTest, MistakesInEvents) {
    const auto with = [](const std::string& events, Arguments more = {}) {
        Arguments arguments{"run", baseline(), "--out", "there", "--events", events};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    expect_mistake(with("e.json", {"--set", "driver.mechanism=copy-engine"}),
                   "driver.mechanism: --events is of intents to the card");
    expect_mistake(with("e.json:2 s,1 s"), "--events e.json:2 s,1 s: the window ends before");
    expect_mistake(with("e.json:2 s"), "should be FILE or FILE:from,to");
    expect_mistake(with("none/e.json"), "none/e.json: cannot be written");
    EXPECT_FALSE(fs::exists(m_folder / "e.json"));
}

TEST_F(RunCommandTest, InfeasibleRequestsAreReportedAndTheRestIsServed) {
    const Outcome outcome =
        kvplane(run({"--out", "there", "--set", "host.node.kv_budget=2 GiB"}, 60));
    EXPECT_EQ(outcome.exit_code, 0);
    const auto serving = result("there")["serving"];
    EXPECT_GT(serving["infeasible"], 0);
    EXPECT_GT(serving["requests"], 0);
    EXPECT_EQ(serving["infeasible"].get<int>() + serving["requests"].get<int>(), 60);
    const std::string counted = std::to_string(serving["infeasible"].get<int>());
    EXPECT_THAT(outcome.err, HasSubstr(counted + " of 60 requests are infeasible"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    EXPECT_THAT(outcome.out, HasSubstr(counted + " requests are infeasible"));
    // A budget of one block serves nobody, and says so.
    const Outcome none = kvplane(run({"--out", "none", "--set", "host.node.kv_budget=5 MiB"}, 60));
    EXPECT_EQ(none.exit_code, 0);
    EXPECT_EQ(result("none")["serving"]["infeasible"], 60);
}

TEST_F(RunCommandTest, ReplaysATrace) {
    std::string text;
    for (int i = 0; i < 4; ++i) {
        text += R"({"timestamp": )" + std::to_string(3'000 * i) +
                R"(, "input_length": 1000, "output_length": 5, "hash_ids": [7, 8]})" + "\r\n\n";
    }
    const Arguments trace{"--out", "there", "--set", "workload.trace=" + write("t.jsonl", text)};
    EXPECT_EQ(kvplane(run(trace)).exit_code, 0);
    const auto written = result("there");
    EXPECT_EQ(written["serving"]["requests"], 4);
    EXPECT_EQ(written["placement"]["incarnations"], 1000 / 16);
    EXPECT_EQ(written["placement"]["hits"], 3 * (1000 / 16));
}

TEST_F(RunCommandTest, ConfigCommandsWork) {
    const Outcome check = kvplane({"config", "check", baseline()});
    EXPECT_EQ(check.exit_code, 0);
    EXPECT_EQ(check.out, baseline() + ": sound\n");
    EXPECT_EQ(check.err, "");
    const Outcome show = kvplane({"config", "show", baseline(), "--set", "card.flight=400 ns"});
    EXPECT_EQ(show.exit_code, 0);
    EXPECT_THAT(show.out, testing::ContainsRegex("card\\.flight +400 ns +--set +assumed"));
    const auto rows = [&](const Arguments& arguments) {
        const Outcome outcome = kvplane(arguments);
        EXPECT_EQ(outcome.exit_code, 0);
        const auto object = nlohmann::json::parse(outcome.out);
        EXPECT_EQ(object["schema"], "kvplane.config/1");
        return object["rows"].size();
    };
    EXPECT_GT(rows({"config", "schema", "--json"}), 80U);
    EXPECT_EQ(rows({"config", "schema", "--json"}), rows({"config", "show", baseline(), "--json"}));
    const Outcome schema = kvplane({"config", "schema"});
    EXPECT_EQ(schema.exit_code, 0);
    EXPECT_THAT(schema.out, HasSubstr("card.flight: time (ps, ns, us, ms, s, min, h)\n"));
}

}  // namespace
}  // namespace kvplane::test
