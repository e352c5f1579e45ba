// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/zipf_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "host_driver/workload/assemble.h"
#include "tests/unit/host_driver/workload/trace_file.h"

namespace kvplane::workload {
namespace {

/// The turns of each session, in time.
std::vector<std::vector<const RawRequest*>> by_session(const RawTrace& trace) {
    std::vector<std::vector<const RawRequest*>> out;
    for (const RawRequest& request : trace.requests) {
        if (request.session > out.size()) out.resize(request.session);
        out[request.session - 1].push_back(&request);
    }
    return out;
}

TEST(ZipfSessionsTest, EveryPromptIsThePromptBeforeItsOutputAndNewText) {
    const ZipfSessionsConfig config;
    const RawTrace trace = generate(config, 1, 16);
    ASSERT_EQ(trace.requests.size(), config.turns);
    const Workload w = assemble(trace, {});
    std::vector<std::vector<const Request*>> sessions;
    for (const Request& request : w.requests) {
        if (request.session > sessions.size()) sessions.resize(request.session);
        sessions[request.session - 1].push_back(&request);
    }
    EXPECT_LE(sessions.size(), config.sessions);
    for (const auto& turns : sessions) {
        const std::uint32_t first = turns[0]->input_tokens - config.shared_prefix_tokens;
        EXPECT_GE(first, config.initial_context_min);
        EXPECT_LE(first, config.initial_context_max);
        for (std::size_t i = 1; i < turns.size(); ++i) {
            const std::uint32_t grown = turns[i]->input_tokens - turns[i - 1]->input_tokens;
            ASSERT_GE(grown, config.appended_min);
            ASSERT_LE(grown, config.appended_max);
            ASSERT_LT(turns[i - 1]->output_tokens, grown);
            const auto old_chain = w.full_chain(*turns[i - 1]);
            const auto new_chain = w.full_chain(*turns[i]);
            ASSERT_GE(new_chain.size(), old_chain.size());
            ASSERT_TRUE(std::equal(old_chain.begin(), old_chain.end(), new_chain.begin()));
        }
    }
}

TEST(ZipfSessionsTest, SessionsShareThePrefixAndNothingElse) {
    const Workload w = assemble(generate({}, 1, 16), {});
    std::vector<std::uint32_t> owner(w.blocks.size(), 0);
    for (const Request& request : w.requests) {
        const auto blocks = w.chain(request);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (i < 2048 / 16) {
                ASSERT_EQ(blocks[i].value, i);
                continue;
            }
            std::uint32_t& session = owner[blocks[i].value];
            ASSERT_TRUE(session == 0 || session == request.session);
            session = request.session;
        }
    }
}

TEST(ZipfSessionsTest, APartialBlockIsNeverMetAgain) {
    const Workload w = assemble(generate({}, 1, 16), {});
    std::vector<std::uint32_t> uses(w.blocks.size(), 0);
    for (const BlockIndex b : w.refs) ++uses[b.value];
    for (const Request& request : w.requests) {
        if (request.input_tokens % 16 != 0) {
            EXPECT_EQ(uses[w.chain(request).back().value], 1U);
        }
    }
}

TEST(ZipfSessionsTest, TheLargestReadSetIsThatOfThePublishedSetting) {
    // An independent retest found 41 to 49 GiB over three seeds, at 5 MiB a block.
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        std::uint32_t most = 0;
        for (const RawRequest& r : generate({}, seed, 16).requests) {
            most = std::max(most, r.input_tokens);
        }
        EXPECT_GT(most * 5.0 / 16 / 1024, 40.0) << seed;
        EXPECT_LT(most * 5.0 / 16 / 1024, 51.0) << seed;
    }
}

