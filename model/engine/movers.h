// SPDX-License-Identifier: Apache-2.0
/// The four movers of a card and what they share: the wire each way, DRAM and codec lanes. A mover
/// drains one job at a time, by class, then deadline, then order (FlowServers).
#pragma once

#include "model/codec/unit.h"
#include "model/common/flow_server.h"
#include "model/cxl/link.h"
#include "model/engine/config.h"
#include "model/memory/dram.h"

namespace kvplane::engine {

enum Mover : std::uint32_t {
    kPush = 0,       ///< the card's DMA writes: promotions
    kPull = 1,       ///< the card's DMA reads: demotions
    kBulkRead = 2,   ///< CXL.mem reads by a copy engine
    kBulkWrite = 3,  ///< CXL.mem writes by a copy engine
};

enum MoverResource : std::size_t { kUplink = 0, kDownlink = 1, kDram = 2, kLanes = 3 };

struct MoversConfig {
    EngineConfig engine;
    cxl::LinkConfig link;
    codec::UnitConfig codec;
    memory::DramConfig dram;
    Time flight;  ///< one way
};

/// A DMA read of the card: request, access, data.
[[nodiscard]] inline Time dma_round_trip(const MoversConfig& config) {
    return config.flight * 2 + config.engine.host_memory;
}

/// The movers of `config`, reporting to `client`.
[[nodiscard]] FlowServers make_movers(const MoversConfig& config, FlowClient& client);

}  // namespace kvplane::engine
