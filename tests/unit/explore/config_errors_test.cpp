// SPDX-License-Identifier: Apache-2.0
/// Every kind of mistake: one line that names place and key, and says what is wrong.
#include <gmock/gmock.h>

#include "config_files.h"

namespace kvplane::explore {
namespace {

using testing::StartsWith;

struct Mistake {
    std::string text;
    std::string message;
};

class ConfigErrors : public ConfigFiles {
protected:
    void expect(const std::vector<Mistake>& mistakes) {
        for (const Mistake& mistake : mistakes) {
            SCOPED_TRACE(mistake.text);
            EXPECT_EQ(error_of(mistake.text), mistake.message);
        }
    }
};

TEST_F(ConfigErrors, UnknownKeyNamesTheNearest) {
    expect({
        {"seed: 1\nsede: 2\n", "config.yaml:2: sede: unknown key; did you mean 'seed'?"},
        {"card:\n  link:\n    widht: 8\n",
         "config.yaml:3: card.link.widht: unknown key; did you mean 'card.link.width'?"},
        {"link: {width: 8}\n", "config.yaml:1: link: unknown key; did you mean 'card.link'?"},
        {"mps: 256 B\n", "config.yaml:1: mps: unknown key; did you mean 'card.link.mps'?"},
        {"block:\n  colour: red\n",
         "config.yaml:2: block.colour: unknown key; the keys here are tokens, layers, kv_heads, "
         "head_dim, bytes_per_value"},
        {"? [a]\n: 1\n", "config.yaml:1: a key must be a plain word"},
    });
}

TEST_F(ConfigErrors, DuplicateKeyNamesBothLines) {
    expect({
        {"seed: 1\nfidelity: burst\nseed: 2\n",
         "config.yaml:3: seed is given twice; it is on line 1 already"},
        {"block: {tokens: 16,\n  tokens: 16}\n",
         "config.yaml:2: tokens is given twice; it is on line 1 already"},
        {"card: {}\nseed: 1\ncard: {}\n",
         "config.yaml:3: card is given twice; it is on line 1 already"},
    });
}

TEST_F(ConfigErrors, RulesThatNeedWhatARunIsNotTold) {
    expect({
        {"control: {replacement: min}\n",
         "config.yaml:1: control.replacement: min needs the future, which "
         "only placement.policies can have"},
        {"control: {tier_eviction: queue-lru}\n",
         "config.yaml:1: control.tier_eviction: queue-lru is told of what "
         "waits by 'place' only; use it in placement.policies"},
        {"control: {store: intent}\nhost: {demotion: on-evict}\n",
         "config.yaml:1: control.store: 'intent' would store nothing: no request carries intents "
         "yet"},
    });
}

TEST_F(ConfigErrors, WrongType) {
    expect({
        {"seed: one\n", "config.yaml:1: seed: 'one' is not a whole number (digits only)"},
        {"seed: 1.0\n", "config.yaml:1: seed: '1.0' is not a whole number (digits only)"},
        {"seed: -1\n", "config.yaml:1: seed: '-1' is not a whole number (digits only)"},
        {"seed: 1e3\n", "config.yaml:1: seed: '1e3' is not a whole number (digits only)"},
        {"seed: 0x10\n", "config.yaml:1: seed: '0x10' is not a whole number (digits only)"},
        {"seed: \"7\"\n", "config.yaml:1: seed: \"7\" is text; write the number without quotes"},
        {"seed: 010\n",
         "config.yaml:1: seed: '010' starts with 0, which some read as octal; leave the 0 away"},
        {"seed: 18446744073709551616\n",
         "config.yaml:1: seed: '18446744073709551616' is too large; the largest is "
         "18446744073709551615"},
        {"workload: {zipf_sessions: {zipf_exponent: 1e0}}\n",
         "config.yaml:1: workload.zipf_sessions.zipf_exponent: '1e0' is not a number (digits, with "
         "or without a decimal point)"},
        {"workload: {zipf_sessions: {zipf_exponent: .nan}}\n",
         "config.yaml:1: workload.zipf_sessions.zipf_exponent: '.nan' is not a number (digits, "
         "with or without a decimal point)"},
        {"workload: {zipf_sessions: {zipf_exponent: 01.5}}\n",
         "config.yaml:1: workload.zipf_sessions.zipf_exponent: '01.5' starts with 0; leave it "
         "away"},
        {"seed: [1]\n", "config.yaml:1: seed: is a list; it needs an integer"},
        {"seed:\n", "config.yaml:1: seed: has no value; it needs an integer"},
        {"seed: {a: 1}\n", "config.yaml:1: seed: is a mapping; it needs an integer"},
        {"card:\n  flight: null\n", "config.yaml:2: card.flight: has no value; it needs a time"},
        {"card: {link: {skp: yes}}\n",
         "config.yaml:1: card.link.skp: 'yes' is not a flag; use true or false"},
        {"card: {link: {skp: True}}\n",
         "config.yaml:1: card.link.skp: 'True' is not a flag; use true or false"},
        {"card: {link: {skp: 'true'}}\n",
         "config.yaml:1: card.link.skp: 'true' is not a flag; use true or false"},
        {"block: 16\n",
         "config.yaml:1: block: must be a mapping with the keys tokens, layers, kv_heads, "
         "head_dim, bytes_per_value"},
        {"driver:\n",
         "config.yaml:1: driver: must be a mapping with the keys mechanism, queue, "
         "poll_interval, submit, ring_entries, copy_engine"},
    });
}

TEST_F(ConfigErrors, MissingOrWrongUnit) {
    expect({
        {"card:\n\n  flight: 370\n",
         "config.yaml:3: card.flight: '370' has no unit; use one of ps, ns, us, ms, s, min, h"},
        {"card: {flight: 370 MHz}\n",
         "config.yaml:1: card.flight: '370 MHz' has the unknown unit 'MHz'; use one of ps, ns, "
         "us, ms, s, min, h"},
        {"card: {staging: 512 KB}\n",
         "config.yaml:1: card.staging: '512 KB' has the unknown unit 'KB'; use one of B, KiB, "
         "MiB, GiB, TiB"},
        {"card: {flight: 0.0001 ns}\n",
         "config.yaml:1: card.flight: '0.0001 ns' is not a whole number of ps"},
        {"card: {link: {rate: 32}}\n",
         "config.yaml:1: card.link.rate: '32' has no unit; use one of T/s, MT/s, GT/s"},
        {"driver: {copy_engine: {bandwidth: 51.8 GB}}\n",
         "config.yaml:1: driver.copy_engine.bandwidth: '51.8 GB' has the unknown unit 'GB'; use "
         "one of B/s, MB/s, GB/s, TB/s"},
    });
}

TEST_F(ConfigErrors, OutOfRange) {
    expect({
        {"card: {flight: 0 s}\n",
         "config.yaml:1: card.flight: '0 s' is out of range; use 1 ps to 1 ms"},
        {"card: {link: {width: 3}}\n",
         "config.yaml:1: card.link.width: '3' is out of range; use 1, 2, 4, 8, 16"},
        {"card: {index: {slots: 3}}\n",
         "config.yaml:1: card.index.slots: '3' is out of range; use 2, 4, 8"},
        {"workload: {zipf_sessions: {zipf_exponent: 8.5}}\n",
         "config.yaml:1: workload.zipf_sessions.zipf_exponent: '8.5' is out of range; use 0 to 8"},
        {"card: {link: {mps: 384 B}}\n",
         "config.yaml:1: card.link.mps: '384 B' is out of range; use 64 B to 4 KiB, a power of "
         "two"},
        {"card: {index: {sram: 12 MiB}}\n",
         "config.yaml:1: card.index.sram: '12 MiB' is out of range; use 4 KiB to 256 MiB, a "
         "power of two"},
        {"host: {tensor_parallel: 8}\n",
         "config.yaml:1: host.tensor_parallel: '8' is out of range; use 1"},
        {"workload: {buckets: 1}\n",
         "config.yaml:1: workload.buckets: '1' is out of range; use 2 to 16"},
        {"block: {tokens: 4294967296}\n",
         "config.yaml:1: block.tokens: '4294967296' is too large; the largest is 4294967295"},
    });
}

TEST_F(ConfigErrors, ChoicesThatAreNotBuiltAreRefused) {
    expect({
        {"driver: {mechanism: sm-kernel}\n",
         "config.yaml:1: driver.mechanism: 'sm-kernel' is not available; use one of card, "
         "copy-engine"},
        {"driver: {mechanism: copy-engin}\n",
         "config.yaml:1: driver.mechanism: 'copy-engin' is not available; use one of card, "
         "copy-engine (did you mean 'copy-engine'?)"},
        {"fidelity: line\n", "config.yaml:1: fidelity: 'line' is not available; only burst is"},
        {"tier: host-dram\n", "config.yaml:1: tier: 'host-dram' is not available; only card is"},
        {"host: {load_mode: layerwise}\n",
         "config.yaml:1: host.load_mode: 'layerwise' is not available; only async is"},
        {"card: {codec: {default: lz4}}\n",
         "config.yaml:1: card.codec.default: 'lz4' is not available; only raw is"},
        {"driver: {queue: hmd}\n",
         "config.yaml:1: driver.queue: 'hmd' is not available; use one of host-memory, hdm, portal "
         "(did you mean 'hdm'?)"},
    });
}

TEST_F(ConfigErrors, RulesOverSeveralKeys) {
    expect({
        {"seed: 1\nblock: {tokens: 1024}\n",
         "config.yaml:2: block.tokens: a block of 320 MiB (1024 tokens x 320 KiB) is outside 4 "
         "KiB to 160 MiB"},
        {"block: {layers: 1, tokens: 1, kv_heads: 1,\n  head_dim: 1, bytes_per_value: 1}\n",
         "config.yaml:1: block.tokens: a block of 2 B (1 tokens x 2 B) is outside 4 KiB to 160 "
         "MiB"},
        {"block: {layers: 96}\n",
         "config.yaml:1: block.layers: a block of 96 layers does not hold the 80 of "
         "host.node.layers; blocks of a part of the layers are not built yet"},
        {"card:\n  tier: {capacity: 4 MiB}\n",
         "config.yaml:2: card.tier.capacity: card.tier.capacity (4 MiB) cannot hold a block of 5 "
         "MiB (16 tokens x 320 KiB), which takes 5 MiB"},
        {"host: {node: {kv_budget: 4 MiB}}\n",
         "config.yaml:1: host.node.kv_budget: host.node.kv_budget (4 MiB) cannot hold a block of "
         "5 MiB (16 tokens x 320 KiB)"},
        {"card:\n  dma: {read_size: 1 KiB}\n",
         "config.yaml:2: card.dma.read_size: card.dma.read_size (1 KiB) is above card.link.mrrs "
         "(512 B)"},
        {"card:\n  mem: {dev_load: {severe: 55 %}}\n",
         "config.yaml:2: card.mem.dev_load.severe: card.mem.dev_load.moderate (60 %) is not "
         "below "
         "card.mem.dev_load.severe (55 %)"},
        {"card:\n  link: {mrrs: 256 B}\n",
         "config.yaml:2: card.link.mrrs: card.dma.read_size (512 B) is above card.link.mrrs "
         "(256 B)"},
        {"card: {staging: 4 KiB, chunk: 8 KiB}\n",
         "config.yaml:1: card.chunk: card.chunk (8 KiB) does not fit card.staging (4 KiB)"},
        {"workload:\n  buckets: 8\n",
         "config.yaml:2: workload.buckets: takes a part of a trace, and workload.trace is null"},
        {"workload: {format: mooncake}\n",
         "config.yaml:1: workload.format: is the format of a trace, and workload.trace is null"},
        {"workload:\n  zipf_sessions:\n    max_context: 8192\n",
         "config.yaml:3: workload.zipf_sessions.max_context: shared_prefix_tokens + "
         "initial_context_max is 14336, above max_context (8192)"},
        {"workload: {zipf_sessions: {output_min: 300}}\n",
         "config.yaml:1: workload.zipf_sessions.output_min: workload.zipf_sessions.output_min "
         "(300) is above workload.zipf_sessions.output_max (256)"},
        {"workload: {zipf_sessions: {appended_max: 31}}\n",
         "config.yaml:1: workload.zipf_sessions.appended_max: workload.zipf_sessions.appended_min "
         "(32) is above workload.zipf_sessions.appended_max (31)"},
        {"workload: {zipf_sessions: {initial_context_min: 12289}}\n",
         "config.yaml:1: workload.zipf_sessions.initial_context_min: "
         "workload.zipf_sessions.initial_context_min (12289) is above "
         "workload.zipf_sessions.initial_context_max (12288)"},
        {"block: {tokens: 1, layers: 1, kv_heads: 16}\nhost: {node: {layers: 1, kv_budget: 64 "
         "TiB}}\n",
         "config.yaml:2: host.node.kv_budget: host.node.kv_budget (64 TiB) holds more than "
         "2147483648 of a block of 8 KiB (1 tokens x 8 KiB)"},
        {"block: {tokens: 1, layers: 1, kv_heads: 9}\ncard: {tier: {capacity: 4608 B}}\n"
         "host: {node: {layers: 1}}\n",
         "config.yaml:2: card.tier.capacity: card.tier.capacity (4608 B) cannot hold a block of "
         "4608 B (1 tokens x 4608 B), which takes 8 KiB"},
        {"driver: {copy_engine: {small_copies: [8 KiB + 1 us, 8 KiB + 2 us]}}\n",
         "config.yaml:1: driver.copy_engine.small_copies: must rise from size to size"},
        {"driver: {copy_engine: {small_copies: [8 KiB]}}\n",
         "config.yaml:1: driver.copy_engine.small_copies: '8 KiB' is not a size + a time; use "
         "64 B to 1 MiB + 0 s to 1 ms"},
        {"driver: {copy_engine: {small_copies: [8 KiB + 2 ms]}}\n",
         "config.yaml:1: driver.copy_engine.small_copies: '8 KiB + 2 ms' is out of range; use "
         "64 B to 1 MiB + 0 s to 1 ms"},
        {"driver: {copy_engine: {round_trip: 100 ns}}\n",
         "config.yaml:1: driver.copy_engine.round_trip: driver.copy_engine.round_trip (100 ns) "
         "includes card_latency (133 ns) and must be longer"},
    });
    EXPECT_EQ(error_of("{}\n", {"card.link.mrrs=128 B"}),
              "--set: card.link.mrrs: card.dma.read_size (512 B) is above card.link.mrrs (128 B)");
}

TEST_F(ConfigErrors, BrokenFiles) {
    expect({
        {"", "config.yaml:1: the file is empty; it must hold a mapping of keys"},
        {"# a comment\n\n", "config.yaml:1: the file is empty; it must hold a mapping of keys"},
        {"null\n", "config.yaml:1: the file is empty; it must hold a mapping of keys"},
        {"- seed\n", "config.yaml:1: the file must hold a mapping of keys"},
        {"seed\n", "config.yaml:1: the file must hold a mapping of keys"},
        {"seed: 1\n---\nseed: 2\n",
         "config.yaml:3: the file holds a second document ('---'); a config is one"},
        {std::string("seed: 1\n\x04tier: card\n"),
         "config.yaml:2: holds the control character 0x04; is this YAML?"},
        {std::string("seed: 1\n\0", 9),
         "config.yaml:2: holds the control character 0x00; is this YAML?"},
        {"seed: !!int 7\n",
         "config.yaml:1: seed has the tag 'tag:yaml.org,2002:int'; tags are not supported"},
    });
    EXPECT_THAT(error_of("seed: 1\nblock: {tokens: 16\n"),
                StartsWith("config.yaml:3: is not YAML"));
    EXPECT_THAT(error_of("seed: 1\n\ttier: card\n"), StartsWith("config.yaml:2: is not YAML"));
    EXPECT_THAT(error_of("block: *shape\n"), StartsWith("config.yaml:1: is not YAML"));
}

TEST_F(ConfigErrors, MissingFiles) {
    const auto message = [&](const std::string& path) {
        try {
            (void)load(path);
        } catch (const UserError& e) {
            return strip(e.what());
        }
        return std::string();
    };
    EXPECT_EQ(message((m_folder / "none.yaml").string()),
              "none.yaml: cannot be read; is the path right?");
    write("folder/x", "");
    EXPECT_EQ(message((m_folder / "folder").string()), "folder: is a folder");
    expect({
        {"host: {node: none.yaml}\n",
         "config.yaml:1: host.node: there is no file 'none.yaml', nor 'none.yaml'"},
        {"seed: 1\ninclude: none.yaml\n",
         "config.yaml:2: include: there is no file 'none.yaml', nor 'none.yaml'"},
        {"include: {a: b}\n", "config.yaml:1: include: is a mapping; it needs a path"},
        {"include:\n", "config.yaml:1: include: has no value; it needs a path"},
        {"include: config.yaml\n", "config.yaml: includes itself"},
        {"workload: {trace: \"${HOME}/a\"}\n",
         "config.yaml:1: workload.trace: '${HOME}/a' uses a variable that does not expand; only "
         "${KVPLANE_SHARED} does"},
        {"workload: {trace: ''}\n", "config.yaml:1: workload.trace: is empty"},
    });
}

TEST_F(ConfigErrors, InAFileThatTheConfigNames) {
    write("node.yaml", "name: test\nlayers: 0\n");
    write("base.yaml", "seed: 1\ncard: {flihgt: 1 ns}\n");
    expect({
        {"host:\n  node: node.yaml\n",
         "node.yaml:2: host.node.layers: '0' is out of range; use 1 to 1024"},
        {"include: base.yaml\n",
         "base.yaml:2: card.flihgt: unknown key; did you mean 'card.flight'?"},
    });
    write("loop.yaml", "include: config.yaml\n");
    EXPECT_EQ(error_of("include: [loop.yaml]\n"), "config.yaml: includes itself");
}

TEST_F(ConfigErrors, AnchorsExpandButMergeKeysAndLoopsDoNot) {
    EXPECT_EQ(load_text("card: {check: &t 5 ns, schedule: *t}\n").run.card.engine.schedule,
              Time::from_ns(5));
    expect({{"block: &b {tokens: 8}\ncard:\n  <<: *b\n",
             "config.yaml:3: << (a merge key) is not supported; use 'include' to build on a "
             "file"}});
    EXPECT_EQ(error_of("block: &b {tokens: *b}\n"),
              "config.yaml:1: tokens is nested too deeply or too large");
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 9; ++i) {
        const std::string below = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int k = 0; k < 10; ++k) bomb += below + (k < 9 ? ", " : "]\n");
    }
    EXPECT_EQ(error_of(bomb), "config.yaml:1: a4 is nested too deeply or too large");
}

