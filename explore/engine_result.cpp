// SPDX-License-Identifier: Apache-2.0
#include "explore/engine_result.h"

#include <fmt/format.h>

#include "tb/plugin/lockstep_engine.h"
#include "tb/plugin/rtl_engine.h"

namespace kvplane::explore {
namespace {

using nlohmann::ordered_json;

ordered_json ratio(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return nullptr;
    return static_cast<double>(part) / static_cast<double>(whole);
}

ordered_json rtl_figures(const rtl::RtlEngine& engine) {
    const rtl::RtlCounters& counters = engine.counters();
    return {{"engine_requests", counters.requests},
            {"engine_cycles_clocked", engine.clocked()},
            {"engine_matched", counters.matched},
            {"engine_run_ahead", counters.run_ahead},
            {"lookup_engine_cycles", ratio(counters.lookup_cycles, counters.lookups)},
            {"lookup_engine_ns", ratio(counters.lookup_ps, 1'000 * counters.lookups)}};
}

}  // namespace

ordered_json engine_figures(const index::TableEngine& engine) {
    if (const auto* rtl = dynamic_cast<const rtl::RtlEngine*>(&engine)) return rtl_figures(*rtl);
    const auto* lockstep = dynamic_cast<const rtl::LockstepEngine*>(&engine);
    if (lockstep == nullptr) return ordered_json::object();
    ordered_json figures = rtl_figures(lockstep->rtl());
    const rtl::LockstepCounters& counters = lockstep->counters();
    figures["lockstep_matched"] = counters.matched;
    figures["lockstep_full_differs"] = counters.full_differs;
    figures["lockstep_within_a_cycle"] = ratio(counters.within_a_cycle, counters.matched);
    figures["lockstep_latency_ratio"] = ratio(counters.tlm_cycles, counters.rtl_cycles);
    return figures;
}

void print_engine(std::ostream& out, const ordered_json& index) {
    if (!index.contains("engine_requests")) return;
    out << fmt::format("engine      RTL: matched {} answers, {} cycles clocked",
                       index["engine_matched"].get<std::uint64_t>(),
                       index["engine_cycles_clocked"].get<std::uint64_t>());
    if (!index["lookup_engine_cycles"].is_null()) {
        out << fmt::format("; a lookup {:.3f} cycles, {:.3f} ns",
                           index["lookup_engine_cycles"].get<double>(),
                           index["lookup_engine_ns"].get<double>());
    }
    out << "\n";
    if (!index.contains("lockstep_matched")) return;
    out << fmt::format("lockstep    matched {}", index["lockstep_matched"].get<std::uint64_t>());
    if (!index["lockstep_within_a_cycle"].is_null()) {
        out << fmt::format("; {:.3f} % within a cycle, TLM latency {:+.3f} %",
                           100 * index["lockstep_within_a_cycle"].get<double>(),
                           100 * (index["lockstep_latency_ratio"].get<double>() - 1));
    }
    out << "\n";
}

}  // namespace kvplane::explore
