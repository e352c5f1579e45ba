// SPDX-License-Identifier: Apache-2.0
/// Brute-force twins of the replacement policies: the argmin over a list, recomputed from the whole
/// history at each eviction.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/host_driver/control/tiny_host.h"

namespace kvplane::control {

/// Everything that ever happened to a block.
struct Record {
    struct Reference {
        Moment now;
        bool hit = false;
        std::uint32_t next_read = kNeverRead;
    };
    std::vector<Reference> references;
    std::size_t known_from = 0;  ///< the first reference that is remembered
    std::uint64_t insert = 0;    ///< when it came in, as a number of events
    std::uint64_t last_touch = 0;
    bool eligible = false;
    bool resident = false;
    Retention retention;
    int waiting = 0;

    /// References that are remembered.
    [[nodiscard]] std::size_t known() const { return references.size() - known_from; }
};

/// Ghosts of a twin whose state never ends.
inline constexpr std::size_t kForEver = SIZE_MAX;

/// Base of all twins: keeps the records and picks by scanning all blocks. What came before a stay
/// is remembered of the `ghosts` blocks that left last.
class Twin : public Policy {
public:
    explicit Twin(std::size_t ghosts = 0) : m_most_ghosts(ghosts) {}

    void on_insert(BlockIndex block, const Moment& now) override {
        Record& record = m_records[block.value];
        record.resident = true;
        const auto ghost = std::find(m_left.begin(), m_left.end(), block);
        if (ghost == m_left.end()) {
            record.known_from = record.references.size();
        } else {
            m_left.erase(ghost);
        }
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
        m_left.push_back(block);
        if (m_left.size() > m_most_ghosts) m_left.erase(m_left.begin());
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

private:
    std::size_t m_most_ghosts;
    std::vector<BlockIndex> m_left;
};

/// Lowest (number, last touch) first.
class RankTwin : public Twin {
public:
    using Number = std::function<long double(const Record&, const Moment&)>;
    /// Numbers whose relative difference is below `tolerance` are equal.
    explicit RankTwin(Number number, std::size_t ghosts = 0, long double tolerance = 0)
        : Twin(ghosts), m_number(std::move(number)), m_tolerance(tolerance) {}

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

inline std::unique_ptr<Twin> lfu_twin(std::size_t ghosts) {
    return std::make_unique<RankTwin>(
        [](const Record& record, const Moment&) {
            return static_cast<long double>(record.known());
        },
        ghosts);
}

inline std::unique_ptr<Twin> lru2_twin(std::size_t ghosts, Clock clock) {
    return std::make_unique<RankTwin>(
        [clock](const Record& record, const Moment&) {
            if (record.known() < 2) return 0.0L;
            const auto& second_last = record.references[record.references.size() - 2];
            return static_cast<long double>(tick(clock, second_last.now));
        },
        ghosts);
}

inline std::unique_ptr<Twin> ema_twin(std::size_t ghosts, Clock clock, long double alpha) {
    return std::make_unique<RankTwin>(
        [clock, alpha](const Record& record, const Moment& now) {
            long double sum = 0;
            for (std::size_t i = record.known_from; i < record.references.size(); ++i) {
                const std::uint64_t age = tick(clock, now) - tick(clock, record.references[i].now);
                sum += alpha * std::pow(1 - alpha, static_cast<long double>(age));
            }
            return sum;
        },
        ghosts, 1e-8L);
}

class GdsfTwin final : public Twin {
public:
    using Twin::Twin;

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
    void inserted(BlockIndex block, const Moment& /*now*/) override { set_value(block); }
    void accessed(const Access& access) override { set_value(access.block); }
    void set_value(BlockIndex block) {
        m_value[block.value] = m_level + m_records[block.value].known() * (block.value % 3 + 1);
    }
    void removed(BlockIndex block) override { m_level = std::max(m_level, m_value[block.value]); }

    std::vector<std::uint64_t> m_value = std::vector<std::uint64_t>(TinyHost::kBlocks);
    std::uint64_t m_level = 0;
};

/// Lists as vectors, oldest first.
using List = std::vector<BlockIndex>;

inline bool take(List& list, BlockIndex block) {
    const auto at = std::find(list.begin(), list.end(), block);
    if (at == list.end()) return false;
    list.erase(at);
    return true;
}

class ListTwin : public Twin {
protected:
    using Twin::Twin;

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
    /// Counts end at `most`.
    WTinyLfuTwin(std::size_t capacity, std::size_t ghosts, std::size_t most = SIZE_MAX)
        : ListTwin(ghosts),
          m_window_limit(std::max<std::size_t>(1, capacity / 100)),
          m_main_limit(capacity - m_window_limit),
          m_most(most) {}

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
        return std::min(m_most, m_records[block.value].known());
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
    std::size_t m_most;
    List m_window, m_probation, m_protected;
};

}  // namespace kvplane::control
