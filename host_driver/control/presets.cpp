// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/presets.h"

#include <array>

#include "model/common/errors.h"

namespace kvplane::control {
namespace {

constexpr std::array kNames = std::to_array<std::string_view>(
    {"vllm", "vllm-arc", "tensorrt-llm", "flexkv", "kvbm", "lmcache-lfu", "mooncake"});

}  // namespace

std::span<const std::string_view> preset_names() { return kNames; }

std::string_view name_of(Preset preset) { return kNames.at(static_cast<std::size_t>(preset)); }

ReplayConfig make_preset(Preset preset, std::uint64_t frames) {
    ReplayConfig config{.frames = frames};
    ControlConfig& control = config.control;
    control.demotion = Demotion::kWriteThrough;
    switch (preset) {
        case Preset::kVllm:
            return config;
        case Preset::kVllmArc:
            control.replacement = {.replacement = Replacement::kArc,
                                   .state = {Lifetime::kGhosts, kGhostBytes * frames}};
            control.store = {.selection = Selection::kThreshold,
                             .references = 2,
                             .counter = {Lifetime::kGhosts, kGhostBytes * 64'000}};
            return config;
        case Preset::kTensorRtLlm:
            control.replacement.replacement = Replacement::kPriority;
            control.demotion = Demotion::kOnEvict;
            return config;
        case Preset::kFlexKv:
            config.watermark = {.start = 70, .batch = 5};
            return config;
        case Preset::kKvbm:
            control.store = {.selection = Selection::kThreshold,
                             .references = 2,
                             .counter = {Lifetime::kSketch, Bytes::from_kib(64)}};
            return config;
        case Preset::kLmCacheLfu:
            control.replacement.replacement = Replacement::kLfu;
            return config;
        case Preset::kMooncake:
            config.watermark = {.start = 90, .batch = 5};
            control.admission = {
                .admission = Admission::kCounter, .references = 2, .sketch = Bytes::from_kib(64)};
            return config;
    }
    throw InvariantError("make_preset: no such preset");
}

}  // namespace kvplane::control