TEST_F(ConfigErrors, Sets) {
    const std::vector<Mistake> mistakes{
        {"seed", "--set: 'seed' must have the form path=value"},
        {"=1", "--set: '=1' must have the form path=value"},
        {"sede=1", "--set: sede: unknown key; did you mean 'seed'?"},
        {"card.lnk.width=8", "--set: card.lnk.width: unknown key; did you mean 'card.link'?"},
        {"card.flight.x=8",
         "--set: card.flight.x: unknown key; 'card.flight' has no keys below it"},
        {"seed=", "--set: seed: has no value; it needs an integer"},
        {"card.flight=null", "--set: card.flight: has no value; it needs a time"},
        {"card.flight=5",
         "--set: card.flight: '5' has no unit; use one of ps, ns, us, ms, s, "
         "min, h"},
        {"card.flight=[5 ns]", "--set: card.flight: is a list; it needs a time"},
        {"card.index.sram=0 B",
         "--set: card.index.sram: '0 B' is out of range; use 4 KiB to 256 "
         "MiB, a power of two"},
        {"control={replacement: lru}",
         "--set: control: must be a mapping with the keys replacement, admission, tier_eviction, "
         "prefetch, store"},
        {"host.node=none.yaml", "--set: host.node: there is no file 'none.yaml', nor 'none.yaml'"},
    };
    for (const Mistake& mistake : mistakes) {
        SCOPED_TRACE(mistake.text);
        EXPECT_EQ(error_of("{}\n", {mistake.text}), mistake.message);
    }
}

}  // namespace
}  // namespace kvplane::explore
