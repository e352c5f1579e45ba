// SPDX-License-Identifier: Apache-2.0
#include "model_run.h"

namespace kvplane::card::model_check {

void Model::hear() {
    for (; m_heard < m_bench.host.done.size(); ++m_heard) {
        const Done done = m_bench.host.done[m_heard];
        const auto open = m_open.find(done.id);
        ++m_out.statuses[static_cast<std::size_t>(done.status)];
        if (open == m_open.end()) {
            stale(done);
            continue;
        }
        const Open intent = std::move(open->second);
        m_open.erase(open);
        --m_in_ring[m_queue_of[done.id]];
        if (done.status == Status::kOk) {
            ++m_out.done[static_cast<std::size_t>(intent.step.opcode)];
        }
        judge(done.id, intent, done);
    }
    if (m_heard > 10'000) {
        m_bench.host.done.clear();
        m_bench.host.promoted.clear();
        m_bench.host.demoted.clear();
        m_bench.host.arrivals.clear();
        m_heard = 0;
    }
}

void Model::stale(const Done& done) {
    const std::uint32_t queue = done.queue;
    if (done.status != Status::kMalformed || take_stale(queue)) {
        fail(fmt::format("a second completion of {}: {}", done.id, name_of(done.status)));
    }
}

bool Model::take_stale(std::uint32_t queue) {
    if (m_stale[queue] == 0) return true;
    --m_stale[queue];
    --m_in_ring[queue];
    return false;
}

void Model::judge(std::uint32_t id, const Open& open, const Done& done) {
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
    std::uint64_t n = done.argument;
    if (open.op.mapped) n = done.status == Status::kOk ? 1 : 0;
    if (n > step.count) return fail("more done than asked");
    if (done.status == Status::kOk && n != step.count && step.opcode != Opcode::kQuery) {
        return fail("ok, and not all of it done");
    }
    for (std::uint32_t i = 0; i < step.count; ++i) {
        const std::uint32_t key = step.first + i;
        if (i < n) {
            was_done(open, i);
        } else if (i == n) {
            refused(
                open, i,
                step.opcode == Opcode::kQuery && !open.cancelled ? Status::kMissing : done.status);
        }
        if (changes(step.opcode) && !m_worlds[key].end(id, i < n)) {
            fail(
                fmt::format("{} of {} by {} was {}done, and no order of what was under way "
                            "leads there",
                            name_of(step.opcode), key, step.tenant, i < n ? "" : "not "));
        }
        if (!m_out.failure.empty()) return;
        note(key);
    }
    if (open.op.mapped && n == 1) {
        m_mapped[{step.first, step.tenant}] = done.argument;
        ++m_out.mapped;
    }
    if (done.status == Status::kRejected && open.op.dated) ++m_out.late;
    if (done.status == Status::kUnknown) ++m_out.refused;
}

void Model::was_done(const Open& open, std::uint32_t i) {
    const ModelStep& step = open.step;
    const std::uint32_t key = step.first + i;
    const bool possible =
        std::any_of(open.seen[i].begin(), open.seen[i].end(),
                    [&](const BlockState& state) { return done_to(state, open.op).has_value(); });
    if (!possible && !changes(step.opcode)) {
        fail(fmt::format("{} of {} by {} was done: it is not there for him", name_of(step.opcode),
                         key, step.tenant));
    }
    if (step.opcode != Opcode::kPromote && step.opcode != Opcode::kPrefetch) return;
    if (open.op.refused) {
        if (fenced()) fail(fmt::format("block {} was refused, and it is not told", key));
    } else if (placed(open, i) != pattern(key, size_of(key))) {
        fail(fmt::format("block {} comes with wrong bytes", key));
    }
}

void Model::refused(const Open& open, std::uint32_t i, Status status) {
    const ModelStep& step = open.step;
    if (open.cancelled && status == Status::kClipped) return;
    if (open.cancelled && step.opcode == Opcode::kQuery && status == Status::kOk) return;
    const bool index_full = times_index_full() != open.index_full;
    const Circumstances how{
        .raced = open.raced[i], .full = open.full || index_full, .fenced = fenced()};
    const bool possible = std::any_of(
        open.seen[i].begin(), open.seen[i].end(),
        [&](const BlockState& state) { return may_refuse(state, open.op, status, how); });
    if (possible) return;
    fail(fmt::format("{} of {} by {} is answered {}{}", name_of(step.opcode), step.first + i,
                     step.tenant, name_of(status), how.raced ? ", raced" : ""));
}

std::uint64_t Model::times_index_full() const {
    return m_bench.card.data_plane().tier().counters().index_full;
}

void Model::check_mapped() {
    for (auto pin = m_mapped.begin(); pin != m_mapped.end();) {
        const auto [key, tenant] = pin->first;
        const std::optional<BlockState> state = m_worlds[key].certain();
        if (state && (state->pinned >> tenant & 1U) == 0) {
            pin = m_mapped.erase(pin);
            continue;
        }
        if (state && !state->poisoned) {
            std::vector<std::uint8_t> line(64);
            m_bench.card.data_plane().read({pin->second}, line);
            const std::vector<std::uint8_t> whole = pattern(key, size_of(key));
            if (!std::equal(line.begin(), line.end(), whole.begin())) {
                fail(fmt::format("block {} is pinned by {}, and not where it was", key, tenant));
            }
        }
        ++pin;
    }
}

void Model::compare() {
    quiet();
    if (!m_out.failure.empty()) return;
    const engine::DataPlane& plane = m_bench.card.data_plane();
    plane.audit();
    std::uint64_t blocks = 0;
    for (std::uint32_t key = 0; key < kKeys && m_out.failure.empty(); ++key) {
        for (std::uint16_t tenant = 0; tenant < kTenants && m_out.failure.empty(); ++tenant) {
            compare(key, tenant);
        }
        if (m_out.failure.empty()) blocks += m_worlds[key].states().front().there ? 1 : 0;
    }
    if (m_out.failure.empty() && plane.tier().blocks() != blocks) {
        fail(fmt::format("{} blocks in the tier, {} in the reference", plane.tier().blocks(),
                         blocks));
    }
}

void Model::compare(std::uint32_t key, std::uint16_t tenant) {
    Intent intent = m_bench.host.intent(Opcode::kPromote, key_of(key), 0);
    intent.tenant = tenant;
    intent.length_4k = granules_of(key);
    const Done done = m_bench.finish(intent);
    const bool reads = done.status != Status::kMissing;
    if (!m_worlds[key].keep(tenant, reads)) {
        return fail(fmt::format("at the end a promotion of {} by {} is answered {}", key, tenant,
                                name_of(done.status)));
    }
    if (!reads) return;
    const std::vector<BlockState> states = m_worlds[key].states();
    const Status expected = states.front().poisoned ? Status::kPoisoned : Status::kOk;
    if (done.status != expected) {
        return fail(fmt::format("at the end a promotion of {} by {} is answered {}, not {}", key,
                                tenant, name_of(done.status), name_of(expected)));
    }
    if (done.status != Status::kOk) return;
    if (m_bench.host.device(0, size_of(key)) != pattern(key, size_of(key))) {
        fail(fmt::format("block {} has wrong bytes", key));
    }
}

}  // namespace kvplane::card::model_check
