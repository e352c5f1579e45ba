// SPDX-License-Identifier: Apache-2.0
#include "explore/config.h"

#include <cstdlib>
#include <sstream>

#include "config_files.h"
#include "explore/config_report.h"
#include "explore/run_schema.h"
#include "tests/support/shared_data.h"

namespace kvplane::explore {
namespace {

using ConfigTest = ConfigFiles;

/// Every key and value of a RunConfig, read from the struct itself.
std::string dump(RunConfig run) {
    std::string out;
    const Table table = run_table(run);
    for (const Row& row : table.rows()) out += row.info.path + ": " + row.print() + "\n";
    return out;
}

int lines_that_differ(const std::string& a, const std::string& b) {
    std::istringstream lines_a(a);
    std::istringstream lines_b(b);
    int count = 0;
    for (std::string x, y; std::getline(lines_a, x) && std::getline(lines_b, y);) {
        count += x == y ? 0 : 1;
    }
    return count;
}

std::string effective(const LoadedConfig& config) {
    std::ostringstream out;
    config.settings.write_effective(out);
    return out.str();
}

TEST_F(ConfigTest, EmptyMappingIsAllDefaults) {
    const LoadedConfig config = load_text("{}\n");
    EXPECT_EQ(dump(config.run), dump(RunConfig{}));
    for (const Setting& setting : config.settings.all()) {
        EXPECT_EQ(setting.origin, "default") << setting.info.path;
        EXPECT_EQ(setting.value, setting.info.default_text);
    }
}

TEST_F(ConfigTest, EveryFileOfConfigsLoads) {
    int count = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(test::source_dir() / "configs")) {
        if (entry.path().extension() != ".yaml") continue;
        if (entry.path().parent_path().filename() == "hosts") continue;  // parts, see below
        SCOPED_TRACE(entry.path());
        EXPECT_NO_THROW((void)load(entry.path().string()));
        ++count;
    }
    for (const auto& entry :
         std::filesystem::directory_iterator(test::source_dir() / "configs" / "hosts")) {
        SCOPED_TRACE(entry.path());
        const std::vector<std::string> sets{"host.node=" + entry.path().string()};
        const LoadedConfig config = load_text("{}\n", sets);
        for (const Setting& setting : config.settings.all()) {
            if (!setting.info.path.starts_with("host.node.")) continue;
            EXPECT_NE(setting.origin, "default") << setting.info.path << " is left out";
        }
        EXPECT_EQ(config.run.node.name, entry.path().stem());
        ++count;
    }
    EXPECT_GE(count, 2);
}

TEST_F(ConfigTest, BaselineIsTheDefaults) {
    const LoadedConfig config = load((test::source_dir() / "configs/baseline.yaml").string());
    EXPECT_EQ(dump(config.run), dump(RunConfig{}));
    EXPECT_EQ(config.settings.hash(), load_text("{}\n").settings.hash());
}

TEST_F(ConfigTest, ValuesReachTheirFields) {
    const LoadedConfig config = load_text(
        "seed: 18446744073709551615\n"
        "block: {tokens: 32}\n"
        "workload: {trace: 'a b#c.jsonl', buckets: 8, bucket_offset: 8, warm_up: 10 min,\n"
        "  format: kvplane, zipf_sessions: {zipf_exponent: 0.75}}\n"
        "host: {batch: {sequences: 512}, demotion: on-evict, reserve: full, watermark: 2.5 %}\n"
        "driver: {mechanism: copy-engine, copy_engine: {window: 32 KiB, bandwidth: 50 GB/s}}\n"
        "card:\n"
        "  link: {rate: 16 GT/s, width: 8, skp: true, push_rate_limit: 20 GB/s}\n"
        "  completion: {fence: read_flush}\n"
        "  dram: {speed: 4800}\n"
        "  index: {node: 22 nm}\n");
    const RunConfig& run = config.run;
    EXPECT_EQ(run.seed, UINT64_MAX);
    EXPECT_EQ(run.block.tokens, 32U);
    EXPECT_EQ(run.workload.trace, FilePath{"a b#c.jsonl"});
    EXPECT_EQ(run.workload.bucket_offset, 8U);
    EXPECT_EQ(run.workload.format, workload::TraceFormat::kKvplane);
    EXPECT_EQ(run.workload.generated.zipf_sessions.zipf_exponent, 0.75);
    EXPECT_EQ(run.workload.warm_up, Time::from_s(600));
    EXPECT_EQ(run.serving.batch_sequences, 512U);
    EXPECT_EQ(run.serving.reserve, serving::Reserve::kFull);
    EXPECT_EQ(run.serving.watermark, Ratio{25'000});
    EXPECT_EQ(run.control.demotion, control::Demotion::kOnEvict);
    EXPECT_EQ(run.driver.mechanism, driver::Mechanism::kCopyEngine);
    EXPECT_EQ(run.driver.copy_engine.window, Bytes::from_kib(32));
    EXPECT_EQ(run.driver.copy_engine.bandwidth, Rate::from_gb_s(50));
    EXPECT_EQ(run.card.link.rate, TransferRate{16'000'000'000});
    EXPECT_EQ(run.card.link.width, 8U);
    EXPECT_TRUE(run.card.link.skp);
    EXPECT_EQ(run.card.link.push_rate_limit, Rate::from_gb_s(20));
    EXPECT_EQ(run.card.engine.fence, engine::Fence::kReadFlush);
    EXPECT_EQ(run.card.dram.speed, TransferRate{4'800'000'000});
    EXPECT_EQ(run.card.index.node, memory::SramNode::k22nm);
}

TEST_F(ConfigTest, OriginsNameFileAndLineOrSet) {
    write("node.yaml", "# a node\nfixed: 5 ms\n");
    const LoadedConfig config = load_text(
        "seed: 3\nhost:\n  node: node.yaml\ncard: {link:\n    {width: 8}}\n", {"block.tokens=32"});
    EXPECT_EQ(strip(config.settings.at("seed").origin), "config.yaml:1");
    EXPECT_EQ(strip(config.settings.at("host.node.fixed").origin), "node.yaml:2");
    EXPECT_EQ(strip(config.settings.at("card.link.width").origin), "config.yaml:5");
    EXPECT_EQ(config.settings.at("block.tokens").origin, "--set");
    EXPECT_EQ(config.settings.at("card.link.mps").origin, "default");
    EXPECT_THROW((void)config.settings.at("card.link.mpz"), InvariantError);
}

TEST_F(ConfigTest, SetsOverrideTheFileAndEachOther) {
    const LoadedConfig config =
        load_text("seed: 3\ndriver: {copy_engine: {window: 64 KiB}}\n",
                  {"seed=4", "seed=5", "driver.copy_engine.window=null", "workload.trace=a=b"});
    EXPECT_EQ(config.run.seed, 5U);
    EXPECT_EQ(config.run.driver.copy_engine.window, std::nullopt);
    EXPECT_EQ(config.run.workload.trace, FilePath{"a=b"});
}

TEST_F(ConfigTest, NodeIsAFileOrAMapping) {
    write("hosts/slow.yaml", "name: slow\nfixed: 8 ms\n");
    write("hosts/big.yaml", "name: big\nkv_budget: 1 TiB\n");
    EXPECT_EQ(load_text("host: {node: hosts/slow.yaml}\n").run.node.fixed, Time::from_ms(8));
    EXPECT_EQ(load_text("host: {node: {fixed: 9 ms}}\n").run.node.fixed, Time::from_ms(9));

    // Another node starts from the defaults, and single keys win wherever they stand.
    const RunConfig run =
        load_text("host: {node: hosts/slow.yaml}\n",
                  {"host.node.layers=90", "block.layers=90", "host.node=hosts/big.yaml"})
            .run;
    EXPECT_EQ(run.node.name, "big");
    EXPECT_EQ(run.node.fixed, gpu::NodeConfig{}.fixed);
    EXPECT_EQ(run.node.kv_budget, Bytes::from_gib(1024));
    EXPECT_EQ(run.node.layers, 90U);
}

TEST_F(ConfigTest, IncludedFilesComeFirst) {
    write("a.yaml", "seed: 1\nblock: {tokens: 32, head_dim: 64}\n");
    write("sub/b.yaml", "include: c.yaml\nseed: 2\n");
    write("sub/c.yaml", "seed: 3\ncard: {link: {width: 4}}\n");
    const LoadedConfig config = load_text("block: {tokens: 8}\ninclude: [a.yaml, sub/b.yaml]\n");
    EXPECT_EQ(config.run.seed, 2U);
    EXPECT_EQ(config.run.block.tokens, 8U);
    EXPECT_EQ(config.run.block.head_dim, 64U);
    EXPECT_EQ(config.run.card.link.width, 4U);
    EXPECT_EQ(strip(config.settings.at("block.head_dim").origin), "a.yaml:2");
    // The same file twice is no loop.
    EXPECT_EQ(load_text("include: [a.yaml, a.yaml]\n").run.seed, 1U);
}

TEST_F(ConfigTest, SharedFolderExpandsWhereFilesAreOpenedOnly) {
    const char* before = std::getenv("KVPLANE_SHARED");
    const std::string restore = before == nullptr ? "" : before;
    setenv("KVPLANE_SHARED", "/data/${KVPLANE_SHARED}", 1);
    const LoadedConfig config =
        load_text("workload: {trace: \"${KVPLANE_SHARED}/traces/t.jsonl\"}\n");
    const std::string hash = config.settings.hash();
    EXPECT_EQ(config.run.workload.trace->expanded(), "/data/${KVPLANE_SHARED}/traces/t.jsonl");
    unsetenv("KVPLANE_SHARED");
    EXPECT_EQ(config.run.workload.trace->expanded(), "../shared/traces/t.jsonl");
    EXPECT_EQ(
        load_text("workload: {trace: \"${KVPLANE_SHARED}/traces/t.jsonl\"}\n").settings.hash(),
        hash);
    if (before != nullptr) setenv("KVPLANE_SHARED", restore.c_str(), 1);
}

TEST_F(ConfigTest, ByteOrderMarkAndCrlfAreFine) {
    EXPECT_EQ(load_text("\xEF\xBB\xBFseed: 9\r\ntier: card\r\n").run.seed, 9U);
}

/// Each key, set to another legal value, changes its field and no other, its text, and the hash.
TEST_F(ConfigTest, EveryKeyCountsAndRoundTrips) {
    // With a trace, and with demotion on eviction, the keys that depend on them are free as well;
    // with a device, those that describe it.
    const std::string plain = "workload: {trace: a.jsonl}\nhost: {demotion: on-evict}\n";
    const std::string without = write("config.yaml", plain);
    const std::string with = write(
        "device.yaml", plain + "card: {dram: {preset: ddr5-5600b}, tier: {capacity: 1 GiB}}\n");
    const LoadedConfig base_without = load(without);
    const LoadedConfig base_with = load(with);
    int changed = 0;
    for (const Setting& unset : base_without.settings.all()) {
        SCOPED_TRACE(unset.info.path);
        // A device has its speed.
        const bool dram =
            unset.info.path.starts_with("card.dram.") && unset.info.path != "card.dram.speed";
        const std::string& config = dram ? with : without;
        const LoadedConfig& base = dram ? base_with : base_without;
        const Setting& setting = base.settings.at(unset.info.path);
        if (setting.info.path.starts_with("card.dram.timing.")) continue;  // a test of their own
        bool legal = false;
        std::vector<std::string> examples = setting.info.examples;
        if (setting.info.type == "integer" && setting.value != std::to_string(UINT64_MAX)) {
            examples.push_back(std::to_string(std::stoull(setting.value) + 1));
        }
        for (const std::string& example : examples) {
            if (example == setting.value) continue;
            const bool quoted = example.starts_with('"');
            const std::string text = quoted ? example.substr(1, example.size() - 2) : example;
            std::vector<std::string> sets{setting.info.path + "=" + text};
            // A block has the layers of the node: the two are set together.
            const bool layers = setting.info.path.ends_with(".layers");
            if (layers) sets = {"block.layers=" + text, "host.node.layers=" + text};
            if (setting.info.path == "card.dram.ecc_buffer") {
                sets.push_back("card.dram.ecc=inline");
            }
            try {
                const LoadedConfig other = load(config, sets);
                EXPECT_EQ(other.settings.at(setting.info.path).value, example);
                const int lines = lines_that_differ(dump(other.run), dump(base.run));
                if (dram) {
                    EXPECT_GE(lines, 1) << "numbers of the burst model follow";
                } else {
                    EXPECT_EQ(lines, layers ? 2 : 1);
                }
                EXPECT_NE(other.settings.hash(), base.settings.hash());
                const LoadedConfig again = load(write("again.yaml", effective(other)));
                EXPECT_EQ(dump(again.run), dump(other.run));
                EXPECT_EQ(again.settings.hash(), other.settings.hash());
                legal = true;
            } catch (const UserError& e) {
                // Ends of a range may break a rule over several keys, which names this one.
                EXPECT_TRUE(std::string(e.what()).starts_with("--set: " + setting.info.path))
                    << e.what();
            }
        }
        const bool has_choice =
            setting.info.examples.size() > 1 || setting.info.examples.front() != setting.value;
        EXPECT_EQ(legal, has_choice);
        changed += legal ? 1 : 0;
    }
    EXPECT_GT(changed, 60);
}

TEST_F(ConfigTest, EveryTimingOfTheDramCounts) {
    const std::string config = write("config.yaml", "card: {dram: {preset: ddr5-5600b}}\n");
    const LoadedConfig base = load(config);
    for (const memory::DramTimingField& field : memory::kDramTimingFields) {
        SCOPED_TRACE(field.name);
        const memory::Cycle before = base.run.card.lines.timing.*field.field;
        const std::string path = std::string("card.dram.timing.") + field.name;
        // Longer, but for data of a line, which are what they are.
        const bool fixed = std::string_view(field.name) == "burst";
        std::vector<std::string> sets{path + "=" + std::to_string(before + 1)};
        for (const char* part : {"rp", "ras"}) {
            if (std::string_view(field.name) != part) continue;
            sets.push_back("card.dram.timing.rc=" +
                           std::to_string(base.run.card.lines.timing.rc + 1));
        }
        if (fixed) {
            EXPECT_THROW((void)load(config, sets), UserError);
            continue;
        }
        const LoadedConfig other = load(config, sets);
        EXPECT_EQ(other.run.card.lines.timing.*field.field, before + 1);
        const LoadedConfig again = load(write("again.yaml", effective(other)));
        EXPECT_EQ(again.run.card.lines.timing, other.run.card.lines.timing);
        EXPECT_EQ(again.settings.hash(), other.settings.hash());
    }
}

TEST_F(ConfigTest, ABurstDramFollowsItsDevice) {
    const LoadedConfig base = load_text("{}\n");
    const LoadedConfig slow = load_text("card: {dram: {preset: ddr4-1866m}}\n");
    EXPECT_EQ(slow.run.card.dram.speed, timing_of(memory::DramPreset::kDdr4At1866M).speed);
    EXPECT_EQ(slow.run.card.dram.subchannels, 1U);
    EXPECT_NE(slow.run.card.dram.service, base.run.card.dram.service);
    EXPECT_EQ(slow.settings.at("card.dram.service").origin, "card.dram.preset");
    const LoadedConfig given = load_text("card: {dram: {preset: ddr4-1866m, service: 70 %}}\n");
    EXPECT_EQ(given.run.card.dram.service, Ratio{700'000});
}

TEST_F(ConfigTest, WhatContradictsTheDeviceIsRefused) {
    const auto refused = [&](const std::string& dram) {
        try {
            (void)load_text("card: {dram: {" + dram + "}}\n");
        } catch (const UserError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(refused("preset: ddr5-4800b, speed: 4800"), "");
    EXPECT_NE(refused("preset: ddr5-4800b, speed: 5600").find("card.dram.speed"),
              std::string::npos);
    EXPECT_EQ(refused("preset: ddr5-4800b, ecc: inline, ecc_buffer: 128"), "");
    for (const char* ecc : {"none", "sideband"}) {
        const std::string message =
            refused(std::string("preset: ddr5-4800b, ecc_buffer: 128, ecc: ") + ecc);
        EXPECT_NE(message.find("card.dram.ecc_buffer"), std::string::npos) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos);
    }
    for (const char* timing : {"rcd: 90, refi1: 900", "command_long: 10000", "rc: 1000000"}) {
        const std::string message =
            refused(std::string("preset: ddr5-5600b, timing: {") + timing + "}");
        EXPECT_NE(message.find("card.dram.timing."), std::string::npos) << message;
    }
}

TEST_F(ConfigTest, EffectiveConfigLoadsAgain) {
    const LoadedConfig config = load_text("seed: 3\n", {R"(workload.trace=a "b" \c # d: e)"});
    const std::string text = effective(config);
    EXPECT_NE(text.find("seed: 3"), std::string::npos);
    EXPECT_NE(text.find("config.yaml:1\n"), std::string::npos);
    EXPECT_NE(text.find("# --set\n"), std::string::npos);
    EXPECT_NE(text.find("# default\n"), std::string::npos);
    const LoadedConfig again = load_text(text);
    EXPECT_EQ(dump(again.run), dump(config.run));
    EXPECT_EQ(again.settings.hash(), config.settings.hash());
}

TEST_F(ConfigTest, HashSeesValuesAndNotHowTheyAreWritten) {
    const std::string hash = load_text("card: {flight: 1 us, staging: 1 MiB}\n").settings.hash();
    EXPECT_EQ(hash.size(), 16U);
    EXPECT_EQ(load_text("card:\n  staging: 1024KiB # same\n  flight: 1000 ns\n").settings.hash(),
              hash);
    EXPECT_NE(load_text("card: {flight: 1 us}\n").settings.hash(), hash);
}

TEST_F(ConfigTest, NumbersOfTheUserAreAssumedUnlessFree) {
    const Settings settings =
        load_text("card: {flight: 400 ns, dram: {channels: 2}}\ndriver: {submit: 110 ns}\n")
            .settings;
    EXPECT_EQ(settings.at("card.flight").number_class(), NumberClass::kAssumed);
    EXPECT_EQ(settings.at("card.dram.channels").number_class(), NumberClass::kChosen);
    EXPECT_EQ(settings.at("driver.submit").number_class(), NumberClass::kMeasured);
}

TEST_F(ConfigTest, ReportsHaveARowForEveryKey) {
    RunConfig run;
    const Table table = run_table(run);
    const auto schema = schema_json(table);
    EXPECT_EQ(schema["schema"], "kvplane.config/1");
    ASSERT_EQ(schema["rows"].size(), table.rows().size());
    for (const auto& row : schema["rows"]) {
        for (const char* column :
             {"key", "type", "default", "range", "number_class", "source", "description"}) {
            EXPECT_FALSE(row[column].get<std::string>().empty()) << row["key"] << column;
        }
        const bool assumed = row["number_class"] == "assumed";
        const std::string source = row["source"];
        EXPECT_EQ(assumed, source.find("assumed") != std::string::npos) << row["key"];
    }
    const Settings settings = load_text("{}\n", {"card.flight=1 us"}).settings;
    const auto shown = settings_json(settings);
    ASSERT_EQ(shown["rows"].size(), table.rows().size());
    std::ostringstream text;
    write_settings(text, settings);
    write_schema(text, table);
    for (const Row& row : table.rows()) {
        EXPECT_NE(text.str().find(row.info.path), std::string::npos);
        EXPECT_NE(text.str().find(row.info.about.description), std::string::npos);
    }
    EXPECT_NE(text.str().find("set in place of 370 ns"), std::string::npos);
}

}  // namespace
}  // namespace kvplane::explore
