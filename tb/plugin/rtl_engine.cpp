// SPDX-License-Identifier: Apache-2.0
#include "tb/plugin/rtl_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "model/common/errors.h"
#include "model/index/engine_figures.h"
#include "model/index/timed_table.h"
#include "tb/plugin/dut_set_up.h"

namespace kvplane::rtl {

using index::Operation;
using index::Request;
using index::Status;

namespace {

constexpr std::uint64_t kSeed = index::CuckooConfig{}.seed;
constexpr std::uint64_t kBucketMask = (std::uint64_t{1} << kCardShape.buckets_log2) - 1;

bool same(const Request& a, const Request& b) {
    using Words = std::array<std::uint64_t, 2>;
    return a.operation == b.operation && a.key == b.key && a.mask == b.mask &&
           a.expect_valid == b.expect_valid && a.expect_version == b.expect_version &&
           std::bit_cast<Words>(a.entry) == std::bit_cast<Words>(b.entry);
}

}  // namespace

std::optional<std::string> misfit(const index::IndexConfig& config) {
    const index::EngineFigures figures = index::engine_figures(config);
    const index::CuckooConfig table = index::cuckoo_config(config);
    const bool fits = config.choices == 2 && table.buckets_log2 == kCardShape.buckets_log2 &&
                      config.slots == kCardShape.slots && config.banks == kCardShape.banks &&
                      config.stash == kCardShape.stash &&
                      config.kick_limit == kCardShape.kick_limit &&
                      config.store_buffer == kCardShape.store_buffer &&
                      config.fingerprint_bits == 0 && config.ports == memory::SramPorts::k1rw &&
                      figures.sram_cycles == kCardShape.sram_latency && figures.bank_busy == 1;
    if (fits) return std::nullopt;
    return fmt::format(
        "the verilated engine has {} of SRAM that answers in {} cycle, 2 choices of {} slots, {} "
        "1rw banks, a stash of {}, {} kicks, a store buffer of {}, no fingerprints",
        to_string(Bytes{kCardShape.capacity() * sizeof(index::Entry)}), kCardShape.sram_latency,
        kCardShape.slots, kCardShape.banks, kCardShape.stash, kCardShape.kick_limit,
        kCardShape.store_buffer);
}

RtlEngine::RtlEngine(const index::IndexConfig& config)
    : m_period(config.clock.cycles(1)),
      m_dut(make_card_dut()),
      m_hash{index::Toeplitz{index::toeplitz_seeds(kSeed)[0], kCardShape.buckets_log2},
             index::Toeplitz{index::toeplitz_seeds(kSeed)[1], kCardShape.buckets_log2}} {
    if (const auto why = misfit(config)) throw InvariantError("rtl: " + *why);
    set_up(*m_dut, kSeed);
    mark();
}

void RtlEngine::clear() {
    set_up(*m_dut, kSeed);
    m_size = 0;
    m_wanted.clear();
    m_first = 0;
    m_presenting = false;
    m_edge = std::max(m_edge, m_last + 1);
    mark();
}

void RtlEngine::announce(std::span<const Request> requests, Time at) {
    forget_ahead(std::max(edge_at_or_after(at), m_last + 1));
    for (const Request& request : requests) m_wanted.push_back({request, edge_at_or_after(at)});
}

index::TimedAnswer RtlEngine::submit(const Request& request, Time at) {
    const Edge from = std::max(edge_at_or_after(at), m_last + 1);
    if (!came_true(request, from)) {
        forget_ahead(from);
        m_wanted.push_back({request, from});
    }
    Taken taken;
    if (m_consumed < m_taken.size()) {
        taken = m_taken[m_consumed++];
        ++m_counters.ahead;
    } else {
        while (m_consumed == m_taken.size()) clock();
        taken = m_taken[m_consumed++];
        mark();
    }
    m_last = taken.accepted;
    while (!m_answers[taken.id].valid) clock();
    const Answered& answered = m_answers[taken.id];
    count(request, answered.answer);
    if (request.operation == Operation::kLookup) {
        const Edge first = edge_at_or_after(at);
        m_counters.lookup_cycles += static_cast<std::uint64_t>(answered.done - first);
        m_counters.lookup_ps += static_cast<std::uint64_t>((time_of(answered.done) - at).ps);
    }
    return {answered.answer, time_of(taken.accepted), time_of(answered.done)};
}

bool RtlEngine::came_true(const Request& request, Edge from) const {
    if (m_consumed < m_taken.size()) {
        const Taken& next = m_taken[m_consumed];
        return same(next.request, request) && next.presented == from;
    }
    if (m_first == m_wanted.size()) return false;
    const Wanted& next = m_wanted[m_first];
    return same(next.request, request) && std::max(next.from, m_last + 1) == from &&
           (m_presenting ? m_presented == from : m_edge <= from);
}

void RtlEngine::forget_ahead(Edge from) {
    const bool ahead = m_consumed < m_taken.size() || m_presenting || m_edge > from;
    m_wanted.clear();
    m_first = 0;
    if (ahead) take_back();
}

void RtlEngine::take_back() {
    ++m_counters.rewinds;
    m_dut->rewind();
    m_edge = m_marked_edge;
    m_next_id = m_marked_id;
    m_presenting = false;
    const std::vector<Taken> replay(m_taken.begin(),
                                    m_taken.begin() + static_cast<std::ptrdiff_t>(m_consumed));
    m_taken.clear();
    m_consumed = 0;
    for (const Taken& taken : replay) m_wanted.push_back({taken.request, taken.presented});
    while (m_taken.size() < replay.size()) clock();
    for (std::size_t i = 0; i < replay.size(); ++i) {
        if (m_taken[i].accepted != replay[i].accepted) {
            throw InvariantError(fmt::format("rtl: replayed, a request is taken at edge {}, not {}",
                                             m_taken[i].accepted, replay[i].accepted));
        }
    }
    m_wanted.clear();
    m_first = 0;
    mark();
}

void RtlEngine::mark() {
    m_dut->mark();
    m_marked_edge = m_edge;
    m_marked_id = m_next_id;
    m_taken.clear();
    m_consumed = 0;
}

void RtlEngine::clock() {
    const bool wants = m_first < m_wanted.size();
    const bool presents = wants && m_edge >= m_wanted[m_first].from;
    DutInputs in;
    if (presents) {
        in.request_valid = true;
        in.request = m_wanted[m_first].request;
        in.id = m_next_id;
        if (!m_presenting) m_presented = m_edge;
        m_presenting = true;
    }
    const DutOutputs out = m_dut->settle(in);
    if (out.response_valid) m_answers[out.id] = {true, out.answer, m_edge - 1};
    if (out.idle && !m_free_running) {
        m_edge = wants ? m_wanted[m_first].from : m_edge + 1;
        return;
    }
    m_dut->posedge();
    if (presents && out.request_ready) {
        m_taken.push_back({in.request, m_presented, m_edge, m_next_id});
        m_answers[m_next_id].valid = false;
        ++m_next_id;
        ++m_first;
        m_presenting = false;
    }
    ++m_edge;
}

void RtlEngine::count(const Request& request, const index::Answer& answer) {
    ++m_counters.requests;
    m_counters.lookups += request.operation == Operation::kLookup ? 1 : 0;
    if (!answer.done()) return;
    if (request.operation == Operation::kInsert) ++m_size;
    if (request.operation == Operation::kDelete || request.operation == Operation::kEvict) --m_size;
}

std::array<RtlEngine::Bucket, 2> RtlEngine::buckets_of(std::uint64_t key) const {
    const std::uint64_t tag = key >> kCardShape.buckets_log2;
    return {Bucket{0, (key & kBucketMask) ^ m_hash[0](tag)},
            Bucket{1, (key & kBucketMask) ^ m_hash[1](tag)}};
}

Status RtlEngine::peek(std::uint64_t key) {
    for (const Bucket& bucket : buckets_of(key)) {
        for (std::uint32_t slot = 0; slot < kCardShape.slots; ++slot) {
            const index::Entry entry = m_dut->peek(bucket.half, bucket.number, slot);
            if (!entry.free() && entry.tag == key >> kCardShape.buckets_log2) return Status::kHit;
        }
    }
    return Status::kMiss;
}

std::optional<std::uint64_t> RtlEngine::victim_for(std::uint64_t key) {
    constexpr std::uint64_t kPinned = 4;
    std::array<std::uint64_t, 2 * kCardShape.slots> keys{};
    std::size_t count = 0;
    for (const Bucket& bucket : buckets_of(key)) {
        for (std::uint32_t slot = 0; slot < kCardShape.slots; ++slot) {
            const index::Entry entry = m_dut->peek(bucket.half, bucket.number, slot);
            if (entry.free()) return std::nullopt;
            const bool moving =
                entry.state == static_cast<std::uint64_t>(index::EntryState::kMoving);
            if (moving || (entry.flags & kPinned) != 0) continue;
            const std::uint64_t tag = entry.tag;
            keys[count++] = tag << kCardShape.buckets_log2 |
                            ((bucket.number ^ m_hash[bucket.half](tag)) & kBucketMask);
        }
    }
    if (count == 0) return std::nullopt;
    m_random = m_random * 6364136223846793005ULL + 1442695040888963407ULL;
    return keys[(m_random >> 33U) % count];
}

}  // namespace kvplane::rtl
