// SPDX-License-Identifier: Apache-2.0
/// How much SRAM the index needs, and what it buys.
#include <algorithm>
#include <numeric>
#include <optional>

#include "explore/study_index.h"
#include "model/common/histogram.h"
#include "model/common/random.h"
#include "model/index/record.h"
#include "model/index/tlm_index.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;

/// A tenth of the blocks is hot.
constexpr std::uint64_t kHotPart = 10;
/// The largest SRAM that a public card has.
constexpr Bytes kBuildable = Bytes::from_mib(56);
constexpr Ratio kUniform{100'000};
/// Lookups before those that count: so many for each entry of the SRAM, until what a skew does not
/// favour has been replaced, but no more than patience allows (found by trying: after that the hit
/// ratio of the largest SRAM still grows by less than 0.01 in another million).
constexpr std::uint64_t kTurnovers = 6;
constexpr std::uint64_t kMostWarming = 5'000'000;
/// After so many the mean time of a lookup stays as it is where the SRAM's entries do (found by
/// trying).
constexpr std::uint64_t kSettling = 300'000;
/// Keys that the simulation fetches ahead.
constexpr std::uint64_t kAhead = 12;
/// An SRAM that has refused so many in a row is as full as it gets.
constexpr std::uint32_t kRefusals = 256;
/// A table's share of slots in use that inserts hardly ever fail at: see the index's defaults.
constexpr double kLoad = 0.8;
/// DRAM of a block: a hot and a cold record, and a policy record. A chunk table comes on top.
constexpr std::uint64_t kRecordBytes =
    sizeof(index::HotRecord) + sizeof(index::ColdRecord) + sizeof(index::PolicyRecord);
/// DRAM of an entry behind the SRAM: a line for two, and half of them empty.
constexpr std::uint64_t kDramEntryBytes = kLine.count;
/// A lookup every so often while the hit ratio is measured: no queue builds up.
constexpr Time kBetween = Time::from_ns(20);

struct HitMeasure {
    double hit_ratio = 0;
    std::optional<double> mean_ns;  ///< nothing in closed form; so its siblings
    std::optional<double> p50_ns;
    std::optional<double> p99_ns;
};

/// Draws blocks: a share of the lookups goes to the hot tenth, uniformly in either part.
class Popularity {
public:
    Popularity(std::uint64_t entries, Ratio hot, std::uint64_t seed)
        : m_entries(entries),
          m_hot_entries(std::max<std::uint64_t>(1, entries / kHotPart)),
          m_hot(hot),
          m_random(seed, "study sram") {}

    [[nodiscard]] std::uint32_t draw() {
        const bool hot = m_random.uniform(1'000'000) < m_hot.ppm;
        const std::uint64_t n = hot ? m_random.uniform(m_hot_entries)
                                    : m_hot_entries + m_random.uniform(m_entries - m_hot_entries);
        return static_cast<std::uint32_t>(n);
    }

private:
    std::uint64_t m_entries;
    std::uint64_t m_hot_entries;
    Ratio m_hot;
    RandomStream m_random;
};

/// Hit ratio of `slots` entries under random replacement, with `entries` blocks of which a tenth
/// takes the share `hot`: each class is present as its rate x t / (1 + rate x t), with t such that
/// the slots are full.
double closed_hit_ratio(std::uint64_t entries, std::uint64_t slots, Ratio hot) {
    if (slots >= entries) return 1;
    const auto n = static_cast<double>(entries);
    const double hot_n = std::max(1.0, n / kHotPart);
    const double share = static_cast<double>(hot.ppm) / 1e6;
    const double hot_rate = share / hot_n * n;
    const double cold_rate = (1 - share) / (n - hot_n) * n;
    const auto present = [](double rate, double t) { return rate * t / (1 + rate * t); };
    double low = 0;
    double high = 1e15;
    for (int i = 0; i < 200; ++i) {
        const double t = (low + high) / 2;
        const double held = hot_n * present(hot_rate, t) + (n - hot_n) * present(cold_rate, t);
        (held < static_cast<double>(slots) ? low : high) = t;
    }
    return share * present(hot_rate, low) + (1 - share) * present(cold_rate, low);
}

/// An index that holds `entries` blocks in random order, hot ones among the others.
class SimulatedIndex {
public:
    SimulatedIndex(const RunConfig& config, const index::IndexConfig& index_config,
                   std::uint64_t entries)
        : m_config(config),
          m_dram(config.card.dram),
          m_index(index_config),
          m_entries(entries),
          m_slots(index_config.sram.count / sizeof(index::Entry)) {
        m_index.bind(m_dram);
        if (entries > m_slots) m_index.lay_out(entries - m_slots / 2);
        load();
    }

    HitMeasure measure(Ratio hot) {
        Popularity popularity(m_entries, hot, m_config.seed);
        // What the SRAM holds at the start is what uniform lookups leave in it; the table behind it
        // has to settle all the same.
        const std::uint64_t most = m_fresh && hot == kUniform ? kSettling : kMostWarming;
        const std::uint64_t warming =
            m_slots >= m_entries ? 0 : std::min(most, kTurnovers * m_slots);
        m_fresh = false;
        for (std::uint64_t i = 0; i < warming; ++i) (void)lookup(popularity);
        const std::uint64_t hits = m_index.counters().sram_hits;
        Histogram latency;
        const std::uint64_t count = m_config.study.sram.lookups;
        for (std::uint64_t i = 0; i < count; ++i) latency.add(lookup(popularity));
        return {.hit_ratio = static_cast<double>(m_index.counters().sram_hits - hits) /
                             static_cast<double>(count),
                .mean_ns = latency.mean_us() * 1e3,
                .p50_ns = static_cast<double>(latency.percentile(500).ps) / 1e3,
                .p99_ns = static_cast<double>(latency.percentile(990).ps) / 1e3};
    }

private:
    void load() {
        index::Entry entry;
        entry.state = 1;
        std::uint32_t refused = 0;  // in a row
        // In an order that favours no class: steps of about 0.618 of the whole visit every block.
        std::uint64_t step = m_entries * 618 / 1000 | 1U;
        while (std::gcd(step, m_entries) != 1) ++step;
        const std::uint64_t ahead = kAhead * step % m_entries;
        for (std::uint64_t i = 0, n = 0; i < m_entries; ++i, n = (n + step) % m_entries) {
            m_index.prefetch_dram(study_key((n + ahead) % m_entries));
            entry.frame = static_cast<std::uint32_t>(n);
            const block::BlockKey key = study_key(n);
            if (refused < kRefusals) {
                if (m_index.load_sram(key, entry)) {
                    refused = 0;
                    continue;
                }
                ++refused;
            }
            m_index.load_dram(key, entry);
        }
    }
    Time lookup(Popularity& popularity) {
        m_at += kBetween;
        return m_index.lookup(study_key(popularity.draw()), m_at).done - m_at;
    }

    const RunConfig& m_config;
    StudyDram m_dram;
    index::TlmIndex m_index;
    std::uint64_t m_entries;
    std::uint64_t m_slots;
    bool m_fresh = true;  ///< not looked up yet
    Time m_at;
};

/// All measures of one table size, by SRAM and popularity: they depend on nothing else.
class SramStudy {
public:
    explicit SramStudy(const RunConfig& config)
        : m_config(config), m_study(config.study.sram), m_progress(points()) {}

    Json rows() {
        Json rows = Json::array();
        for (const Bytes tier : m_study.tiers) {
            for (const Bytes block : m_study.blocks) {
                for (const Bytes sram : m_study.srams) add_rows(tier, block, sram, rows);
            }
        }
        return rows;
    }

private:
    struct Known {
        std::uint64_t entries;
        Bytes sram;
        std::vector<HitMeasure> by_popularity;
    };

    [[nodiscard]] std::size_t points() const {
        return m_study.tiers.size() * m_study.blocks.size() * m_study.srams.size();
    }

    [[nodiscard]] index::IndexConfig index_config(Bytes sram) const {
        index::IndexConfig config = m_config.card.index;
        config.sram = sram;
        return config;
    }

    const std::vector<HitMeasure>& measures(std::uint64_t entries, Bytes sram) {
        for (const Known& known : m_known) {
            if (known.entries == entries && known.sram == sram) return known.by_popularity;
        }
        Known known{entries, sram, {}};
        const std::uint64_t slots = sram.count / sizeof(index::Entry);
        std::optional<SimulatedIndex> simulated;
        if (entries <= m_study.simulate_up_to) {
            simulated.emplace(m_config, index_config(sram), entries);
        }
        for (const Ratio hot : m_study.hot_lookups) {
            known.by_popularity.push_back(
                simulated ? simulated->measure(hot)
                          : HitMeasure{closed_hit_ratio(entries, slots, hot), {}, {}, {}});
        }
        m_known.push_back(std::move(known));
        return m_known.back().by_popularity;
    }

    void add_rows(Bytes tier, Bytes block, Bytes sram, Json& rows) {
        const std::uint64_t entries = std::max<std::uint64_t>(2, tier / block);
        const std::vector<HitMeasure>& found = measures(entries, sram);
        for (std::size_t i = 0; i < m_study.hot_lookups.size(); ++i) {
            Json row;
            row["tier_gib"] = static_cast<double>(tier.count) / (1 << 30);
            row["block_kib"] = static_cast<double>(block.count) / 1024;
            row["sram_kib"] = sram.count / 1024;
            row["hot_lookups"] = static_cast<double>(m_study.hot_lookups[i].ppm) / 1e6;
            add_sizes(row, entries, sram);
            add_latency(row, found[i], block, sram);
            add_node_figures(row, index_config(sram));
            rows.push_back(std::move(row));
        }
        m_progress.advance();
    }

    static void add_sizes(Json& row, std::uint64_t entries, Bytes sram) {
        const std::uint64_t slots = sram.count / sizeof(index::Entry);
        const std::uint64_t behind = entries > slots ? entries - slots : 0;
        row["entries"] = entries;
        row["sram_slots"] = slots;
        row["sram_for_all_kib"] =
            static_cast<double>(entries * sizeof(index::Entry)) / kLoad / 1024;
        row["dram_table_mib"] = static_cast<double>(behind * kDramEntryBytes) / (1 << 20);
        row["records_mib"] = static_cast<double>(entries * kRecordBytes) / (1 << 20);
        row["buildable"] = sram <= kBuildable;
    }

    void add_latency(Json& row, const HitMeasure& measure, Bytes block, Bytes sram) const {
        const index::IndexConfig config = index_config(sram);
        const double idle = idle_lookup_ns(config);
        const memory::Dram dram(m_config.card.dram);
        const double probe = static_cast<double>(dram.idle_latency().ps) / 1e3;
        const double mean = measure.mean_ns.value_or(idle + (1 - measure.hit_ratio) * probe);
        const auto lookup = Time{static_cast<std::int64_t>(mean * 1e3)};
        const Time commit = config.clock.cycles(index::engine_figures(config).latency_cycles());
        const Time promotion = zero_load_promotion(m_config, block, lookup, commit);
        const auto or_null = [](const std::optional<double>& v) { return v ? Json(*v) : Json(); };
        row["sram_hit_ratio"] = measure.hit_ratio;
        row["hit_basis"] = measure.mean_ns ? "simulated" : "closed form";
        row["lookup_idle_ns"] = idle;
        row["lookup_mean_ns"] = mean;
        row["lookup_p50_ns"] = or_null(measure.p50_ns);
        row["lookup_p99_ns"] = or_null(measure.p99_ns);
        row["promotion_us"] = promotion.us();
        row["lookup_share"] = mean / 1e3 / promotion.us();
    }

    const RunConfig& m_config;
    const SramStudyConfig& m_study;
    StudyProgress m_progress;
    std::vector<Known> m_known;
};

std::vector<StudyColumn> columns() {
    constexpr const char* kPopular =
        "how skewed lookups are is assumed: a tenth of the blocks "
        "takes `hot` of them";
    constexpr const char* kTime =
        "clock, delay below 22 nm, queues, controller and PHY of the DRAM "
        "are assumed; misses: the popularity too; in closed form a miss "
        "reads one line of an idle DRAM";
    std::vector<StudyColumn> all{
        {"tier_gib", "tier GiB", "GiB", ""},
        {"block_kib", "block KiB", "KiB", ""},
        {"sram_kib", "SRAM KiB", "KiB", ""},
        {"hot_lookups", "hot", "", ""},
        {"entries", "entries", "", ""},
        {"sram_slots", "", "", ""},
        {"sram_for_all_kib", "all fit KiB", "KiB", ""},
        {"dram_table_mib", "", "MiB", ""},
        {"records_mib", "", "MiB", ""},
        {"buildable", "", "", "no more than the largest public SRAM on a card, 56 MiB"},
        {"sram_hit_ratio", "hits", "", kPopular},
        {"hit_basis", "basis", "", ""},
        {"lookup_idle_ns", "idle ns", "ns", "clock, delay below 22 nm and queues are assumed"},
        {"lookup_mean_ns", "mean ns", "ns", kTime},
        {"lookup_p50_ns", "p50 ns", "ns", kTime},
        {"lookup_p99_ns", "p99 ns", "ns", kTime},
        {"promotion_us", "promotion us", "us",
         "checks, scheduling, host memory and decode fill are assumed"},
        {"lookup_share", "share", "", "both of its times rest on assumptions"}};
    const std::vector<StudyColumn> nodes = node_columns();
    all.insert(all.end(), nodes.begin(), nodes.end());
    return all;
}

Json axis(const char* field, const char* title, bool log) {
    Json json{{"field", field}, {"type", "quantitative"}, {"title", title}};
    if (log) json["scale"] = {{"type", "log"}};
    return json;
}

/// A line over SRAM sizes for each number of entries, a panel for each popularity.
StudyPlot over_sram(const char* name, const char* title, Json y) {
    Json spec;
    spec["title"] = title;
    spec["mark"] = {{"type", "line"}, {"point", true}};
    spec["encoding"]["x"] = axis("sram_kib", "SRAM of the index (KiB)", true);
    spec["encoding"]["y"] = std::move(y);
    spec["encoding"]["color"] = {{"field", "entries"}, {"type", "ordinal"}, {"title", "blocks"}};
    spec["encoding"]["column"] = {{"field", "hot_lookups"}, {"type", "ordinal"}};
    return {name, std::move(spec)};
}

std::vector<StudyPlot> plots() {
    Json area;
    area["title"] = "Area of the index's SRAM, with ranges (below 22 nm in part assumed)";
    Json layers = Json::array();
    for (const StudyNode& node : kStudyNodes) {
        const std::string field = std::string("area_mm2_") + node.name;
        Json band;
        band["mark"] = {{"type", "errorband"}, {"opacity", 0.3}};
        band["encoding"]["y"] = axis((field + "_low").c_str(), "area (mm2)", true);
        band["encoding"]["y2"] = {{"field", field + "_high"}};
        Json line;
        line["mark"] = {{"type", "line"}, {"point", true}};
        line["encoding"]["y"] = axis(field.c_str(), "area (mm2)", true);
        line["encoding"]["color"] = {{"datum", node.name}};
        layers.push_back(std::move(band));
        layers.push_back(std::move(line));
    }
    area["encoding"]["x"] = axis("sram_kib", "SRAM of the index (KiB)", true);
    area["layer"] = std::move(layers);
    return {over_sram("sram_hit_ratio", "Lookups that the SRAM answers (popularity assumed)",
                      axis("sram_hit_ratio", "hit ratio", false)),
            over_sram("sram_lookup_mean", "Mean time of a lookup (clock and delay assumed)",
                      axis("lookup_mean_ns", "ns", false)),
            over_sram("sram_lookup_share", "Lookup's share of an unloaded promotion",
                      axis("lookup_share", "share", true)),
            {"sram_area", std::move(area)}};
}

}  // namespace

Study study_sram(const RunConfig& config) {
    return {"sram", columns(), SramStudy(config).rows(), plots()};
}

}  // namespace kvplane::explore
