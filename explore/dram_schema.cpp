// SPDX-License-Identifier: Apache-2.0
/// Keys of the card's DRAM, and what follows from naming its device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "explore/run_schema.h"
#include "model/common/errors.h"
#include "model/memory/address_map.h"

namespace kvplane::explore {
namespace {

using enum NumberClass;

constexpr const char* kPreset = "card.dram.preset";

void describe_shared(Table& t, memory::DramConfig& c) {
    t.key("channels", c.channels, between<std::uint32_t>(1, 64, "channels"),
          {kChosen, "baseline card: 4; the x8 card has 2", "64-bit channels."});
    t.key("ecc", c.ecc,
          choice<memory::DramEcc>({{"sideband", memory::DramEcc::kSideband},
                                   {"inline", memory::DramEcc::kInline},
                                   {"none", memory::DramEcc::kNone}}),
          {kChosen, "baseline",
           "Where ECC bits live; sideband costs no bandwidth. The others need a preset."});
    t.key("controller", c.controller, between<Time>(kShortest, kLongest),
          {kAssumed, "assumed", "Controller and PHY, added to every read."});
}

void describe_burst(Table& t, memory::DramConfig& c) {
    t.key("speed", c.speed,
          with_bare_unit(between<TransferRate>({1'600'000'000}, {12'800'000'000}), "MT/s"),
          {kChosen, "JEDEC DDR5-5600", "Transfers per second and data pin."});
    t.key("service", c.service, between<Ratio>({10'000}, {1'000'000}),
          {kSimulated, "91.2 to 91.5 % of DDR5-4800 in Ramulator, DRAMSys and DRAMsim3",
           "Share of the pins' bandwidth that reads in a row reach."});
    t.key("turnaround", c.turnaround, between<Time>(kShortest, kLongest),
          {kAssumed, "assumed", "One change between reads and writes."});
    t.key("write_batch", c.write_batch, between<std::uint32_t>(1, 4096, "lines"),
          {kAssumed, "assumed; simulators drain writes in batches of this order",
           "Lines written between two changes of direction."});
    t.key("closed_row", c.closed_row, between<Time>(kShortest, kLongest),
          {kSimulated, "DDR5-4800B, one read, row closed, in Ramulator, DRAMSys and DRAMsim3",
           "First data of a closed row, at the pins."});
}

void describe_device(Table& t, DramDevice& c) {
    using memory::DramPreset;
    t.key("preset", c.preset,
          choice<DramPreset>({{"ddr5-4800b", DramPreset::kDdr5At4800B},
                              {"ddr5-5600b", DramPreset::kDdr5At5600B},
                              {"ddr5-6400b", DramPreset::kDdr5At6400B},
                              {"ddr4-3200aa", DramPreset::kDdr4At3200AA},
                              {"ddr4-1866m", DramPreset::kDdr4At1866M}}),
          {kChosen, "JEDEC speed bins; 6400B from memory, unconfirmed",
           "Device and timing. What of speed, service, turnaround, write_batch and closed_row is "
           "not given follows from it; null: those numbers are all there is."});
    t.key("ranks", c.ranks, one_of<std::uint32_t>({1, 2, 4}, "ranks"),
          {kChosen, "one rank, as the reference simulations", "Ranks of a channel."});
    t.group("timing", [&] {
        for (std::size_t i = 0; i < c.timing.size(); ++i) {
            t.key(memory::kDramTimingFields[i].name, c.timing[i],
                  between<std::uint32_t>(0, 1'000'000, "cycles"),
                  {kChosen, "null: that of the preset",
                   "Clock cycles, named as JEDEC names it without the n or t."});
        }
    });
}

Form<std::string> mapping_form() {
    Form<std::string> form = text();
    form.examples.assign(memory::AddressMap::names().begin(), memory::AddressMap::names().end());
    const std::string names = join(form.examples);
    for (std::string& example : form.examples) example = form.print(example);
    form.range = names + ", or an order of row, rank, bank, group, column (columnN), xor";
    return form;
}

void describe_controller(Table& t, memory::Ddr5Config& c) {
    t.key("interleave", c.interleave, power_of_two<Bytes>({64}, Bytes::from_mib(1)),
          {kAssumed, "assumed", "Run of addresses that one subchannel holds."});
    t.key("mapping", c.mapping, mapping_form(),
          {kSimulated, "what the reference simulations use, and a hash of the bank bits",
           "Order of the address bits within a subchannel, most significant first."});
    const Form<std::uint32_t> depth = between<std::uint32_t>(2, 1024, "lines");
    t.key("read_queue", c.read_queue, depth,
          {kSimulated, "Ramulator's default", "Reads that wait in a subchannel."});
    t.key("write_queue", c.write_queue, depth,
          {kSimulated, "Ramulator's default", "Writes that wait in a subchannel."});
    const Form<std::uint32_t> mark = between<std::uint32_t>(1, 1023, "lines");
    t.key("write_high", c.write_high, mark,
          {kSimulated, "Ramulator: 0.8 of the queue", "With more writes waiting, they go first."});
    t.key("write_low", c.write_low, mark,
          {kSimulated, "Ramulator: 0.2 of the queue",
           "Until fewer are left, or while reads wait as many are written as lie between the "
           "marks."});
    t.key("starvation", c.starvation, between<Time>(kShortest, kLongest),
          {kAssumed, "assumed", "A row hit passes no request that has waited for longer."});
    t.key("refresh", c.refresh,
          choice<memory::DramRefreshMode>({{"all-bank", memory::DramRefreshMode::kAllBank},
                                           {"fine-all-bank", memory::DramRefreshMode::kFineAllBank},
                                           {"same-bank", memory::DramRefreshMode::kSameBank}}),
          {kChosen, "JEDEC refresh modes", "What one refresh closes, and how often it comes."});
}

void describe_writes(Table& t, memory::Ddr5Config& c) {
    t.key("writes_modify", c.writes_modify, flag(),
          {kChosen, "JEDEC: x4 devices with on-die ECC read and modify",
           "Writes of a bank group keep ccd_l_wr apart, else ccd_l_wr2."});
}

void describe_ras(Table& t, memory::Ddr5Config& c) {
    t.key("ecc_buffer", c.ecc_buffer, between<std::uint32_t>(1, 4096, "lines"),
          {kAssumed, "assumed", "Lines of check bits that the controller holds; inline ECC only."});
    t.key("scrub_interval", c.scrub_interval, between<Time>(Time{}, Time::from_s(3600)),
          {kAssumed, "assumed: none",
           "Between two lines of the patrol scrub: 0 for none, or from 100 ns."});
    t.key("corrected_threshold", c.corrected_threshold, between<std::uint32_t>(1, 65535, "errors"),
          {kAssumed, "assumed", "Errors that ECC has corrected until the card logs an event."});
    t.key("double_refresh", c.thermal.double_refresh, flag(),
          {kChosen, "JEDEC: above 85 C", "Refresh twice as often."});
    t.key("bandwidth_cap", c.thermal.bandwidth_cap, between<Ratio>({50'000}, {1'000'000}),
          {kAssumed, "assumed", "Share of the pins that thermal throttling leaves."});
}

void build(RunConfig& run) {
    memory::Ddr5Config& lines = run.card.lines;
    lines.timing = timing_of(*run.dram.preset);
    lines.geometry = geometry_of(*run.dram.preset);
    lines.geometry.ranks = run.dram.ranks;
    for (std::size_t i = 0; i < run.dram.timing.size(); ++i) {
        if (run.dram.timing[i]) {
            lines.timing.*memory::kDramTimingFields[i].field = *run.dram.timing[i];
        }
    }
}

bool is_of_dram(std::string_view key) { return key.starts_with("card.dram."); }

/// Without a device nobody reads the keys that describe one: all but those of the closed form.
void refuse_keys_without_device(const Table& table, const Settings& settings) {
    constexpr std::array<std::string_view, 8> kClosedForm{kPreset,
                                                          "card.dram.channels",
                                                          "card.dram.controller",
                                                          "card.dram.speed",
                                                          "card.dram.service",
                                                          "card.dram.turnaround",
                                                          "card.dram.write_batch",
                                                          "card.dram.closed_row"};
    for (const Row& row : table.rows()) {
        const std::string& path = row.info.path;
        if (!is_of_dram(path) || std::ranges::find(kClosedForm, path) != kClosedForm.end())
            continue;
        settings.require(settings.at(path).is_default(), {path},
                         fmt::format("needs a device: give {}", kPreset));
    }
}

/// Whether a text has a word.
bool names(std::string_view text, std::string_view word) {
    const auto letter = [&](std::size_t at) {
        return at < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
    };
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
        if ((at == 0 || !letter(at - 1)) && !letter(at + word.size())) return true;
    }
    return false;
}

/// Throws at the key without which device, timing and controller would agree: at one that the rule
/// names, if it does.
[[noreturn]] void blame(RunConfig& run, const Table& table, const Settings& settings,
                        const UserError& error) {
    const auto agree_without = [&](const Row& row) {
        RunConfig other = run;
        row.reset();
        build(run);
        bool agree = true;
        try {
            check(line_dram(run.card));
        } catch (const UserError&) {
            agree = false;
        }
        run = other;
        return agree;
    };
    const std::string_view rule = error.what();
    for (const bool named : {true, false}) {
        for (const Row& row : table.rows()) {
            const std::string& path = row.info.path;
            if (!is_of_dram(path) || path == kPreset) continue;
            if (settings.at(path).origin == "default") continue;
            const std::string_view leaf = std::string_view(path).substr(path.rfind('.') + 1);
            if (named && !names(rule, leaf)) continue;
            if (agree_without(row)) settings.require(false, {path}, error.what());
        }
    }
    settings.require(false, {kPreset}, error.what());
    throw InvariantError("card.dram: its rule does not fail");
}

}  // namespace

void describe_dram(Table& t, card::CardConfig& c, DramDevice& device) {
    t.group("dram", [&] {
        t.key(
            "fidelity", c.dram_fidelity,
            choice<card::DramFidelity>(
                {{"burst", card::DramFidelity::kBurst}, {"line", card::DramFidelity::kLine}}),
            {kChosen, "closed form; `line` gives every command, and does not see the card's moves",
             "How the DRAM serves single lines of the host."});
        describe_shared(t, c.dram);
        describe_burst(t, c.dram);
        describe_device(t, device);
        describe_controller(t, c.lines);
        describe_writes(t, c.lines);
        describe_ras(t, c.lines);
    });
}

void derive_dram(RunConfig& run, const Table& table, Settings& settings) {
    if (!run.dram.preset) {
        refuse_keys_without_device(table, settings);
        return;
    }
    build(run);
    memory::DramConfig derived;
    try {
        derived = memory::burst_config(line_dram(run.card));
    } catch (const UserError& error) {
        blame(run, table, settings, error);
    }
    const std::string speed = "card.dram.speed";
    settings.require(settings.at(speed).origin == "default" || run.card.dram.speed == derived.speed,
                     {speed},
                     fmt::format("differs from that of {}: leave one of them out", kPreset));
    const std::string buffer = "card.dram.ecc_buffer";
    settings.require(
        settings.at(buffer).is_default() || run.card.dram.ecc == memory::DramEcc::kInline, {buffer},
        "is of inline ECC alone: set card.dram.ecc to inline");
    const auto follow = [&](const char* key, auto& field, const auto& value) {
        const std::string path = std::string("card.dram.") + key;
        if (settings.at(path).origin != "default") return;
        field = value;
        settings.derive(path, table.find(path)->print(), kPreset);
    };
    memory::DramConfig& dram = run.card.dram;
    dram.subchannels = derived.subchannels;
    dram.device = derived.device;
    dram.rows = derived.rows;
    follow("speed", dram.speed, derived.speed);
    follow("service", dram.service, derived.service);
    follow("turnaround", dram.turnaround, derived.turnaround);
    follow("write_batch", dram.write_batch, derived.write_batch);
    follow("closed_row", dram.closed_row, derived.closed_row);
}

}  // namespace kvplane::explore
