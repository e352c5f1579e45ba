// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/replay.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "model/common/errors.h"

namespace kvplane::control {
namespace {

std::vector<std::uint32_t> next_reads(const workload::Workload& workload) {
    std::vector<std::uint32_t> last(workload.blocks.size(), kNeverRead);
    std::vector<std::uint32_t> next(workload.refs.size());
    for (std::size_t r = workload.requests.size(); r-- > 0;) {
        const workload::Request& request = workload.requests[r];
        for (std::uint64_t i = request.first_ref; i < request.first_ref + request.block_count;
             ++i) {
            std::uint32_t& l = last[workload.refs[i].value];
            next[i] = l;
            l = static_cast<std::uint32_t>(r);
        }
    }
    return next;
}

class Replayer {
public:
    Replayer(const workload::Workload& workload, const ReplayConfig& config);

    void run(ReplayResult& result);

private:
    using Hbm = Residency::Hbm;

    void serve(std::size_t number);
    void serve_pinned(const workload::Request& request);
    void serve_unpinned(const workload::Request& request);
    [[nodiscard]] bool has_copy(BlockIndex b) const;
    void read(BlockIndex b);
    void read_private(std::span<const BlockIndex> blocks);
    void computed(BlockIndex b);
    void finish(BlockIndex b, std::uint64_t reference);
    void want(std::size_t number, bool wanted);
    void free_frames(std::uint64_t wanted);
    void evict_ahead();
    void store(BlockIndex b);
    void restart_counts();

