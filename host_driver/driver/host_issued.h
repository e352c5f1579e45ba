// SPDX-License-Identifier: Apache-2.0
/// Moves by a loop of copy calls: the host orders, a GPU copy engine pulls. The tier lies in
/// host-mapped memory of the card and the host keeps its directory; the card's index has no part.
#pragma once

#include <array>
#include <vector>

#include "host_driver/driver/config.h"
#include "host_driver/driver/driver.h"
#include "host_driver/driver/move_metrics.h"
#include "host_driver/gpu/copy_engine.h"
#include "host_driver/gpu/hbm_pool.h"
#include "model/engine/allocator.h"

namespace kvplane::driver {

class HostIssuedDriver final : public Driver, private gpu::CopyClient {
public:
    /// `blocks`: how many distinct blocks the run has.
    HostIssuedDriver(const DriverConfig& config, Bytes tier_capacity, std::uint32_t blocks,
                     gpu::HbmPool& hbm, MoveMetrics& metrics);

    /// Its `mem` port is to be bound to the card's bulk export.
    gpu::CopyEngine copy_engine;

    void set_client(MoveClient& client) override { m_client = &client; }
    void submit(const MoveRun& run) override;

private:
    struct Run {
        std::uint32_t token = 0;
        Time decided;
        Time frames_ready;
        std::vector<Move> moves;
        std::size_t done = 0;
        Time first_block;
        Time first_started;
    };
    struct Direction {
        std::vector<Run> runs;             ///< pool
        std::vector<std::uint32_t> order;  ///< runs in order of calls, from `head` on
        std::size_t head = 0;
        std::vector<std::uint32_t> free;
    };

    void discard(const MoveRun& run);
    void copy_done(engine::BulkDirection direction, const gpu::CopyTimes& times) override;
    void account(engine::BulkDirection direction, Run& run, const gpu::CopyTimes& times);
    void move_payload(engine::BulkDirection direction, const Move& move);

    gpu::HbmPool& m_hbm;
    MoveMetrics& m_metrics;
    MoveClient* m_client = nullptr;
    engine::TierAllocator m_frames;
    std::vector<engine::Extents> m_room_of;  ///< by block
    std::array<Direction, 2> m_directions;
    std::vector<std::uint8_t> m_buffer;
};

}  // namespace kvplane::driver
