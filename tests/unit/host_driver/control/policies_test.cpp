// SPDX-License-Identifier: Apache-2.0
/// Every policy against a brute-force twin: the argmin over a list, recomputed from the whole
/// history at each eviction.
#include <cmath>
#include <functional>

#include "tests/unit/host_driver/control/tiny_host.h"

namespace kvplane::control {
namespace {

/// Everything that ever happened to a block.
struct Record {
    struct Reference {
        Moment now;
        bool hit = false;
        std::uint32_t next_read = kNeverRead;
    };
    std::vector<Reference> references;
    std::size_t since_insert = 0;  ///< the first reference of the present stay
    std::uint64_t insert = 0;      ///< when it came in, as a number of events
    std::uint64_t last_touch = 0;
    bool eligible = false;
    bool resident = false;
    Retention retention;
    int waiting = 0;
};

/// Base of all twins: keeps the records and picks by scanning all blocks.
class Twin : public Policy {
public:
    void on_insert(BlockIndex block, const Moment& now) override {
        Record& record = m_records[block.value];
        record.resident = true;
        record.since_insert = record.references.size();
        record.insert = record.last_touch = ++m_events;
        inserted(block, now);
    }
    void on_access(const Access& access) override {
        Record& record = m_records[access.block.value];
        record.references.push_back({access.now, access.hit, access.next_read});
        record.last_touch = ++m_events;
        accessed(access);
    }
    void on_remove(BlockIndex block) override {
        removed(block);
        m_records[block.value].resident = m_records[block.value].eligible = false;
    }
    void set_eligible(BlockIndex block, bool eligible) override {
        m_records[block.value].eligible = eligible;
    }
    void retain(BlockIndex block, const Retention& retention) override {
        m_records[block.value].retention = retention;
    }
    void set_wanted(BlockIndex block, bool wanted) override {
        m_records[block.value].waiting += wanted ? 1 : -1;
    }

protected:
    virtual void inserted(BlockIndex /*block*/, const Moment& /*now*/) {}
    virtual void accessed(const Access& /*access*/) {}
    virtual void removed(BlockIndex /*block*/) {}

    std::vector<Record> m_records = std::vector<Record>(TinyHost::kBlocks);
    std::uint64_t m_events = 0;
};

/// Lowest (number, last touch) first.
class RankTwin : public Twin {
public:
    using Number = std::function<long double(const Record&, const Moment&)>;
    /// Numbers whose relative difference is below `tolerance` are equal.
    explicit RankTwin(Number number, long double tolerance = 0)
        : m_number(std::move(number)), m_tolerance(tolerance) {}

    BlockIndex victim(const Moment& now) override {
        BlockIndex best = kNoBlock;
        long double lowest = 0;
        for (std::uint32_t b = 0; b < TinyHost::kBlocks; ++b) {
            if (!m_records[b].eligible) continue;
            const long double number = m_number(m_records[b], now);
            const bool equal = std::fabs(number - lowest) <= m_tolerance * std::fabs(lowest);
            if (best == kNoBlock ||
                (equal ? m_records[b].last_touch < m_records[best.value].last_touch
                       : number < lowest)) {
                best = {b};
                lowest = number;
            }
        }
        return best;
    }

private:
    Number m_number;
    long double m_tolerance;
};

/// Which references of a block a policy still knows of.
using Known = std::function<std::size_t(const Record&)>;
std::size_t this_stay(const Record& record) { return record.since_insert; }
std::size_t ever(const Record& /*record*/) { return 0; }

std::unique_ptr<Twin> lfu_twin(const Known& known) {
    return std::make_unique<RankTwin>([known](const Record& record, const Moment&) {
        return static_cast<long double>(record.references.size() - known(record));
    });
}

std::unique_ptr<Twin> lru2_twin(const Known& known, Clock clock) {
    return std::make_unique<RankTwin>([known, clock](const Record& record, const Moment&) {
        const std::size_t n = record.references.size();
        if (n - known(record) < 2) return 0.0L;
        return static_cast<long double>(tick(clock, record.references[n - 2].now));
    });
}

std::unique_ptr<Twin> ema_twin(const Known& known, Clock clock, long double alpha) {
    return std::make_unique<RankTwin>(
        [known, clock, alpha](const Record& record, const Moment& now) {
            long double sum = 0;
            for (std::size_t i = known(record); i < record.references.size(); ++i) {
                const std::uint64_t age = tick(clock, now) - tick(clock, record.references[i].now);
                sum += alpha * std::pow(1 - alpha, static_cast<long double>(age));
            }
            return sum;
        },
        1e-8L);
}

class GdsfTwin final : public Twin {
public:
    BlockIndex victim(const Moment& /*now*/) override {
        BlockIndex best = kNoBlock;
        for (std::uint32_t b = 0; b < TinyHost::kBlocks; ++b) {
            if (!m_records[b].eligible) continue;
            if (best == kNoBlock || rank(b) < rank(best.value)) best = {b};
        }
        return best;
    }

private:
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> rank(std::uint32_t b) const {
        return {m_value[b], m_records[b].last_touch};
    }
    void inserted(BlockIndex block, const Moment& /*now*/) override {
        m_value[block.value] = m_level;
    }
    void accessed(const Access& access) override {
        const Record& record = m_records[access.block.value];
        m_value[access.block.value] = m_level + (record.references.size() - record.since_insert) *
                                                    (access.block.value % 3 + 1);
    }
    void removed(BlockIndex block) override { m_level = std::max(m_level, m_value[block.value]); }

