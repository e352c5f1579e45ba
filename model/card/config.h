// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/codec/unit.h"
#include "model/common/units.h"
#include "model/cxl/link.h"
#include "model/engine/config.h"
#include "model/index/config.h"
#include "model/memory/dram.h"

namespace kvplane::card {

/// What stands for the bytes of a block.
enum class Payload {
    kSizes,  ///< sizes only
    kBytes,  ///< real bytes, checked end to end; for small runs
};

/// One card, whole.
struct CardConfig {
    Bytes tier_capacity = Bytes::from_gib(2048);  ///< DRAM for blocks
    cxl::LinkConfig link;
    Time flight = Time::from_ns(370);  ///< one way between the card and the host or GPU
    engine::EngineConfig engine;
    codec::UnitConfig codec;
    memory::DramConfig dram;
    index::IndexConfig index;
    Payload payload = Payload::kSizes;
};

}  // namespace kvplane::card
