// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/spec_text.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "host_driver/control/presets.h"
#include "host_driver/control/replay.h"
#include "tests/unit/host_driver/control/chains.h"

namespace kvplane::control {
namespace {

TEST(SpecTextTest, CanonicalTextsComeBack) {
    for (const char* text :
         {"lru", "fifo", "sieve", "s3-fifo state=ghosts(10)", "arc state=full", "lru-2 clock=wall",
          "slru", "lfu state=sketch(64KiB)", "ema alpha=5% clock=request state=full",
          "w-tinylfu state=sketch(1MiB)", "gdsf", "priority", "queue-lru", "min"}) {
        EXPECT_EQ(to_string(parse_policy(text)), text);
    }
    // Rows must not hide what two averages differ in.
    EXPECT_EQ(to_string(parse_policy("ema")), "ema alpha=1% clock=access");
    EXPECT_EQ(to_string(parse_policy("lru-2 state=full")), "lru-2 clock=access state=full");
    for (const char* text :
         {"none", "horizon", "horizon h=60s", "counter references=3 sketch=1KiB"}) {
        EXPECT_EQ(to_string(parse_admission(text)), text);
    }
    for (const char* text :
         {"all", "threshold", "threshold references=3 counter=ghosts(64000)",
          "threshold counter=sketch(64KiB)", "predicted horizon=30s probability=50%", "intent"}) {
        EXPECT_EQ(to_string(parse_store(text)), text);
    }
    for (const char* text : {"reset", "full", "ghosts(0)", "ghosts(4096)", "sketch(8MiB)"}) {
        EXPECT_EQ(to_string(parse_state(text)), text);
    }
}

TEST(SpecTextTest, ValuesArrive) {
    const PolicySpec ema = parse_policy("ema  state=ghosts(4) alpha=1.5% clock=wall ");
    EXPECT_EQ(ema.replacement, Replacement::kEma);
    EXPECT_EQ(ema.alpha_ppm, 15'000U);
    EXPECT_EQ(ema.clock, Clock::kWall);
    EXPECT_EQ(ema.state.lifetime, Lifetime::kGhosts);
    EXPECT_EQ(ema.state.bytes, Bytes{64});
    EXPECT_EQ(parse_admission("horizon h=2min").horizon, Time::from_s(120));
    EXPECT_EQ(parse_store("threshold references=7").references, 7U);
}

TEST(SpecTextTest, MistakesAreRefused) {
    for (const char* text :
         {"", "lru2", "lru state=full", "lru clock=wall", "ema alpha=0%", "ema alpha=100%",
          "ema alpha=x", "lfu state=ghosts", "lfu state=ghosts(-1)", "lfu state=ghosts(1)x",
          "lfu state=sketch(64)", "lfu state=full state=full", "arc state=sketch(1KiB)",
          "lru-2 clock=sun", "lfu full", "lfu state=sketch(1TiB)", "lfu state=sketch(1B)",
          "w-tinylfu state=sketch(2GiB)"}) {
        EXPECT_THROW((void)parse_policy(text), std::invalid_argument) << text;
    }
    for (const char* text :
         {"some", "none h=1s", "horizon h=0s", "counter references=0", "counter sketch=1TiB",
          "counter sketch=8B", "counter references=99999999999"}) {
        EXPECT_THROW((void)parse_admission(text), std::invalid_argument) << text;
    }
    for (const char* text :
         {"threshold references=0", "threshold counter=reset", "all references=2",
          "predicted probability=101%", "threshold counter=ghosts(0)",
          "threshold counter=sketch(1TiB)", "threshold counter=sketch(2B)",
          "threshold references=16 counter=sketch(1KiB)"}) {
        EXPECT_THROW((void)parse_store(text), std::invalid_argument) << text;
    }
}

TEST(PresetTest, EachReplaysAndDiffersWhereItShould) {
    std::vector<std::vector<std::string>> requests;
    for (int i = 0; i < 40; ++i) {
        requests.push_back({"R", "a" + std::to_string(i % 7)});
        requests.push_back({"R", "b" + std::to_string(i)});
    }
    const workload::Workload workload = chains(requests);
    std::vector<ReplayResult> results;
    for (std::size_t i = 0; i < preset_names().size(); ++i) {
        results.push_back(replay(workload, make_preset(static_cast<Preset>(i), 6)));
        EXPECT_EQ(name_of(static_cast<Preset>(i)), preset_names()[i]);
    }
    const auto at = [&](Preset p) { return results[static_cast<std::size_t>(p)]; };
    EXPECT_EQ(at(Preset::kVllm).counts.demotions, 48U) << "every block once";
    EXPECT_LT(at(Preset::kVllmArc).counts.demotions, 30U);
    EXPECT_LT(at(Preset::kTensorRtLlm).counts.demotions, 48U);
    EXPECT_LE(at(Preset::kFlexKv).hits, at(Preset::kVllm).hits);
    EXPECT_GT(at(Preset::kKvbm).counts.recomputed, 0U);
    EXPECT_EQ(at(Preset::kLmCacheLfu).counts.demotions, 48U);
    EXPECT_GE(at(Preset::kMooncake).hits, at(Preset::kFlexKv).hits);
    // What its counter of 64,000 blocks takes, and six ghosts.
    EXPECT_EQ(at(Preset::kVllmArc).state_bytes, kGhostBytes * 64'006);
    EXPECT_EQ(at(Preset::kKvbm).state_bytes, Bytes::from_kib(64));
    EXPECT_EQ(at(Preset::kMooncake).state_bytes, Bytes::from_kib(64));
}

TEST(PresetTest, HasTheSettingsOfItsSystem) {
    struct Expected {
        Preset preset;
        const char* policy;
        const char* admission;
        const char* store;
        Demotion demotion = Demotion::kWriteThrough;
        std::uint32_t start = 100;
        std::uint32_t batch = 0;
    };
    const std::vector<Expected> all{
        {Preset::kVllm, "lru", "none", "all"},
        {Preset::kVllmArc, "arc state=ghosts(500)", "none", "threshold counter=ghosts(64000)"},
        {Preset::kTensorRtLlm, "priority", "none", "all", Demotion::kOnEvict},
        {Preset::kFlexKv, "lru", "none", "all", Demotion::kWriteThrough, 70, 5},
        {Preset::kKvbm, "lru", "none", "threshold counter=sketch(64KiB)"},
        {Preset::kLmCacheLfu, "lfu", "none", "all"},
        {Preset::kMooncake, "lru", "counter", "all", Demotion::kWriteThrough, 90, 5}};
    ASSERT_EQ(all.size(), preset_names().size());
    for (const Expected& expected : all) {
        const ReplayConfig config = make_preset(expected.preset, 500);
        const std::string_view name = name_of(expected.preset);
        EXPECT_EQ(config.frames, 500U) << name;
        EXPECT_EQ(to_string(config.control.replacement), expected.policy) << name;
        EXPECT_EQ(to_string(config.control.admission), expected.admission) << name;
        EXPECT_EQ(to_string(config.control.store), expected.store) << name;
        EXPECT_EQ(config.control.demotion, expected.demotion) << name;
        EXPECT_EQ(config.watermark.start, expected.start) << name;
        EXPECT_EQ(config.watermark.batch, expected.batch) << name;
    }
    EXPECT_EQ(parse_admission("counter").references, 2U);
    EXPECT_EQ(parse_admission("counter").sketch, Bytes::from_kib(64));
    EXPECT_EQ(parse_store("threshold").references, 2U);
}

}  // namespace
}  // namespace kvplane::control