    std::vector<std::uint64_t> m_value = std::vector<std::uint64_t>(TinyHost::kBlocks);
    std::uint64_t m_level = 0;
};

/// Lists as vectors, oldest first.
using List = std::vector<BlockIndex>;

bool take(List& list, BlockIndex block) {
    const auto at = std::find(list.begin(), list.end(), block);
    if (at == list.end()) return false;
    list.erase(at);
    return true;
}

class ListTwin : public Twin {
protected:
    [[nodiscard]] BlockIndex first(const List& list) const {
        for (const BlockIndex b : list) {
            if (m_records[b.value].eligible) return b;
        }
        return kNoBlock;
    }
};

class SieveTwin final : public ListTwin {
public:
    BlockIndex victim(const Moment& /*now*/) override {
        // Two rounds see every block unmarked once.
        for (std::size_t looked = 0; looked <= 2 * m_list.size(); ++looked, ++m_hand) {
            if (m_list.empty()) break;
            m_hand %= m_list.size();
            const BlockIndex b = m_list[m_hand];
            if (!m_records[b.value].eligible) continue;
            if (!m_marked[b.value]) return b;
            m_marked[b.value] = false;
        }
        return kNoBlock;
    }

private:
    void inserted(BlockIndex block, const Moment& /*now*/) override {
        // At the young end; a hand that has run off the end stands on it again.
        m_list.push_back(block);
        m_marked[block.value] = false;
    }
    void accessed(const Access& access) override {
        if (access.hit) m_marked[access.block.value] = true;
    }
    void removed(BlockIndex block) override {
        const auto at = static_cast<std::size_t>(std::find(m_list.begin(), m_list.end(), block) -
                                                 m_list.begin());
        m_list.erase(m_list.begin() + static_cast<std::ptrdiff_t>(at));
        if (at < m_hand) --m_hand;
    }

    List m_list;
    std::size_t m_hand = 0;
    std::vector<bool> m_marked = std::vector<bool>(TinyHost::kBlocks);
};

class S3FifoTwin final : public ListTwin {
public:
    S3FifoTwin(std::size_t capacity, std::size_t ghosts)
        : m_limit(std::max<std::size_t>(1, capacity / 10)), m_most(ghosts) {}

    BlockIndex victim(const Moment& /*now*/) override {
        while (first(m_small) != kNoBlock || first(m_main) != kNoBlock) {
            const bool small = first(m_main) == kNoBlock ||
                               (first(m_small) != kNoBlock && m_small.size() >= m_limit);
            const BlockIndex b = first(small ? m_small : m_main);
            int& hits = m_hits[b.value];
            if (small ? hits <= 1 : hits == 0) return b;
            take(small ? m_small : m_main, b);
            m_main.push_back(b);
            hits = small ? 0 : hits - 1;
        }
        return kNoBlock;
    }

private:
    void inserted(BlockIndex block, const Moment& /*now*/) override {
        (take(m_ghosts, block) ? m_main : m_small).push_back(block);
        m_hits[block.value] = 0;
    }
    void accessed(const Access& access) override {
        int& hits = m_hits[access.block.value];
        if (access.hit) hits = std::min(3, hits + 1);
    }
    void removed(BlockIndex block) override {
        if (!take(m_small, block)) {
            take(m_main, block);
            return;
        }
        m_ghosts.push_back(block);
        if (m_ghosts.size() > m_most) m_ghosts.erase(m_ghosts.begin());
    }

