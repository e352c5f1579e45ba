// SPDX-License-Identifier: Apache-2.0
#include "model_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "host.h"
#include "model/common/random.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Intent;
using engine::Opcode;
using engine::Status;
using Kind = ModelStep::Kind;

constexpr std::uint32_t kKeys = 160;
constexpr std::uint32_t kTenants = 3;
constexpr std::uint32_t kRing = 16;
constexpr Bytes kSlot = Bytes::from_kib(12);

/// Keys have one length each: 1 to 3 granules.
std::uint32_t granules_of(std::uint32_t key) { return key / 8 % 3 + 1; }

bool changes(Opcode opcode) {
    return opcode != Opcode::kPromote && opcode != Opcode::kPrefetch && opcode != Opcode::kQuery &&
           opcode != Opcode::kCancel;
}
bool moves(Opcode opcode) {
    return opcode == Opcode::kPromote || opcode == Opcode::kPrefetch || opcode == Opcode::kDemote;
}

/// What the reference knows of a block that is in the tier.
struct Block {
    std::optional<std::uint16_t> owner;
    std::set<std::uint16_t> granted;
    std::set<std::uint16_t> pinned;
    bool poisoned = false;

    [[nodiscard]] bool reads(std::uint16_t tenant) const {
        return owner == tenant || granted.count(tenant) != 0 ||
               granted.count(engine::kEveryTenant) != 0;
    }
};

/// An intent that the card has not answered.
struct Open {
    ModelStep step;
    std::uint32_t slot = 0;  ///< of its first block
    bool flawed = false;
    bool cancelled = false;
    bool disturbed = false;    ///< something of its blocks changed meanwhile
    std::uint32_t target = 0;  ///< of a cancel
};

class Model {
public:
    explicit Model(const CardConfig& config)
        : m_config(config), m_bench(config, kSlot, "model", kRing) {
        Bench::drain();
    }

