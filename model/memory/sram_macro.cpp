// SPDX-License-Identifier: Apache-2.0
#include "model/memory/sram_macro.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "model/common/errors.h"

namespace kvplane::memory {
namespace {

/// Parts per thousand of the fits at 22 nm, and below it um2 per MiB of data.
struct Scaling {
    std::array<std::uint64_t, 3> delay;  ///< by Corner
    std::array<std::uint64_t, 3> energy;
    std::array<std::uint64_t, 3> leakage;
    std::array<std::uint64_t, 3> area;
    std::array<double, 3> area_um2_per_mib;  ///< in place of the fit
};

Scaling scaling_of(SramNode node) {
    switch (node) {
        case SramNode::k22nm:
            return {{840, 1000, 1160}, {820, 1000, 1180}, {518, 1000, 1930}, {800, 1000, 1200}, {}};
        case SramNode::k7nm:
            return {{500, 650, 1000},
                    {310, 600, 670},
                    {200, 500, 1300},
                    {1000, 1000, 1000},
                    {410e3, 500e3, 640e3}};
        case SramNode::k5nm:
            return {{450, 600, 1000},
                    {280, 500, 600},
                    {200, 500, 1500},
                    {1000, 1000, 1000},
                    {310e3, 380e3, 470e3}};
    }
    throw InvariantError("an SRAM node that is none");
}

/// Parts per thousand of a one-bank 1RW macro's figures.
struct Shape {
    std::uint64_t access = 1000;
    std::uint64_t cycle = 1000;
    std::uint64_t read = 1000;
    std::uint64_t write = 1000;
    std::uint64_t area = 1000;
    std::uint64_t leakage = 1000;
};

/// Geometric means over CACTI's points with high-performance cells.
Shape shape_of(const SramMacroConfig& config) {
    constexpr std::array<Shape, 4> kBanks{{{},
                                           {952, 1000, 1041, 991, 1054, 999},
                                           {945, 1000, 1047, 1050, 1086, 1074},
                                           {928, 1000, 1099, 1050, 1160, 1146}}};
    Shape shape = kBanks[static_cast<std::size_t>(std::countr_zero(config.banks))];
    if (config.ports == SramPorts::k1r1w) {
        constexpr Shape kTwoPorts{1342, 1191, 1484, 1534, 1956, 1264};
        shape.access = shape.access * kTwoPorts.access / 1000;
        shape.cycle = shape.cycle * kTwoPorts.cycle / 1000;
        shape.read = shape.read * kTwoPorts.read / 1000;
        shape.write = shape.write * kTwoPorts.write / 1000;
        shape.area = shape.area * kTwoPorts.area / 1000;
        shape.leakage = shape.leakage * kTwoPorts.leakage / 1000;
    }
    return shape;
}

std::int64_t cycle_ps(Bytes capacity) {
    if (capacity <= Bytes::from_kib(64)) return 250;
    if (capacity <= Bytes::from_kib(256)) return 509;
    return capacity <= Bytes::from_mib(16) ? 598 : 780;
}

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(value); }

std::uint64_t times(std::uint64_t value, std::uint64_t a, std::uint64_t b) {
    return value * a / 1000 * b / 1000;
}

void check(const SramMacroConfig& config) {
    const bool banks = config.banks >= 1 && config.banks <= 8 && std::has_single_bit(config.banks);
    if (!banks || config.port_bits == 0 || config.port_bits % 64 != 0 ||
        config.capacity.count == 0) {
        throw InvariantError(fmt::format("no SRAM macro of {}, {} bits, {} banks",
                                         to_string(config.capacity), config.port_bits,
                                         config.banks));
    }
}

}  // namespace

SramMacro sram_macro(const SramMacroConfig& config, Corner corner) {
    check(config);
    const auto end = static_cast<std::size_t>(corner);
    const Scaling scaling = scaling_of(config.node);
    const Shape shape = shape_of(config);
    // The square root is correctly rounded on every machine, and so is the rest.
    const double mib = static_cast<double>(config.capacity.count) / 1048576.0;
    const double root = std::sqrt(mib);
    const double w = static_cast<double>(config.port_bits) / 64.0;
    const std::uint64_t access = whole(214.0 + 933.0 * root + 8.44 * w);
    const double read = std::max(500.0, 1290.0 - 1160.0 * w + (4380.0 + 16000.0 * w) * root);
    const double write = std::max(500.0, 20.0 - 260.0 * w + (2950.0 + 15800.0 * w) * root);
    const double area = config.node == SramNode::k22nm ? 915e3 * mib + 34e3 * w * root
                                                       : scaling.area_um2_per_mib[end] * mib;
    const auto cycle = static_cast<std::uint64_t>(cycle_ps(config.capacity));
    return {
        .access = {static_cast<std::int64_t>(times(access, shape.access, scaling.delay[end]))},
        .cycle = {static_cast<std::int64_t>(times(cycle, shape.cycle, scaling.delay[end]))},
        .read_fj = times(whole(read), shape.read, scaling.energy[end]),
        .write_fj = times(whole(write), shape.write, scaling.energy[end]),
        .leakage_uw = times(whole(29000.0 * mib), shape.leakage, scaling.leakage[end]),
        .area_um2 = times(whole(area), shape.area, scaling.area[end]),
    };
}

bool in_fit(const SramMacroConfig& config) {
    return config.capacity >= Bytes::from_kib(32) && config.capacity <= Bytes::from_mib(64) &&
           config.port_bits <= 512;
}

}  // namespace kvplane::memory
