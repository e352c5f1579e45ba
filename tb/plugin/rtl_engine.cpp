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
constexpr std::uint64_t kTagMask = (std::uint64_t{1} << 62U) - 1;
/// Cycles that a request may wait: the kicks of a full stash, many times over.
constexpr std::uint32_t kMostWait = 1'000'000;
constexpr std::uint64_t kBucketMask = (std::uint64_t{1} << kCardShape.buckets_log2) - 1;

std::array<std::uint64_t, 2> words(const index::Entry& entry) {
    return std::bit_cast<std::array<std::uint64_t, 2>>(entry);
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
}

void RtlEngine::clear() {
    set_up(*m_dut, kSeed);
    m_entries.clear();
    m_expected.clear();
    m_next_id = 0;
}

index::TimedAnswer RtlEngine::submit(const Request& request, Time at) {
    const Edge first = edge_at_or_after(at);
    const Edge from = std::max(first, m_last + 1);
    if (m_edge > from) take_back();
    advance_to(from);
    Expected expected = accept(request);
    if (m_waves != nullptr) m_waves->taken(request, from, m_last);
    ++m_counters.requests;
    if (request.operation == Operation::kLookup) {
        ++m_counters.lookups;
        m_counters.lookup_cycles += static_cast<std::uint64_t>(expected.done - first);
        m_counters.lookup_ps += static_cast<std::uint64_t>((time_of(expected.done) - at).ps);
    }
    if (!expected.known) run_ahead(expected);
    return {expected.answer, time_of(m_last), time_of(expected.done)};
}

/// The answer, and the map after it. An INSERT is taken to find room.
index::Answer RtlEngine::foretell(const Request& request) {
    if (request.operation == Operation::kScrub) return {.status = Status::kDone};
    index::Entry* entry = m_entries.find(request.key);
    if (entry == nullptr) {
        if (request.operation != Operation::kInsert) return {.status = Status::kMiss};
        index::Entry fresh = request.entry;
        const std::uint64_t tag = request.key >> kCardShape.buckets_log2;
        fresh.tag = tag & kTagMask;
        m_entries.insert(request.key, fresh);
        return {.status = Status::kDone, .entry = fresh};
    }
    const index::Entry before = *entry;
    const bool compares =
        request.operation == Operation::kUpdate || request.operation == Operation::kDelete;
    if (compares && request.expect_valid && request.expect_version != before.version) {
        return {.status = Status::kVersionMismatch, .entry = before};
    }
    switch (request.operation) {
        case Operation::kInsert:
            return {.status = Status::kExists, .entry = before};
        case Operation::kUpdate:
            *entry = merge(before, request.entry, request.mask);
            return {.status = Status::kDone, .entry = *entry};
        case Operation::kDelete:
        case Operation::kEvict:
            m_entries.erase(request.key);
            return {.status = Status::kDone, .entry = before};
        case Operation::kLookup:
        case Operation::kScrub:
            break;
    }
    return {.status = Status::kHit, .entry = before};
}

void RtlEngine::advance_to(Edge edge) {
    while (m_edge < edge) {
        const DutOutputs out = m_dut->settle({});
        collect(out);
        if (out.idle && !m_free_running) {
            m_edge = edge;
            return;
        }
        m_dut->posedge();
        ++m_edge;
    }
}

RtlEngine::Expected RtlEngine::accept(const Request& request) {
    const DutInputs in{.request_valid = true, .id = m_next_id, .request = request};
    for (std::uint32_t waited = 0; waited < kMostWait; ++waited) {
        const DutOutputs out = m_dut->settle(in);
        collect(out);
        m_dut->posedge();
        const Edge edge = m_edge++;
        if (!out.request_ready) continue;
        // Only INSERTs fill the stash, and each that is under way may.
        std::uint32_t stash = out.stash;
        for (const Expected& e : m_expected) {
            stash += e.request.operation == Operation::kInsert ? 1 : 0;
        }
        m_last = edge;
        Expected expected{request, foretell(request), edge + kCardShape.latency(), m_next_id++};
        expected.known = request.operation != Operation::kInsert || !expected.answer.done() ||
                         stash < kCardShape.stash;
        m_expected.push_back(expected);
        return expected;
    }
    throw InvariantError("rtl: the engine accepts nothing any more");
}

void RtlEngine::run_ahead(Expected& expected) {
    ++m_counters.run_ahead;
    m_dut->mark();
    m_marked_edge = m_edge;
    m_marked_expected = m_expected;
    m_marked_matched = m_counters.matched;
    while (!m_expected.empty()) advance_to(m_edge + 1);
    expected.answer = m_decided;
    m_marked_expected.back().answer = m_decided;
    m_marked_expected.back().known = true;
}

void RtlEngine::take_back() {
    ++m_counters.taken_back;
    m_dut->rewind();
    m_edge = m_marked_edge;
    m_expected = m_marked_expected;
    m_counters.matched = m_marked_matched;
}

void RtlEngine::trace(const WavesOption& option) {
    m_waves = std::make_unique<Waves>(option, m_period, kSeed);
}

void RtlEngine::finish() {
    while (!m_expected.empty()) advance_to(m_edge + 1);
    if (m_waves != nullptr) m_waves->finish();
    m_waves.reset();
}

void RtlEngine::collect(const DutOutputs& out) {
    if (!out.response_valid) return;
    if (m_expected.empty()) throw InvariantError("rtl: an answer that nobody waits for");
    Expected& expected = m_expected.front();
    if (!expected.known && out.answer.status == Status::kFull) {
        m_entries.erase(expected.request.key);
        expected.answer = out.answer;
    }
    const bool same = out.id == expected.id && out.answer.status == expected.answer.status &&
                      words(out.answer.entry) == words(expected.answer.entry) &&
                      m_edge - 1 == expected.done;
    if (!same) report(expected, out);
    m_decided = expected.answer;
    ++m_counters.matched;
    m_expected.erase(m_expected.begin());
}

void RtlEngine::report(const Expected& expected, const DutOutputs& out) const {
    const auto entry = words(out.answer.entry);
    const auto wanted = words(expected.answer.entry);
    throw InvariantError(fmt::format(
        "rtl: after {} matched answers operation {} on key {:016x} is answered with status {}, "
        "entry {:016x}{:016x} at edge {}, and should be with status {}, entry {:016x}{:016x} at "
        "edge {}; {} entries",
        m_counters.matched, static_cast<int>(expected.request.operation), expected.request.key,
        static_cast<int>(out.answer.status), entry[1], entry[0], m_edge - 1,
        static_cast<int>(expected.answer.status), wanted[1], wanted[0], expected.done,
        m_entries.size()));
}

std::array<RtlEngine::Bucket, 2> RtlEngine::buckets_of(std::uint64_t key) const {
    const std::uint64_t tag = key >> kCardShape.buckets_log2;
    return {Bucket{0, (key & kBucketMask) ^ m_hash[0](tag)},
            Bucket{1, (key & kBucketMask) ^ m_hash[1](tag)}};
}

index::Answer RtlEngine::peek(std::uint64_t key) {
    const index::Entry* entry = m_entries.find(key);
    if (entry == nullptr) return {.status = Status::kMiss};
    return {.status = Status::kHit, .entry = *entry};
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