    ModelOutcome run(const std::vector<ModelStep>& steps) {
        for (std::size_t i = 0; i < steps.size() && m_out.failure.empty(); ++i) {
            m_step = i;
            step(steps[i]);
            hear();
        }
        if (m_out.failure.empty()) compare();
        return m_out;
    }

private:
    void fail(const std::string& text) {
        if (m_out.failure.empty()) m_out.failure = fmt::format("step {}: {}", m_step, text);
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

    /// No two intents that change one block are under way; `at_once` reads may be.
    [[nodiscard]] bool collides(const ModelStep& next) const {
        for (const auto& [id, open] : m_open) {
            const std::uint32_t from = std::max(open.step.first, next.first);
            const std::uint32_t to =
                std::min(open.step.first + open.step.count, next.first + next.count);
            if (from < to && changes(open.step.opcode) && changes(next.opcode)) return true;
        }
        return false;
    }
    void disturb(const ModelStep& next) {
        for (auto& [id, open] : m_open) {
            if (!changes(next.opcode) && !changes(open.step.opcode)) continue;
            const std::uint32_t from = std::max(open.step.first, next.first);
            const std::uint32_t to =
                std::min(open.step.first + open.step.count, next.first + next.count);
            if (from < to) open.disturbed = true;
        }
    }
    /// Whether an intent under way reads `key`, or changes it.
    [[nodiscard]] bool met_meanwhile(std::uint32_t key, bool changed) const {
        return std::any_of(m_open.begin(), m_open.end(), [&](const auto& entry) {
            const Open& open = entry.second;
            return changes(open.step.opcode) == changed && open.step.first <= key &&
                   key < open.step.first + open.step.count;
        });
    }

    void submit(const ModelStep& next) {
        const std::uint32_t queue = next.draw & 1U;
        if (!has_room(queue) || collides(next)) {
            sc_core::sc_start(500, sc_core::SC_NS);
            return;
        }
        Open open{.step = next, .slot = next_slots(next.count)};
        Intent intent = make(next, open.slot);
        if (next.bad_crc) open.flawed = true;
        for (std::uint32_t k = next.first; k < next.first + next.count; ++k) {
            if (met_meanwhile(k, !changes(next.opcode))) open.disturbed = true;
        }
        disturb(next);
        if (moves(next.opcode)) {
            for (std::uint32_t i = 0; i < next.count; ++i) fill(open.slot + i, next, i);
        }
        const std::uint32_t id = m_bench.host.write_descriptor(intent, queue, !next.bad_crc);
        ++m_in_ring[queue];
        m_queue_of[id] = queue;
        if (next.kind == Kind::kIntent) m_bench.host.ring(queue);
        m_open[id] = open;
        ++m_out.intents;
    }

    std::uint32_t next_slots(std::uint32_t count) {
        if (m_slot + count > Host::kSlots) m_slot = 0;
        return std::exchange(m_slot, m_slot + count);
    }
    /// Demotions take the key's bytes from there; promotions must bring them there.
    void fill(std::uint32_t slot, const ModelStep& next, std::uint32_t i) {
        const std::uint32_t key = next.first + i;
        const Bytes size = engine::kGranule * granules_of(key);
        m_bench.host.fill_slot(slot, next.opcode == Opcode::kDemote
                                         ? pattern(key, size)
                                         : std::vector<std::uint8_t>(size.count));
    }

    Intent make(const ModelStep& next, std::uint32_t slot) {
        Intent intent;
        if (next.opcode == Opcode::kUpdatePolicy) {
            std::vector<index::PolicyChange> list;
            for (std::uint32_t i = 0; i < next.count; ++i) {
                list.push_back({.key = key_of(next.first + i), .reuse_score = next.draw});
            }
            intent = m_bench.host.policy_run(list);
        } else {
            intent = m_bench.host.run(next.opcode, keys_of(next.first, next.count), slot, 0,
                                      granules_of(next.first));
        }
        intent.tenant = next.tenant;
        if (next.opcode == Opcode::kPin) intent.argument = 60'000;
        if (next.opcode == Opcode::kShare) intent.argument = next.draw / 2 % kTenants;
        if (next.opcode == Opcode::kRetain) intent.argument = next.draw;
        return intent;
    }

    void overtake(std::uint32_t queue) {
        if (!has_room(queue)) return;
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
        const std::uint32_t target = victim->first;
        victim->second.cancelled = true;
        const std::uint32_t id = m_bench.host.submit(intent, queue);
        ++m_in_ring[queue];
        m_queue_of[id] = queue;
        ModelStep step = next;
        step.opcode = Opcode::kCancel;
        step.count = 0;
        m_open[id] = {.step = step, .target = target};
        ++m_out.intents;
    }

    void poison(std::uint32_t key) {
        quiet();
        const auto known = m_blocks.find(key);
        if (known == m_blocks.end()) return;
        engine::DataPlane& plane = m_bench.card.data_plane();
        const auto found = plane.tier().find(key_of(key), reader_of(known->second), now());
        if (!found.present) return fail(fmt::format("block {} is gone", key));
        plane.set_poison(plane.tier().address(found.frame), true);
        known->second.poisoned = true;
    }

    static std::uint16_t reader_of(const Block& block) {
        return block.owner ? *block.owner : *block.granted.begin();
    }

    /// One wrong bit, or two; never a third.
    void flip(const ModelStep& next) {
        index::CuckooTable& table = m_bench.index.table();
        for (std::uint64_t row = 0; row < table.capacity(); ++row) (void)table.scrub();
        if (table.bad_slots() != 0) return;
        const std::uint64_t fold = key_of(next.first).fold();
        if (!table.flip(fold, next.draw % 128) || next.draw / 128 % 2 == 0) return;
        (void)table.flip(fold, (next.draw + 1 + next.draw / 256 % 126) % 128);
    }

    /// All that is under way ends.
    void quiet() {
        for (std::uint32_t queue = 0; queue < 2; ++queue) m_bench.host.ring(queue);
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
                if (changes(open.step.opcode)) open_keys.insert(open.step.first + k);
            }
        }
        m_open.clear();
        m_in_ring = {};
        m_stale = {};
        m_bench.card.reset(kind);
        m_bench.host.set_up();
        m_bench.host.done.clear();
        m_heard = 0;
        ++m_out.resets;
        for (const std::uint32_t key : open_keys) m_unsure_of_policy.insert(key);
        if (!management::effect_of(kind).dram) {
            m_policy.clear();
            m_unsure_of_policy.clear();
        }
        if (!management::effect_of(kind).index) {
            m_blocks.clear();
            return;
        }
        for (const std::uint32_t key : open_keys) drop(key);
    }

    /// A block of which the reference is no longer sure: whoever has a right gives it up.
    void drop(std::uint32_t key) {
        m_blocks.erase(key);
        for (std::uint16_t tenant = 0; tenant < kTenants; ++tenant) {
            Intent intent = m_bench.host.intent(Opcode::kRelease, key_of(key));
            intent.tenant = tenant;
            const Done done = m_bench.finish(intent);
            if (done.status != Status::kOk && done.status != Status::kMissing) {
                fail(fmt::format("a release of {} is answered {}", key, name_of(done.status)));
            }
        }
        m_heard = m_bench.host.done.size();
    }

    static std::string_view name_of(Status status) {
        return engine::kStatusNames[static_cast<std::size_t>(status)];
    }

    void hear() {
        for (; m_heard < m_bench.host.done.size(); ++m_heard) {
            const Done done = m_bench.host.done[m_heard];
            const auto open = m_open.find(done.id);
            ++m_out.statuses[static_cast<std::size_t>(done.status)];
            if (open == m_open.end()) {
                stale(done);
                continue;
            }
            const Open intent = open->second;
            m_open.erase(open);
            --m_in_ring[m_queue_of[done.id]];
            if (done.status == Status::kOk) {
                ++m_out.done[static_cast<std::size_t>(intent.step.opcode)];
            }
            judge(intent, done);
        }
        if (m_heard > 10'000) {
            m_bench.host.done.clear();
            m_bench.host.promoted.clear();
            m_bench.host.demoted.clear();
            m_bench.host.arrivals.clear();
            m_heard = 0;
        }
    }

    void stale(const Done& done) {
        const std::uint32_t queue = done.queue;
        if (done.status != Status::kMalformed || take_stale(queue)) {
            fail(fmt::format("a second completion of {}: {}", done.id, name_of(done.status)));
        }
    }
    /// Takes one overtaken descriptor; true where there is none.
    bool take_stale(std::uint32_t queue) {
        if (m_stale[queue] == 0) return true;
        --m_stale[queue];
        --m_in_ring[queue];
        return false;
    }

    void judge(const Open& open, const Done& done) {
        const ModelStep& step = open.step;
        if (open.flawed) {
            if (done.status != Status::kMalformed) fail("a wrong CRC passed");
            return;
        }
        if (step.opcode == Opcode::kCancel) {
            if (done.status != Status::kOk && done.status != Status::kMissing &&
                done.status != Status::kBusy) {
                fail(fmt::format("a cancel is answered {}", name_of(done.status)));
            }
            return;
        }
        if (done.argument > step.count) return fail("more done than asked");
        std::uint32_t n = 0;
        for (; n < done.argument; ++n) {
            const std::string wrong = apply(open, step.first + n, n);
            if (!wrong.empty()) {
                return fail(fmt::format("{} of {} by {} was done: {}",
                                        engine::kOpcodeNames[std::size_t(step.opcode)],
                                        step.first + n, step.tenant, wrong));
            }
        }
        if (done.status == Status::kOk && n == step.count) return;
        if (done.status == Status::kOk && step.opcode != Opcode::kQuery) {
            return fail("ok, and not all of it done");
        }
        const Status said = step.opcode == Opcode::kQuery ? Status::kMissing : done.status;
        if (!allowed(open, step.first + n, said)) {
            fail(fmt::format("{} of {} by {} is answered {}",
                             engine::kOpcodeNames[std::size_t(step.opcode)], step.first + n,
                             step.tenant, name_of(said)));
        }
    }

    /// Does to the reference what the card says that it did; what is wrong with that, if anything.
    std::string apply(const Open& open, std::uint32_t key, std::uint32_t n) {
        const ModelStep& step = open.step;
        const auto known = m_blocks.find(key);
        Block* block = known == m_blocks.end() ? nullptr : &known->second;
        const std::uint16_t tenant = step.tenant;
        switch (step.opcode) {
            case Opcode::kDemote:
                if (block != nullptr) return "it is there already";
                m_blocks[key].owner = tenant;
                return {};
            case Opcode::kUpdatePolicy:
                return write_policy(key, tenant);
            case Opcode::kPromote:
            case Opcode::kPrefetch: {
                const Bytes size = engine::kGranule * granules_of(key);
                std::vector<std::uint8_t> slot = m_bench.host.slot(open.slot + n);
                slot.resize(size.count);
                if (slot != pattern(key, size)) return "its bytes are wrong";
                if (!open.disturbed && (block == nullptr || !block->reads(tenant))) {
                    return "it is not there for him";
                }
                return {};
            }
            default:
                break;
        }
        if (step.opcode == Opcode::kQuery) {
            const bool there = block != nullptr && block->reads(tenant);
            return there || open.disturbed ? "" : "it is not there for him";
        }
        if (block == nullptr || !block->reads(tenant)) return "it is not there for him";
        return apply_change(step, key, *block);
    }

    std::string write_policy(std::uint32_t key, std::uint16_t tenant) {
        if (foreign_policy(key, tenant) && m_unsure_of_policy.count(key) == 0) {
            return "another's record";
        }
        m_unsure_of_policy.erase(key);
        m_policy[key] = tenant;
        return {};
    }
    [[nodiscard]] bool foreign_policy(std::uint32_t key, std::uint16_t tenant) const {
        return m_policy.count(key) != 0 && m_policy.at(key) != tenant;
    }

    std::string apply_change(const ModelStep& step, std::uint32_t key, Block& block) {
        const std::uint16_t tenant = step.tenant;
        const bool owns = block.owner == tenant;
        switch (step.opcode) {
            case Opcode::kDiscard:
                if (!owns) return "not his";
                if (!block.pinned.empty() || !block.granted.empty()) return "others rely on it";
                m_blocks.erase(key);
                return {};
            case Opcode::kPin:
                block.pinned.insert(tenant);
                return {};
            case Opcode::kUnpin:
                return block.pinned.erase(tenant) == 0 ? "he had no pin" : "";
            case Opcode::kRetain:
                return owns ? write_policy(key, tenant) : "not his";
            case Opcode::kShare: {
                const auto to = static_cast<std::uint16_t>(step.draw / 2 % kTenants);
                if (!owns) return "not his";
                if (to != tenant) block.granted.insert(to);
                return {};
            }
            case Opcode::kRelease:
                block.pinned.erase(tenant);
                if (owns) {
                    block.owner.reset();
                } else {
                    block.granted.erase(tenant);
                }
                if (!block.owner && block.granted.empty()) m_blocks.erase(key);
                return {};
            case Opcode::kReEncode:
                return owns ? "" : "not his";
            default:
                return "no change known by that name";
        }
    }

    /// Whether the card may answer `status` about `key`.
    [[nodiscard]] bool allowed(const Open& open, std::uint32_t key, Status status) const {
        const ModelStep& step = open.step;
        const auto known = m_blocks.find(key);
        const Block* block = known == m_blocks.end() ? nullptr : &known->second;
        const bool reads = block != nullptr && block->reads(step.tenant);
        const bool owns = block != nullptr && block->owner == step.tenant;
        if (open.cancelled && status == Status::kClipped) return true;
        const bool foreign_record =
            foreign_policy(key, step.tenant) || m_unsure_of_policy.count(key) != 0;
        switch (status) {
            case Status::kMissing:
                return step.opcode != Opcode::kDemote && step.opcode != Opcode::kUpdatePolicy &&
                       (!reads || (open.disturbed && !changes(step.opcode)));
            case Status::kNotOwner:
                return reads && (!owns || foreign_record);
            case Status::kPoisoned:
                return (block != nullptr && block->poisoned) || open.disturbed;
            case Status::kRejected:
                if (step.opcode == Opcode::kDemote) return reads;
                return step.opcode == Opcode::kUnpin || step.opcode == Opcode::kPrefetch;
            case Status::kBusy:
                if (step.opcode == Opcode::kReEncode) {
                    return block != nullptr && !block->pinned.empty();
                }
                return step.opcode == Opcode::kDiscard &&
                       (open.disturbed ||
                        (block != nullptr && (!block->pinned.empty() || !block->granted.empty())));
            case Status::kClipped:
                return step.opcode == Opcode::kDemote || step.opcode == Opcode::kReEncode ||
                       (foreign_record &&
                        (step.opcode == Opcode::kUpdatePolicy || step.opcode == Opcode::kRetain));
            default:
                return false;
        }
    }

    /// At rest card and reference say the same of every block and tenant, byte for byte.
    void compare() {
        quiet();
        if (!m_out.failure.empty()) return;
        const engine::DataPlane& plane = m_bench.card.data_plane();
        plane.audit();
        if (plane.tier().blocks() != m_blocks.size()) {
            return fail(fmt::format("{} blocks in the tier, {} in the reference",
                                    plane.tier().blocks(), m_blocks.size()));
        }
        for (std::uint32_t key = 0; key < kKeys && m_out.failure.empty(); ++key) {
            for (std::uint16_t tenant = 0; tenant < kTenants; ++tenant) compare(key, tenant);
        }
    }

    void compare(std::uint32_t key, std::uint16_t tenant) {
        const auto known = m_blocks.find(key);
        const bool reads = known != m_blocks.end() && known->second.reads(tenant);
        const Status expected = !reads                   ? Status::kMissing
                                : known->second.poisoned ? Status::kPoisoned
                                                         : Status::kOk;
        Intent intent = m_bench.host.intent(Opcode::kPromote, key_of(key), 0);
        intent.tenant = tenant;
        intent.length_4k = granules_of(key);
        const Done done = m_bench.finish(intent);
        if (done.status != expected) {
            return fail(fmt::format("at the end a promotion of {} by {} is answered {}, not {}",
                                    key, tenant, name_of(done.status), name_of(expected)));
        }
        if (done.status != Status::kOk) return;
        const Bytes size = engine::kGranule * granules_of(key);
        std::vector<std::uint8_t> slot = m_bench.host.slot(0);
        slot.resize(size.count);
        if (slot != pattern(key, size)) fail(fmt::format("block {} has wrong bytes", key));
    }

    CardConfig m_config;
    Bench m_bench;
    std::map<std::uint32_t, Block> m_blocks;
    std::map<std::uint32_t, std::uint16_t> m_policy;  ///< whose record, by key
    std::set<std::uint32_t> m_unsure_of_policy;       ///< a reset came between
    std::map<std::uint32_t, Open> m_open;
    std::map<std::uint32_t, std::uint32_t> m_queue_of;
    std::array<std::uint32_t, 2> m_in_ring{};
    std::array<std::uint32_t, 2> m_stale{};
    std::size_t m_heard = 0;
    std::size_t m_step = 0;
    std::uint32_t m_slot = 1;
    ModelOutcome m_out;
};

}  // namespace

