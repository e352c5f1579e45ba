// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/replay.h"

#include <algorithm>
#include <vector>

#include "host_driver/control/residency.h"
#include "model/common/errors.h"

namespace kvplane::control {
namespace {

class Replayer {
public:
    Replayer(const workload::Workload& workload, const ReplayConfig& config)
        : m_config(config),
          m_ledger(static_cast<std::uint32_t>(workload.blocks.size()), block::OnBreach::kThrow),
          m_residency(workload.blocks, config.frames, config.tier_blocks, m_ledger) {}

    /// Serves one request; returns its hits.
    std::uint64_t serve(std::span<const BlockIndex> chain);

    [[nodiscard]] const block::Ledger& ledger() const { return m_ledger; }

private:
    void make_room(std::uint64_t frames);
    void store(BlockIndex b);

    ReplayConfig m_config;
    block::Ledger m_ledger;
    Residency m_residency;
    std::vector<BlockIndex> m_made;
};

std::uint64_t Replayer::serve(std::span<const BlockIndex> chain) {
    std::uint64_t hits = 0;
    m_made.clear();
    for (const BlockIndex b : chain) {
        m_residency.pin(b);
        hits += m_residency.hbm(b) == Residency::Hbm::kResident ? 1 : 0;
    }
    for (const BlockIndex b : chain) {
        if (m_residency.hbm(b) == Residency::Hbm::kResident) continue;
        make_room(1);
        m_residency.expect(b);
        if (m_residency.tier(b) == Residency::Tier::kStored) {
            m_residency.loaded(b);
        } else {
            m_residency.computed(b);
            m_made.push_back(b);
        }
    }
    for (const BlockIndex b : chain) m_ledger.read(b);
    if (m_config.demotion == Demotion::kWriteThrough) {
        for (const BlockIndex b : m_made) store(b);
    }
    for (std::size_t i = chain.size(); i-- > 0;) {
        m_residency.touch(chain[i]);
        m_residency.unpin(chain[i]);
    }
    return hits;
}

void Replayer::make_room(std::uint64_t frames) {
    while (m_residency.free_frames() < frames) {
        std::optional<BlockIndex> victim = m_residency.next_victim();
        if (!victim) throw InvariantError("replay: a feasible read set found no room");
        if (m_residency.tier(*victim) == Residency::Tier::kAbsent) store(*victim);
        m_residency.evict(*victim);
    }
}

void Replayer::store(BlockIndex b) {
    if (m_residency.tier_full()) {
        const std::optional<BlockIndex> victim = m_residency.next_tier_victim();
        if (!victim) return;
        m_residency.drop_tier_copy(*victim);
    }
    m_residency.begin_store(b);
    m_residency.end_store(b);
}

}  // namespace

ReplayResult replay(const workload::Workload& workload, const ReplayConfig& config) {
    ReplayResult result;
    for (const workload::Request& request : workload.requests) {
        result.largest_read_set =
            std::max<std::uint64_t>(result.largest_read_set, request.block_count);
        result.block_refs += request.block_count;
    }
    result.feasible = result.largest_read_set <= config.frames;
    if (!result.feasible) return result;
    Replayer replayer(workload, config);
    for (const workload::Request& request : workload.requests) {
        result.hits += replayer.serve(workload.chain(request));
    }
    const block::Ledger& ledger = replayer.ledger();
    result.counts = ledger.counts();
    result.dead_writes = ledger.dead_writes();
    result.a_read = ledger.a_read();
    result.a_traffic = ledger.a_traffic();
    return result;
}

}  // namespace kvplane::control
