// SPDX-License-Identifier: Apache-2.0
/// How fast the lookup engine answers under load.
#include <fmt/format.h>

#include <algorithm>

#include "explore/study_index.h"
#include "model/common/histogram.h"
#include "model/common/random.h"
#include "model/index/timed_table.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;

constexpr Bytes kSmallBlock = Bytes::from_kib(4);
constexpr Bytes kLargeBlock = Bytes::from_mib(5);

/// One engine held at a load, and requests of a mix that come at random.
class LoadedEngine {
public:
    LoadedEngine(const index::IndexConfig& config, Ratio load, std::uint64_t seed)
        : m_table(config),
          m_seed(seed),
          m_random(seed, "study lookup"),
          m_period(config.clock.cycles(1)) {
        const std::uint64_t goal = m_table.table().capacity() * load.ppm / 1'000'000;
        m_keys.reserve(goal + 1);
        while (m_table.table().size() < goal) {
            if (!insert({}).answer.done()) break;
        }
        m_at = Time::from_s(100);
    }

    [[nodiscard]] double load() const {
        return static_cast<double>(m_table.table().size()) /
               static_cast<double>(m_table.table().capacity());
    }

    Json run(Ratio lookups, Ratio offered, std::uint64_t count) {
        // What an earlier mix has left is over by then; each point draws numbers of its own.
        m_at += Time::from_ms(1);
        m_random =
            RandomStream(m_seed, fmt::format("study lookup {} {}", lookups.ppm, offered.ppm));
        const index::TimedCounters before = m_table.counters();
        const index::CuckooCounters kicked = m_table.table().counters();
        const Time start = m_at;
        const Time mean{m_period.ps * 1'000'000 / static_cast<std::int64_t>(offered.ppm)};
        Histogram latency;
        Histogram kicks;  // a kick as a picosecond
        Time last{};
        for (std::uint64_t i = 0; i < count; ++i) {
            m_at += m_random.exponential(mean);
            const std::uint64_t kicks_before = m_table.table().kicks();
            const index::TimedAnswer answer = request(lookups);
            const auto added = m_table.table().kicks() - kicks_before;
            if (m_inserted) kicks.add(Time{static_cast<std::int64_t>(added)});
            if (m_looked_up) {
                latency.add(answer.done - m_at + m_period * index::TlmIndex::kQueueCycles);
            }
            last = answer.issued;
        }
        // A queue of more than a hundredth of the span is one that grows.
        const bool stable = (last - m_at) * 100 <= m_at - start;
        Json row = figures(before, kicked, count);
        row["accepted_per_cycle"] = static_cast<double>(count) * static_cast<double>(m_period.ps) /
                                    static_cast<double>((std::max(last, m_at) - start).ps);
        row["stable"] = stable;
        const bool measured = stable && latency.count() != 0;
        const auto ns = [&](Time t) {
            return measured ? Json(static_cast<double>(t.ps) / 1e3) : Json();
        };
        row["lookup_mean_ns"] = measured ? Json(latency.mean_us() * 1e3) : Json();
        row["lookup_p50_ns"] = ns(latency.percentile(500));
        row["lookup_p99_ns"] = ns(latency.percentile(990));
        row["lookup_max_ns"] = ns(latency.max());
        row["kicks_between_p99"] = kicks.count() == 0 ? Json() : Json(kicks.percentile(990).ps);
        return row;
    }

private:
    index::TimedAnswer insert(Time at) {
        index::Entry entry;
        entry.state = 1;
        const std::uint64_t key = m_random.bits();
        const index::TimedAnswer answer = m_table.submit(
            {.operation = index::Operation::kInsert, .key = key, .entry = entry}, at);
        if (answer.answer.done()) m_keys.push_back(key);
        return answer;
    }