CardConfig model_card(bool index_may_be_full) {
    CardConfig config = baseline(16);
    config.payload = Payload::kBytes;
    config.tier_capacity = engine::kGranule * 180;
    config.engine.pin_budget = Bytes::from_gib(1);
    config.index.sram = Bytes::from_kib(4);
    config.index.stash = 2;
    if (index_may_be_full) {
        config.index.sram = Bytes::from_kib(2);
        config.index.overflow = index::Overflow::kNone;
    }
    return config;
}

std::vector<ModelStep> model_steps(std::uint64_t seed, std::size_t steps) {
    RandomStream random(seed, "model check");
    std::vector<ModelStep> made(steps);
    for (ModelStep& step : made) {
        const std::uint64_t kind = random.uniform(1'000);
        step.kind = kind < 700   ? Kind::kIntent
                    : kind < 750 ? Kind::kSilent
                    : kind < 760 ? Kind::kOvertake
                    : kind < 810 ? Kind::kCancel
                    : kind < 980 ? Kind::kWait
                    : kind < 985 ? Kind::kPoison
                    : kind < 998 ? Kind::kFlipEntry
                                 : Kind::kReset;
        // Demotions and promotions more often than the rest.
        const std::uint64_t which = random.uniform(24);
        const std::uint64_t opcode = which < 6 ? 3 : which < 11 ? 1 : which - 11 + 1;
        step.opcode = static_cast<Opcode>(opcode == 10 ? 13 : opcode);  // cancels are a kind
        step.tenant = static_cast<std::uint16_t>(random.uniform(kTenants));
        step.first = static_cast<std::uint16_t>(random.uniform(kKeys));
        // A run's blocks have one length.
        const std::uint64_t most = 8 - step.first % 8;
        step.count =
            static_cast<std::uint16_t>(random.uniform(1, std::min<std::uint64_t>(most, 5)));
        step.draw = static_cast<std::uint32_t>(random.bits());
        step.bad_crc = random.uniform(100) == 0;
    }
    return made;
}

ModelOutcome run_model(const CardConfig& config, const std::vector<ModelStep>& steps) {
    test::SystemCTest::fresh_kernel();
    std::optional<Model> model;
    ModelOutcome outcome;
    try {
        model.emplace(config);
        outcome = model->run(steps);
    } catch (const std::exception& error) {
        outcome.failure = error.what();
    }
    return outcome;
}

std::vector<ModelStep> shrink(const CardConfig& config, std::vector<ModelStep> steps) {
    const auto fails = [&](const std::vector<ModelStep>& some) {
        return !run_model(config, some).failure.empty();
    };
    for (std::size_t part = steps.size() / 2; part > 0; part /= 2) {
        for (std::size_t at = 0; at + part <= steps.size();) {
            std::vector<ModelStep> less = steps;
            less.erase(less.begin() + static_cast<std::ptrdiff_t>(at),
                       less.begin() + static_cast<std::ptrdiff_t>(at + part));
            if (fails(less)) {
                steps = std::move(less);
            } else {
                at += part;
            }
        }
    }
    return steps;
}

std::string describe(const std::vector<ModelStep>& steps) {
    constexpr std::array kKinds{"intent", "silent", "overtake", "cancel",
                                "wait",   "poison", "flip",     "reset"};
    std::string text;
    for (const ModelStep& step : steps) {
        text +=
            fmt::format("{} {} tenant {} keys {}+{} draw {}{}\n",
                        kKinds.at(static_cast<std::size_t>(step.kind)),
                        engine::kOpcodeNames[static_cast<std::size_t>(step.opcode)], step.tenant,
                        step.first, step.count, step.draw, step.bad_crc ? " bad CRC" : "");
    }
    return text;
}

}  // namespace kvplane::card