    std::size_t m_limit;
    std::size_t m_most;
    List m_small, m_main, m_ghosts;
    std::vector<int> m_hits = std::vector<int>(TinyHost::kBlocks);
};

class SlruTwin final : public ListTwin {
public:
    explicit SlruTwin(std::size_t capacity) : m_limit(capacity * 4 / 5) {}
    BlockIndex victim(const Moment& /*now*/) override {
        return first(m_probation) != kNoBlock ? first(m_probation) : first(m_protected);
    }

private:
    void inserted(BlockIndex block, const Moment& /*now*/) override {
        m_probation.push_back(block);
    }
    void accessed(const Access& access) override {
        const bool probation = take(m_probation, access.block);
        if (!probation) take(m_protected, access.block);
        (probation && !access.hit ? m_probation : m_protected).push_back(access.block);
        while (m_protected.size() > m_limit) {
            m_probation.push_back(m_protected.front());
            m_protected.erase(m_protected.begin());
        }
    }
    void removed(BlockIndex block) override {
        take(m_probation, block) || take(m_protected, block);
    }

    std::size_t m_limit;
    List m_probation, m_protected;
};

class ArcTwin final : public ListTwin {
public:
    ArcTwin(std::size_t capacity, std::size_t ghosts) : m_capacity(capacity), m_most(ghosts) {}

    BlockIndex victim(const Moment& /*now*/) override {
        if (first(m_t2) == kNoBlock) return first(m_t1);
        if (first(m_t1) == kNoBlock) return first(m_t2);
        return m_t1.size() > m_target ? first(m_t1) : first(m_t2);
    }

private:
    void inserted(BlockIndex block, const Moment& /*now*/) override {
        const std::size_t b1 = m_b1.size();
        const std::size_t b2 = m_b2.size();
        if (take(m_b1, block)) {
            m_target = std::min(m_capacity, m_target + std::max<std::size_t>(1, b2 / b1));
        } else if (take(m_b2, block)) {
            const std::size_t step = std::max<std::size_t>(1, b1 / b2);
            m_target = m_target < step ? 0 : m_target - step;
        } else {
            m_t1.push_back(block);
            return;
        }
        m_t2.push_back(block);
    }
    void accessed(const Access& access) override {
        const bool once = take(m_t1, access.block);
        if (!once) take(m_t2, access.block);
        (once && !access.hit ? m_t1 : m_t2).push_back(access.block);
    }
    void removed(BlockIndex block) override {
        (take(m_t1, block) ? m_b1 : m_b2).push_back(block);
        take(m_t2, block);
        if (m_b1.size() + m_b2.size() <= m_most) return;
        const bool first_list =
            m_b2.empty() || (!m_b1.empty() && m_t1.size() + m_b1.size() > m_capacity);
        List& from = first_list ? m_b1 : m_b2;
        from.erase(from.begin());
    }

    std::size_t m_capacity;
    std::size_t m_most;
    std::size_t m_target = 0;
    List m_t1, m_t2, m_b1, m_b2;
};

class WTinyLfuTwin final : public ListTwin {
public:
    WTinyLfuTwin(std::size_t capacity, Known known)
        : m_window_limit(std::max<std::size_t>(1, capacity / 100)),
          m_main_limit(capacity - m_window_limit),
          m_known(std::move(known)) {}

