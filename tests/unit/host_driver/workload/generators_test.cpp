// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/generators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "host_driver/workload/assemble.h"
#include "tests/unit/host_driver/workload/trace_file.h"

namespace kvplane::workload {
namespace {

template <typename Config>
std::string error_of(auto change) {
    Config config;
    change(config);
    return test::user_error("", [&] { return generate(config, 1, 16); });
}

TEST(ScanTest, HotDocumentsComeBackAndScansDoNot) {
    ScanConfig config;
    config.document_tokens = 100;  // its partial block comes back, too
    config.shared_prefix_tokens = 32;
    const Workload w = assemble(generate(config, 1, 16), {});
    ASSERT_EQ(w.requests.size(), config.requests);
    const auto scans = std::count_if(w.requests.begin(), w.requests.end(),
                                     [&](auto& r) { return r.session > config.hot_documents; });
    EXPECT_NEAR(static_cast<double>(scans), 1000.0, 5 * std::sqrt(500.0));
    // Two shared blocks, and five more of each document.
    EXPECT_EQ(w.blocks.size(), 2 + 5 * (16 + static_cast<std::size_t>(scans)));
    std::vector<std::uint32_t> readers(w.blocks.size(), 0);
    for (const Request& request : w.requests) {
        for (const BlockIndex b : w.chain(request)) {
            if (b.value < 2) continue;
            ASSERT_TRUE(readers[b.value] == 0 || readers[b.value] == request.session);
            readers[b.value] = request.session;
        }
    }
}

TEST(ScanTest, TheShareOfScansIsKept) {
    ScanConfig config;
    config.scan_permille = 1000;
    config.document_tokens = 16;
    EXPECT_EQ(assemble(generate(config, 1, 16), {}).blocks.size(), 2'000U);
    config.scan_permille = 0;
    EXPECT_EQ(assemble(generate(config, 1, 16), {}).blocks.size(), 16U);
}

TEST(LoopTest, IsTheMicroScenarioP4) {
    // (A B C) x 3.
    LoopConfig config;
    config.documents = 3;
    config.rounds = 3;
    config.document_tokens = 16;
    const Workload w = assemble(generate(config, 1, 16), {});
    const std::vector<BlockIndex> expected{{0}, {1}, {2}, {0}, {1}, {2}, {0}, {1}, {2}};
    EXPECT_EQ(w.refs, expected);
    EXPECT_TRUE(std::is_sorted(w.requests.begin(), w.requests.end(),
                               [](auto& a, auto& b) { return a.arrival < b.arrival; }));
}

TEST(AgentsTest, EveryTurnFollowsTheAgentsLastAndExtendsItsPrompt) {
    const AgentsConfig config;
    const RawTrace trace = generate(config, 1, 16);
    ASSERT_EQ(trace.requests.size(), config.requests);
    const Workload w = assemble(trace, {});
    std::vector<bool> followed(w.requests.size(), false);
    std::size_t begun = 0;
    for (const Request& r : w.requests) {
        if (r.after == kNoRequest) {
            ++begun;
            EXPECT_EQ(r.input_tokens, 8'192U);
            continue;
        }
        const Request& last = w.requests[r.after];
        ASSERT_FALSE(followed[r.after]) << "two requests follow one";
        followed[r.after] = true;
        // No queueing: served in 25 ms a token, and the prefill of what is new.
        const double wait = (r.arrival - last.arrival - r.pause).s();
        const double prefill = last.input_tokens == 8'192 ? 8'192 / 27'700.0 : 900 / 27'700.0;
        ASSERT_NEAR(wait, 200 * 0.025 + prefill, 1e-6);
        if (r.session != last.session) {
            EXPECT_EQ(r.input_tokens, 8'192U);
            EXPECT_GT(last.input_tokens + 900, 131'072U);
            continue;
        }
        ASSERT_EQ(r.input_tokens, last.input_tokens + 900);
        const auto old_chain = w.full_chain(last);
        ASSERT_TRUE(std::equal(old_chain.begin(), old_chain.end(), w.full_chain(r).begin()));
    }
    EXPECT_EQ(begun, config.population);
}

TEST(AgentsTest, TheDefaultPopulationAsksAbout1Point7TimesASecond) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const RawTrace trace = generate(AgentsConfig{}, seed, 1 << 16);
        EXPECT_NEAR(6000 / trace.requests.back().stamp.s(), 1.7, 0.1) << seed;
    }
}

TEST(AgentsTest, PausesAreLognormalAndDoNotDependOnTheEstimate) {
    AgentsConfig config;
    config.requests = 2'000;
    const auto pauses = [&] {
        std::vector<std::pair<std::uint32_t, Time>> out;  // by agent's session
        for (const RawRequest& r : generate(config, 1, 1 << 16).requests) {
            if (r.after != kNoRequest) out.emplace_back(r.session, r.pause);
        }
        std::sort(out.begin(), out.end());
        return out;
    };
    const auto base = pauses();
    const auto below =
        std::count_if(base.begin(), base.end(), [](auto& p) { return p.second < Time::from_s(5); });
    EXPECT_NEAR(static_cast<double>(below) / static_cast<double>(base.size()), 0.5, 0.06);
    config.estimated_token_time = Time{0};
    std::set<Time> known;
    for (const auto& pause : base) known.insert(pause.second);
    std::size_t shared = 0;
    for (const auto& pause : pauses()) shared += known.contains(pause.second) ? 1 : 0;
    EXPECT_GT(shared, base.size() * 3 / 4);  // agents reach other turns, with the same pauses
}

TEST(GeneratorsTest, RejectValuesOutOfRange) {
    EXPECT_EQ(error_of<ScanConfig>([](auto& c) { c.scan_permille = 1001; }),
              "scan: scan_permille: must be 0 to 1000, not 1001");
    EXPECT_EQ(error_of<ScanConfig>([](auto& c) { c.shared_prefix_tokens = 8'192; }),
              "scan: shared_prefix_tokens: must be 0 to 8191, not 8192");
    EXPECT_EQ(error_of<LoopConfig>([](auto& c) { c.documents = 0; }),
              "loop: documents: must be 1 to 4194304, not 0");
    EXPECT_EQ(error_of<LoopConfig>([](auto& c) { c.rounds = 1'000'000, c.documents = 1'000'000; }),
              "loop: documents x rounds: must be 1 to 100000000, not 1000000000000");
    EXPECT_EQ(error_of<AgentsConfig>([](auto& c) { c.appended_tokens = 200; }),
              "agents: appended_tokens: must be 201 to 16777216, not 200");
    EXPECT_EQ(error_of<AgentsConfig>([](auto& c) { c.pause_sigma = 5; }),
              "agents: pause_sigma: must be 0 to 4, not 5");
    EXPECT_EQ(error_of<AgentsConfig>([](auto& c) { c.max_context = 8'000; }),
              "agents: initial_tokens: must be 1 to 8000, not 8192");
    EXPECT_EQ(error_of<AgentsConfig>([](auto& c) {
                  c.pause_median = Time::from_s(80'000);
                  c.requests = 100'000;
                  c.population = 1;
              }),
              "agents: the workload lasts more than 45 days");
}

TEST(GeneratorsTest, OneDoorForAll) {
    GeneratorConfig config;
    config.zipf_sessions.turns = 30;
    config.agents.requests = 30;
    config.scan.requests = 30;
    config.loop.rounds = 1;
    for (const char* name : {"zipf-sessions", "scan", "loop", "agents"}) {
        config.generator = parse_generator(name);
        EXPECT_EQ(name_of(config.generator), name);
        const RawTrace trace = generate(config, 1, 16);
        EXPECT_EQ(trace.path, name);
        EXPECT_EQ(trace.requests.size(), name == std::string("loop") ? 64U : 30U);
        EXPECT_EQ(trace.ids, generate(config, 1, 16).ids);
    }
    EXPECT_THROW((void)parse_generator("zipf"), UserError);
    EXPECT_EQ(test::user_error("", [&] { return generate(config, 1, 0); }),
              "agents: tokens of a block: must be 1 to 16777216, not 0");
}

}  // namespace
}  // namespace kvplane::workload
