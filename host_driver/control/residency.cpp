// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/residency.h"

#include <fmt/format.h>

#include "model/common/errors.h"

namespace kvplane::control {
namespace {

[[noreturn]] void broken(BlockIndex b, const char* what) {
    throw InvariantError(fmt::format("residency: block {} {}", b.value, what));
}

}  // namespace

Residency::Residency(std::span<const workload::BlockEntry> blocks, std::uint64_t frames,
                     std::uint64_t tier_blocks, block::Ledger& ledger,
                     std::unique_ptr<Policy> policy, std::unique_ptr<Policy> tier_policy)
    : m_blocks(blocks),
      m_states(blocks.size()),
      m_frames(frames),
      m_tier_blocks(tier_blocks),
      m_ledger(ledger),
      m_policy(std::move(policy)),
      m_tier_policy(tier_blocks == kUnbounded ? nullptr : std::move(tier_policy)) {}

Residency::Residency(std::span<const workload::BlockEntry> blocks, std::uint64_t frames,
                     std::uint64_t tier_blocks, block::Ledger& ledger)
    : Residency(blocks, frames, tier_blocks, ledger,
                make_policy(PolicySpec{}, frames, blocks.size()),
                make_policy(PolicySpec{}, tier_blocks, blocks.size())) {}

void Residency::take_anonymous(std::uint64_t count) {
    if (count > free_frames()) throw InvariantError("residency: no free frame to take");
    m_used += count;
}

void Residency::release_anonymous(std::uint64_t count) {
    if (count > m_used) throw InvariantError("residency: more frames released than taken");
    m_used -= count;
}

void Residency::pin(BlockIndex b) {
    hold(b);
    stay(b);
}

void Residency::hold(BlockIndex b) {
    State& state = at(b);
    if (state.pins++ == 0 && state.hbm == Hbm::kResident) {
        --m_idle;
        ++m_pinned_resident;
        offer(b);
    }
}

void Residency::unpin(BlockIndex b) {
    State& state = at(b);
    if (state.pins == 0) broken(b, "unpinned once too often");
    if (--state.pins != 0 || state.hbm != Hbm::kResident) return;
    ++m_idle;
    --m_pinned_resident;
    offer(b);
}

void Residency::next_request(Time wall) {
    ++m_moment.request;
    m_moment.wall = wall;
}

void Residency::touch(BlockIndex b, std::uint32_t next_read) {
    State& state = at(b);
    const Access access{b, !state.fresh, m_moment, next_read};
    ++m_moment.access;
    if (state.hbm != Hbm::kAbsent) m_policy->on_access(access);
    if (m_tier_policy != nullptr && state.tier != Tier::kAbsent) m_tier_policy->on_access(access);
    state.fresh = false;
}

/// Tells the policy where a block has become eligible, or is no longer.
void Residency::offer(BlockIndex b) {
    State& state = at(b);
    const bool eligible = may_leave_hbm(b) && !state.leaving;
    if (eligible == state.offered) return;
    state.offered = eligible;
    m_policy->set_eligible(b, eligible);
}

void Residency::offer_tier_copy(BlockIndex b) {
    if (m_tier_policy == nullptr) return;
    State& state = at(b);
    const bool eligible = may_leave_tier(b);
    if (eligible == state.tier_offered) return;
    state.tier_offered = eligible;
    m_tier_policy->set_eligible(b, eligible);
}

void Residency::add_hbm_child(BlockIndex parent) {
    if (parent == block::kNoBlock) return;
    ++at(parent).hbm_children;
    stay(parent);
    offer(parent);
}

void Residency::remove_hbm_child(BlockIndex parent) {
    if (parent == block::kNoBlock) return;
    --at(parent).hbm_children;
    offer(parent);
}

void Residency::leave_hbm(BlockIndex b) {
    State& state = at(b);
    state.hbm = Hbm::kAbsent;
    state.offered = false;
    --m_used;
    m_policy->on_remove(b);
    if (!state.leaving) remove_hbm_child(m_blocks[b.value].parent);
    state.leaving = false;
}

void Residency::begin_leave(BlockIndex b) {
    if (!may_leave_hbm(b) || at(b).leaving) broken(b, "leaves HBM while something holds it there");
    at(b).leaving = true;
    offer(b);
    remove_hbm_child(m_blocks[b.value].parent);
}

/// Where `b` is on its way out, it is no longer.
void Residency::stay(BlockIndex b) {
    if (!at(b).leaving) return;
    at(b).leaving = false;
    offer(b);
    add_hbm_child(m_blocks[b.value].parent);
}

void Residency::expect(BlockIndex b) {
    State& state = at(b);
    if (state.hbm != Hbm::kAbsent) broken(b, "expected while it is in HBM");
    take_anonymous(1);
    state.hbm = Hbm::kExpected;
    state.fresh = true;
    add_hbm_child(m_blocks[b.value].parent);
    m_policy->on_insert(b, m_moment);
}

void Residency::give_up(BlockIndex b) {
    if (hbm(b) != Hbm::kExpected) broken(b, "given up while it is not expected");
    leave_hbm(b);
}

void Residency::arrive(BlockIndex b) {
    State& state = at(b);
    if (state.hbm != Hbm::kExpected) broken(b, "arrived unexpectedly");
    state.hbm = Hbm::kResident;
    if (state.pins != 0) {
        ++m_pinned_resident;
        return;
    }
    ++m_idle;
    offer(b);
}

void Residency::computed(BlockIndex b) {
    arrive(b);
    m_ledger.produced(b);
}

void Residency::loaded(BlockIndex b) {
    arrive(b);
    m_ledger.promoted(b);
}

bool Residency::may_leave_hbm(BlockIndex b) const {
    const State& state = m_states[b.value];
    return state.hbm == Hbm::kResident && state.pins == 0 && state.hbm_children == 0;
}

std::optional<BlockIndex> Residency::next_victim() {
    const BlockIndex b = m_policy->victim(m_moment);
    if (b == block::kNoBlock) return std::nullopt;
    if (!may_leave_hbm(b)) broken(b, "chosen to leave while something holds it in HBM");
    return b;
}

void Residency::evict(BlockIndex b) {
    if (!may_leave_hbm(b)) broken(b, "evicted while something holds it in HBM");
    --m_idle;
    m_ledger.left_hbm(b, at(b).leaving);
    leave_hbm(b);
}

void Residency::begin_store(BlockIndex b) {
    State& state = at(b);
    if (state.hbm != Hbm::kResident || state.tier != Tier::kAbsent) {
        broken(b, "stored while absent from HBM or present in the tier");
    }
    if (tier_full()) broken(b, "stored in a full tier");
    state.tier = Tier::kStoring;
    ++m_tier_used;
    const BlockIndex parent = m_blocks[b.value].parent;
    if (parent != block::kNoBlock) {
        ++at(parent).tier_children;
        offer_tier_copy(parent);
    }
    if (m_tier_policy != nullptr) m_tier_policy->on_insert(b, m_moment);
    hold(b);
}

void Residency::end_store(BlockIndex b) {
    if (tier(b) != Tier::kStoring) broken(b, "is not being stored");
    at(b).tier = Tier::kStored;
    m_ledger.demoted(b);
    unpin(b);
    offer_tier_copy(b);
}

void Residency::abandon_store(BlockIndex b) {
    if (tier(b) != Tier::kStoring) broken(b, "is not being stored");
    leave_tier(b);
    unpin(b);
}

void Residency::begin_read(BlockIndex b) {
    if (tier(b) != Tier::kStored) broken(b, "read while the tier has no copy");
    ++at(b).readers;
    offer_tier_copy(b);
}

void Residency::end_read(BlockIndex b) {
    State& state = at(b);
    if (state.readers == 0) broken(b, "released by a reader once too often");
    --state.readers;
    offer_tier_copy(b);
}

bool Residency::may_leave_tier(BlockIndex b) const {
    const State& state = m_states[b.value];
    return state.tier == Tier::kStored && state.readers == 0 && state.tier_children == 0;
}

std::optional<BlockIndex> Residency::next_tier_victim() {
    if (m_tier_policy == nullptr) return std::nullopt;
    const BlockIndex b = m_tier_policy->victim(m_moment);
    if (b == block::kNoBlock) return std::nullopt;
    if (!may_leave_tier(b)) broken(b, "chosen to leave while something holds it in the tier");
    return b;
}

void Residency::leave_tier(BlockIndex b) {
    State& state = at(b);
    state.tier = Tier::kAbsent;
    state.tier_offered = false;
    --m_tier_used;
    if (m_tier_policy != nullptr) m_tier_policy->on_remove(b);
    const BlockIndex parent = m_blocks[b.value].parent;
    if (parent == block::kNoBlock) return;
    --at(parent).tier_children;
    offer_tier_copy(parent);
}

void Residency::drop_tier_copy(BlockIndex b) {
    if (!may_leave_tier(b)) broken(b, "dropped from the tier while something holds it there");
    leave_tier(b);
    m_ledger.left_tier(b);
}

std::uint64_t Residency::unreachable_blocks() const {
    std::vector<bool> cut(m_blocks.size(), false);
    std::uint64_t count = 0;
    for (std::uint32_t i = 0; i < m_blocks.size(); ++i) {  // parents come before their children
        const State& state = m_states[i];
        const bool somewhere = state.hbm == Hbm::kResident || state.tier == Tier::kStored;
        const BlockIndex parent = m_blocks[i].parent;
        const bool orphan = parent != block::kNoBlock && cut[parent.value];
        count += somewhere && orphan ? 1 : 0;
        cut[i] = !somewhere || orphan;
    }
    return count;
}

void Residency::audit() const {
    std::uint64_t idle = 0;
    std::uint64_t pinned = 0;
    std::uint64_t tier_used = 0;
    std::uint64_t in_hbm = 0;
    for (std::uint32_t i = 0; i < m_states.size(); ++i) {
        const State& state = m_states[i];
        const BlockIndex b{i};
        const bool resident = state.hbm == Hbm::kResident;
        if (resident != m_ledger.in_hbm(b)) broken(b, "differs from the ledger about HBM");
        if ((state.tier == Tier::kStored) != m_ledger.in_tier(b)) {
            broken(b, "differs from the ledger about the tier");
        }
        in_hbm += state.hbm != Hbm::kAbsent ? 1 : 0;
        idle += resident && state.pins == 0 ? 1 : 0;
        pinned += resident && state.pins != 0 ? 1 : 0;
        tier_used += state.tier != Tier::kAbsent ? 1 : 0;
    }
    if (idle != m_idle || pinned != m_pinned_resident || tier_used != m_tier_used ||
        in_hbm > m_used || m_used > m_frames || m_tier_used > m_tier_blocks) {
        throw InvariantError(fmt::format(
            "residency: counts differ: idle {} {}, pinned {} {}, tier {} {} of {}, HBM {} {} of {}",
            idle, m_idle, pinned, m_pinned_resident, tier_used, m_tier_used, m_tier_blocks, in_hbm,
            m_used, m_frames));
    }
}

}  // namespace kvplane::control
