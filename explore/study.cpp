// SPDX-License-Identifier: Apache-2.0
#include "explore/study.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "explore/config.h"
#include "explore/output.h"
#include "model/common/errors.h"
#include "model/cxl/link.h"
#include "model/memory/dram.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;

struct Named {
    const char* name;
    Study (*make)(const RunConfig&);
};
constexpr Named kStudies[] = {{"sram", &study_sram}, {"lookup", &study_lookup}};

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::string cell(const Json& value) {
    if (value.is_null()) return "-";
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
    return value.dump();
}

void print_table(const Study& study, std::ostream& out) {
    std::vector<std::size_t> widths;
    for (const StudyColumn& column : study.columns) {
        std::size_t width = column.header.size() + (column.assumption.empty() ? 0 : 1);
        for (const Json& row : study.rows) width = std::max(width, cell(row[column.name]).size());
        widths.push_back(width);
    }
    const auto line = [&](const auto& text_of) {
        for (std::size_t i = 0; i < study.columns.size(); ++i) {
            if (study.columns[i].header.empty()) continue;
            out << fmt::format("{:>{}}  ", text_of(study.columns[i]), widths[i]);
        }
        out << "\n";
    };
    line([](const StudyColumn& c) { return c.header + (c.assumption.empty() ? "" : "*"); });
    for (const Json& row : study.rows) {
        line([&](const StudyColumn& c) { return cell(row[c.name]); });
    }
    out << "\n* rests on what is assumed:\n";
    for (const StudyColumn& column : study.columns) {
        if (column.assumption.empty() || column.header.empty()) continue;
        out << fmt::format("  {}: {}\n", column.header, column.assumption);
    }
}

void write_folder(const Study& study, const std::string& folder) {
    write_file(folder + "/study.json", study_document(study).dump(2) + "\n");
    for (const StudyPlot& plot : study.plots) {
        Json spec;
        spec["$schema"] = "https://vega.github.io/schema/vega-lite/v5.json";
        spec["data"]["values"] = study.rows;
        spec.update(plot.spec);
        write_file(folder + "/" + plot.name + ".vl.json", spec.dump(2) + "\n");
    }
}

template <class T>
void refuse_twice(const Settings& settings, const char* key, const std::vector<T>& values) {
    for (auto one = values.begin(); one != values.end(); ++one) {
        settings.require(std::find(one + 1, values.end(), *one) == values.end(), {key},
                         "names a point twice");
    }
}

/// Axes without points that are there twice, and no key that an axis replaces.
void check_study(const std::string& name, const LoadedConfig& config) {
    const Settings& settings = config.settings;
    const StudyConfig& study = config.run.study;
    const auto refuse_given = [&](const char* key, const char* axis) {
        settings.require(settings.at(key).is_default(), {key},
                         fmt::format("the study takes it from its axis {}", axis));
    };
    settings.require(config.run.card.index.implementation == index::Implementation::kTlm,
                     {"card.index.implementation"},
                     "a study is of many shapes of the index, and drives its TLM form");
    if (name == "sram") {
        refuse_twice(settings, "study.sram.tiers", study.sram.tiers);
        refuse_twice(settings, "study.sram.blocks", study.sram.blocks);
        refuse_twice(settings, "study.sram.srams", study.sram.srams);
        refuse_twice(settings, "study.sram.hot_lookups", study.sram.hot_lookups);
        refuse_given("card.index.sram", "study.sram.srams");
        settings.require(config.run.card.index.overflow == index::Overflow::kDram,
                         {"card.index.overflow"},
                         "the study is of SRAM smaller than the tier, whose rest is in DRAM");
    } else {
        refuse_twice(settings, "study.lookup.srams", study.lookup.srams);
        refuse_twice(settings, "study.lookup.loads", study.lookup.loads);
        refuse_twice(settings, "study.lookup.banks", study.lookup.banks);
        refuse_twice(settings, "study.lookup.lookups", study.lookup.lookups);
        refuse_twice(settings, "study.lookup.offered", study.lookup.offered);
        refuse_given("card.index.sram", "study.lookup.srams");
        refuse_given("card.index.banks", "study.lookup.banks");
    }
}

}  // namespace

StudyProgress::StudyProgress(std::size_t total)
    : m_total(total),
      m_line(isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr),
      m_start(seconds_now()) {}

void StudyProgress::advance() {
    ++m_done;
    const double left = (seconds_now() - m_start) * static_cast<double>(m_total - m_done) /
                        static_cast<double>(m_done);
    m_line.show(fmt::format("{} of {} points, {:.0f} s left", m_done, m_total, left));
}

Json study_document(const Study& study) {
    Json columns = Json::array();
    for (const StudyColumn& column : study.columns) {
        columns.push_back(
            {{"name", column.name}, {"unit", column.unit}, {"assumption", column.assumption}});
    }
    return {{"schema", "kvplane.study/1"},
            {"study", study.name},
            {"columns", columns},
            {"rows", study.rows}};
}

Time zero_load_promotion(const RunConfig& config, Bytes block, Time lookup, Time commit) {
    const card::CardConfig& card = config.card;
    const cxl::Link link(card.link);
    const memory::Dram dram(card.dram);
    const Time round_trip = card.flight * 2 + card.engine.host_memory;
    const Time submit = config.driver.submit + card.flight;
    const Time fetch = round_trip + card.engine.check;
    const Time record = dram.idle_latency() + card.engine.schedule;
    const Time first_data = dram.idle_latency() + dram.line_service() + card.codec.fill;
    const cxl::WireCost cost = link.dma_write();
    const auto wire = static_cast<std::uint64_t>(
        (static_cast<Uint128>(block.count) * cost.wire + cost.payload - 1) / cost.payload);
    const Time payload = link.serialisation(wire) + card.flight;
    const bool flush = card.engine.fence == engine::Fence::kReadFlush;
    const Time fence = flush ? card.engine.read_flush : Time{};
    const Time completion =
        link.serialisation(link.write_tlp_bytes(card.engine.completion_entry)) + card.flight;
    const Time poll{config.driver.poll_interval.ps / 2};
    return submit + fetch + lookup + record + first_data + payload + fence + commit + completion +
           poll;
}

std::vector<std::string> study_names() {
    std::vector<std::string> names;
    for (const Named& one : kStudies) names.emplace_back(one.name);
    return names;
}

int study(const std::string& name, const StudyOptions& options, std::ostream& out) {
    const LoadedConfig loaded = load(options.config, options.sets);
    check_study(name, loaded);
    const RunConfig& config = loaded.run;
    for (const Named& one : kStudies) {
        if (name != one.name) continue;
        if (!options.out.empty()) make_folder(options.out);
        const Study result = one.make(config);
        if (!options.out.empty()) write_folder(result, options.out);
        if (options.json) {
            out << study_document(result).dump() << "\n";
        } else {
            print_table(result, out);
        }
        finish(out);
        return 0;
    }
    throw UserError("study: there is no study '" + name + "'");
}

}  // namespace kvplane::explore
