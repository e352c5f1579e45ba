// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/codec/unit.h"
#include "model/common/units.h"
#include "model/cxl/link.h"
#include "model/cxl/mem_target.h"
#include "model/engine/config.h"
#include "model/index/config.h"
#include "model/management/management_target.h"
#include "model/memory/ddr5_config.h"
#include "model/memory/dram.h"

namespace kvplane::card {

/// What stands for the bytes of a block.
enum class Payload {
    kSizes,  ///< sizes only
    kBytes,  ///< real bytes, checked end to end; for small runs
};

/// How lines are served by the DRAM: the host's, and with LinkFidelity::kLine beside it those of
/// the card's moves. Records always use the closed form.
enum class DramFidelity : std::uint8_t {
    kBurst,  ///< a queue and a latency
    kLine    ///< every command, by FR-FCFS
};

/// Queue pairs of a card: promotions, demotions and discards, prefetches.
inline constexpr std::uint32_t kQueuePairs = 3;

/// One card, whole.
struct CardConfig {
    Bytes tier_capacity = Bytes::from_gib(2048);  ///< DRAM for blocks
    Bytes ring_memory;  ///< DRAM behind the tier, for submission rings that the host writes there
    cxl::LinkConfig link;
    Time flight = Time::from_ns(370);  ///< one way between the card and the host or GPU
    /// Its HDM capacity follows from the tier's.
    cxl::MemTargetConfig mem;
    /// Its capacity follows from the tier's.
    management::ManagementConfig management;
    engine::EngineConfig engine;
    codec::UnitConfig codec;
    memory::DramConfig dram;
    DramFidelity dram_fidelity = DramFidelity::kBurst;
    /// Device, controller and RAS at line fidelity; line_dram() fills in what `dram` and the tier
    /// say as well.
    memory::Ddr5Config lines = memory::Ddr5Config::of(memory::DramPreset::kDdr5At5600B);
    index::IndexConfig index;
    Payload payload = Payload::kSizes;
};

/// The memory that the host may map: tier and rings, filled up to what CXL can tell (256 MiB).
[[nodiscard]] constexpr Bytes mapped_capacity(const CardConfig& config) {
    constexpr std::uint64_t kGrain = cxl::HdmDecoders::kGrain.count;
    const Bytes used = config.tier_capacity + config.ring_memory;
    return {(used.count + kGrain - 1) / kGrain * kGrain};
}

/// The DRAM at line fidelity: channels, ECC and controller are those of `dram`; its banks have as
/// many rows as hold mapped_capacity(), as with denser or stacked devices of the same speed bin.
[[nodiscard]] memory::Ddr5Config line_dram(const CardConfig& config);

}  // namespace kvplane::card
