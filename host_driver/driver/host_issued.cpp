// SPDX-License-Identifier: Apache-2.0
#include "host_driver/driver/host_issued.h"

#include "model/common/errors.h"

namespace kvplane::driver {
namespace {

using engine::BulkDirection;
using engine::Stage;

}  // namespace

HostIssuedDriver::HostIssuedDriver(const DriverConfig& config, Bytes tier_capacity,
                                   std::uint32_t blocks, gpu::HbmPool& hbm, MoveMetrics& metrics)
    : copy_engine("copy_engine", config.copy_engine, *this),
      m_hbm(hbm),
      m_metrics(metrics),
      m_frames(tier_capacity),
      m_room_of(blocks),
      m_buffer(hbm.holds_bytes() ? hbm.block().count : 0) {}

void HostIssuedDriver::submit(const MoveRun& run) {
    if (run.kind == MoveKind::kDiscard) {
        discard(run);
        return;
    }
    const auto direction =
        run.kind == MoveKind::kDemote ? BulkDirection::kWrite : BulkDirection::kRead;
    Direction& queue = m_directions[static_cast<std::size_t>(direction)];
    if (queue.free.empty()) {
        queue.free.push_back(static_cast<std::uint32_t>(queue.runs.size()));
        queue.runs.emplace_back();
    }
    const std::uint32_t id = queue.free.back();
    queue.free.pop_back();
    Run& entry = queue.runs[id];
    entry.token = run.token;
    entry.decided = run.decided;
    entry.frames_ready = run.frames_ready;
    entry.moves.assign(run.moves.begin(), run.moves.end());
    entry.done = 0;
    queue.order.push_back(id);
    if (run.kind == MoveKind::kDemote) {
        for (const Move& move : run.moves) {
            const auto room = m_frames.allocate(engine::granules(m_hbm.block()));
            // Blocks of one size leave no gap that is too small for another.
            if (!room || room->count != 1) {
                throw InvariantError("the host demoted into a full tier");
            }
            m_room_of[move.block.value] = *room;
        }
    }
    copy_engine.copy(direction, static_cast<std::uint32_t>(run.moves.size()), m_hbm.block());
}

void HostIssuedDriver::discard(const MoveRun& run) {
    for (const Move& move : run.moves) {
        m_frames.free(m_room_of[move.block.value], engine::granules(m_hbm.block()));
    }
    m_client->run_done(run.token, engine::Status::kOk, run.moves.size());
}

void HostIssuedDriver::copy_done(BulkDirection direction, const gpu::CopyTimes& times) {
    Direction& queue = m_directions[static_cast<std::size_t>(direction)];
    const std::uint32_t id = queue.order[queue.head];
    Run& run = queue.runs[id];
    account(direction, run, times);
    move_payload(direction, run.moves[run.done]);
    if (++run.done != run.moves.size()) return;
    if (++queue.head == queue.order.size()) {
        queue.order.clear();
        queue.head = 0;
    }
    queue.free.push_back(id);
    m_client->run_done(run.token, engine::Status::kOk, run.done);
}

void HostIssuedDriver::account(BulkDirection direction, Run& run, const gpu::CopyTimes& times) {
    engine::StageTimes stages;
    if (run.done == 0) run.first_started = times.started;
    stages[Stage::kFrameWait] = run.frames_ready - run.decided;
    stages[Stage::kSubmit] = times.launched - times.started;
    stages[Stage::kQueueOther] = run.first_started - run.frames_ready;
    stages[Stage::kQueueOwn] = times.started - run.first_started;
    stages[Stage::kDram] = times.begun - times.launched;
    stages[Stage::kLink] = times.ended - times.begun;
    if (direction == BulkDirection::kWrite) {
        m_metrics.demoted(stages, m_hbm.block());
        return;
    }
    m_metrics.promoted(stages, m_hbm.block());
    if (run.done == 0) run.first_block = stages.total();
    if (run.done + 1 == run.moves.size()) {
        m_metrics.load(run.first_block, stages.total(), m_hbm.block() * run.moves.size());
    }
}

void HostIssuedDriver::move_payload(BulkDirection direction, const Move& move) {
    const Dpa address = engine::TierAllocator::address(m_room_of[move.block.value].first[0]);
    if (direction == BulkDirection::kWrite) {
        m_hbm.read(move.slot, m_hbm.block(), m_buffer);
        copy_engine.mem->write(address, m_buffer);
    } else {
        copy_engine.mem->read(address, m_buffer);
        m_hbm.write(move.slot, m_hbm.block(), m_buffer);
    }
}

}  // namespace kvplane::driver
