// SPDX-License-Identifier: Apache-2.0
#include "tb/plugin/lockstep_engine.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <iterator>
#include <string>

#include "model/common/errors.h"

namespace kvplane::rtl {

using index::Answer;
using index::Operation;
using index::Request;
using index::Status;

namespace {

constexpr std::size_t kHistory = 16;

std::array<std::uint64_t, 2> words(const index::Entry& entry) {
    return std::bit_cast<std::array<std::uint64_t, 2>>(entry);
}

bool equal(const Answer& a, const Answer& b) {
    return a.status == b.status && words(a.entry) == words(b.entry);
}

std::string describe(const Answer& answer) {
    constexpr std::array kNames{
        "HIT", "MISS", "DONE", "EXISTS", "FULL", "VERSION_MISMATCH", "UNCORRECTABLE"};
    const auto entry = words(answer.entry);
    return fmt::format("{} {:016x}{:016x}", kNames[static_cast<std::size_t>(answer.status)],
                       entry[1], entry[0]);
}

}  // namespace

void LockstepEngine::clear() {
    m_rtl.clear();
    m_tlm.clear();
    m_beside.clear();
}

index::TimedAnswer LockstepEngine::submit(const Request& request, Time at) {
    const RtlEngine::Edge first = m_rtl.edge_at_or_after(at);
    const Time aligned = m_rtl.time_of(first);
    Step step{request, m_rtl.submit(request, at), m_tlm.submit(request, aligned)};
    if (m_history.size() == kHistory) m_history.pop_front();
    m_history.push_back(step);
    step.tlm.answer = expect(request, step.tlm.answer);
    if (request.operation == Operation::kInsert) {
        settle_full(request, step.rtl.answer, step.tlm.answer);
    }
    if (!equal(step.rtl.answer, step.tlm.answer)) report(step);
    ++m_counters.matched;
    const auto cycles = [&](Time done) {
        return static_cast<std::uint64_t>((done - aligned).ps / m_rtl.period().ps);
    };
    const std::uint64_t rtl = cycles(step.rtl.done);
    const std::uint64_t tlm = cycles(step.tlm.done);
    m_counters.rtl_cycles += rtl;
    m_counters.tlm_cycles += tlm;
    m_counters.within_a_cycle += rtl <= tlm + 1 && tlm <= rtl + 1 ? 1 : 0;
    return step.rtl;
}

/// The table's answer, or that of an entry kept beside it.
Answer LockstepEngine::expect(const Request& request, const Answer& tlm) {
    index::Entry* entry = m_beside.find(request.key);
    if (entry == nullptr) return tlm;
    const bool compares =
        request.operation == Operation::kUpdate || request.operation == Operation::kDelete;
    if (compares && request.expect_valid && request.expect_version != entry->version) {
        return {.status = Status::kVersionMismatch, .entry = *entry};
    }
    const index::Entry before = *entry;
    switch (request.operation) {
        case Operation::kLookup:
            return {.status = Status::kHit, .entry = before};
        case Operation::kInsert:
            // The table has found room for it in the meantime.
            if (tlm.done()) (void)m_tlm.table().erase(request.key);
            return {.status = Status::kExists, .entry = before};
        case Operation::kUpdate:
            *entry = merge(before, request.entry, request.mask);
            return {.status = Status::kDone, .entry = *entry};
        case Operation::kDelete:
        case Operation::kEvict:
            m_beside.erase(request.key);
            return {.status = Status::kDone, .entry = before};
        case Operation::kScrub:
            return tlm;
    }
    throw InvariantError("lockstep: unknown operation");
}

/// Lets the table follow where one of the two refused an INSERT.
void LockstepEngine::settle_full(const Request& request, const Answer& rtl, Answer& tlm) {
    const std::uint64_t enough = 2 * kCardShape.slots + kCardShape.stash;
    if (rtl.status == Status::kFull && tlm.status == Status::kDone && m_rtl.size() >= enough) {
        (void)m_tlm.table().erase(request.key);
        tlm = rtl;
        ++m_counters.full_differs;
    } else if (rtl.status == Status::kDone && tlm.status == Status::kFull) {
        m_beside.insert(request.key, rtl.entry);
        tlm = rtl;
        ++m_counters.full_differs;
    }
}

void LockstepEngine::report(const Step& step) const {
    std::string text = fmt::format(
        "lockstep: after {} matched answers the RTL says {}, the TLM {}; {} entries in the RTL, {} "
        "and {} in the TLM, {} of them in its stash; the latest requests, oldest first:",
        m_counters.matched, describe(step.rtl.answer), describe(step.tlm.answer), m_rtl.size(),
        m_tlm.size(), m_beside.size(), m_tlm.table().stashed());
    constexpr std::array kNames{"LOOKUP", "INSERT", "UPDATE", "DELETE", "EVICT", "SCRUB"};
    for (const Step& past : m_history) {
        fmt::format_to(std::back_inserter(text), "\n  {} ps {} {:016x}: RTL {}, TLM {} at {} ps",
                       past.rtl.issued.ps, kNames[static_cast<std::size_t>(past.request.operation)],
                       past.request.key, describe(past.rtl.answer), describe(past.tlm.answer),
                       past.tlm.issued.ps);
    }
    throw InvariantError(text);
}

}  // namespace kvplane::rtl
