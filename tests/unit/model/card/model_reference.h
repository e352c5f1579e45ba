// SPDX-License-Identifier: Apache-2.0
/// What a card may say of one block: a state with rooms, rights, pins and policy by the simplest
/// means, and all states that changes under way can have led to, in whatever order they took place.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/engine/intent.h"

namespace kvplane::card {

/// One block, as far as a host can tell.
struct BlockState {
    static constexpr std::uint16_t kAll = 15;  ///< the bit of a grant to everybody
    static constexpr std::int32_t kNobody = -1;

    bool there = false;
    bool poisoned = false;
    bool unsure_of_policy = false;  ///< a reset came between
    std::int32_t owner = kNobody;
    std::int32_t policy = kNobody;  ///< whose policy record, if there is one
    std::uint16_t granted = 0;      ///< tenants, a bit each
    std::uint16_t pinned = 0;

    bool operator==(const BlockState&) const = default;
    [[nodiscard]] bool owns(std::uint16_t tenant) const { return there && owner == tenant; }
    [[nodiscard]] bool reads(std::uint16_t tenant) const {
        return owns(tenant) || (there && ((granted >> tenant | granted >> kAll) & 1U) != 0);
    }
    [[nodiscard]] bool foreign_policy(std::uint16_t tenant) const {
        return unsure_of_policy || (policy != kNobody && policy != tenant);
    }
};

/// What an intent asks of one block.
struct BlockOp {
    engine::Opcode opcode{};
    std::uint16_t tenant = 0;
    std::uint16_t share_to = 0;  ///< or BlockState::kAll
    bool mapped = false;         ///< a pin that asks for an address
    bool dated = false;          ///< a prefetch that may be too late
    bool refused = false;        ///< its slot lies where the device refuses all
};

[[nodiscard]] bool changes(engine::Opcode opcode);
[[nodiscard]] bool moves(engine::Opcode opcode);

/// The state after `op` was done to `state`; nothing where it cannot be done.
[[nodiscard]] std::optional<BlockState> done_to(const BlockState& state, const BlockOp& op);

/// How else than by the state alone an answer may come about.
struct Circumstances {
    bool raced = false;   ///< something else was under way with the same block
    bool full = false;    ///< the tier, or its index, may have had no room
    bool fenced = false;  ///< the card reads back what it wrote
};
/// Whether a card that finds `state` may refuse `op` with `status`.
[[nodiscard]] bool may_refuse(const BlockState& state, const BlockOp& op, engine::Status status,
                              const Circumstances& circumstances);

/// One block and the changes of it that are under way.
class BlockWorlds {
public:
    /// More under way at once are not followed.
    static constexpr std::size_t kMostChanges = 4;

    [[nodiscard]] bool takes_another() const {
        return m_changes.size() < kMostChanges && m_worlds.size() <= kMostWorlds;
    }
    void begin(std::uint32_t intent, const BlockOp& op);
    /// Intent `intent` has ended: its change took place, or not. False where no order explains it.
    [[nodiscard]] bool end(std::uint32_t intent, bool done);
    /// Forgets what is under way; the block is gone, and nobody knows whose its policy record is.
    void lose();
    /// The block is gone, whatever was known of it; its policy record is what it was.
    void vanish();
    /// All is as in the beginning.
    void clear() { *this = {}; }
    void forget_policy();
    void poison();
    /// Keeps the states in which `tenant` reads the block, or does not. False where none is left.
    [[nodiscard]] bool keep(std::uint16_t tenant, bool reads);

    /// Every state that it may be in now.
    [[nodiscard]] std::vector<BlockState> states() const;
    /// The only one; nothing where there are several.
    [[nodiscard]] std::optional<BlockState> certain() const;

private:
    static constexpr std::size_t kMostWorlds = 24;
    struct World {
        BlockState state;
        std::uint32_t took_place = 0;  ///< changes, a bit each
        bool operator==(const World&) const = default;
    };
    struct Change {
        std::uint32_t intent = 0;
        BlockOp op;
    };
    void add(const World& world);
    void close();

    std::vector<World> m_worlds{World{}};
    std::vector<Change> m_changes;
};

}  // namespace kvplane::card
