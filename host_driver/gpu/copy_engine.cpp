// SPDX-License-Identifier: Apache-2.0
#include "host_driver/gpu/copy_engine.h"

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::gpu {
namespace {

using engine::BulkDirection;

/// The queue's used part is dropped when it is this long.
constexpr std::size_t kCompactAt = 1024;

}  // namespace

Time loop_interval(const CopyEngineConfig& config, Bytes size) {
    const std::vector<SmallCopy>& table = config.small_copies;
    const auto above =
        std::lower_bound(table.begin(), table.end(), size,
                         [](const SmallCopy& row, Bytes sought) { return row.size < sought; });
    if (above == table.end()) return config.issue_interval;
    if (above == table.begin()) return config.issue_interval + above->extra;
    const SmallCopy& below = *(above - 1);
    const auto part = static_cast<Int128>((size - below.size).count);
    const auto whole = static_cast<Int128>((above->size - below.size).count);
    const Int128 rise = (above->extra - below.extra).ps * part / whole;
    return config.issue_interval + below.extra + Time{static_cast<std::int64_t>(rise)};
}

CopyEngine::CopyEngine(sc_core::sc_module_name name, const CopyEngineConfig& config,
                       CopyClient& client)
    : sc_module(name), m_config(config), m_client(client), m_launched("launched") {
    SC_HAS_PROCESS(CopyEngine);
    SC_METHOD(run);
    sensitive << m_launched.event();
    dont_initialize();
}

void CopyEngine::end_of_elaboration() {
    Rate read = m_config.bandwidth;
    if (m_config.window) {
        const Uint128 scaled = static_cast<Uint128>(m_config.window->count) * 1'000'000'000'000U;
        read = std::min(read, Rate{static_cast<std::uint64_t>(
                                  scaled / static_cast<std::uint64_t>(m_config.round_trip.ps))});
    }
    mem->open_bulk(BulkDirection::kRead, read, *this);
    mem->open_bulk(BulkDirection::kWrite, m_config.bandwidth_d2h, *this);
}

void CopyEngine::copy(BulkDirection direction, std::uint32_t copies, Bytes size) {
    Engine& engine = m_engines[static_cast<std::size_t>(direction)];
    engine.queue.push_back({copies, size, now()});
    if (!engine.busy) start(direction, false);
}

void CopyEngine::start(BulkDirection direction, bool in_loop) {
    Engine& engine = m_engines[static_cast<std::size_t>(direction)];
    engine.busy = true;
    engine.times.queued = engine.queue[engine.head].queued;
    engine.times.started = now();
    const Bytes size = engine.queue[engine.head].size;
    engine.times.launched =
        now() + (in_loop ? loop_interval(m_config, size) : m_config.launch_latency);
    engine.times.begun = engine.times.launched + m_config.card_latency;
    m_launched.schedule(engine.times.begun, direction);
}

void CopyEngine::run() {
    BulkDirection direction{};
    while (m_launched.pop_due(direction)) {
        const Engine& engine = m_engines[static_cast<std::size_t>(direction)];
        mem->start_bulk(direction, 0, engine.queue[engine.head].size);
    }
}

void CopyEngine::bulk_done(BulkDirection direction, std::uint32_t /*token*/, Time /*start*/,
                           Time end) {
    Engine& engine = m_engines[static_cast<std::size_t>(direction)];
    engine.times.ended = end;
    if (--engine.queue[engine.head].left == 0) ++engine.head;
    if (engine.head == kCompactAt || engine.head == engine.queue.size()) {
        engine.queue.erase(engine.queue.begin(),
                           engine.queue.begin() + static_cast<std::ptrdiff_t>(engine.head));
        engine.head = 0;
    }
    const CopyTimes times = engine.times;
    engine.busy = engine.head < engine.queue.size();
    if (engine.busy) start(direction, true);
    m_client.copy_done(direction, times);
}

void CopyEngine::bulk_failed(BulkDirection /*direction*/, std::uint32_t /*token*/) {
    throw InvariantError("a copy failed: the card was reset under it, or is viral");
}

}  // namespace kvplane::gpu
