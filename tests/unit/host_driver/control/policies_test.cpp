// SPDX-License-Identifier: Apache-2.0
/// Every policy against its brute-force twin.
#include <stdexcept>

#include "tests/unit/host_driver/control/policy_twins.h"

namespace kvplane::control {
namespace {

using MakeTwin = std::function<std::unique_ptr<Twin>(std::size_t capacity)>;

void expect_twins(PolicySpec spec, const MakeTwin& make_twin) {
    int evictions = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const std::uint64_t capacity = 15 + seed % 15;
        const auto policy = make_policy(spec, capacity, TinyHost::kBlocks);
        const auto twin = make_twin(capacity);
        TinyHost host(seed, capacity, *policy, *twin);
        host.run(300);
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
        evictions += host.evictions();
    }
    EXPECT_GT(evictions, 1500);
}

constexpr StateSpec kFullState{Lifetime::kFull, {}};

MakeTwin twin_of(std::function<long double(const Record&, const Moment&)> number) {
    return [number](std::size_t) { return std::make_unique<RankTwin>(number); };
}

TEST(PoliciesTest, LruEqualsItsTwin) {
    expect_twins({.replacement = Replacement::kLru},
                 twin_of([](const Record&, const Moment&) { return 0; }));
}

TEST(PoliciesTest, FifoEqualsItsTwin) {
    expect_twins({.replacement = Replacement::kFifo},
                 twin_of([](const Record& r, const Moment&) { return r.insert; }));
}

TEST(PoliciesTest, MinEqualsItsTwin) {
    expect_twins({.replacement = Replacement::kMin}, twin_of([](const Record& r, const Moment&) {
                     return kNeverRead - r.references.back().next_read;
                 }));
}

TEST(PoliciesTest, PriorityEqualsItsTwin) {
    expect_twins({.replacement = Replacement::kPriority},
                 twin_of([](const Record& r, const Moment& now) {
                     return r.retention.until > now.wall ? r.retention.priority : 35;
                 }));
}

TEST(PoliciesTest, QueueLruEqualsItsTwin) {
    expect_twins({.replacement = Replacement::kQueueLru},
                 twin_of([](const Record& r, const Moment&) { return r.waiting > 0 ? 1 : 0; }));
}

/// No ghosts, a few, more, and no limit.
const std::vector<std::pair<StateSpec, std::size_t>> kGhostStates{
    {{}, 0},
    {{Lifetime::kGhosts, kGhostBytes * 3}, 3},
    {{Lifetime::kGhosts, kGhostBytes * 10}, 10},
    {kFullState, kForEver}};

TEST(PoliciesTest, LfuEqualsItsTwin) {
    for (const auto& [state, ghosts] : kGhostStates) {
        const std::size_t n = ghosts;
        expect_twins({.replacement = Replacement::kLfu, .state = state},
                     [n](std::size_t) { return lfu_twin(n); });
    }
}

TEST(PoliciesTest, Lru2EqualsItsTwin) {
    for (const Clock clock : {Clock::kAccess, Clock::kRequest, Clock::kWall}) {
        for (const auto& [state, ghosts] : kGhostStates) {
            const std::size_t n = ghosts;
            expect_twins({.replacement = Replacement::kLru2, .state = state, .clock = clock},
                         [n, clock](std::size_t) { return lru2_twin(n, clock); });
        }
    }
}

TEST(PoliciesTest, EmaEqualsItsTwin) {
    for (const Clock clock : {Clock::kAccess, Clock::kRequest, Clock::kWall}) {
        for (const std::uint32_t alpha : {10'000U, 150'000U}) {
            const long double share = static_cast<long double>(alpha) / 1e6L;
            for (const auto& [state, ghosts] : kGhostStates) {
                const std::size_t n = ghosts;
                expect_twins({.replacement = Replacement::kEma,
                              .state = state,
                              .clock = clock,
                              .alpha_ppm = alpha},
                             [=](std::size_t) { return ema_twin(n, clock, share); });
            }
        }
    }
}

TEST(PoliciesTest, GdsfEqualsItsTwin) {
    std::vector<std::uint32_t> cost;
    for (std::uint32_t b = 0; b < TinyHost::kBlocks; ++b) cost.push_back(b % 3 + 1);
    for (const auto& [state, ghosts] : kGhostStates) {
        const std::size_t n = ghosts;
        expect_twins({.replacement = Replacement::kGdsf, .state = state, .cost = cost},
                     [n](std::size_t) { return std::make_unique<GdsfTwin>(n); });
    }
}

TEST(PoliciesTest, SlruEqualsItsTwin) {
    expect_twins({.replacement = Replacement::kSlru},
                 [](std::size_t capacity) { return std::make_unique<SlruTwin>(capacity); });
}

TEST(PoliciesTest, SieveEqualsItsTwin) {
    expect_twins({.replacement = Replacement::kSieve},
                 [](std::size_t) { return std::make_unique<SieveTwin>(); });
}

TEST(PoliciesTest, S3FifoEqualsItsTwin) {
    for (const auto& [state, ghosts] : kGhostStates) {
        const std::size_t n = ghosts;
        expect_twins({.replacement = Replacement::kS3Fifo, .state = state},
                     [n](std::size_t c) { return std::make_unique<S3FifoTwin>(c, n); });
    }
}

TEST(PoliciesTest, ArcEqualsItsTwin) {
    for (const auto& [state, ghosts] : kGhostStates) {
        const std::size_t n = ghosts;
        expect_twins({.replacement = Replacement::kArc, .state = state},
                     [n](std::size_t c) { return std::make_unique<ArcTwin>(c, n); });
    }
}

TEST(PoliciesTest, WTinyLfuEqualsItsTwin) {
    for (const auto& [state, ghosts] : kGhostStates) {
        const std::size_t n = ghosts;
        expect_twins({.replacement = Replacement::kWTinyLfu, .state = state},
                     [n](std::size_t c) { return std::make_unique<WTinyLfuTwin>(c, n); });
    }
    // So large a sketch neither collides nor ages here; it counts to 15.
    expect_twins(
        {.replacement = Replacement::kWTinyLfu, .state = {Lifetime::kSketch, Bytes::from_mib(1)}},
        [](std::size_t c) { return std::make_unique<WTinyLfuTwin>(c, kForEver, 15); });
}

TEST(PoliciesTest, AFastAverageOnALongClockStillOrdersBlocks) {
    // Numbers grow by log2(1 / (1 - alpha)) a tick: here to millions of days in milliseconds.
    for (const std::uint32_t alpha : {150'000U, 990'000U, 999'999U}) {
        const auto policy = make_policy(
            {.replacement = Replacement::kEma, .clock = Clock::kWall, .alpha_ppm = alpha}, 2, 2);
        const auto touch = [&](std::uint32_t b, std::int64_t days) {
            policy->on_access(
                {.block = {b}, .hit = false, .now = {.wall = Time::from_s(days * 86'400)}});
        };
        for (const std::uint32_t b : {0U, 1U}) {
            policy->on_insert({b}, {});
            policy->set_eligible({b}, true);
            touch(b, 0);
        }
        for (int day = 1; day <= 105; ++day) {
            const auto latest = static_cast<std::uint32_t>(day % 2);
            touch(latest, day);
            EXPECT_EQ(policy->victim({}).value, 1 - latest) << "alpha " << alpha << ", day " << day;
        }
    }
}

TEST(PoliciesTest, WTinyLfuKeepsWhatWasReadOftenOnlyIfItRemembers) {
    // A scan passes; block 3 returns again and again, but never finds itself still there.
    for (const bool remembers : {false, true}) {
        const auto policy = make_policy(
            {.replacement = Replacement::kWTinyLfu, .state = remembers ? kFullState : StateSpec{}},
            3, 100);
        bool stayed = false;
        std::vector<bool> resident(100, false);
        const auto read = [&](std::uint32_t b) {
            const bool hit = resident[b];
            stayed = stayed || (hit && b == 3);
            if (hit) {
                policy->set_eligible({b}, false);
            } else if (std::count(resident.begin(), resident.end(), true) == 3) {
                const BlockIndex victim = policy->victim({});
                policy->on_remove(victim);
                resident[victim.value] = false;
            }
            if (!hit) policy->on_insert({b}, {});
            resident[b] = true;
            policy->on_access({.block = {b}, .hit = hit, .now = {}});
            policy->set_eligible({b}, true);
        };
        for (std::uint32_t b = 10; b < 50; ++b) {
            read(b);
            if (b % 4 == 3) read(3);
        }
        EXPECT_EQ(stayed, remembers);
    }
}

TEST(PoliciesTest, AmpleSketchesAndGhostsEqualFullState) {
    for (const Replacement replacement :
         {Replacement::kLfu, Replacement::kLru2, Replacement::kEma, Replacement::kGdsf}) {
        for (const Lifetime lifetime : {Lifetime::kGhosts, Lifetime::kSketch}) {
            const PolicySpec ample{.replacement = replacement,
                                   .state = {lifetime, Bytes::from_mib(1)}};
            const PolicySpec full{.replacement = replacement, .state = kFullState};
            const auto a = make_policy(ample, 20, TinyHost::kBlocks);
            const auto b = make_policy(full, 20, TinyHost::kBlocks);
            TinyHost host(7, 20, *a, *b);
            host.run(300);
        }
    }
}

TEST(PoliciesTest, StateBytesAreThoseStated) {
    for (const Replacement replacement :
         {Replacement::kLfu, Replacement::kLru2, Replacement::kEma, Replacement::kGdsf,
          Replacement::kWTinyLfu, Replacement::kArc, Replacement::kS3Fifo}) {
        const auto bytes = [&](const StateSpec& state) {
            const auto policy =
                make_policy({.replacement = replacement, .state = state}, 10, TinyHost::kBlocks);
            const auto same =
                make_policy({.replacement = replacement, .state = state}, 10, TinyHost::kBlocks);
            TinyHost(3, 10, *policy, *same).run(300);
            return policy->state_bytes();
        };
        EXPECT_EQ(bytes({}), Bytes{0});
        EXPECT_EQ(bytes({Lifetime::kGhosts, kGhostBytes * 7}), kGhostBytes * 7);
        const Bytes full = bytes(kFullState);  // at most an entry for each block
        EXPECT_GT(full, kGhostBytes * 20);
        EXPECT_LE(full, kGhostBytes * TinyHost::kBlocks);
        if (!can_keep(replacement, Lifetime::kSketch)) continue;
        EXPECT_EQ(bytes({Lifetime::kSketch, Bytes{4096}}), Bytes{4096});
    }
}

TEST(PoliciesTest, RefusesWhatMakesNoSense) {
    EXPECT_THROW((void)make_policy({.state = kFullState}, 1, 1), std::invalid_argument);
    EXPECT_THROW(
        (void)make_policy(
            {.replacement = Replacement::kArc, .state = {Lifetime::kSketch, Bytes{64}}}, 1, 1),
        std::invalid_argument);
    for (const std::uint32_t alpha : {0U, 1'000'000U}) {
        EXPECT_THROW(
            (void)make_policy({.replacement = Replacement::kEma, .alpha_ppm = alpha}, 1, 1),
            std::invalid_argument);
    }
}

}  // namespace
}  // namespace kvplane::control