    BlockIndex victim(const Moment& /*now*/) override {
        for (;;) {
            const BlockIndex main =
                first(m_probation) != kNoBlock ? first(m_probation) : first(m_protected);
            const BlockIndex candidate = first(m_window);
            if (candidate == kNoBlock) return main;
            const bool room = m_probation.size() + m_protected.size() < m_main_limit;
            const bool stronger = main == kNoBlock || count(candidate) > count(main);
            if (main != kNoBlock && m_window.size() < m_window_limit) return main;
            if (!stronger || (main == kNoBlock && !room)) return candidate;
            take(m_window, candidate);
            m_probation.push_back(candidate);
            if (!room) return main;
        }
    }

private:
    [[nodiscard]] std::size_t count(BlockIndex block) const {
        const Record& record = m_records[block.value];
        return record.references.size() - m_known(record);
    }
    void inserted(BlockIndex block, const Moment& /*now*/) override { m_window.push_back(block); }
    void accessed(const Access& access) override {
        if (take(m_window, access.block)) {
            m_window.push_back(access.block);
        } else if (take(m_probation, access.block)) {
            (access.hit ? m_protected : m_probation).push_back(access.block);
        } else {
            take(m_protected, access.block);
            m_protected.push_back(access.block);
        }
        while (m_protected.size() > m_main_limit * 4 / 5) {
            m_probation.push_back(m_protected.front());
            m_protected.erase(m_protected.begin());
        }
    }
    void removed(BlockIndex block) override {
        take(m_window, block) || take(m_probation, block) || take(m_protected, block);
    }

    std::size_t m_window_limit;
    std::size_t m_main_limit;
    Known m_known;
    List m_window, m_probation, m_protected;
};

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

TEST(PoliciesTest, LfuEqualsItsTwin) {
    expect_twins({.replacement = Replacement::kLfu},
                 [](std::size_t) { return lfu_twin(this_stay); });
    expect_twins({.replacement = Replacement::kLfu, .state = kFullState},
                 [](std::size_t) { return lfu_twin(ever); });
}

TEST(PoliciesTest, Lru2EqualsItsTwin) {
    for (const Clock clock : {Clock::kAccess, Clock::kRequest, Clock::kWall}) {
        expect_twins({.replacement = Replacement::kLru2, .clock = clock},
                     [clock](std::size_t) { return lru2_twin(this_stay, clock); });
        expect_twins({.replacement = Replacement::kLru2, .state = kFullState, .clock = clock},
                     [clock](std::size_t) { return lru2_twin(ever, clock); });
    }
}

TEST(PoliciesTest, EmaEqualsItsTwin) {
    for (const Clock clock : {Clock::kAccess, Clock::kRequest, Clock::kWall}) {
        for (const std::uint32_t alpha : {10'000U, 150'000U}) {
            const long double share = static_cast<long double>(alpha) / 1e6L;
            expect_twins({.replacement = Replacement::kEma, .clock = clock, .alpha_ppm = alpha},
                         [=](std::size_t) { return ema_twin(this_stay, clock, share); });
            expect_twins({.replacement = Replacement::kEma,
                          .state = kFullState,
                          .clock = clock,
                          .alpha_ppm = alpha},
                         [=](std::size_t) { return ema_twin(ever, clock, share); });
        }
    }
}

TEST(PoliciesTest, GdsfEqualsItsTwin) {
    std::vector<std::uint32_t> cost;
    for (std::uint32_t b = 0; b < TinyHost::kBlocks; ++b) cost.push_back(b % 3 + 1);
    expect_twins({.replacement = Replacement::kGdsf, .cost = cost},
                 [](std::size_t) { return std::make_unique<GdsfTwin>(); });
}

TEST(PoliciesTest, SlruEqualsItsTwin) {
    expect_twins({.replacement = Replacement::kSlru},
                 [](std::size_t capacity) { return std::make_unique<SlruTwin>(capacity); });
}

TEST(PoliciesTest, SieveEqualsItsTwin) {
    expect_twins({.replacement = Replacement::kSieve},
                 [](std::size_t) { return std::make_unique<SieveTwin>(); });
}

/// No ghosts, ten of them, and no limit.
const std::vector<std::pair<StateSpec, std::size_t>> kGhostStates{
    {{}, 0}, {{Lifetime::kGhosts, kGhostBytes * 10}, 10}, {kFullState, 1000}};

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
    expect_twins({.replacement = Replacement::kWTinyLfu},
                 [](std::size_t c) { return std::make_unique<WTinyLfuTwin>(c, this_stay); });
    expect_twins({.replacement = Replacement::kWTinyLfu, .state = kFullState},
                 [](std::size_t c) { return std::make_unique<WTinyLfuTwin>(c, ever); });
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