TEST(ZipfSessionsTest, TurnsFollowZipfAndArrivalsPoisson) {
    ZipfSessionsConfig config;
    config.turns = 100'000;
    config.max_context = kMostTokens;
    config.initial_context_max = 1024;
    config.appended_max = 32;
    const RawTrace trace = generate(config, 1, 65'536);
    std::vector<double> turns;
    for (const auto& session : by_session(trace)) {
        turns.push_back(static_cast<double>(session.size()));
    }
    std::sort(turns.rbegin(), turns.rend());
    double sum = 0;
    for (int rank = 1; rank <= 200; ++rank) sum += std::pow(rank, -1.1);
    EXPECT_NEAR(turns[0] / 100'000, 1 / sum, 5 * 0.0014);
    EXPECT_NEAR(turns[1] / 100'000, std::pow(2, -1.1) / sum, 5 * 0.0011);

    double squares = 0;
    double total = 0;
    for (std::size_t i = 1; i < trace.requests.size(); ++i) {
        const double gap = (trace.requests[i].stamp - trace.requests[i - 1].stamp).s();
        total += gap;
        squares += gap * gap;
    }
    const double mean = total / 99'999;
    EXPECT_NEAR(mean, 1 / 1.7, 5 * 0.588 / std::sqrt(1e5));
    EXPECT_NEAR(squares / 99'999 / mean / mean, 2.0, 0.1);
}

TEST(ZipfSessionsTest, DrawsDependOnTheSeedAloneNotOnBlocksOrRate) {
    ZipfSessionsConfig config;
    config.turns = 300;
    const RawTrace base = generate(config, 1, 16);
    const RawTrace coarse = generate(config, 1, 512);
    config.requests_per_second = 3.4;
    const RawTrace fast = generate(config, 1, 16);
    const RawTrace other = generate(config, 2, 16);
    bool differs = false;
    for (std::size_t i = 0; i < 300; ++i) {
        EXPECT_EQ(base.requests[i].stamp, coarse.requests[i].stamp);
        EXPECT_EQ(base.requests[i].input_tokens, coarse.requests[i].input_tokens);
        EXPECT_EQ(base.requests[i].input_tokens, fast.requests[i].input_tokens);
        EXPECT_EQ(base.requests[i].session, fast.requests[i].session);
        differs |= base.requests[i].input_tokens != other.requests[i].input_tokens;
    }
    EXPECT_EQ(base.ids, fast.ids);
    EXPECT_TRUE(differs);
    EXPECT_NEAR(base.requests[299].stamp.s() / fast.requests[299].stamp.s(), 2.0, 1e-6);
}

TEST(ZipfSessionsTest, ASessionThatOutgrowsItsContextBeginsAnew) {
    ZipfSessionsConfig config;
    config.sessions = 1;
    config.max_context = 15'000;
    const RawTrace trace = generate(config, 1, 16);
    const auto sessions = by_session(trace);
    EXPECT_GT(sessions.size(), 20U);
    for (const auto& turns : sessions) {
        EXPECT_LE(turns.back()->input_tokens, 15'000U);
        EXPECT_LE(turns.front()->input_tokens, 2'048U + 12'288U);
    }
}

TEST(ZipfSessionsTest, RejectsValuesOutOfRange) {
    const auto error = [](auto change) {
        ZipfSessionsConfig config;
        change(config);
        return test::user_error("", [&] { return generate(config, 1, 16); });
    };
    EXPECT_EQ(error([](auto& c) { c.sessions = 0; }),
              "zipf-sessions: sessions: must be 1 to 4194304, not 0");
    EXPECT_EQ(error([](auto& c) { c.zipf_exponent = -1; }),
              "zipf-sessions: zipf_exponent: must be 0 to 8, not -1");
    EXPECT_EQ(error([](auto& c) { c.initial_context_min = 20'000; }),
              "zipf-sessions: initial_context_min: must be 1 to 12288, not 20000");
    EXPECT_EQ(error([](auto& c) { c.max_context = 10'000; }),
              "zipf-sessions: initial_context_max: must be 1 to 7952, not 12288");
    EXPECT_EQ(error([](auto& c) { c.appended_min = 1; }),
              "zipf-sessions: appended_min: must be 2 to 512, not 1");
    EXPECT_EQ(error([](auto& c) { c.requests_per_second = std::nan(""); }),
              "zipf-sessions: requests_per_second: must be 0.001 to 1000000, not nan");
    EXPECT_EQ(
        error([](auto& c) { c.requests_per_second = 1e-3, c.turns = 5'000, c.sessions = 5'000; }),
        "zipf-sessions: the workload lasts more than 45 days");
}

}  // namespace
}  // namespace kvplane::workload
