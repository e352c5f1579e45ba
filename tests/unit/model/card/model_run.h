// SPDX-License-Identifier: Apache-2.0
/// One run of the model check: what a host asks of a card and of the reference, and
/// (model_judge.cpp) whether the card's answers follow from it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host.h"
#include "model_check.h"
#include "model_reference.h"

namespace kvplane::card::model_check {

using engine::Intent;
using engine::Opcode;
using engine::Status;
using management::QueuePlace;
using Kind = ModelStep::Kind;

inline constexpr std::uint32_t kKeys = kModelKeys;
inline constexpr std::uint32_t kTenants = kModelTenants;
inline constexpr std::uint32_t kRing = 16;
inline constexpr Bytes kSlot = Bytes::from_kib(12);
inline constexpr std::uint32_t kTier = kModelTier;
/// Slots from here on the device refuses.
inline constexpr std::uint32_t kRefused = Host::kSlots - 64;
/// A window whose blocks are cut in two.
inline constexpr std::uint16_t kHalves = 2;
inline constexpr std::array<std::uint64_t, 2> kHalf{std::uint64_t{1} << 34, std::uint64_t{1} << 35};

/// Keys have one length each: 1 to 3 granules.
inline std::uint32_t granules_of(std::uint32_t key) { return key / 8 % 3 + 1; }
inline Bytes size_of(std::uint32_t key) { return engine::kGranule * granules_of(key); }

inline std::string_view name_of(Status status) {
    return engine::kStatusNames[static_cast<std::size_t>(status)];
}
inline std::string_view name_of(Opcode opcode) {
    return engine::kOpcodeNames[static_cast<std::size_t>(opcode)];
}

/// An intent that the card has not answered.
struct Open {
    ModelStep step;
    BlockOp op;
    std::uint16_t window = Host::kWindow;
    std::uint32_t slot = 0;  ///< of its first block
    bool flawed = false;
    bool cancelled = false;
    std::uint64_t index_full = 0;               ///< times before it that the index had no room
    bool full = false;                          ///< there may have been no room for it
    std::vector<std::vector<BlockState>> seen;  ///< by block: in which states it may have been met
    std::vector<bool> raced;                    ///< by block

    [[nodiscard]] bool names(std::uint32_t key) const {
        return step.first <= key && key < std::uint32_t{step.first} + step.count;
    }
};

class Model {
public:
    Model(const CardConfig& config, QueuePlace place)
        : m_config(config), m_place(place), m_bench(config, kSlot, "model", kRing) {
        Bench::drain();
        m_bench.host.refuses = [](std::uint64_t offset) {
            return offset >= kRefused * kSlot.count && offset < Host::kSlots * kSlot.count;
        };
        if (place != QueuePlace::kHostMemory) {
            m_bench.card.reset(management::Reset::kFunction);
        }
        set_up(place != QueuePlace::kHostMemory);
    }

    ModelOutcome run(const std::vector<ModelStep>& steps) {
        for (std::size_t i = 0; i < steps.size() && m_out.failure.empty(); ++i) {
            m_step = i;
            step(steps[i]);
            hear();
            if (m_out.failure.empty()) check_mapped();
        }
        if (m_out.failure.empty()) compare();
        m_out.merged = m_bench.card.data_plane().counters().merged_intents;
        return m_out;
    }

private:
    void fail(const std::string& text) {
        if (m_out.failure.empty()) m_out.failure = fmt::format("step {}: {}", m_step, text);
    }

    void set_up(bool queues) {
        if (queues) m_bench.host.set_up(m_place);
        using management::WindowRegister;
        for (std::uint32_t queue = 0; queue < 2; ++queue) {
            const auto set = [&](WindowRegister which, std::uint64_t value, std::uint32_t shard) {
                const std::uint64_t offset =
                    management::window_register(queue, kHalves, which, shard);
                if (!m_bench.host.write_register(offset, value)) fail("a window is refused");
            };
            for (std::uint32_t shard = 0; shard < 2; ++shard) {
                set(WindowRegister::kBase, Host::kDevice + kHalf.at(shard), shard);
            }
            set(WindowRegister::kShards, 2, 0);
            set(WindowRegister::kStride, kSlot.count / 2, 0);
            set(WindowRegister::kSlots, Host::kSlots, 0);
        }
    }