    index::TimedAnswer request(Ratio lookups) {
        m_inserted = false;
        m_looked_up = false;
        const std::size_t at = m_random.uniform(m_keys.size());
        index::Request request{.key = m_keys[at]};
        if (m_random.uniform(1'000'000) < lookups.ppm) {
            m_looked_up = true;
            return m_table.submit(request, m_at);
        }
        if (m_random.uniform(4) != 0) {
            request.operation = index::Operation::kUpdate;
            request.entry.state = 1;
            return m_table.submit(request, m_at);
        }
        // By turns, so that the load stays.
        m_insert_next = !m_insert_next;
        if (m_insert_next) {
            m_keys[at] = m_keys.back();
            m_keys.pop_back();
            request.operation = index::Operation::kDelete;
            return m_table.submit(request, m_at);
        }
        m_inserted = true;
        return insert(m_at);
    }

    Json figures(const index::TimedCounters& before, const index::CuckooCounters& kicked,
                 std::uint64_t count) const {
        const index::TimedCounters& after = m_table.counters();
        const auto each = [&](std::uint64_t a, std::uint64_t b) {
            return static_cast<double>(a - b) / static_cast<double>(count);
        };
        Json row;
        row["conflicts_per_request"] = each(after.conflicts, before.conflicts);
        row["stalls_per_request"] = each(after.stalls, before.stalls);
        row["stolen_slots"] = after.stolen - before.stolen;
        const std::uint64_t inserts = after.inserts - before.inserts;
        const std::uint64_t kicks = m_table.table().counters().kicks - kicked.kicks;
        row["kicks_per_insert"] =
            inserts == 0 ? Json() : Json(static_cast<double>(kicks) / static_cast<double>(inserts));
        row["parked"] = m_table.table().counters().parked - kicked.parked;
        row["request_pj"] = each(after.dynamic_fj, before.dynamic_fj) / 1e3;
        return row;
    }

    index::TimedTable m_table;
    std::uint64_t m_seed;
    RandomStream m_random;
    Time m_period;
    std::vector<std::uint64_t> m_keys;
    Time m_at;
    bool m_insert_next = false;
    bool m_inserted = false;   ///< by the last request
    bool m_looked_up = false;  ///< by the last request
};

class LookupStudy {
public:
    explicit LookupStudy(const RunConfig& config)
        : m_config(config),
          m_study(config.study.lookup),
          m_progress(m_study.srams.size() * m_study.loads.size() * m_study.banks.size()) {}

    Json rows() {
        Json rows = Json::array();
        for (const Bytes sram : m_study.srams) {
            for (const Ratio load : m_study.loads) {
                for (const std::uint32_t banks : m_study.banks) {
                    add_rows(sram, load, banks, rows);
                    m_progress.advance();
                }
            }
        }
        return rows;
    }

private:
    void add_rows(Bytes sram, Ratio load, std::uint32_t banks, Json& rows) {
        index::IndexConfig config = m_config.card.index;
        config.sram = sram;
        config.banks = banks;
        LoadedEngine engine(config, load, m_config.seed);
        for (const Ratio lookups : m_study.lookups) {
            for (const Ratio offered : m_study.offered) {
                Json row;
                row["sram_kib"] = sram.count / 1024;
                row["load_target"] = static_cast<double>(load.ppm) / 1e6;
                row["banks"] = banks;
                row["lookups"] = static_cast<double>(lookups.ppm) / 1e6;
                row["offered"] = static_cast<double>(offered.ppm) / 1e6;
                row.update(engine.run(lookups, offered, m_study.requests));
                row["load"] = engine.load();
                add_shares(row, config);
                add_node_figures(row, config);
                rows.push_back(std::move(row));
            }
        }
    }

    void add_shares(Json& row, const index::IndexConfig& config) const {
        row["lookup_idle_ns"] = idle_lookup_ns(config);
        const Time commit = config.clock.cycles(index::engine_figures(config).latency_cycles());
        const auto share = [&](const char* key, Bytes block) {
            row[key] = nullptr;
            if (row["lookup_mean_ns"].is_null()) return;
            const double ns = row["lookup_mean_ns"].get<double>();
            const Time lookup{static_cast<std::int64_t>(ns * 1e3)};
            const Time all = zero_load_promotion(m_config, block, lookup, commit);
            row[key] = ns * 1e3 / static_cast<double>(all.ps);
        };
        share("lookup_share_4kib", kSmallBlock);
        share("lookup_share_5mib", kLargeBlock);
    }

    const RunConfig& m_config;
    const LookupStudyConfig& m_study;
    StudyProgress m_progress;
};