    const workload::Workload& m_workload;
    ReplayConfig m_config;
    block::Ledger m_ledger;
    Residency m_residency;
    StoreRule m_store;
    std::vector<std::uint32_t> m_next_reads;  ///< empty unless the policy is MIN
    std::vector<BlockIndex> m_loads;          ///< of the present request
    std::vector<bool> m_made;                 ///< by block: computed before
    std::uint64_t m_hits = 0;
    std::uint64_t m_recomputed = 0;
    std::uint64_t m_private = 0;
    std::uint64_t m_idle = 0;
};

Replayer::Replayer(const workload::Workload& workload, const ReplayConfig& config)
    : m_workload(workload),
      m_config(config),
      m_ledger(static_cast<std::uint32_t>(workload.blocks.size()), block::OnBreach::kThrow),
      m_residency(
          workload.blocks, config.frames, config.tier_blocks, m_ledger,
          with_admission(
              config.control.admission,
              make_policy(config.control.replacement, config.frames, workload.blocks.size()),
              config.frames, workload.blocks),
          make_policy(config.control.tier_eviction, config.tier_blocks, workload.blocks.size())),
      m_store(config.control.store, workload.blocks.size()),
      m_made(workload.blocks.size(), false) {
    if (config.control.replacement.replacement == Replacement::kMin) {
        m_next_reads = next_reads(workload);
    }
}

void Replayer::run(ReplayResult& result) {
    const std::size_t requests = m_workload.requests.size();
    for (std::size_t i = 0; i < std::min<std::size_t>(m_config.queue, requests); ++i) want(i, true);
    for (std::size_t i = 0; i < requests; ++i) {
        if (i == m_config.first_counted) restart_counts();
        if (m_config.queue > 0) want(i, false);
        if (m_config.queue > 0 && i + m_config.queue < requests) want(i + m_config.queue, true);
        serve(i);
    }
    result.hits = m_hits;
    result.recomputed = m_recomputed;
    result.private_copies = m_private;
    result.idle_block_requests = m_idle;
    result.counts = m_ledger.counts();
    result.dead_writes = m_ledger.dead_writes();
    result.unreachable_blocks = m_residency.unreachable_blocks();
    result.state_bytes = m_residency.state_bytes() + m_store.state_bytes();
}

void Replayer::restart_counts() {
    m_ledger.restart_counts();
    m_hits = m_recomputed = m_private = m_idle = 0;
}

void Replayer::want(std::size_t number, bool wanted) {
    for (const BlockIndex b : m_workload.chain(m_workload.requests[number])) {
        m_residency.policy().set_wanted(b, wanted);
    }
}

void Replayer::serve(std::size_t number) {
    const workload::Request& request = m_workload.requests[number];
    m_residency.next_request(request.arrival);
    if (m_config.pinned) {
        serve_pinned(request);
    } else {
        serve_unpinned(request);
    }
    if (m_config.control.demotion == Demotion::kWriteThrough) {
        for (const BlockIndex b : m_workload.chain(request)) {
            if (m_residency.hbm(b) == Hbm::kResident &&
                m_residency.tier(b) == Residency::Tier::kAbsent) {
                store(b);
            }
        }
    }
    evict_ahead();
}

void Replayer::evict_ahead() {
    const Watermark mark = m_config.watermark;
    if (m_residency.used_frames() * 100 > m_config.frames * mark.start) {
        free_frames(m_config.frames - m_config.frames * (mark.start - mark.batch) / 100);
    }
}

void Replayer::serve_pinned(const workload::Request& request) {
    const auto chain = m_workload.chain(request);
    std::size_t hole = 0;
    while (hole < chain.size() && has_copy(chain[hole])) ++hole;
    std::size_t named = hole;
    while (named < chain.size() && !has_copy(chain[named])) ++named;
    for (const BlockIndex b : chain.first(named)) m_residency.pin(b);
    // What will be loaded is not dropped to make room in the tier.
    m_loads.clear();
    for (const BlockIndex b : chain.first(hole)) {
        if (m_residency.hbm(b) == Hbm::kAbsent) m_loads.push_back(b);
    }
    for (const BlockIndex b : m_loads) m_residency.begin_read(b);
    for (const BlockIndex b : chain.first(named)) read(b);
    for (const BlockIndex b : m_loads) m_residency.end_read(b);
    read_private(chain.subspan(named));
    m_idle += m_residency.idle_blocks();
    m_residency.release_anonymous(chain.size() - named);
    for (std::size_t i = named; i-- > 0;) finish(chain[i], request.first_ref + i);
}

void Replayer::serve_unpinned(const workload::Request& request) {
    bool hole = false;
    bool named = true;
    for (std::uint64_t i = request.first_ref; i < request.first_ref + request.block_count; ++i) {
        const BlockIndex b = m_workload.refs[i];
        hole = hole || !has_copy(b);
        named = named && !(hole && has_copy(b));
        if (!named) {
            read_private({&b, 1});
            m_residency.release_anonymous(1);
            continue;
        }
        m_residency.pin(b);
        read(b);
        finish(b, i);
    }
}

bool Replayer::has_copy(BlockIndex b) const {
    return m_residency.hbm(b) != Hbm::kAbsent || m_residency.tier(b) != Residency::Tier::kAbsent;
}

/// Brings `b` into HBM where it is not, and reads it.
void Replayer::read(BlockIndex b) {
    if (m_residency.hbm(b) == Hbm::kResident) {
        ++m_hits;
    } else if (m_residency.tier(b) == Residency::Tier::kStored) {
        m_residency.begin_read(b);
        free_frames(1);
        m_residency.expect(b);
        m_residency.loaded(b);
        m_residency.end_read(b);
    } else {
        free_frames(1);
        m_residency.expect(b);
        m_residency.computed(b);
        computed(b);
    }
    m_ledger.read(b);
}

/// Computes blocks into frames without identity, which the caller releases.
void Replayer::read_private(std::span<const BlockIndex> blocks) {
    free_frames(blocks.size());
    m_residency.take_anonymous(blocks.size());
    m_ledger.read_resident(blocks.size());
    for (const BlockIndex b : blocks) computed(b);
    m_private += blocks.size();
}

void Replayer::computed(BlockIndex b) {
    m_recomputed += m_made[b.value] ? 1 : 0;
    m_made[b.value] = true;
}

void Replayer::finish(BlockIndex b, std::uint64_t reference) {
    const std::uint32_t next = m_next_reads.empty() ? kNeverRead : m_next_reads[reference];
    m_store.on_access({.block = b, .now = m_residency.moment()});
    m_residency.touch(b, next);
    m_residency.unpin(b);
}

void Replayer::free_frames(std::uint64_t wanted) {
    while (m_residency.free_frames() < wanted) {
        const std::optional<BlockIndex> victim = m_residency.next_victim();
        if (!victim) throw InvariantError("replay: a feasible read set found no room");
        if (m_residency.tier(*victim) == Residency::Tier::kAbsent) {
            m_residency.begin_leave(*victim);
            store(*victim);
        }
        m_residency.evict(*victim);
    }
}

void Replayer::store(BlockIndex b) {
    if (!m_store.stores(b, m_residency.moment())) return;
    if (m_residency.tier_full()) {
        const std::optional<BlockIndex> victim = m_residency.next_tier_victim();
        if (!victim) return;
        m_residency.drop_tier_copy(*victim);
    }
    m_residency.begin_store(b);
    m_residency.end_store(b);
}

void check(const ReplayConfig& config) {
    const Watermark mark = config.watermark;
    if (mark.start == 0 || mark.start > 100 || mark.batch >= mark.start) {
        throw std::invalid_argument("a watermark starts at 1 to 100 % and frees less than that");
    }
    if (config.queue > 0 && config.control.replacement.replacement != Replacement::kQueueLru) {
        throw std::invalid_argument("only queue-lru looks at the queue");
    }
    if (config.frames == 0) throw std::invalid_argument("a budget has at least one frame");
}

}  // namespace

double ReplayResult::a_read() const {
    if (distinct == 0) return 0;
    return static_cast<double>(counts.promotions) / static_cast<double>(distinct);
}

double ReplayResult::a_traffic() const {
    if (distinct == 0) return 0;
    return static_cast<double>(counts.promotions + counts.demotions) /
           static_cast<double>(distinct);
}

ReplayResult replay(const workload::Workload& workload, const ReplayConfig& config) {
    check(config);
    if (config.first_counted > 0 && config.first_counted >= workload.requests.size()) {
        throw InvariantError("replay: the warm-up leaves no request to count");
    }
    ReplayResult result;
    std::vector<bool> seen(workload.blocks.size(), false);
    for (std::size_t i = 0; i < workload.requests.size(); ++i) {
        const workload::Request& request = workload.requests[i];
        result.largest_read_set =
            std::max<std::uint64_t>(result.largest_read_set, request.block_count);
        if (i < config.first_counted) continue;
        result.block_refs += request.block_count;
        for (const BlockIndex b : workload.chain(request)) {
            result.distinct += seen[b.value] ? 0 : 1;
            seen[b.value] = true;
        }
    }
    result.feasible = !config.pinned || result.largest_read_set <= config.frames;
    if (!result.feasible) return result;
    Replayer(workload, config).run(result);
    result.bounded = config.pinned && config.first_counted == 0 && result.recomputed == 0 &&
                     result.counts.tier_evictions == 0;
    return result;
}

}  // namespace kvplane::control
