// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/control_plane.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/common/errors.h"
#include "model/common/sim_time.h"

namespace kvplane::control {

using driver::MoveKind;
using Hbm = Residency::Hbm;
using TierCopy = Residency::Tier;

ControlPlane::ControlPlane(const ControlConfig& config, const workload::Workload& workload,
                           std::uint64_t tier_blocks, gpu::HbmPool& hbm, block::Ledger& ledger,
                           driver::Driver& driver, ReadyListener& listener)
    : m_config(config),
      m_workload(workload),
      m_hbm(hbm),
      m_ledger(ledger),
      m_driver(driver),
      m_listener(listener),
      m_residency(
          workload.blocks, hbm.frames(), tier_blocks, ledger,
          with_admission(config.admission,
                         make_policy(config.replacement, hbm.frames(), workload.blocks.size()),
                         hbm.frames(), workload.blocks),
          make_policy(config.tier_eviction, tier_blocks, workload.blocks.size())),
      m_store(config.store, workload.blocks.size()),
      m_slot(workload.blocks.size()),
      m_loading(workload.blocks.size(), kNoRun),
      m_active(workload.blocks.size()) {
    driver.set_client(*this);
    find_tenants();
}

void ControlPlane::find_tenants() {
    constexpr std::uint16_t kNobody = UINT16_MAX;
    const auto& requests = m_workload.requests;
    if (std::all_of(requests.begin(), requests.end(),
                    [](const auto& r) { return r.tenant == 0; })) {
        return;
    }
    m_tenant.assign(m_workload.blocks.size(), kNobody);
    for (const workload::Request& request : requests) {
        if (request.tenant >= kNobody) {
            throw UserError(
                fmt::format("workload: tenant {} of a request: intents name tenants up to {}",
                            request.tenant, kNobody - 1));
        }
        const auto tenant = static_cast<std::uint16_t>(request.tenant);
        for (const BlockIndex b : m_workload.chain(request)) {
            std::uint16_t& of = m_tenant[b.value];
            of = of == kNobody || of == tenant ? tenant : std::uint16_t{0};
        }
    }
}

void ControlPlane::account() {
    if (m_closed) return;
    const std::uint64_t idle = m_residency.idle_blocks();
    const std::uint64_t waiting = m_waiting_frames + m_promised;
    const std::uint64_t used = m_residency.used_frames() + m_promised;
    m_hbm.account(
        now(),
        {.active = used - std::min(used, idle + waiting), .idle = idle, .prefetched = waiting});
}

void ControlPlane::restart_counts() {
    account();
    m_hbm.restart_account();
    m_ledger.restart_counts();
    m_counts = {};
}

void ControlPlane::close() {
    account();
    m_closed = true;
}

// --- Admission -----------------------------------------------------------------------------------

bool ControlPlane::admit(Holding& holding, const Demand& demand) {
    account();
    if (m_waiter != nullptr) return false;
    holding = {.chain = demand.chain};
    match(holding, demand);
    const std::uint64_t found = holding.reused - holding.loads;
    const std::uint64_t wanted = demand.prompt_blocks - found + demand.extra_blocks;
    const std::uint64_t room = grantable() + m_residency.idle_blocks() - idle_to_pin(holding);
    if (wanted + demand.spare > room) return false;
    holding.decided = now();
    holding.wanted = wanted;
    holding.waits_for_frames = true;
    holding.anonymous = wanted - holding.loads - (holding.named_end - holding.named);
    m_counts.block_refs += demand.chain.size();
    m_counts.hits += found;
    m_counts.private_copies +=
        demand.chain.size() - holding.reused - (holding.named_end - holding.named);
    hold_chain(holding);
    m_waiter = &holding;
    gather_frames();
    return true;
}

void ControlPlane::match(Holding& holding, const Demand& demand) const {
    const auto hbm_of = [&](std::uint32_t i) { return m_residency.hbm(demand.chain[i]); };
    std::uint32_t i = 0;
    while (i < demand.reusable &&
           (hbm_of(i) == Hbm::kResident || m_loading[demand.chain[i].value] != kNoRun)) {
        ++i;
    }
    const std::uint32_t found = i;
    while (i < demand.reusable && hbm_of(i) == Hbm::kAbsent &&
           m_residency.tier(demand.chain[i]) == TierCopy::kStored) {
        ++i;
    }
    holding.loads = i - found;
    holding.reused = i;
    holding.computed = i;
    const auto size = static_cast<std::uint32_t>(demand.chain.size());
    const auto has_copy = [&](std::uint32_t k) {
        return hbm_of(k) != Hbm::kAbsent || m_residency.tier(demand.chain[k]) != TierCopy::kAbsent;
    };
    while (i < size && has_copy(i)) ++i;
    holding.named = i;
    while (i < size && !has_copy(i)) ++i;
    holding.named_end = i;
    // A copy that it does not read must not take a frame from it: alone in HBM it could never run.
    if (holding.named == i) holding.named = holding.named_end = holding.reused;
}

std::uint64_t ControlPlane::idle_to_pin(const Holding& holding) const {
    std::uint64_t idle = 0;
    for (const BlockIndex b : holding.pinned()) {
        idle += m_residency.hbm(b) == Hbm::kResident && m_residency.pins(b) == 0 ? 1 : 0;
    }
    return idle;
}

void ControlPlane::hold_chain(Holding& holding) {
    for (const BlockIndex b : holding.pinned()) m_residency.pin(b);
    for (std::uint32_t i = holding.reused - holding.loads; i < holding.reused; ++i) {
        m_residency.begin_read(holding.chain[i]);
    }
}

void ControlPlane::gather_frames() {
    if (m_waiter == nullptr) return;
    Holding& holding = *m_waiter;
    while (m_promised < holding.wanted) {
        if (grantable() != 0) {
            ++m_promised;
        } else if (m_promised + m_leaving >= holding.wanted || !free_one_frame()) {
            break;
        }
    }
    submit_stores(m_to_evict, true);
    if (m_promised < holding.wanted) return;
    m_promised = 0;
    m_waiter = nullptr;
    take_frames(holding);
    join(holding);
    start_loads(holding);
}

bool ControlPlane::free_one_frame() {
    const std::optional<BlockIndex> victim = m_residency.next_victim();
    if (!victim) return false;
    const bool unwritten = m_residency.tier(*victim) == TierCopy::kAbsent;
    if (m_config.demotion != Demotion::kWriteThrough && unwritten &&
        m_store.stores(*victim, m_residency.moment())) {
        if (make_tier_room()) {
            m_residency.begin_leave(*victim);
            m_residency.begin_store(*victim);
            m_to_evict.push_back(*victim);
            ++m_leaving;
            return true;
        }
        ++m_counts.stores_skipped;
    }
    evict(*victim);
    return true;
}

void ControlPlane::evict(BlockIndex b) {
    m_hbm.free_slot(m_slot[b.value]);
    m_residency.evict(b);
}

void ControlPlane::take_frames(Holding& holding) {
    m_residency.take_anonymous(holding.anonymous);
    const auto expect = [&](std::uint32_t i) {
        const BlockIndex b = holding.chain[i];
        m_residency.expect(b);
        m_slot[b.value] = m_hbm.take_slot();
    };
    for (std::uint32_t i = holding.reused - holding.loads; i < holding.reused; ++i) expect(i);
    for (std::uint32_t i = holding.named; i < holding.named_end; ++i) expect(i);
    holding.waits_for_frames = false;
    holding.frames_ready = now();
    m_waiting_frames += holding.wanted;
}

void ControlPlane::join(Holding& holding) {
    const std::uint32_t found = holding.reused - holding.loads;
    for (std::uint32_t i = 0; i < found; ++i) {
        const std::uint32_t run = m_loading[holding.chain[i].value];
        if (run == kNoRun) continue;
        std::vector<Joiner>& joiners = m_runs[run].joiners;
        if (joiners.empty() || joiners.back().holding != &holding) joiners.push_back({&holding, 0});
        ++joiners.back().blocks;
        ++holding.missing;
    }
}

void ControlPlane::start_loads(Holding& holding) {
    holding.missing += holding.loads;
    const std::uint32_t end = holding.reused;
    for (std::uint32_t i = end - holding.loads; i < end;) {
        const std::uint32_t token = take_run(MoveKind::kPromote);
        Run& run = m_runs[token];
        const std::uint16_t tenant = tenant_of(holding.chain[i]);
        for (; i < end && run.moves.size() < driver::kLongestRun &&
               tenant_of(holding.chain[i]) == tenant;
             ++i) {
            m_loading[holding.chain[i].value] = token;
            run.moves.push_back(move_of(holding.chain[i]));
        }
        run.joiners.push_back({&holding, static_cast<std::uint32_t>(run.moves.size())});
        submit(token, holding.decided);
    }
}

// --- While it runs -------------------------------------------------------------------------------

void ControlPlane::activate(Holding& holding) {
    account();
    m_waiting_frames -= holding.wanted;
    for (std::uint32_t i = 0; i < holding.reused; ++i) {
        m_active_blocks += m_active[holding.chain[i].value]++ == 0 ? 1 : 0;
    }
}

void ControlPlane::computed(Holding& holding, std::uint32_t end) {
    account();
    for (; holding.computed < end; ++holding.computed) {
        if (!holding.reads_named(holding.computed)) continue;
        const BlockIndex b = holding.chain[holding.computed];
        m_residency.computed(b);
        m_hbm.produce(m_slot[b.value], m_workload.blocks[b.value].key);
        const bool any =
            m_config.demotion == Demotion::kWriteThrough || m_config.demotion == Demotion::kLazy;
        if (any) m_to_store.push_back(b);
        m_active_blocks += m_active[b.value]++ == 0 ? 1 : 0;
    }
}

ControlPlane::Grown ControlPlane::grow(Holding& holding) {
    account();
    if (grantable() == 0 && m_leaving == 0 && !free_one_frame()) return Grown::kNoRoom;
    submit_stores(m_to_evict, true);
    if (grantable() == 0) return Grown::kLater;
    m_residency.take_anonymous(1);
    ++holding.anonymous;
    return Grown::kYes;
}

void ControlPlane::release(Holding& holding) {
    account();
    m_residency.next_request(now());
    for (std::size_t n = holding.chain.size(); n-- > 0;) {
        const auto i = static_cast<std::uint32_t>(n);
        const BlockIndex b = holding.chain[i];
        if (m_residency.hbm(b) == Hbm::kResident) {
            m_store.on_access({.block = b, .now = m_residency.moment()});
            m_residency.touch(b);
            if (m_config.demotion == Demotion::kSelective) choose(b);
        }
        if (i < holding.named_end) m_residency.unpin(b);
        if (!holding.reads_named(i)) continue;
        if (i < holding.computed) {
            m_active_blocks -= --m_active[b.value] == 0 ? 1 : 0;
        } else {
            m_residency.give_up(b);
            m_hbm.free_slot(m_slot[b.value]);
        }
    }
    m_residency.release_anonymous(holding.anonymous);
    gather_frames();
}

void ControlPlane::choose(BlockIndex b) {
    const bool unwritten = m_residency.tier(b) == TierCopy::kAbsent;
    if (unwritten && m_store.stores(b, m_residency.moment())) m_to_store.push_back(b);
}

void ControlPlane::end_of_step() {
    account();
    if (m_config.demotion == Demotion::kLazy) {
        store_lazily();
        return;
    }
    begin_stores(m_to_store);
    submit_stores(m_to_store, false);
}

/// A bounded number of blocks a step, so that what is stored in the background stays there.
void ControlPlane::store_lazily() {
    if (m_residency.free_frames() * 1'000'000 >= m_hbm.frames() * m_config.lazy_below.ppm) return;
    const std::size_t n = std::min<std::size_t>(m_to_store.size(), m_config.lazy_batch);
    const auto end = m_to_store.begin() + static_cast<std::ptrdiff_t>(n);
    std::vector<BlockIndex> some(m_to_store.begin(), end);
    m_to_store.erase(m_to_store.begin(), end);
    begin_stores(some);
    submit_stores(some, false);
}

void ControlPlane::count_reads(std::uint64_t anonymous) {
    m_ledger.read_resident(m_active_blocks + anonymous);
}

void ControlPlane::check_read_set(const Holding& holding) const {
    for (std::uint32_t i = 0; i < holding.computed; ++i) {
        if (!holding.reads_named(i)) continue;
        if (m_residency.hbm(holding.chain[i]) == Hbm::kResident) continue;
        throw InvariantError(
            fmt::format("block {} is read while it is not in HBM", holding.chain[i].value));
    }
}

// --- Moves ---------------------------------------------------------------------------------------

bool ControlPlane::make_tier_room() {
    if (!m_residency.tier_full()) return true;
    const std::optional<BlockIndex> victim = m_residency.next_tier_victim();
    if (!victim) return false;
    m_residency.drop_tier_copy(*victim);
    m_discards.push_back(*victim);
    return true;
}

void ControlPlane::begin_stores(std::vector<BlockIndex>& blocks) {
    std::size_t kept = 0;
    for (const BlockIndex b : blocks) {
        // Of those that waited, some have left or are on their way already.
        if (m_residency.hbm(b) != Hbm::kResident || m_residency.tier(b) != TierCopy::kAbsent) {
            continue;
        }
        if (!make_tier_room()) {
            ++m_counts.stores_skipped;
            continue;
        }
        m_residency.begin_store(b);
        blocks[kept++] = b;
    }
    blocks.resize(kept);
}

void ControlPlane::submit_stores(std::vector<BlockIndex>& blocks, bool evict_after) {
    submit_all(MoveKind::kDiscard, m_discards, false);
    submit_all(MoveKind::kDemote, blocks, evict_after);
}

/// Orders the moves of `blocks`, and forgets them.
void ControlPlane::submit_all(MoveKind kind, std::vector<BlockIndex>& blocks, bool evict_after) {
    if (!m_tenant.empty()) {
        std::stable_sort(blocks.begin(), blocks.end(),
                         [&](BlockIndex a, BlockIndex b) { return tenant_of(a) < tenant_of(b); });
    }
    for (std::size_t i = 0; i < blocks.size();) {
        const std::uint32_t token = take_run(kind);
        Run& run = m_runs[token];
        run.evict_after = evict_after;
        const std::uint16_t tenant = tenant_of(blocks[i]);
        for (; i < blocks.size() && run.moves.size() < driver::kLongestRun &&
               tenant_of(blocks[i]) == tenant;
             ++i) {
            run.moves.push_back(move_of(blocks[i]));
        }
        submit(token, now());
    }
    blocks.clear();
}

driver::Move ControlPlane::move_of(BlockIndex b) const {
    return {b, m_workload.blocks[b.value].key, m_slot[b.value]};
}

std::uint32_t ControlPlane::take_run(MoveKind kind) {
    if (m_free_runs.empty()) {
        m_free_runs.push_back(static_cast<std::uint32_t>(m_runs.size()));
        m_runs.emplace_back();
    }
    const std::uint32_t token = m_free_runs.back();
    m_free_runs.pop_back();
    m_runs[token].kind = kind;
    m_runs[token].moves.clear();
    m_runs[token].joiners.clear();
    m_runs[token].evict_after = false;
    return token;
}

void ControlPlane::submit(std::uint32_t token, Time decided) {
    const Run& run = m_runs[token];
    m_driver.submit({.kind = run.kind,
                     .token = token,
                     .tenant = tenant_of(run.moves.front().block),
                     .decided = decided,
                     .frames_ready = now(),
                     .deadline = decided,
                     .moves = run.moves});
}

void ControlPlane::run_done(std::uint32_t token, engine::Status status, std::size_t moved) {
    account();
    Run& run = m_runs[token];
    const bool clipped = status == engine::Status::kClipped && run.kind == MoveKind::kDemote &&
                         moved < run.moves.size();
    if (!clipped && (status != engine::Status::kOk || moved != run.moves.size())) {
        throw InvariantError(fmt::format(
            "the card answered status {} after {} of {} blocks to a run of kind {} that the host's "
            "directory allows",
            static_cast<int>(status), moved, run.moves.size(), static_cast<int>(run.kind)));
    }
    switch (run.kind) {
        case MoveKind::kPromote:
        case MoveKind::kPrefetch:
            promoted(run);
            break;
        case MoveKind::kDemote:
            demoted(run, moved);
            break;
        case MoveKind::kDiscard:
            break;
    }
    const MoveKind kind = run.kind;
    m_free_runs.push_back(token);
    if (kind == MoveKind::kDiscard) return;
    submit_all(MoveKind::kDiscard, m_discards, false);
    gather_frames();
    m_listener.holdings_changed();
}

void ControlPlane::promoted(Run& run) {
    for (const driver::Move& move : run.moves) {
        m_residency.loaded(move.block);
        m_residency.end_read(move.block);
        m_loading[move.block.value] = kNoRun;
        m_hbm.verify(move.slot, move.key);
    }
    for (const Joiner& joiner : run.joiners) joiner.holding->missing -= joiner.blocks;
}

/// Blocks behind the first `moved` were refused. Each asks for the room of one tier copy, so that
/// later ones find some; it stays in HBM, or leaves without a copy if it was to leave.
void ControlPlane::demoted(Run& run, std::size_t moved) {
    for (std::size_t i = run.moves.size(); i-- > 0;) {
        const BlockIndex b = run.moves[i].block;
        if (i < moved) {
            m_residency.end_store(b);
            continue;
        }
        m_residency.abandon_store(b);
        ++m_counts.stores_refused;
        const std::optional<BlockIndex> victim = m_residency.next_tier_victim();
        if (!victim) continue;
        m_residency.drop_tier_copy(*victim);
        m_discards.push_back(*victim);
    }
    if (!run.evict_after) return;
    m_leaving -= run.moves.size();
    for (const driver::Move& move : run.moves) {
        if (m_residency.leaving(move.block)) evict(move.block);
    }
}

}  // namespace kvplane::control