    void step(const ModelStep& next) {
        switch (next.kind) {
            case Kind::kIntent:
            case Kind::kSilent:
                return submit(next);
            case Kind::kOvertake:
                return overtake(next.draw % 2);
            case Kind::kCancel:
                return cancel(next);
            case Kind::kWait:
                sc_core::sc_start(1.0 + next.draw % 4'000, sc_core::SC_NS);
                return;
            case Kind::kPoison:
                return poison(next.first);
            case Kind::kFlipEntry:
                return flip(next);
            case Kind::kReset:
                return reset(next.draw);
        }
    }

    [[nodiscard]] bool has_room(std::uint32_t queue) const { return m_in_ring[queue] + 1 < kRing; }

    // --- what is asked --------------------------------------------------------------------------

    static BlockOp op_of(const ModelStep& step) {
        const std::uint32_t to = step.draw / 2 % (kTenants + 1);
        return {.opcode = step.opcode,
                .tenant = step.tenant,
                .share_to = to == kTenants ? BlockState::kAll : static_cast<std::uint16_t>(to),
                .mapped = step.opcode == Opcode::kPin && step.count == 1,
                .dated = step.opcode == Opcode::kPrefetch && step.draw / 16 % 2 == 0,
                .refused = moves(step.opcode) && step.draw / 32 % 16 == 0};
    }

    void submit(const ModelStep& next) {
        const std::uint32_t queue = next.draw & 1U;
        Open open{.step = next, .op = op_of(next), .seen = {}, .raced = {}};
        const Open* same = same_move(next);
        if (same != nullptr) {
            open = *same;
            open.cancelled = false;
            open.step.opcode = open.op.opcode = Opcode::kPromote;
            open.op.dated = false;
        }
        open.flawed = next.bad_crc;
        if (!has_room(queue) || crowded(open)) {
            sc_core::sc_start(500, sc_core::SC_NS);
            return;
        }
        if (moves(open.step.opcode) && same == nullptr) place(open);
        const Intent intent = make(open);
        const std::uint32_t id = m_bench.host.write_descriptor(intent, queue, !open.flawed);
        ++m_in_ring[queue];
        m_queue_of[id] = queue;
        if (next.kind == Kind::kIntent && m_place != QueuePlace::kPortal) {
            m_bench.host.ring(queue);
        }
        ++m_out.intents;
        begin(id, std::move(open));
    }

    /// A promotion under way that is ordered once more.
    [[nodiscard]] const Open* same_move(const ModelStep& next) const {
        if (next.opcode != Opcode::kPromote || next.draw / 64 % 3 != 0) return nullptr;
        for (const auto& [id, open] : m_open) {
            const bool promotes =
                open.op.opcode == Opcode::kPromote || open.op.opcode == Opcode::kPrefetch;
            if (promotes && !open.flawed) return &open;
        }
        return nullptr;
    }

    /// Whether more changes of one of its blocks are under way than the reference follows.
    [[nodiscard]] bool crowded(const Open& open) const {
        if (!changes(open.op.opcode)) return false;
        for (std::uint32_t k = 0; k < open.step.count; ++k) {
            if (!m_worlds[open.step.first + k].takes_another()) return true;
        }
        return false;
    }

    void begin(std::uint32_t id, Open open) {
        open.index_full = times_index_full();
        open.seen.resize(open.step.count);
        open.raced.resize(open.step.count);
        const bool changing = changes(open.op.opcode);
        for (std::uint32_t k = 0; k < open.step.count && !open.flawed; ++k) {
            const std::uint32_t key = open.step.first + k;
            for (auto& [other_id, other] : m_open) {
                if (other.flawed || !other.names(key)) continue;
                if (!changing && !changes(other.op.opcode)) continue;
                open.raced[k] = other.raced[key - other.step.first] = true;
                ++m_out.raced;
            }
            if (changing) m_worlds[key].begin(id, open.op);
        }
        m_open[id] = std::move(open);
        for (std::uint32_t k = 0; k < m_open[id].step.count; ++k) {
            note(m_open[id].step.first + k);
        }
        const bool full = granules_in_use() > kTier;
        for (auto& [other_id, other] : m_open) other.full = other.full || full;
    }

    /// Everyone who has to do with a block may have met it as it may be now.
    void note(std::uint32_t key) {
        const std::vector<BlockState> states = m_worlds[key].states();
        for (auto& [id, open] : m_open) {
            if (!open.names(key)) continue;
            std::vector<BlockState>& seen = open.seen[key - open.step.first];
            for (const BlockState& state : states) {
                if (std::find(seen.begin(), seen.end(), state) == seen.end()) {
                    seen.push_back(state);
                }
            }
        }
    }

    /// Beside the block itself: a move holds two, of a block that was released meanwhile too.
    static std::uint32_t copies_of(const BlockOp& op) {
        switch (op.opcode) {
            case Opcode::kReEncode:
                return 2;
            case Opcode::kPromote:
            case Opcode::kPrefetch:
                return 1;
            case Opcode::kDemote:
                return op.refused ? 1 : 0;  // it will not come, and has its room until then
            default:
                return 0;
        }
    }
    /// At most: blocks that may be there, copies on their way, copies that are still read.
    [[nodiscard]] std::uint32_t granules_in_use() const {
        std::uint32_t used = 0;
        for (std::uint32_t key = 0; key < kKeys; ++key) {
            const std::vector<BlockState> states = m_worlds[key].states();
            const bool there = std::any_of(states.begin(), states.end(),
                                           [](const BlockState& state) { return state.there; });
            used += there ? granules_of(key) : 0;
        }
        for (const auto& [id, open] : m_open) {
            used += copies_of(open.op) * open.step.count * granules_of(open.step.first);
        }
        return used;
    }

    /// Slots for its blocks; demotions take the keys' bytes from there, promotions must bring them.
    void place(Open& open) {
        const std::uint32_t count = open.step.count;
        open.window = open.step.draw / 512 % 2 == 0 && !open.op.refused ? kHalves : Host::kWindow;
        if (open.op.refused) {
            open.slot = kRefused + open.step.draw / 1'024 % (64 - count);
        } else {
            if (m_slot + count > kRefused) m_slot = 1;
            open.slot = std::exchange(m_slot, m_slot + count);
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t key = open.step.first + i;
            const auto data = open.op.opcode == Opcode::kDemote
                                  ? pattern(key, size_of(key))
                                  : std::vector<std::uint8_t>(size_of(key).count);
            if (open.window == Host::kWindow) {
                m_bench.host.fill_slot(open.slot + i, data);
                continue;
            }
            const std::size_t part = data.size() / 2;
            for (std::uint32_t shard = 0; shard < 2; ++shard) {
                const std::uint64_t at = kHalf.at(shard) + (open.slot + i) * (kSlot.count / 2);
                (void)m_bench.host.write_device({Host::kDevice + at}, {part},
                                                std::span(data).subspan(shard * part, part));
            }
        }
    }
    [[nodiscard]] std::vector<std::uint8_t> placed(const Open& open, std::uint32_t i) const {
        const Bytes size = size_of(open.step.first + i);
        if (open.window == Host::kWindow) {
            return m_bench.host.device((open.slot + i) * kSlot.count, size);
        }
        std::vector<std::uint8_t> data;
        for (const std::uint64_t half : kHalf) {
            const auto part =
                m_bench.host.device(half + (open.slot + i) * (kSlot.count / 2), {size.count / 2});
            data.insert(data.end(), part.begin(), part.end());
        }
        return data;
    }

    Intent make(const Open& open) {
        const ModelStep& next = open.step;
        Intent intent;
        if (next.opcode == Opcode::kUpdatePolicy) {
            std::vector<index::PolicyChange> list;
            for (std::uint32_t i = 0; i < next.count; ++i) {
                list.push_back({.key = key_of(next.first + i), .reuse_score = next.draw});
            }
            intent = m_bench.host.policy_run(list);
        } else if (open.op.mapped) {
            intent = m_bench.host.intent(next.opcode, key_of(next.first));
            intent.flags |= engine::kMapped;
        } else {
            intent = m_bench.host.run(next.opcode, keys_of(next.first, next.count), open.slot, 0,
                                      granules_of(next.first));
            intent = through(open.window, intent);
        }
        intent.tenant = next.tenant;
        if (next.opcode == Opcode::kPin) intent.argument = 60'000;
        if (next.opcode == Opcode::kShare) {
            const bool all = open.op.share_to == BlockState::kAll;
            intent.argument = all ? engine::kEveryTenant : open.op.share_to;
        }
        if (next.opcode == Opcode::kRetain) intent.argument = next.draw;
        const auto soon = static_cast<std::uint64_t>(now().ps / 1'000) + next.draw / 128 % 6'000;
        if (open.op.dated || (next.opcode == Opcode::kPromote && next.draw % 4 == 3)) {
            intent.deadline_ns = soon;
        }
        return intent;
    }

    void overtake(std::uint32_t queue) {
        if (!has_room(queue) || m_place != QueuePlace::kHostMemory) return;
        m_bench.host.skip_descriptor(queue);
        m_bench.host.ring(queue);
        ++m_in_ring[queue];
        ++m_stale[queue];
        // So that the descriptor behind it is not taken for it.
        sc_core::sc_start(3, sc_core::SC_US);
        m_bench.host.write_late(queue);
    }

    void cancel(const ModelStep& next) {
        if (m_open.empty()) return;
        auto victim = m_open.begin();
        std::advance(victim, next.draw / 2 % m_open.size());
        const std::uint32_t queue = m_queue_of[victim->first];
        if (!has_room(queue) || victim->second.step.opcode == Opcode::kCancel) return;
        Intent intent = m_bench.host.intent(Opcode::kCancel, {});
        intent.tenant = victim->second.step.tenant;
        intent.argument = victim->first;
        victim->second.cancelled = true;
        const std::uint32_t id = m_bench.host.submit(intent, queue);
        ++m_in_ring[queue];
        m_queue_of[id] = queue;
        ModelStep step = next;
        step.opcode = Opcode::kCancel;
        step.count = 0;
        m_open[id] = {.step = step, .op = {.opcode = Opcode::kCancel}, .seen = {}, .raced = {}};
        ++m_out.intents;
    }

    // --- what happens to the card ---------------------------------------------------------------

    void poison(std::uint32_t key) {
        quiet();
        const std::optional<BlockState> state = m_worlds[key].certain();
        if (!state || !state->there) return;
        std::uint16_t reader = 0;
        while (!state->reads(reader)) ++reader;
        engine::DataPlane& plane = m_bench.card.data_plane();
        const auto found = plane.tier().find(key_of(key), reader, now());
        if (!found.present) return fail(fmt::format("block {} is gone", key));
        plane.set_poison(plane.tier().address(found.frame), true);
        m_worlds[key].poison();
    }

    /// One wrong bit, or two; never a third.
    void flip(const ModelStep& next) {
        index::CuckooTable& table = m_bench.index.table();
        for (std::uint64_t row = 0; row < table.capacity(); ++row) (void)table.scrub();
        if (table.bad_slots() != 0) return;
        const std::uint64_t fold = key_of(next.first).fold();
        if (!table.flip(fold, next.draw % 128) || next.draw / 128 % 2 == 0) return;
        (void)table.flip(fold, (next.draw + 1 + next.draw / 256 % 126) % 128);
        // What was on its way may be lost.
        for (auto& [id, open] : m_open) {
            if (open.names(next.first)) open.raced[next.first - open.step.first] = true;
        }
    }

    /// All that is under way ends.
    void quiet() {
        for (std::uint32_t queue = 0; queue < 2; ++queue) {
            if (m_place != QueuePlace::kPortal) m_bench.host.ring(queue);
        }
        Bench::drain();
        hear();
        if (!m_open.empty()) fail(fmt::format("{} intents were never answered", m_open.size()));
    }

    void reset(std::uint32_t draw) {
        using management::Reset;
        constexpr std::array kResets{Reset::kFunction, Reset::kHot, Reset::kWarm,
                                     Reset::kCold,     Reset::kCxl, Reset::kCxlMemClear};
        const Reset kind = kResets.at(draw % kResets.size());
        // Halfway between: what was under way may have taken effect.
        hear();
        std::set<std::uint32_t> open_keys;
        for (const auto& [id, open] : m_open) {
            for (std::uint32_t k = 0; k < open.step.count; ++k) {
                if (changes(open.op.opcode)) open_keys.insert(open.step.first + k);
            }
        }
        m_open.clear();
        m_in_ring = {};
        m_stale = {};
        const management::ResetEffect effect = management::effect_of(kind);
        m_bench.card.reset(kind);
        if (!effect.decoders) m_bench.map();
        sc_core::sc_start(1'001, sc_core::SC_US);  // until its memory is ready
        set_up(true);
        m_bench.host.done.clear();
        m_heard = 0;
        ++m_out.resets;
        for (std::uint32_t key = 0; key < kKeys; ++key) {
            const bool open = open_keys.count(key) != 0;
            if (open) m_worlds[key].lose();
            if (!effect.index) m_worlds[key].vanish();
            if (!effect.dram) m_worlds[key].forget_policy();
            if (effect.index && open) drop(key);
        }
    }

    /// A block of which the reference is no longer sure: whoever has a right gives it up.
    void drop(std::uint32_t key) {
        // At first others may pin what is its owner's.
        for (std::uint16_t turn = 0; turn < 2 * kTenants; ++turn) {
            Intent intent = m_bench.host.intent(Opcode::kRelease, key_of(key));
            intent.tenant = turn % kTenants;
            const Status status = m_bench.finish(intent).status;
            const bool pinned = status == Status::kBusy && turn < kTenants;
            if (status != Status::kOk && status != Status::kMissing && !pinned) {
                fail(fmt::format("a release of {} is answered {}", key, name_of(status)));
            }
        }
        m_heard = m_bench.host.done.size();
    }

    // --- what it says ---------------------------------------------------------------------------

    void hear();
    void stale(const Done& done);
    /// Takes one overtaken descriptor; true where there is none.
    bool take_stale(std::uint32_t queue);
    void judge(std::uint32_t id, const Open& open, const Done& done);
    void was_done(const Open& open, std::uint32_t i);
    void refused(const Open& open, std::uint32_t i, Status status);
    [[nodiscard]] std::uint64_t times_index_full() const;
    [[nodiscard]] bool fenced() const { return m_config.engine.fence == engine::Fence::kReadFlush; }
    /// What is pinned and mapped lies where its holder was told.
    void check_mapped();
    /// At rest card and reference say the same of every block and tenant, byte for byte.
    void compare();
    void compare(std::uint32_t key, std::uint16_t tenant);

    CardConfig m_config;
    QueuePlace m_place;
    Bench m_bench;
    std::vector<BlockWorlds> m_worlds = std::vector<BlockWorlds>(kKeys);
    std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint64_t> m_mapped;
    std::map<std::uint32_t, Open> m_open;
    std::map<std::uint32_t, std::uint32_t> m_queue_of;
    std::array<std::uint32_t, 2> m_in_ring{};
    std::array<std::uint32_t, 2> m_stale{};
    std::size_t m_heard = 0;
    std::size_t m_step = 0;
    std::uint32_t m_slot = 1;
    ModelOutcome m_out;
};

}  // namespace kvplane::card::model_check
