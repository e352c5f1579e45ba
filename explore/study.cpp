// SPDX-License-Identifier: Apache-2.0
#include "explore/study.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>

#include "explore/config.h"
#include "explore/output.h"
#include "explore/study_logic.h"
#include "model/common/errors.h"
#include "model/cxl/link.h"
#include "model/memory/dram.h"
#include "tb/plugin/rtl_engine.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;

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

/// A key that an axis replaces must stay at its default.
void refuse_given(const Settings& settings, const char* key, const char* axis) {
    settings.require(settings.at(key).is_default(), {key},
                     fmt::format("the study takes it from its axis {}", axis));
}

void refuse_other_index(const LoadedConfig& config) {
    config.settings.require(config.run.card.index.implementation == index::Implementation::kTlm,
                            {"card.index.implementation"},
                            "a study is of many shapes of the index, and drives its TLM form");
}

void check_sram(const LoadedConfig& config) {
    const Settings& settings = config.settings;
    const SramStudyConfig& study = config.run.study.sram;
    refuse_other_index(config);
    refuse_twice(settings, "study.sram.tiers", study.tiers);
    refuse_twice(settings, "study.sram.blocks", study.blocks);
    refuse_twice(settings, "study.sram.srams", study.srams);
    refuse_twice(settings, "study.sram.hot_lookups", study.hot_lookups);
    refuse_given(settings, "card.index.sram", "study.sram.srams");
    settings.require(config.run.card.index.overflow == index::Overflow::kDram,
                     {"card.index.overflow"},
                     "the study is of SRAM smaller than the tier, whose rest is in DRAM");
}

void check_lookup(const LoadedConfig& config) {
    const Settings& settings = config.settings;
    const LookupStudyConfig& study = config.run.study.lookup;
    refuse_other_index(config);
    refuse_twice(settings, "study.lookup.srams", study.srams);
    refuse_twice(settings, "study.lookup.loads", study.loads);
    refuse_twice(settings, "study.lookup.banks", study.banks);
    refuse_twice(settings, "study.lookup.lookups", study.lookups);
    refuse_twice(settings, "study.lookup.offered", study.offered);
    refuse_given(settings, "card.index.sram", "study.lookup.srams");
    refuse_given(settings, "card.index.banks", "study.lookup.banks");
}

void check_path(const LoadedConfig& config) {
    const Settings& settings = config.settings;
    const PathStudyConfig& study = config.run.study.path;
    refuse_twice(settings, "study.path.blocks", study.blocks);
    refuse_twice(settings, "study.path.mechanisms", study.mechanisms);
    refuse_twice(settings, "study.path.widths", study.widths);
    refuse_twice(settings, "study.path.mps", study.mps);
    refuse_twice(settings, "study.path.queues", study.queues);
    refuse_twice(settings, "study.path.fences", study.fences);
    refuse_twice(settings, "study.path.depths", study.depths);
    refuse_twice(settings, "study.path.loads", study.loads);
    refuse_twice(settings, "study.path.indexes", study.indexes);
    refuse_given(settings, "driver.mechanism", "study.path.mechanisms");
    refuse_given(settings, "driver.queue", "study.path.queues");
    refuse_given(settings, "card.link.width", "study.path.widths");
    refuse_given(settings, "card.link.mps", "study.path.mps");
    refuse_given(settings, "card.completion.fence", "study.path.fences");
    refuse_given(settings, "card.index.implementation", "study.path.indexes");
    const bool all_tlm = std::count(study.indexes.begin(), study.indexes.end(),
                                    index::Implementation::kTlm) == std::ssize(study.indexes);
    const std::optional<std::string> misfit = rtl::misfit(config.run.card.index);
    settings.require(
        all_tlm || !misfit,
        {"study.path.indexes", "card.index.sram", "card.index.node", "card.index.ports",
         "card.index.clock", "card.index.choices", "card.index.slots", "card.index.banks",
         "card.index.stash", "card.index.kick_limit", "card.index.store_buffer",
         "card.index.fingerprint_bits"},
        "study.path.indexes names rtl, and card.index is not what is built: " +
            misfit.value_or(""));
}

/// Where the descriptor lies when its doorbell comes, and how long the card reads it.
Time descriptor_fetch(const RunConfig& config) {
    switch (config.driver.queue) {
        case driver::QueuePlace::kHostMemory:
            return config.card.flight * 2 + config.card.engine.host_memory;
        case driver::QueuePlace::kHdm:
            return memory::Dram(config.card.dram).idle_latency();
        case driver::QueuePlace::kPortal:
            return {};
    }
    throw InvariantError("unknown place of a queue");
}

struct Named {
    const char* name;
    void (*check)(const LoadedConfig&);  ///< axes name no point twice; no key that an axis replaces
    Study (*make)(const RunConfig&);
};
constexpr Named kStudies[] = {{"sram", &check_sram, &study_sram},
                              {"lookup", &check_lookup, &study_lookup},
                              {"path", &check_path, &study_path}};

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
    const Time submit = config.driver.submit + card.flight;
    const Time fetch = descriptor_fetch(config) + card.engine.check;
    const Time record = dram.idle_latency() + card.engine.schedule;
    const Time first_data = dram.idle_latency() + dram.line_service() + card.codec.fill;
    const cxl::WireCost cost = link.dma_write();
    const auto wire = static_cast<std::uint64_t>(
        (static_cast<Uint128>(block.count) * cost.wire + cost.payload - 1) / cost.payload);
    const bool waited_for = card.engine.fence != engine::Fence::kNone;
    const Time payload = link.serialisation(wire) +
                         (waited_for ? card.engine.device_flight.value_or(card.flight) : Time{});
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
    for (const Named& one : kStudies) {
        if (name != one.name) continue;
        one.check(loaded);
        if (!options.out.empty()) make_folder(options.out);
        Study result = one.make(loaded.run);
        if (!options.synthesis.empty()) {
            add_logic(result, loaded.run.card.index, options.synthesis);
        }
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
