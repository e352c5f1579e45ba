// SPDX-License-Identifier: Apache-2.0
#include "model/common/units.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <span>
#include <stdexcept>

namespace kvplane {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

constexpr std::array<Unit, 7> kTimeUnits{{{"ps", 1},
                                          {"ns", 1'000},
                                          {"us", 1'000'000},
                                          {"ms", 1'000'000'000},
                                          {"s", 1'000'000'000'000},
                                          {"min", 60'000'000'000'000},
                                          {"h", 3'600'000'000'000'000}}};
constexpr std::array<Unit, 5> kByteUnits{
    {{"B", 1}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}, {"TiB", 1ULL << 40}}};
constexpr std::array<Unit, 4> kRateUnits{
    {{"B/s", 1}, {"MB/s", 1'000'000}, {"GB/s", 1'000'000'000}, {"TB/s", 1'000'000'000'000}}};
constexpr std::array<Unit, 4> kFrequencyUnits{
    {{"Hz", 1}, {"kHz", 1'000}, {"MHz", 1'000'000}, {"GHz", 1'000'000'000}}};

constexpr std::array<Unit, 3> kTransferUnits{
    {{"T/s", 1}, {"MT/s", 1'000'000}, {"GT/s", 1'000'000'000}}};
constexpr std::array<Unit, 4> kComputeUnits{{{"FLOP/s", 1},
                                             {"GFLOP/s", 1'000'000'000},
                                             {"TFLOP/s", 1'000'000'000'000},
                                             {"PFLOP/s", 1'000'000'000'000'000}}};
constexpr std::array<Unit, 2> kRatioUnits{{{"ppm", 1}, {"%", 10'000}}};

constexpr std::uint64_t kLargest = INT64_MAX;

std::string unit_list(std::span<const Unit> units) {
    std::string out;
    for (const Unit& unit : units) {
        out += out.empty() ? "" : ", ";
        out += unit.name;
    }
    return out;
}

[[noreturn]] void reject(std::string_view text, std::string_view why) {
    throw std::invalid_argument(fmt::format("'{}' {}", text, why));
}

/// A decimal number as mantissa x 10^-decimals, and the text behind it.
struct Decimal {
    std::uint64_t mantissa = 0;
    int decimals = 0;
    std::string_view rest;
};

Decimal parse_decimal(std::string_view text) {
    Decimal out;
    std::size_t i = 0;
    bool point = false;
    std::size_t digits = 0;
    for (; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '.' && !point) {
            point = true;
        } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
            if (++digits > 19) reject(text, "has too many digits");
            out.mantissa = out.mantissa * 10 + static_cast<std::uint64_t>(c - '0');
            out.decimals += point ? 1 : 0;
        } else {
            break;
        }
    }
    if (digits == 0) reject(text, "is not a quantity: a non-negative number and a unit");
    while (i < text.size() && text[i] == ' ') ++i;
    out.rest = text.substr(i);
    return out;
}

std::uint64_t parse_quantity(std::string_view text, std::span<const Unit> units) {
    const Decimal number = parse_decimal(text);
    for (const Unit& unit : units) {
        if (unit.name != number.rest) continue;
        Uint128 value = static_cast<Uint128>(number.mantissa) * unit.factor;
        for (int i = 0; i < number.decimals; ++i) {
            if (value % 10 != 0) {
                reject(text, fmt::format("is not a whole number of {}", units.front().name));
            }
            value /= 10;
        }
        if (value > kLargest) reject(text, "is too large");
        return static_cast<std::uint64_t>(value);
    }
    if (number.rest.empty()) {
        reject(text, fmt::format("has no unit; use one of {}", unit_list(units)));
    }
    reject(text,
           fmt::format("has the unknown unit '{}'; use one of {}", number.rest, unit_list(units)));
}

/// value / factor with at most three decimals, or empty where that is not exact.
std::string exact_decimal(std::uint64_t value, std::uint64_t factor) {
    const Uint128 milli = static_cast<Uint128>(value) * 1000;
    if (milli % factor != 0) return {};
    const auto thousandths = static_cast<std::uint64_t>(milli / factor);
    std::string out = fmt::format("{}.{:03}", thousandths / 1000, thousandths % 1000);
    while (out.back() == '0') out.pop_back();
    if (out.back() == '.') out.pop_back();
    return out;
}

/// The shortest text; of equally short ones that with the largest unit.
std::string print_quantity(std::uint64_t value, std::span<const Unit> units) {
    std::string shortest = fmt::format("{} {}", value, units.front().name);
    for (const Unit& unit : units.subspan(1)) {
        if (value < unit.factor) break;
        const std::string number = exact_decimal(value, unit.factor);
        if (number.empty()) continue;
        const std::string text = fmt::format("{} {}", number, unit.name);
        if (text.size() <= shortest.size()) shortest = text;
    }
    return shortest;
}

/// The units that to_string uses: no minutes or hours.
constexpr std::span<const Unit> kPrintedTimeUnits{kTimeUnits.data(), 5};

}  // namespace

Time parse_time(std::string_view text) {
    return {static_cast<std::int64_t>(parse_quantity(text, kTimeUnits))};
}
Bytes parse_bytes(std::string_view text) { return {parse_quantity(text, kByteUnits)}; }
Rate parse_rate(std::string_view text) { return {parse_quantity(text, kRateUnits)}; }
Frequency parse_frequency(std::string_view text) { return {parse_quantity(text, kFrequencyUnits)}; }
TransferRate parse_transfer_rate(std::string_view text) {
    return {parse_quantity(text, kTransferUnits)};
}
ComputeRate parse_compute_rate(std::string_view text) {
    return {parse_quantity(text, kComputeUnits)};
}
Ratio parse_ratio(std::string_view text) {
    const std::uint64_t ppm = parse_quantity(text, kRatioUnits);
    if (ppm > UINT32_MAX) reject(text, "is too large");
    return {static_cast<std::uint32_t>(ppm)};
}

std::string to_string(Time value) {
    if (value.ps < 0) return "-" + to_string(Time{-value.ps});
    if (value.ps == 0) return "0 s";
    return print_quantity(static_cast<std::uint64_t>(value.ps), kPrintedTimeUnits);
}
std::string to_string(Bytes value) { return print_quantity(value.count, kByteUnits); }
std::string to_string(Rate value) { return print_quantity(value.bytes_per_second, kRateUnits); }
std::string to_string(Frequency value) { return print_quantity(value.hz, kFrequencyUnits); }
std::string to_string(TransferRate value) {
    return print_quantity(value.per_second, kTransferUnits);
}
std::string to_string(ComputeRate value) {
    return print_quantity(value.flop_per_second, kComputeUnits);
}
std::string to_string(Ratio value) { return print_quantity(value.ppm, kRatioUnits); }

}  // namespace kvplane
