// SPDX-License-Identifier: Apache-2.0
#include "explore/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "explore/config.h"
#include "explore/output.h"
#include "explore/validate_cards.h"
#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

struct Part {
    const char* name;
    ValidationPart (*make)(const ValidateOptions&);
};

/// What has its numbers in its rows: no config is read, and none can be set.
template <std::vector<ValidationRow> (*Rows)()>
ValidationPart rows_alone(const ValidateOptions& options) {
    if (!options.sets.empty() && !options.only.empty()) {
        throw UserError("validate: --only " + options.only + " reads no config; leave --set out");
    }
    return {Rows()};
}

std::vector<std::string> card_files(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
    }
    if (error || files.empty()) {
        throw UserError("validate: no cards in " + folder + "; --cards names their folder");
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// The host's defaults: a GPU, its copy engine and its driver.
ValidationPart host_copies(const ValidateOptions& options) {
    return {validate_host_copies(load({}, options.sets).run)};
}

/// The default card and host.
ValidationPart saturation(const ValidateOptions& options) {
    return {validate_saturation(load({}, options.sets).run)};
}

ValidationPart host_reads(const ValidateOptions& options) {
    return validate_host_reads(load({}, options.sets).run);
}

/// The default card, built of its DRAM's device and just large enough for the span of the load.
RunConfig fidelity_config(const ValidateOptions& options) {
    std::vector<std::string> sets{"card.dram.preset=ddr5-5600b", "card.tier.capacity=256 MiB"};
    sets.insert(sets.end(), options.sets.begin(), options.sets.end());
    const RunConfig config = load({}, sets).run;
    if (!config.card.dram.device) {
        throw UserError("validate: burst against line needs card.dram.preset, a device for both");
    }
    return config;
}

/// Lines of a host, and then moves.
ValidationPart fidelity(const ValidateOptions& options) {
    const RunConfig config = fidelity_config(options);
    ValidationPart part{validate_fidelity(config.card)};
    std::vector<ValidationRow> moves = validate_move_fidelity(config);
    std::move(moves.begin(), moves.end(), std::back_inserter(part.rows));
    return part;
}

/// Every card of the folder, in order of names, has curves; some have measurements.
ValidationPart cards(const ValidateOptions& options) {
    ValidationPart part;
    const auto add = [&](std::vector<ValidationRow> rows) {
        std::move(rows.begin(), rows.end(), std::back_inserter(part.rows));
    };
    const std::vector<std::string> files = card_files(options.cards);
    for (const char* measured : {"mess-x8", "micron-cz120", "seagate-cma"}) {
        const auto is_it = [&](const std::string& path) {
            return std::filesystem::path(path).stem() == measured;
        };
        if (std::none_of(files.begin(), files.end(), is_it)) {
            throw UserError(fmt::format("validate: {} has no {}.yaml, a card with measurements",
                                        options.cards, measured));
        }
    }
    for (const std::string& path : files) {
        const std::string name = std::filesystem::path(path).stem().string();
        const card::CardConfig card = load(path, options.sets).run.card;
        if (name == "mess-x8") add(validate_mess_curve(card));
        if (name == "seagate-cma") add(validate_cma_blade(card));
        if (name == "micron-cz120") add(validate_cz120(card));
        std::vector<LoadedLatencyPoint> curves = loaded_latency(name, card);
        std::move(curves.begin(), curves.end(), std::back_inserter(part.curves));
    }
    return part;
}

constexpr Part kParts[] = {{"link", &rows_alone<&validate_link>},
                           {"memory", &rows_alone<&validate_dram>},
                           {"cards", &cards},
                           {"host-copies", &host_copies},
                           {"fidelity", &fidelity},
                           {"saturation", &saturation},
                           {"host-reads", &host_reads}};

nlohmann::ordered_json to_json(const ValidationRow& row) {
    nlohmann::ordered_json object;
    object["id"] = row.id;
    object["source"] = row.source;
    object["kind"] = row.kind;
    object["reference_low"] = row.reference_low;
    object["reference_high"] = row.reference_high;
    object["model"] = row.model;
    object["error"] = row.error();
    object["tolerance"] = row.tolerance;
    object["held_out"] = row.held_out;
    object["holds"] = row.holds();
    object["reason"] = row.reason;
    object["excused"] = row.excused;
    return object;
}

nlohmann::ordered_json to_json(const LoadedLatencyPoint& point) {
    nlohmann::ordered_json object;
    object["card"] = point.card;
    object["series"] = point.series;
    object["loop"] = point.loop;
    object["offered_gb_s"] = point.offered_gb_s;
    object["gb_s"] = point.gb_s;
    object["mean_ns"] = point.mean_ns;
    object["p50_ns"] = point.p50_ns;
    object["p99_ns"] = point.p99_ns;
    object["reference"] = point.reference;
    return object;
}

nlohmann::ordered_json to_json(const ValidationPart& part) {
    nlohmann::ordered_json object;
    object["schema"] = "kvplane.validate/1";
    object["rows"] = nlohmann::ordered_json::array();
    for (const ValidationRow& row : part.rows) object["rows"].push_back(to_json(row));
    object["curves"] = nlohmann::ordered_json::array();
    for (const LoadedLatencyPoint& point : part.curves) object["curves"].push_back(to_json(point));
    return object;
}

/// Latency over bandwidth, the references as points beside the model's lines.
nlohmann::ordered_json plot_of(const std::string& card, nlohmann::ordered_json points) {
    const auto axis = [](const char* field, const char* title, const char* scale) {
        return nlohmann::ordered_json{{"field", field},
                                      {"type", "quantitative"},
                                      {"title", title},
                                      {"scale", {{"type", scale}}}};
    };
    const auto layer = [&](const char* mark, const char* which) {
        nlohmann::ordered_json encoding{{"x", axis("gb_s", "GB/s, reads and writes", "linear")},
                                        {"order", {{"field", "gb_s"}}},
                                        {"color", {{"field", "series"}, {"type", "nominal"}}}};
        if (mark != std::string("rule")) {
            encoding["y"] = axis("mean_ns", "mean read latency, ns", "log");
        }
        return nlohmann::ordered_json{
            {"transform", {{{"filter", which}}}},
            {"mark", {{"type", mark}, {"point", mark == std::string("line")}, {"tooltip", true}}},
            {"encoding", encoding}};
    };
    return {
        {"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
        {"title", "Loaded latency: " + card},
        {"data", {{"values", std::move(points)}}},
        {"width", 560},
        {"height", 360},
        {"layer",
         {layer("line", "!datum.reference"), layer("point", "datum.reference && datum.mean_ns > 0"),
          layer("rule", "datum.reference && datum.mean_ns == 0")}}};
}

void write_folder(const ValidationPart& all, const std::string& document,
                  const std::string& folder) {
    write_file(folder + "/validate.json", document);
    for (std::size_t first = 0; first < all.curves.size();) {
        const std::string& card = all.curves[first].card;
        nlohmann::ordered_json points = nlohmann::ordered_json::array();
        for (; first < all.curves.size() && all.curves[first].card == card; ++first) {
            points.push_back(to_json(all.curves[first]));
        }
        write_file(fmt::format("{}/loaded-latency-{}.vl.json", folder, card),
                   plot_of(card, std::move(points)).dump(2) + "\n");
    }
}

void print_table(const std::vector<ValidationRow>& rows, std::ostream& out) {
    out << fmt::format("{:<34} {:>10} {:>10} {:>10} {:>8} {:>7}  {}\n", "id", "low", "high",
                       "model", "error", "within", "");
    std::size_t held = 0;
    for (const ValidationRow& row : rows) {
        held += row.holds() ? 1 : 0;
        out << fmt::format(
            "{:<34} {:>10.3f} {:>10.3f} {:>10.3f} {:>7.2f}% {:>6.1f}%  {}\n", row.id,
            row.reference_low, row.reference_high, row.model, 100 * row.error(),
            100 * row.tolerance,
            row.holds() ? "holds" : (row.passes() ? "excused: " : "FAILS ") + row.reason);
    }
    std::size_t excused = 0;
    for (const ValidationRow& row : rows) excused += !row.holds() && row.passes() ? 1 : 0;
    out << fmt::format("{} of {} rows hold, {} are excused\n", held, rows.size(), excused);
}

}  // namespace

double ValidationRow::error() const {
    if (model < reference_low) return (model - reference_low) / reference_low;
    if (model > reference_high) return (model - reference_high) / reference_high;
    return 0;
}

bool ValidationRow::holds() const { return std::abs(error()) <= tolerance; }

bool ValidationRow::passes() const {
    return holds() || (!reason.empty() && std::abs(error() - excused) <= kExcuse);
}

std::vector<std::string> validate_parts() {
    std::vector<std::string> names;
    for (const Part& part : kParts) names.emplace_back(part.name);
    return names;
}

int validate(const ValidateOptions& options, std::ostream& out) {
    if (options.only.empty()) static_cast<void>(card_files(options.cards));
    if (!options.out.empty()) make_folder(options.out);
    ValidationPart all;
    bool known = options.only.empty();
    for (const Part& part : kParts) {
        if (!options.only.empty() && options.only != part.name) continue;
        known = true;
        ValidationPart more = part.make(options);
        std::move(more.rows.begin(), more.rows.end(), std::back_inserter(all.rows));
        std::move(more.curves.begin(), more.curves.end(), std::back_inserter(all.curves));
    }
    if (!known) throw UserError("validate: there is no part '" + options.only + "'");
    const std::string document = to_json(all).dump(2) + "\n";
    if (!options.out.empty()) write_folder(all, document, options.out);
    if (options.json) {
        out << document;
    } else {
        print_table(all.rows, out);
    }
    finish(out);
    for (const ValidationRow& row : all.rows) {
        if (!row.passes()) return 1;
    }
    return 0;
}

}  // namespace kvplane::explore
