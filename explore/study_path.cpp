// SPDX-License-Identifier: Apache-2.0
/// What a promotion takes on its way, by who orders and moves it, block, link, ring, fence, depth
/// and load.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "explore/choices.h"
#include "explore/move_load.h"
#include "explore/path_forms.h"
#include "explore/study.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;
using engine::Stage;

/// Orders of a point, however many blocks each has.
constexpr std::uint64_t kFewestOrders = 50;

/// A point before it is measured: its config, and the load on it.
struct Point {
    std::string varies;
    RunConfig config;
    Bytes block;
    std::uint32_t run = 1;
    std::uint32_t depth = 1;
    std::optional<Ratio> load{};  ///< open loop, of what the deepest closed loop reaches
};

class PathStudy {
public:
    explicit PathStudy(const RunConfig& config) : m_study(config.study.path), m_base(config) {
        m_base.driver.mechanism = m_study.mechanisms.front();
        m_base.driver.queue = m_study.queues.front();
        m_base.card.link.width = m_study.widths.front();
        m_base.card.link.mps = m_study.mps.front();
        m_base.card.engine.fence = m_study.fences.front();
        m_base.card.index.implementation = m_study.indexes.front();
    }

    Json rows() {
        cross();
        walk("mps", m_study.mps, [](Point& p, Bytes v) { p.config.card.link.mps = v; });
        walk("ring", m_study.queues,
             [](Point& p, driver::QueuePlace v) { p.config.driver.queue = v; });
        walk("fence", m_study.fences,
             [](Point& p, engine::Fence v) { p.config.card.engine.fence = v; });
        walk("index", m_study.indexes,
             [](Point& p, index::Implementation v) { p.config.card.index.implementation = v; });
        loads();
        StudyProgress progress(m_points.size());
        Json rows = Json::array();
        for (const Point& point : m_points) {
            rows.push_back(row(point));
            progress.advance();
        }
        return rows;
    }

private:
    [[nodiscard]] Point base(std::string varies) const {
        return {std::move(varies), m_base, m_study.blocks.front(), 1, m_study.depths.front()};
    }

    /// Block x mechanism x link, each block alone and as a fragment of a larger order.
    void cross() {
        for (const std::uint32_t width : m_study.widths) {
            for (const driver::Mechanism mechanism : m_study.mechanisms) {
                for (const Bytes block : m_study.blocks) {
                    Point point = base("block x mechanism x link");
                    point.config.card.link.width = width;
                    point.config.driver.mechanism = mechanism;
                    point.block = block;
                    m_points.push_back(point);
                    if (!m_study.gathered || *m_study.gathered < block * 2) continue;
                    point.run = static_cast<std::uint32_t>(*m_study.gathered / block);
                    m_points.push_back(point);
                }
            }
        }
    }

    template <class T, class Set>
    void walk(const char* varies, const std::vector<T>& axis, Set set) {
        for (std::size_t i = 1; i < axis.size(); ++i) {
            m_points.push_back(base(varies));
            set(m_points.back(), axis[i]);
        }
    }

    /// Depths and open loops, by each mechanism.
    void loads() {
        for (const driver::Mechanism mechanism : m_study.mechanisms) {
            Point point = base("depth");
            point.config.driver.mechanism = mechanism;
            for (std::size_t i = 1; i < m_study.depths.size(); ++i) {
                point.depth = m_study.depths[i];
                m_points.push_back(point);
            }
            point.varies = "load";
            point.depth = 0;
            for (const Ratio load : m_study.loads) {
                point.load = load;
                m_points.push_back(point);
            }
        }
    }

    [[nodiscard]] MoveLoad load_of(const Point& point) const {
        MoveLoad load;
        load.block = point.block;
        load.flows = {{.kind = driver::MoveKind::kPromote, .depth = point.depth, .run = point.run}};
        load.warm_up = 10 + 2 * point.depth;
        load.orders = std::max(kFewestOrders, m_study.moves / point.run);
        load.seed = m_base.seed;
        return load;
    }

    [[nodiscard]] Rate offered(const Point& point) const {
        Point closed = point;
        closed.depth = *std::max_element(m_study.depths.begin(), m_study.depths.end());
        const Rate most = measure_moves(point.config, load_of(closed)).flows[0].payload;
        return {static_cast<std::uint64_t>(static_cast<Uint128>(most.bytes_per_second) *
                                           point.load->ppm / 1'000'000)};
    }

    [[nodiscard]] Json row(const Point& point) const {
        MoveLoad load = load_of(point);
        if (point.load) load.flows[0].rate = offered(point);
        const MoveMeasure measure = measure_moves(point.config, load);
        Json row = factors(point, load.flows[0].rate);
        const Histogram& latency = measure.flows[0].latency;
        row["mean_us"] = latency.mean_us();
        row["p50_us"] = latency.percentile(500).us();
        row["p99_us"] = latency.percentile(990).us();
        row["gb_s"] = measure.flows[0].payload.gb_s();
        const PathForm form =
            path_form(point.config, {point.block, point.run, point.depth, load.flows[0].rate});
        add_form(row, "mean_us", "form_us", form.order_us);
        add_form(row, "gb_s", "form_gb_s", form.gb_s);
        add_stages(row, measure);
        return row;
    }

