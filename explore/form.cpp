// SPDX-License-Identifier: Apache-2.0
#include "explore/form.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace kvplane::explore {
namespace {

[[noreturn]] void reject(const std::string& why) { throw std::invalid_argument(why); }

bool all_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Text on one line, as every message and every comment needs it.
const std::string& plain_text(const Value& value, std::string_view type) {
    const std::string& text = scalar_text(value, type);
    if (text.empty()) reject("is empty");
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20) reject("holds a control character");
    }
    return text;
}

}  // namespace

const std::string& scalar_text(const Value& value, std::string_view type) {
    const std::string_view article =
        std::string_view("aeiou").find(type.front()) == std::string_view::npos ? "a" : "an";
    switch (value.kind) {
        case Value::Kind::kScalar:
            return value.text;
        case Value::Kind::kNull:
            reject(fmt::format("has no value; it needs {} {}", article, type));
        case Value::Kind::kList:
            reject(fmt::format("is a list; it needs {} {}", article, type));
        case Value::Kind::kMap:
            reject(fmt::format("is a mapping; it needs {} {}", article, type));
    }
    throw std::logic_error("a Value of no kind");
}

std::uint64_t parse_integer(const Value& value, std::uint64_t largest) {
    const std::string& text = scalar_text(value, "integer");
    if (value.quoted) reject(fmt::format("\"{}\" is text; write the number without quotes", text));
    if (!all_digits(text)) reject(fmt::format("'{}' is not a whole number (digits only)", text));
    if (text.size() > 1 && text.front() == '0') {
        reject(fmt::format("'{}' starts with 0, which some read as octal; leave the 0 away", text));
    }
    std::uint64_t number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (result.ec != std::errc() || number > largest) {
        reject(fmt::format("'{}' is too large; the largest is {}", text, largest));
    }
    return number;
}

double Scalar<double>::parse(const Value& value) {
    const std::string& text = scalar_text(value, kType);
    const std::size_t point = text.find('.');
    const std::string_view whole = std::string_view(text).substr(0, point);
    const bool decimals = point == std::string::npos || all_digits(text.substr(point + 1));
    if (value.quoted || !all_digits(whole) || !decimals) {
        reject(fmt::format("'{}' is not a number (digits, with or without a decimal point)", text));
    }
    if (whole.size() > 1 && whole.front() == '0') {
        reject(fmt::format("'{}' starts with 0; leave it away", text));
    }
    double number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (result.ec != std::errc()) reject(fmt::format("'{}' is too large or too fine", text));
    return number;
}

std::string Scalar<double>::print(double value) {
    // The longest: 309 digits, or 0. and 1,074 digits; ranges keep far below both.
    std::array<char, 1100> text{};
    const auto result =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    return {text.data(), result.ptr};
}

Form<TransferRate> with_bare_unit(Form<TransferRate> form, const std::string& unit) {
    form.unit += "; a bare number is " + unit;
    form.parse = [parse = form.parse, unit](const Value& value) {
        if (!all_digits(value.text)) return parse(value);
        Value with_unit = value;
        with_unit.text += " " + unit;
        return parse(with_unit);
    };
    return form;
}

Form<bool> flag() {
    Form<bool> form;
    form.type = "flag";
    form.range = "true, false";
    form.examples = {"true", "false"};
    form.parse = [](const Value& value) {
        const std::string& text = scalar_text(value, "flag");
        if (!value.quoted && text == "true") return true;
        if (!value.quoted && text == "false") return false;
        reject(fmt::format("'{}' is not a flag; use true or false", text));
    };
    form.print = [](const bool& value) { return value ? "true" : "false"; };
    return form;
}

Form<std::string> text() {
    Form<std::string> form;
    form.type = "text";
    form.range = "any";
    form.examples = {"\"a name\"", "\"another name\""};
    form.parse = [](const Value& value) { return plain_text(value, "text"); };
    form.print = [](const std::string& value) { return yaml_quote(value); };
    return form;
}

Form<FilePath> file_path() {
    Form<FilePath> form;
    form.type = "path";
    form.range = "any; relative to the working directory; ${KVPLANE_SHARED} expands";
    form.examples = {"\"${KVPLANE_SHARED}/a.jsonl\"", "\"b.jsonl\""};
    form.parse = [](const Value& value) {
        FilePath path{plain_text(value, "path")};
        std::string rest = path.text;
        for (std::size_t at; (at = rest.find("${KVPLANE_SHARED}")) != std::string::npos;) {
            rest.erase(at, std::string_view("${KVPLANE_SHARED}").size());
        }
        if (rest.find("${") != std::string::npos) {
            reject(
                fmt::format("'{}' uses a variable that does not expand; only "
                            "${{KVPLANE_SHARED}} does",
                            path.text));
        }
        return path;
    };
    form.print = [](const FilePath& value) { return yaml_quote(value.text); };
    return form;
}

void reject_choice(const std::string& text, std::span<const std::string> names) {
    std::string message = fmt::format("'{}' is not available; ", text);
    message += names.size() == 1 ? fmt::format("only {} is", names.front())
                                 : fmt::format("use one of {}", join(names));
    const std::string near = nearest(text, names);
    if (!near.empty()) message += fmt::format(" (did you mean '{}'?)", near);
    reject(message);
}

}  // namespace kvplane::explore
