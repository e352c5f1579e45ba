// SPDX-License-Identifier: Apache-2.0
#include "model_reference.h"

#include <algorithm>

namespace kvplane::card {

using engine::Opcode;
using engine::Status;

bool changes(Opcode opcode) {
    return opcode != Opcode::kPromote && opcode != Opcode::kPrefetch && opcode != Opcode::kQuery &&
           opcode != Opcode::kCancel;
}

bool moves(Opcode opcode) {
    return opcode == Opcode::kPromote || opcode == Opcode::kPrefetch || opcode == Opcode::kDemote;
}

namespace {

std::uint16_t bit(std::uint16_t tenant) { return static_cast<std::uint16_t>(1U << tenant); }

BlockState gone(const BlockState& state) {
    BlockState left;
    left.policy = state.policy;  // outlives the block
    left.unsure_of_policy = state.unsure_of_policy;
    return left;
}

std::optional<BlockState> demoted(const BlockState& state, const BlockOp& op) {
    if (state.there || op.refused) return std::nullopt;
    BlockState made = gone(state);
    made.there = true;
    made.owner = op.tenant;
    return made;
}

std::optional<BlockState> policy_written(BlockState state, std::uint16_t tenant) {
    if (state.foreign_policy(tenant) && !state.unsure_of_policy) return std::nullopt;
    state.policy = tenant;
    state.unsure_of_policy = false;
    return state;
}

std::uint16_t without(std::uint16_t set, std::uint16_t bits) {
    return static_cast<std::uint16_t>(set & ~bits);
}

/// Whether somebody's pin stands on what `tenant` gives to all.
bool others_pin(const BlockState& state, std::uint16_t tenant) {
    return state.owns(tenant) &&
           without(state.pinned, static_cast<std::uint16_t>(state.granted | bit(tenant))) != 0;
}

std::optional<BlockState> released(BlockState state, std::uint16_t tenant) {
    if (others_pin(state, tenant)) return std::nullopt;
    state.pinned = without(state.pinned, bit(tenant));
    if (state.owner == tenant) {
        state.owner = BlockState::kNobody;
        state.granted = without(state.granted, bit(BlockState::kAll));
    } else {
        state.granted = without(state.granted, bit(tenant));
    }
    const bool last = state.owner == BlockState::kNobody && state.granted == 0;
    return last ? gone(state) : state;
}

bool only_the_owner(Opcode opcode) {
    return opcode == Opcode::kDiscard || opcode == Opcode::kShare || opcode == Opcode::kRetain ||
           opcode == Opcode::kReEncode;
}

bool may_be_busy(const BlockState& state, const BlockOp& op, bool raced) {
    switch (op.opcode) {
        case Opcode::kDiscard:
            return state.owns(op.tenant) && (raced || state.pinned != 0 || state.granted != 0);
        case Opcode::kReEncode:
            return state.owns(op.tenant) && state.pinned != 0;
        case Opcode::kRelease:
            return others_pin(state, op.tenant);
        case Opcode::kPin:
            return op.mapped && raced && state.reads(op.tenant);  // it moves
        default:
            return false;
    }
}

bool may_be_rejected(const BlockState& state, const BlockOp& op, bool raced) {
    switch (op.opcode) {
        case Opcode::kDemote:
            return state.reads(op.tenant) || raced;  // on its way in, or still read after its end
        case Opcode::kUnpin:
            return state.reads(op.tenant) && (state.pinned & bit(op.tenant)) == 0;
        case Opcode::kPrefetch:
            return op.dated && state.reads(op.tenant);
        case Opcode::kPin:
            return op.mapped && state.reads(op.tenant);  // in pieces
        case Opcode::kReEncode:
            return raced && state.owns(op.tenant);  // moves already
        default:
            return false;
    }
}

bool may_be_clipped(const BlockState& state, const BlockOp& op, const Circumstances& how) {
    switch (op.opcode) {
        case Opcode::kDemote:
            return how.full || how.raced || (state.there && !state.reads(op.tenant));
        case Opcode::kReEncode:
            return how.full && state.owns(op.tenant);
        case Opcode::kUpdatePolicy:
            return state.foreign_policy(op.tenant) && !state.reads(op.tenant);
        default:
            return false;
    }
}

}  // namespace

std::optional<BlockState> done_to(const BlockState& state, const BlockOp& op) {
    const std::uint16_t tenant = op.tenant;
    if (op.opcode == Opcode::kDemote) return demoted(state, op);
    if (op.opcode == Opcode::kUpdatePolicy) return policy_written(state, tenant);
    if (!state.reads(tenant)) return std::nullopt;
    if (only_the_owner(op.opcode) && !state.owns(tenant)) return std::nullopt;
    BlockState after = state;
    switch (op.opcode) {
        case Opcode::kDiscard:
            if (state.pinned != 0 || state.granted != 0) return std::nullopt;
            return gone(state);
        case Opcode::kPin:
            after.pinned = static_cast<std::uint16_t>(after.pinned | bit(tenant));
            return after;
        case Opcode::kUnpin:
            if ((state.pinned & bit(tenant)) == 0) return std::nullopt;
            after.pinned = static_cast<std::uint16_t>(after.pinned & ~bit(tenant));
            return after;
        case Opcode::kRetain:
            return policy_written(state, tenant);
        case Opcode::kShare:
            if (op.share_to != tenant) {
                after.granted = static_cast<std::uint16_t>(after.granted | bit(op.share_to));
            }
            return after;
        case Opcode::kRelease:
            return released(state, tenant);
        case Opcode::kReEncode:
            if (state.poisoned || state.pinned != 0) return std::nullopt;
            return state;
        default:
            return state;
    }
}

bool may_refuse(const BlockState& state, const BlockOp& op, Status status,
                const Circumstances& how) {
    const bool reads = state.reads(op.tenant);
    switch (status) {
        case Status::kMissing:
            if (op.opcode == Opcode::kDemote || op.opcode == Opcode::kUpdatePolicy) return false;
            return !reads || (op.opcode == Opcode::kReEncode && how.raced);
        case Status::kNotOwner:
            if (op.opcode == Opcode::kUpdatePolicy) {
                return reads && state.foreign_policy(op.tenant);
            }
            if (op.opcode == Opcode::kRetain && state.foreign_policy(op.tenant)) return reads;
            return reads && only_the_owner(op.opcode) && !state.owns(op.tenant);
        case Status::kPoisoned:
            return state.poisoned && reads &&
                   (op.opcode == Opcode::kPromote || op.opcode == Opcode::kPrefetch ||
                    op.opcode == Opcode::kReEncode);
        case Status::kUnknown:
            return op.refused && (op.opcode == Opcode::kDemote || (how.fenced && reads));
        case Status::kRejected:
            return may_be_rejected(state, op, how.raced);
        case Status::kBusy:
            return may_be_busy(state, op, how.raced);
        case Status::kClipped:
            return may_be_clipped(state, op, how);
        default:
            return false;
    }
}

void BlockWorlds::add(const World& world) {
    if (std::find(m_worlds.begin(), m_worlds.end(), world) == m_worlds.end()) {
        m_worlds.push_back(world);
    }
}

/// Lets everything under way take place in every order, or not at all.
void BlockWorlds::close() {
    for (std::size_t i = 0; i < m_worlds.size(); ++i) {
        for (std::size_t c = 0; c < m_changes.size(); ++c) {
            const World world = m_worlds[i];
            if ((world.took_place >> c & 1U) != 0) continue;
            const std::optional<BlockState> after = done_to(world.state, m_changes[c].op);
            if (after) add({*after, world.took_place | 1U << c});
        }
    }
}

void BlockWorlds::begin(std::uint32_t intent, const BlockOp& op) {
    m_changes.push_back({intent, op});
    close();
}

bool BlockWorlds::end(std::uint32_t intent, bool done) {
    const auto change = std::find_if(m_changes.begin(), m_changes.end(),
                                     [&](const Change& some) { return some.intent == intent; });
    const auto c = static_cast<std::uint32_t>(change - m_changes.begin());
    std::vector<World> before;
    before.swap(m_worlds);
    for (World world : before) {
        if ((world.took_place >> c & 1U) != (done ? 1U : 0U)) continue;
        const std::uint32_t below = world.took_place & ((1U << c) - 1U);
        world.took_place = below | (world.took_place >> (c + 1U) << c);
        add(world);
    }
    m_changes.erase(change);
    return !m_worlds.empty();
}

void BlockWorlds::lose() {
    BlockState lost;
    lost.unsure_of_policy = true;
    m_worlds = {World{lost, 0}};
    m_changes.clear();
}

void BlockWorlds::vanish() {
    std::vector<World> before;
    before.swap(m_worlds);
    for (const World& world : before) add({gone(world.state), 0});
    m_changes.clear();
}

void BlockWorlds::forget_policy() {
    for (World& world : m_worlds) {
        world.state.policy = BlockState::kNobody;
        world.state.unsure_of_policy = false;
    }
}

void BlockWorlds::poison() {
    for (World& world : m_worlds) world.state.poisoned = world.state.there;
}

bool BlockWorlds::keep(std::uint16_t tenant, bool reads) {
    std::erase_if(m_worlds, [&](const World& world) { return world.state.reads(tenant) != reads; });
    return !m_worlds.empty();
}

std::vector<BlockState> BlockWorlds::states() const {
    std::vector<BlockState> all;
    for (const World& world : m_worlds) {
        if (std::find(all.begin(), all.end(), world.state) == all.end()) all.push_back(world.state);
    }
    return all;
}

std::optional<BlockState> BlockWorlds::certain() const {
    const std::vector<BlockState> all = states();
    return all.size() == 1 ? std::optional(all[0]) : std::nullopt;
}

}  // namespace kvplane::card