    static Json factors(const Point& point, Rate offered) {
        const RunConfig& config = point.config;
        const bool by_card = config.driver.mechanism == driver::Mechanism::kCard;
        const auto of_card = [&](std::string name) {
            return by_card ? Json(std::move(name)) : Json();
        };
        Json row;
        row["varies"] = point.varies;
        row["block_kib"] = static_cast<double>(point.block.count) / 1024;
        row["run"] = point.run;
        row["mechanism"] = mechanism_form().print(config.driver.mechanism);
        row["width"] = config.card.link.width;
        row["mps"] = config.card.link.mps.count;
        row["ring"] = of_card(queue_place_form().print(config.driver.queue));
        row["fence"] = of_card(fence_form().print(config.card.engine.fence));
        row["index"] = of_card(implementation_form().print(config.card.index.implementation));
        row["load"] = point.load ? "open, " + to_string(*point.load) : std::string("closed");
        row["depth"] = point.load ? Json() : Json(point.depth);
        row["offered_gb_s"] = point.load ? Json(offered.gb_s()) : Json();
        return row;
    }

    static void add_form(Json& row, const char* measured, const std::string& name,
                         const std::optional<double>& form) {
        row[name] = form ? Json(*form) : Json();
        row[name + "_error"] = form ? Json(row[measured].get<double>() / *form - 1) : Json();
    }

    static void add_stages(Json& row, const MoveMeasure& measure) {
        const double whole = measure.block_latency.mean_us();
        const auto stage = [&](Stage which) {
            return measure.stage_us[static_cast<std::size_t>(which)];
        };
        // Of copies the host keeps the directory: there is no lookup to have a share.
        const bool looked_up = !row["index"].is_null();
        const auto share = [&](double us) { return looked_up ? Json(us / whole) : Json(); };
        row["lookup_share"] = share(stage(Stage::kLookup));
        row["lookup_record_share"] = share(stage(Stage::kLookup) + stage(Stage::kRecord));
        row["block_mean_us"] = whole;
        for (std::size_t i = 0; i < engine::kStages; ++i) {
            row[std::string(engine::kStageNames[i]) + "_us"] = measure.stage_us[i];
        }
    }

    const PathStudyConfig& m_study;
    RunConfig m_base;
    std::vector<Point> m_points;
};

std::vector<StudyColumn> columns() {
    constexpr const char* kTime =
        "card: checks, scheduling, host memory, controller and PHY of the DRAM, decode fill, clock "
        "and polling are assumed; copies: the bytes in flight";
    constexpr const char* kForm = "the same numbers, without simulation";
    std::vector<StudyColumn> all{{"varies", "varies", "", ""},
                                 {"block_kib", "KiB", "KiB", ""},
                                 {"run", "run", "blocks", ""},
                                 {"mechanism", "mechanism", "", ""},
                                 {"width", "x", "lanes", ""},
                                 {"mps", "MPS", "B", ""},
                                 {"ring", "ring", "", ""},
                                 {"fence", "fence", "", ""},
                                 {"index", "index", "", ""},
                                 {"load", "load", "", ""},
                                 {"depth", "depth", "orders", ""},
                                 {"offered_gb_s", "", "GB/s", ""},
                                 {"mean_us", "mean us", "us", kTime},
                                 {"p50_us", "p50 us", "us", kTime},
                                 {"p99_us", "p99 us", "us", kTime},
                                 {"form_us", "form us", "us", kForm},
                                 {"form_us_error", "error", "", ""},
                                 {"gb_s", "GB/s", "GB/s", kTime},
                                 {"form_gb_s", "form GB/s", "GB/s", kForm},
                                 {"form_gb_s_error", "error", "", ""},
                                 {"lookup_share", "lookup", "", kTime},
                                 {"lookup_record_share", "+record", "", kTime},
                                 {"block_mean_us", "", "us", kTime}};
    for (const std::string_view stage : engine::kStageNames) {
        all.push_back({std::string(stage) + "_us", "", "us", kTime});
    }
    return all;
}

Json axis(const char* field, const char* title, bool log) {
    Json json{{"field", field}, {"type", "quantitative"}, {"title", title}};
    if (log) json["scale"] = {{"type", "log"}};
    return json;
}

Json lines(const char* title, const char* filter, Json x, Json y, const char* dash) {
    Json spec;
    spec["title"] = title;
    spec["transform"] = {{{"filter", filter}}};
    spec["mark"] = {{"type", "line"}, {"point", true}, {"tooltip", true}};
    spec["encoding"]["x"] = std::move(x);
    spec["encoding"]["y"] = std::move(y);
    spec["encoding"]["color"] = {{"field", "mechanism"}, {"type", "nominal"}};
    if (dash != nullptr) spec["encoding"]["strokeDash"] = {{"field", dash}, {"type", "nominal"}};
    return spec;
}

std::vector<StudyPlot> plots() {
    constexpr const char* kAlone = "datum.varies == 'block x mechanism x link' && datum.run == 1";
    constexpr const char* kGathered = "datum.varies == 'block x mechanism x link' && datum.run > 1";
    const auto by_link = [](Json spec) {
        spec["encoding"]["column"] = {{"field", "width"}, {"type", "ordinal"}};
        return spec;
    };
    const Json block = axis("block_kib", "block (KiB)", true);
    return {
        {"path_latency", by_link(lines("Latency of an order of one block", kAlone, block,
                                       axis("mean_us", "us", true), nullptr))},
        {"path_gathered", by_link(lines("Latency of an order of fragments", kGathered,
                                        axis("block_kib", "fragment (KiB)", true),
                                        axis("mean_us", "us", true), nullptr))},
        {"path_lookup", by_link(lines("Share of lookup and record in a promotion", kAlone, block,
                                      axis("lookup_record_share", "share", true), nullptr))},
        {"path_depth",
         lines("Payload by orders in flight", "datum.load == 'closed' && datum.run == 1",
               axis("depth", "orders in flight", true), axis("gb_s", "GB/s", false), "varies")}};
}

}  // namespace

Study study_path(const RunConfig& config) {
    return {"path", columns(), PathStudy(config).rows(), plots()};
}

}  // namespace kvplane::explore
