// SPDX-License-Identifier: Apache-2.0
/// What serving stacks do today, as settings of ours. Each keeps what decides placement and leaves
/// out what does not (file formats, network tiers, metrics).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "host_driver/control/config.h"
#include "host_driver/control/replay.h"

namespace kvplane::control {

/// - vllm: LRU, leaf first; a copy after the step that made the block.
/// - vllm-arc: ARC; a copy at the second reference, counted for the 64,000 blocks referenced last
///   (its store threshold).
/// - tensorrt-llm: lowest priority first, 35 unless an intent says otherwise, then LRU; a copy when
///   the block leaves.
/// - flexkv: LRU from 70 % full, 5 % at a time; a copy of every block, eviction never writes.
/// - kvbm: LRU; a copy at the second reference by a TinyLFU sketch (64 KiB, assumed).
/// - lmcache-lfu: LFU whose counts are lost on eviction; a copy of every block.
/// - mooncake: LRU from 90 % full, 5 % at a time; blocks counted twice by a sketch (64 KiB,
/// assumed)
///   are held before others; a copy of every block.
/// Sources: facts on the field, sections 2.1 and 2.3.
enum class Preset { kVllm, kVllmArc, kTensorRtLlm, kFlexKv, kKvbm, kLmCacheLfu, kMooncake };

/// The names above, in the order of the enumeration.
[[nodiscard]] std::span<const std::string_view> preset_names();
[[nodiscard]] std::string_view name_of(Preset preset);

/// The settings of a preset at a budget of `frames`.
[[nodiscard]] ReplayConfig make_preset(Preset preset, std::uint64_t frames);

}  // namespace kvplane::control
