// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "explore/schema.h"
#include "host_driver/driver/config.h"
#include "model/common/units.h"
#include "model/engine/config.h"
#include "model/index/config.h"

namespace kvplane::explore {

/// `kvplane study sram`: every tier x block x SRAM x popularity.
struct SramStudyConfig {
    std::vector<Bytes> tiers{Bytes::from_gib(256), Bytes::from_gib(2048), Bytes::from_gib(16384)};
    std::vector<Bytes> blocks{Bytes::from_kib(4), Bytes::from_kib(64), Bytes::from_kib(256),
                              Bytes::from_mib(5)};
    std::vector<Bytes> srams{Bytes::from_kib(64), Bytes::from_mib(1), Bytes::from_mib(8),
                             Bytes::from_mib(64)};
    /// Share of the lookups that go to the tenth of the blocks that is hot; 10 %: uniform.
    std::vector<Ratio> hot_lookups{{100'000}, {900'000}};
    std::uint64_t lookups = 200'000;            ///< counted, behind those that warm the SRAM
    std::uint64_t simulate_up_to = 16'777'216;  ///< entries; tables above have a closed form
};

/// `kvplane study lookup`: every SRAM x load x banks x mix x offered rate.
struct LookupStudyConfig {
    std::vector<Bytes> srams{Bytes::from_kib(64), Bytes::from_mib(8), Bytes::from_mib(64)};
    std::vector<Ratio> loads{{500'000}, {800'000}, {900'000}};
    std::vector<std::uint32_t> banks{2, 8, 32};
    /// Share of lookups; of the rest three quarters update, an eighth each deletes and inserts.
    std::vector<Ratio> lookups{{1'000'000}, {900'000}, {600'000}};
    /// Requests offered, as a share of one a cycle.
    std::vector<Ratio> offered{{100'000}, {500'000}, {900'000}, {1'200'000}};
    std::uint64_t requests = 50'000;  ///< of each point
};

/// `kvplane study path`. The first of each axis makes the base point. Blocks, mechanisms and links
/// are crossed; each other axis is walked with the rest at the base, depths and loads by each
/// mechanism.
struct PathStudyConfig {
    std::vector<Bytes> blocks{Bytes::from_kib(64),  Bytes::from_kib(4),   Bytes::from_kib(32),
                              Bytes::from_kib(256), Bytes::from_kib(640), Bytes::from_mib(5)};
    std::vector<driver::Mechanism> mechanisms{driver::Mechanism::kCard,
                                              driver::Mechanism::kCopyEngine};
    std::vector<std::uint32_t> widths{16, 8};
    std::vector<Bytes> mps{{256}, {128}, {512}};
    std::vector<driver::QueuePlace> queues{driver::QueuePlace::kHostMemory,
                                           driver::QueuePlace::kHdm, driver::QueuePlace::kPortal};
    std::vector<engine::Fence> fences{engine::Fence::kInBandFlag, engine::Fence::kReadFlush};
    std::vector<std::uint32_t> depths{1, 4, 8, 32};  ///< orders in flight of closed loops
    /// Open loops: payload offered, as a share of what the deepest closed loop reaches.
    std::vector<Ratio> loads{{500'000}, {800'000}};
    std::vector<index::Implementation> indexes{index::Implementation::kTlm,
                                               index::Implementation::kRtl};
    /// The crossed blocks are also fragments of orders of so many bytes.
    std::optional<Bytes> gathered = Bytes::from_mib(5);
    std::uint64_t moves = 10'000;  ///< blocks of each point, but at least 50 orders
};

struct StudyConfig {
    SramStudyConfig sram;
    LookupStudyConfig lookup;
    PathStudyConfig path;
};

void describe(Table& table, StudyConfig& c);

}  // namespace kvplane::explore
