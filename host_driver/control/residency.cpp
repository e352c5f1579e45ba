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
                     std::uint64_t tier_blocks, block::Ledger& ledger)
    : m_blocks(blocks),
      m_states(blocks.size()),
      m_frames(frames),
      m_tier_blocks(tier_blocks),
      m_ledger(ledger),
      m_hbm_order(static_cast<std::uint32_t>(blocks.size())),
      m_tier_order(static_cast<std::uint32_t>(blocks.size())) {}

void Residency::take_anonymous(std::uint64_t count) {
    if (count > free_frames()) throw InvariantError("residency: no free frame to take");
    m_used += count;
}

void Residency::release_anonymous(std::uint64_t count) {
    if (count > m_used) throw InvariantError("residency: more frames released than taken");
    m_used -= count;
}

void Residency::pin(BlockIndex b) {
    State& state = at(b);
    if (state.pins++ == 0 && state.hbm == Hbm::kResident) {
        --m_idle;
        ++m_pinned_resident;
    }
}

void Residency::unpin(BlockIndex b) {
    State& state = at(b);
    if (state.pins == 0) broken(b, "unpinned once too often");
    if (--state.pins != 0 || state.hbm != Hbm::kResident) return;
    ++m_idle;
    --m_pinned_resident;
    if (may_leave_hbm(b)) m_hbm_order.eligible(b);
}

void Residency::touch(BlockIndex b) {
    m_hbm_order.touch(b);
    m_tier_order.touch(b);
}

void Residency::enter_hbm(BlockIndex b) {
    const BlockIndex parent = m_blocks[b.value].parent;
    if (parent != block::kNoBlock) ++at(parent).hbm_children;
}

void Residency::leave_hbm(BlockIndex b) {
    at(b).hbm = Hbm::kAbsent;
    --m_used;
    const BlockIndex parent = m_blocks[b.value].parent;
    if (parent == block::kNoBlock) return;
    --at(parent).hbm_children;
    if (may_leave_hbm(parent)) m_hbm_order.eligible(parent);
}

void Residency::expect(BlockIndex b) {
    State& state = at(b);
    if (state.hbm != Hbm::kAbsent) broken(b, "expected while it is in HBM");
    take_anonymous(1);
    state.hbm = Hbm::kExpected;
    enter_hbm(b);
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
    if (may_leave_hbm(b)) m_hbm_order.eligible(b);
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
    return m_hbm_order.victim([this](BlockIndex b) { return may_leave_hbm(b); });
}

void Residency::evict(BlockIndex b) {
    if (!may_leave_hbm(b)) broken(b, "evicted while something holds it in HBM");
    --m_idle;
    leave_hbm(b);
    m_ledger.left_hbm(b);
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
    if (parent != block::kNoBlock) ++at(parent).tier_children;
    pin(b);
}

void Residency::end_store(BlockIndex b) {
    if (tier(b) != Tier::kStoring) broken(b, "is not being stored");
    at(b).tier = Tier::kStored;
    m_ledger.demoted(b);
    unpin(b);
    if (may_leave_tier(b)) m_tier_order.eligible(b);
}

void Residency::abandon_store(BlockIndex b) {
    if (tier(b) != Tier::kStoring) broken(b, "is not being stored");
    leave_tier(b);
    unpin(b);
}

void Residency::begin_read(BlockIndex b) {
    if (tier(b) != Tier::kStored) broken(b, "read while the tier has no copy");
    ++at(b).readers;
}

void Residency::end_read(BlockIndex b) {
    State& state = at(b);
    if (state.readers == 0) broken(b, "released by a reader once too often");
    --state.readers;
    if (may_leave_tier(b)) m_tier_order.eligible(b);
}

bool Residency::may_leave_tier(BlockIndex b) const {
    const State& state = m_states[b.value];
    return state.tier == Tier::kStored && state.readers == 0 && state.tier_children == 0;
}

std::optional<BlockIndex> Residency::next_tier_victim() {
    return m_tier_order.victim([this](BlockIndex b) { return may_leave_tier(b); });
}

void Residency::leave_tier(BlockIndex b) {
    at(b).tier = Tier::kAbsent;
    --m_tier_used;
    const BlockIndex parent = m_blocks[b.value].parent;
    if (parent == block::kNoBlock) return;
    --at(parent).tier_children;
    if (may_leave_tier(parent)) m_tier_order.eligible(parent);
}

void Residency::drop_tier_copy(BlockIndex b) {
    if (!may_leave_tier(b)) broken(b, "dropped from the tier while something holds it there");
    leave_tier(b);
    m_ledger.left_tier(b);
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
