// SPDX-License-Identifier: Apache-2.0
/// What a config value of some type looks like: how it is parsed, printed, bounded and described.
/// A table (schema.h) pairs a Form with a field of a struct.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "explore/file_path.h"
#include "explore/nearest.h"
#include "explore/yaml.h"
#include "model/common/units.h"

namespace kvplane::explore {

/// One kind of value. parse throws std::invalid_argument with one sentence that lacks only its
/// subject, the key; print gives text that parse takes back to the same value.
template <class T>
struct Form {
    std::string type;   ///< "time", "integer", "choice", ...
    std::string unit;   ///< units that are accepted, or what an integer counts
    std::string range;  ///< legal values, for people
    std::function<T(const Value&)> parse;
    std::function<std::string(const T&)> print;
    std::vector<std::string> examples;  ///< legal texts: the ends of the range, or every choice
};

/// The text of a scalar. Throws std::invalid_argument for null, lists and mappings.
[[nodiscard]] const std::string& scalar_text(const Value& value, std::string_view type);

/// A whole number, written in decimal digits alone: no sign, leading zero, exponent or quotes.
[[nodiscard]] std::uint64_t parse_integer(const Value& value, std::uint64_t largest);

/// How a number or quantity is written.
template <class T>
struct Scalar;

template <class T>
struct IntegerScalar {
    static constexpr std::string_view kType = "integer";
    static constexpr std::string_view kUnit{};
    static T parse(const Value& value) {
        return static_cast<T>(parse_integer(value, std::numeric_limits<T>::max()));
    }
    static std::string print(T value) { return std::to_string(value); }
};
template <>
struct Scalar<std::uint32_t> : IntegerScalar<std::uint32_t> {};
template <>
struct Scalar<std::uint64_t> : IntegerScalar<std::uint64_t> {};

/// A number without a unit, as digits with or without a decimal point.
template <>
struct Scalar<double> {
    static constexpr std::string_view kType = "number";
    static constexpr std::string_view kUnit{};
    static double parse(const Value& value);
    /// The shortest text that gives the value back.
    static std::string print(double value);
};

template <class T, T (*Parse)(std::string_view)>
struct QuantityScalar {
    static T parse(const Value& value) { return Parse(scalar_text(value, Scalar<T>::kType)); }
    static std::string print(T value) { return to_string(value); }
};
template <>
struct Scalar<Time> : QuantityScalar<Time, parse_time> {
    static constexpr std::string_view kType = "time";
    static constexpr std::string_view kUnit = "ps, ns, us, ms, s, min, h";
};
template <>
struct Scalar<Bytes> : QuantityScalar<Bytes, parse_bytes> {
    static constexpr std::string_view kType = "bytes";
    static constexpr std::string_view kUnit = "B, KiB, MiB, GiB, TiB";
};
template <>
struct Scalar<Rate> : QuantityScalar<Rate, parse_rate> {
    static constexpr std::string_view kType = "bandwidth";
    static constexpr std::string_view kUnit = "B/s, MB/s, GB/s, TB/s";
};
template <>
struct Scalar<Frequency> : QuantityScalar<Frequency, parse_frequency> {
    static constexpr std::string_view kType = "frequency";
    static constexpr std::string_view kUnit = "Hz, kHz, MHz, GHz";
};
template <>
struct Scalar<TransferRate> : QuantityScalar<TransferRate, parse_transfer_rate> {
    static constexpr std::string_view kType = "transfer rate";
    static constexpr std::string_view kUnit = "MT/s, GT/s";
};
template <>
struct Scalar<ComputeRate> : QuantityScalar<ComputeRate, parse_compute_rate> {
    static constexpr std::string_view kType = "compute rate";
    static constexpr std::string_view kUnit = "GFLOP/s, TFLOP/s, PFLOP/s";
};
template <>
struct Scalar<Ratio> : QuantityScalar<Ratio, parse_ratio> {
    static constexpr std::string_view kType = "share";
    static constexpr std::string_view kUnit = "%";
};

/// A Form whose values are those that `legal` accepts; `range` says so to people.
template <class T>
[[nodiscard]] Form<T> bounded(std::function<bool(const T&)> legal, const std::string& range,
                              std::string unit, const std::vector<T>& examples) {
    Form<T> form;
    form.type = Scalar<T>::kType;
    form.unit = unit.empty() ? std::string(Scalar<T>::kUnit) : std::move(unit);
    form.range = range;
    form.parse = [legal, range](const Value& value) {
        const T parsed = Scalar<T>::parse(value);
        if (!legal(parsed)) {
            throw std::invalid_argument("'" + value.text + "' is out of range; use " + range);
        }
        return parsed;
    };
    form.print = [](const T& value) { return Scalar<T>::print(value); };
    for (const T& example : examples) form.examples.push_back(Scalar<T>::print(example));
    return form;
}

/// From low to high, both included. `unit` names what an integer counts.
template <class T>
[[nodiscard]] Form<T> between(std::type_identity_t<T> low, std::type_identity_t<T> high,
                              std::string unit = {}) {
    return bounded<T>([low, high](const T& v) { return low <= v && v <= high; },
                      Scalar<T>::print(low) + " to " + Scalar<T>::print(high), std::move(unit),
                      {low, high});
}

/// A power of two from low to high, both included (themselves powers of two).
template <class T>
[[nodiscard]] Form<T> power_of_two(T low, T high, std::string unit = {}) {
    const auto legal = [low, high](const T& v) {
        if (v < low || v > high) return false;
        if constexpr (std::is_integral_v<T>) {
            return std::has_single_bit(v);
        } else {
            return std::has_single_bit(v.count);
        }
    };
    return bounded<T>(legal,
                      Scalar<T>::print(low) + " to " + Scalar<T>::print(high) + ", a power of two",
                      std::move(unit), {low, high});
}

/// One of a few values.
template <class T>
[[nodiscard]] Form<T> one_of(std::vector<T> values, std::string unit = {}) {
    std::vector<std::string> texts;
    texts.reserve(values.size());
    for (const T& value : values) texts.push_back(Scalar<T>::print(value));
    const auto legal = [values](const T& v) {
        return std::find(values.begin(), values.end(), v) != values.end();
    };
    return bounded<T>(legal, join(texts), std::move(unit), values);
}

/// A form that also takes a number without a unit, as one of `unit` ("DDR5-5600").
[[nodiscard]] Form<TransferRate> with_bare_unit(Form<TransferRate> form, const std::string& unit);

/// true or false; YAML's other spellings (yes, on, ...) are refused.
[[nodiscard]] Form<bool> flag();
/// Any text that is not empty.
[[nodiscard]] Form<std::string> text();
/// A path; ${KVPLANE_SHARED} is the only variable in it.
[[nodiscard]] Form<FilePath> file_path();

/// Throws std::invalid_argument with the available names and the nearest.
[[noreturn]] void reject_choice(const std::string& text, std::span<const std::string> names);

/// One of the names of an enumeration: those whose behaviour is built.
template <class E>
[[nodiscard]] Form<E> choice(std::vector<std::pair<std::string, E>> names) {
    Form<E> form;
    form.type = "choice";
    for (const auto& [name, value] : names) form.examples.push_back(name);
    form.range = join(form.examples);
    form.parse = [names, texts = form.examples](const Value& value) {
        const std::string& text = scalar_text(value, "name");
        for (const auto& [name, meant] : names) {
            if (name == text) return meant;
        }
        reject_choice(text, texts);
    };
    form.print = [names](const E& value) {
        for (const auto& [name, meant] : names) {
            if (meant == value) return name;
        }
        throw std::logic_error("an enumerator lacks a name in its choice()");
    };
    return form;
}

}  // namespace kvplane::explore
