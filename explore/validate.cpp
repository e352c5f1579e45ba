// SPDX-License-Identifier: Apache-2.0
#include "explore/validate.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

struct Part {
    const char* name;
    std::vector<ValidationRow> (*rows)();
};

constexpr Part kParts[] = {{"link", &validate_link}, {"memory", &validate_dram}};

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
    return object;
}

void print_table(const std::vector<ValidationRow>& rows, std::ostream& out) {
    out << fmt::format("{:<34} {:>10} {:>10} {:>10} {:>8} {:>7}  {}\n", "id", "low", "high",
                       "model", "error", "within", "");
    std::size_t held = 0;
    for (const ValidationRow& row : rows) {
        held += row.holds() ? 1 : 0;
        out << fmt::format("{:<34} {:>10.3f} {:>10.3f} {:>10.3f} {:>7.2f}% {:>6.1f}%  {}\n", row.id,
                           row.reference_low, row.reference_high, row.model, 100 * row.error(),
                           100 * row.tolerance, row.holds() ? "holds" : "FAILS " + row.reason);
    }
    out << fmt::format("{} of {} rows hold\n", held, rows.size());
}

}  // namespace

double ValidationRow::error() const {
    if (model < reference_low) return (model - reference_low) / reference_low;
    if (model > reference_high) return (model - reference_high) / reference_high;
    return 0;
}

bool ValidationRow::holds() const { return std::abs(error()) <= tolerance; }

std::vector<std::string> validate_parts() {
    std::vector<std::string> names;
    for (const Part& part : kParts) names.emplace_back(part.name);
    return names;
}

int validate(const ValidateOptions& options, std::ostream& out) {
    std::vector<ValidationRow> rows;
    for (const Part& part : kParts) {
        if (!options.only.empty() && options.only != part.name) continue;
        std::vector<ValidationRow> more = part.rows();
        std::move(more.begin(), more.end(), std::back_inserter(rows));
    }
    if (rows.empty()) throw UserError("validate: there is no part '" + options.only + "'");
    if (options.json) {
        nlohmann::ordered_json object;
        object["schema"] = "kvplane.validate/1";
        object["rows"] = nlohmann::ordered_json::array();
        for (const ValidationRow& row : rows) object["rows"].push_back(to_json(row));
        out << object.dump(2) << '\n';
    } else {
        print_table(rows, out);
    }
    if (!out.flush()) throw UserError("cannot write the output: is the disk full?");
    for (const ValidationRow& row : rows) {
        if (!row.holds() && row.reason.empty()) return 1;
    }
    return 0;
}

}  // namespace kvplane::explore
