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

memory::SramMacro bank_macro(const IndexConfig& config, std::uint32_t bits, memory::Corner corner) {
    return memory::sram_macro({.capacity = {config.sram.count / config.banks},
                               .port_bits = bits,
                               .node = config.node,
                               .ports = config.ports},
                              corner);
}

/// The array of fingerprints of one bank: bits a slot, rounded up to whole words.
memory::SramMacro fingerprint_macro(const IndexConfig& config, memory::Corner corner) {
    const std::uint64_t bank_slots = config.sram.count / config.banks / sizeof(Entry);
    const std::uint32_t bits = (config.slots * config.fingerprint_bits + 63) / 64 * 64;
    return memory::sram_macro(
        {.capacity = {std::max<std::uint64_t>(1, bank_slots * config.fingerprint_bits / 8)},
         .port_bits = bits,
         .node = config.node,
         .ports = config.ports},
        corner);
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
    const memory::SramMacro bank = bank_macro(config, config.slots * kEntryBits, corner);
    const memory::SramMacro narrow = bank_macro(config, kEntryBits, corner);
    EngineFigures figures{.sram_cycles = cycles(bank.access + kRegisterMargin, period),
                          .bank_busy = cycles(bank.cycle, period),
                          .bucket_read_fj = bank.read_fj,
                          .request_read_fj = config.choices * bank.read_fj,
                          .slot_write_fj = narrow.write_fj,
                          .leakage_uw = config.banks * bank.leakage_uw,
                          .area_um2 = config.banks * bank.area_um2};
    if (config.fingerprint_bits == 0) return figures;
    // Fingerprints, compare, then the entry: the second access follows the first.
    const memory::SramMacro prints = fingerprint_macro(config, corner);
    figures.sram_cycles = cycles(prints.access + kRegisterMargin, period) +
                          cycles(narrow.access + kRegisterMargin, period);
    figures.request_read_fj = config.choices * prints.read_fj;
    figures.entry_read_fj = narrow.read_fj;
    figures.slot_write_fj += prints.write_fj;
    figures.leakage_uw += config.banks * prints.leakage_uw;
    figures.area_um2 += config.banks * prints.area_um2;
    return figures;
}

}  // namespace kvplane::index
