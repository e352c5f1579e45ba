// SPDX-License-Identifier: Apache-2.0
#include "model/engine/invariant_checker.h"

#include <fmt/format.h>

#include "model/common/errors.h"

namespace kvplane::engine {

InvariantChecker::InvariantChecker(Bytes capacity) : m_granules(capacity / kGranule) {}

InvariantChecker::Copy& InvariantChecker::copy(TierFrame frame) {
    if (frame.record >= m_copies.size()) m_copies.resize(frame.record + std::size_t{1});
    return m_copies[frame.record];
}

void InvariantChecker::mark(const Extents& extents, std::uint32_t granules, bool used) {
    for (std::size_t i = 0; i < extents.count; ++i) {
        const std::uint64_t end = std::uint64_t{extents.first[i]} + extents.length(i, granules);
        if (end > m_granules) {
            throw InvariantError(
                fmt::format("check: an extent ends at granule {} of {}", end, m_granules));
        }
        if (end > m_taken.size()) m_taken.resize(end);
        for (std::uint64_t g = extents.first[i]; g < end; ++g) {
            if (m_taken[g] == used) {
                throw InvariantError(
                    fmt::format("check: granule {} is {} twice", g, used ? "given" : "freed"));
            }
            m_taken[g] = used;
        }
    }
    m_used += used ? granules : 0;
    m_used -= used ? 0 : granules;
}

void InvariantChecker::allocated(TierFrame frame, const Extents& extents, std::uint32_t granules) {
    ++m_checks;
    mark(extents, granules, true);
    if (copy(frame).state != State::kFree) {
        throw InvariantError(fmt::format("check: record {} is given twice", frame.record));
    }
    copy(frame) = {State::kArriving};
}

void InvariantChecker::freed(TierFrame frame, const Extents& extents, std::uint32_t granules) {
    ++m_checks;
    mark(extents, granules, false);
    if (copy(frame).state == State::kFree) {
        throw InvariantError(fmt::format("check: record {} is freed twice", frame.record));
    }
    copy(frame) = {};
}

void InvariantChecker::committed(const block::BlockKey& key, TierFrame frame,
                                 std::optional<TierFrame> from, std::uint64_t version) {
    ++m_checks;
    const std::uint64_t expected = from ? (copy(*from).version + 1U) & 0xFFU : 0;
    if (copy(frame).state != State::kArriving || version != expected ||
        (from && copy(*from).state != State::kCommitted)) {
        throw InvariantError(
            fmt::format("check: record {} is committed in state {}, with version {} instead of {}",
                        frame.record, static_cast<int>(copy(frame).state), version, expected));
    }
    if (from) copy(*from).state = State::kSuperseded;
    copy(frame) = {State::kCommitted, static_cast<std::uint8_t>(version)};
    ++m_commits;
    if (std::uint64_t* last = m_last_commit.find(key)) {
        *last = m_commits;
    } else {
        m_last_commit.insert(key, m_commits);
    }
}

void InvariantChecker::read_begun(TierFrame frame) {
    ++m_checks;
    if (copy(frame).state != State::kCommitted) {
        throw InvariantError(fmt::format("check: record {} is read in state {}", frame.record,
                                         static_cast<int>(copy(frame).state)));
    }
}

void InvariantChecker::version_changed(TierFrame frame, std::uint64_t version) {
    ++m_checks;
    Copy& of = copy(frame);
    if (version != ((of.version + 1U) & 0xFFU)) {
        throw InvariantError(fmt::format("check: the move version of record {} goes from {} to {}",
                                         frame.record, of.version, version));
    }
    of.version = static_cast<std::uint8_t>(version);
}

void InvariantChecker::cleared() {
    ++m_checks;
    m_taken.clear();
    m_copies.clear();
    m_last_commit.clear();
    m_used = 0;
}

void InvariantChecker::taken_in(const MoveJob& job) {
    ++m_checks;
    if (!m_open.insert(job.serial, m_commits)) {
        throw InvariantError(fmt::format("check: intent {} is taken in twice", job.serial));
    }
}

void InvariantChecker::crossed(const MoveJob& job, Mover, std::uint32_t block, Time start,
                               Time end) {
    ++m_checks;
    if (m_open.find(job.serial) == nullptr || block >= job.blocks.size() || end < start) {
        throw InvariantError(
            fmt::format("check: block {} of intent {} crosses after its end", block, job.serial));
    }
}

void InvariantChecker::completed(const MoveJob& job) {
    ++m_checks;
    const std::uint64_t* since = m_open.find(job.serial);
    if (since == nullptr) {
        throw InvariantError(fmt::format("check: intent {} (id {}) has a second completion",
                                         job.serial, job.intent.id));
    }
    if (job.opcode() == Opcode::kDemote || job.opcode() == Opcode::kReEncode) {
        for (std::uint32_t i = 0; i < job.done; ++i) {
            const std::uint64_t* last = m_last_commit.find(job.blocks.at(i).key);
            if (last == nullptr || *last <= *since) {
                throw InvariantError(
                    fmt::format("check: block {} of intent {} (id {}) is reported before it is "
                                "committed",
                                i, job.serial, job.intent.id));
            }
        }
    }
    m_open.erase(job.serial);
}

void InvariantChecker::dropped() {
    ++m_checks;
    m_open.clear();
}

void InvariantChecker::audit(const Tier& tier) const {
    if (m_open.size() != 0 || m_used != tier.room().used()) {
        throw InvariantError(
            fmt::format("check: {} intents without a completion; {} granules in use by the "
                        "checker's books, {} by the tier's",
                        m_open.size(), m_used, tier.room().used()));
    }
}

}  // namespace kvplane::engine