std::vector<StudyColumn> columns() {
    constexpr const char* kTime = "clock, delay below 22 nm and queues are assumed";
    constexpr const char* kShare =
        "clock, delay, checks, scheduling, host memory and decode fill are assumed";
    constexpr const char* kTiming =
        "which cycles a bank is busy follows from an assumed clock and "
        "delay";
    std::vector<StudyColumn> all{
        {"sram_kib", "SRAM KiB", "KiB", ""},
        {"load_target", "", "", ""},
        {"load", "load", "", ""},
        {"banks", "banks", "", ""},
        {"lookups", "lookups", "", ""},
        {"offered", "offered", "", ""},
        {"accepted_per_cycle", "accepted", "", kTiming},
        {"stable", "stable", "", kTiming},
        {"lookup_idle_ns", "idle ns", "ns", kTime},
        {"lookup_mean_ns", "mean ns", "ns", kTime},
        {"lookup_p50_ns", "p50 ns", "ns", kTime},
        {"lookup_p99_ns", "p99 ns", "ns", kTime},
        {"lookup_max_ns", "", "ns", kTime},
        {"lookup_share_4kib", "share 4 KiB", "", kShare},
        {"lookup_share_5mib", "share 5 MiB", "", kShare},
        {"conflicts_per_request", "conflicts", "", kTiming},
        {"stalls_per_request", "stalls", "", kTiming},
        {"stolen_slots", "", "", kTiming},
        {"kicks_per_insert", "kicks", "", ""},
        {"kicks_between_p99", "", "", ""},
        {"parked", "", "", ""},
        {"request_pj", "pJ a request", "pJ", "energy at the config's node, as below"}};
    const std::vector<StudyColumn> nodes = node_columns();
    all.insert(all.end(), nodes.begin(), nodes.end());
    return all;
}

/// A line for each value of `colour` and of `dash`, a panel for each SRAM and load.
StudyPlot plot(const char* name, const char* title, const char* y, const char* y_title,
               const char* colour, const char* dash) {
    Json spec;
    spec["title"] = title;
    spec["mark"] = {{"type", "line"}, {"point", true}};
    spec["encoding"]["x"] = {
        {"field", "offered"}, {"type", "quantitative"}, {"title", "requests a cycle"}};
    spec["encoding"]["y"] = {{"field", y}, {"type", "quantitative"}, {"title", y_title}};
    spec["encoding"]["color"] = {{"field", colour}, {"type", "ordinal"}};
    spec["encoding"]["strokeDash"] = {{"field", dash}, {"type", "ordinal"}};
    spec["encoding"]["column"] = {{"field", "sram_kib"}, {"type", "ordinal"}};
    spec["encoding"]["row"] = {{"field", "load_target"}, {"type", "ordinal"}};
    return {name, std::move(spec)};
}

/// Over all mixes and rates that insert: they make no difference to it.
StudyPlot kicks_over_load() {
    Json spec;
    spec["title"] = "Kicks an insert takes, mean of all mixes and rates";
    spec["mark"] = {{"type", "line"}, {"point", true}};
    spec["encoding"]["x"] = {{"field", "load"}, {"type", "quantitative"}, {"title", "load"}};
    spec["encoding"]["y"] = {{"field", "kicks_per_insert"},
                             {"type", "quantitative"},
                             {"title", "kicks"},
                             {"aggregate", "mean"}};
    spec["encoding"]["color"] = {{"field", "banks"}, {"type", "ordinal"}};
    spec["encoding"]["column"] = {{"field", "sram_kib"}, {"type", "ordinal"}};
    return {"lookup_kicks", std::move(spec)};
}

}  // namespace

Study study_lookup(const RunConfig& config) {
    return {"lookup",
            columns(),
            LookupStudy(config).rows(),
            {plot("lookup_p99", "99 % of lookups are answered by then (clock and delay assumed)",
                  "lookup_p99_ns", "ns", "lookups", "banks"),
             plot("lookup_conflicts", "Cycles that requests, drains and kicks wait for a bank",
                  "conflicts_per_request", "a request", "banks", "lookups"),
             kicks_over_load()}};
}

}  // namespace kvplane::explore
