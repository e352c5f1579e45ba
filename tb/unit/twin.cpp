// SPDX-License-Identifier: Apache-2.0
#include "tb/unit/twin.h"

#include <gtest/gtest.h>

#include <bit>

namespace kvplane::rtl {

using index::Answer;
using index::Operation;
using index::Request;
using index::Status;

TwinBench::TwinBench(std::unique_ptr<MetaLookupDut> dut, const DutShape& shape)
    : m_bench(std::move(dut), shape),
      // A stash that never fills: whether the engine's does depends on its timing.
      m_table({.buckets_log2 = shape.buckets_log2, .slots = shape.slots, .stash = 64}) {}

std::uint64_t TwinBench::key_of(std::uint64_t n) { return mix64(n * 0x9E3779B97F4A7C15ULL); }

std::uint64_t TwinBench::issue(const Request& request) {
    m_asked.push_back(request);
    const std::uint64_t cycle = m_bench.issue(request);
    compare();
    return cycle;
}

void TwinBench::settle_down() {
    m_bench.take_answers = true;
    m_bench.settle_down();
    compare();
    EXPECT_TRUE(m_asked.empty()) << m_asked.size() << " requests without an answer";
}

void TwinBench::compare() {
    std::deque<Response>& responses = m_bench.responses();
    for (; !responses.empty(); responses.pop_front()) {
        ASSERT_FALSE(m_asked.empty()) << "an answer too many";
        const Request request = m_asked.front();
        m_asked.pop_front();
        const Answer& answer = responses.front().answer;
        ++m_statuses[static_cast<std::size_t>(answer.status)];
        if (answer.status == Status::kFull) {
            // Both buckets and the stash are full of other keys.
            const DutShape& shape = m_bench.shape();
            ASSERT_EQ(request.operation, Operation::kInsert);
            ASSERT_GE(m_table.size(), 2 * shape.slots + shape.stash);
            ASSERT_FALSE(m_table.lookup(request.key).found());
            ++m_refused;
            ++m_matched;
            continue;
        }
        const Answer expected = m_table.commit(request);
        while (m_table.kicking()) m_table.kick();
        const auto operation = static_cast<int>(request.operation);
        ASSERT_EQ(answer.status, expected.status)
            << "request " << m_matched << ", operation " << operation << ", key " << std::hex
            << request.key << ", frame " << answer.entry.frame << " not " << expected.entry.frame;
        using Words = std::array<std::uint64_t, 2>;
        ASSERT_EQ(std::bit_cast<Words>(answer.entry), std::bit_cast<Words>(expected.entry))
            << "request " << m_matched << ", operation " << operation << ", key " << std::hex
            << request.key;
        ++m_matched;
    }
}

Request TwinBench::draw(RandomStream& random, const RandomRun& run) {
    const std::uint64_t dice = random.uniform(100);
    const bool recent = !m_recent.empty() && random.uniform(100) < run.recent_percent;
    const std::uint64_t key =
        recent ? m_recent[random.uniform(m_recent.size())] : key_of(random.uniform(run.keys));
    if (m_recent.size() < 8) m_recent.push_back(key);
    m_recent[random.uniform(m_recent.size())] = key;
    Request request{.key = key};
    std::uint64_t below = run.mix.inserts;
    const std::uint64_t bits = random.bits();
    auto words = std::array<std::uint64_t, 2>{random.bits(), random.bits()};
    request.entry = std::bit_cast<index::Entry>(words);
    if (request.entry.free()) request.entry.state = 1;
    // Few versions, so that some are as expected.
    request.entry.version &= 1U;
    if (dice < below) {
        request.operation = Operation::kInsert;
    } else if (dice < (below += run.mix.updates)) {
        request.operation = Operation::kUpdate;
        request.mask = static_cast<index::FieldMask>(bits & index::field::kAll);
        request.expect_version = bits >> 9U & 1U;
        request.expect_valid = (bits >> 10U & 3U) == 0;
    } else if (dice < (below += run.mix.deletes)) {
        request.operation = Operation::kDelete;
        request.expect_version = bits >> 9U & 1U;
        request.expect_valid = (bits >> 10U & 3U) == 0;
    } else if (dice < (below += run.mix.evicts)) {
        request.operation = Operation::kEvict;
    } else if (dice < below + run.mix.scrubs) {
        request.operation = Operation::kScrub;
    }
    return request;
}

void TwinBench::run(const RandomRun& run) {
    SCOPED_TRACE(testing::Message() << "seed " << run.seed);
    RandomStream random(run.seed, "rtl");
    for (std::uint64_t i = 0; i < run.requests; ++i) {
        while (random.uniform(100) < run.gap_percent) {
            m_bench.take_answers = random.uniform(100) >= run.hold_percent;
            m_bench.step();
        }
        m_bench.take_answers = random.uniform(100) >= run.hold_percent;
        // A full response queue keeps the engine from accepting.
        if (m_asked.size() > 7) m_bench.take_answers = true;
        issue(draw(random, run));
        if (testing::Test::HasFatalFailure()) return;
    }
    settle_down();
}

void TwinBench::check_all(std::uint32_t keys) {
    settle_down();
    for (std::uint32_t n = 0; n < keys; ++n) {
        issue({.operation = Operation::kLookup, .key = key_of(n)});
        if (testing::Test::HasFatalFailure()) return;
    }
    settle_down();
}

}  // namespace kvplane::rtl
