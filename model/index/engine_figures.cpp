// SPDX-License-Identifier: Apache-2.0
#include "model/index/engine_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "model/common/errors.h"
#include "model/index/entry.h"

namespace kvplane::index {
namespace {

/// Set-up and margin of the register behind the SRAM.
constexpr Time kRegisterMargin{100};
constexpr std::uint32_t kEntryBits = 8 * sizeof(Entry);

std::uint32_t cycles(Time span, Time period) {
    return static_cast<std::uint32_t>((span.ps + period.ps - 1) / period.ps);
}

/// The array of entries of one bank, `bits` wide.
memory::SramMacroConfig entries_of(const IndexConfig& config, std::uint32_t bits) {
    return {.capacity = {config.sram.count / config.banks},
            .port_bits = bits,
            .node = config.node,
            .ports = config.ports};
}

/// The array of fingerprints of one bank: bits a slot, rounded up to whole words.
memory::SramMacroConfig fingerprints_of(const IndexConfig& config) {
    const std::uint64_t bank_slots = config.sram.count / config.banks / sizeof(Entry);
    const std::uint32_t bits = (config.slots * config.fingerprint_bits + 63) / 64 * 64;
    return {.capacity = {std::max<std::uint64_t>(1, bank_slots * config.fingerprint_bits / 8)},
            .port_bits = bits,
            .node = config.node,
            .ports = config.ports};
}

void check(const IndexConfig& config) {
    const std::uint64_t row = std::uint64_t{sizeof(Entry)} * config.slots * config.choices;
    const bool shape = std::has_single_bit(config.choices) && std::has_single_bit(config.slots) &&
                       std::has_single_bit(config.sram.count) && config.sram.count >= 4 * row;
    const bool banks = std::has_single_bit(config.banks) && config.banks >= config.choices &&
                       config.sram.count / config.banks >= sizeof(Entry) * config.slots;
    if (!shape || !banks || config.store_buffer == 0 || config.clock.hz == 0) {
        throw InvariantError(fmt::format("no index of {}, {} x {}, {} banks",
                                         to_string(config.sram), config.choices, config.slots,
                                         config.banks));
    }
}

}  // namespace

EngineFigures engine_figures(const IndexConfig& config, memory::Corner corner) {
    check(config);
    const Time period = config.clock.cycles(1);
    const memory::SramMacroConfig wide = entries_of(config, config.slots * kEntryBits);
    const memory::SramMacroConfig narrow = entries_of(config, kEntryBits);
    const memory::SramMacro bank = memory::sram_macro(wide, corner);
    const memory::SramMacro entry = memory::sram_macro(narrow, corner);
    EngineFigures figures{.sram_cycles = cycles(bank.access + kRegisterMargin, period),
                          .bank_busy = cycles(bank.cycle, period),
                          .bucket_read_fj = bank.read_fj,
                          .request_read_fj = config.choices * bank.read_fj,
                          .slot_write_fj = entry.write_fj,
                          .leakage_uw = config.banks * bank.leakage_uw,
                          .area_um2 = config.banks * bank.area_um2,
                          .in_fit = memory::in_fit(wide)};
    if (config.fingerprint_bits == 0) return figures;
    // Fingerprints, compare, then the entry: the second access follows the first. A kick reads the
    // entries of a bucket one by one.
    const memory::SramMacroConfig prints = fingerprints_of(config);
    const memory::SramMacro print = memory::sram_macro(prints, corner);
    figures.sram_cycles = cycles(print.access + kRegisterMargin, period) +
                          cycles(entry.access + kRegisterMargin, period);
    figures.bucket_read_fj = print.read_fj + config.slots * entry.read_fj;
    figures.request_read_fj = config.choices * print.read_fj;
    figures.entry_read_fj = entry.read_fj;
    figures.slot_write_fj += print.write_fj;
    figures.leakage_uw = config.banks * (entry.leakage_uw + print.leakage_uw);
    figures.area_um2 = config.banks * (entry.area_um2 + print.area_um2);
    figures.in_fit = memory::in_fit(narrow) && memory::in_fit(prints);
    return figures;
}

}  // namespace kvplane::index
