// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/json_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host_driver/workload/raw_trace.h"
#include "model/common/errors.h"

namespace kvplane::workload {

namespace {

constexpr std::size_t kUnknown = SIZE_MAX;
constexpr std::size_t kIds = SIZE_MAX - 1;
/// Longest piece of a trace that a message quotes.
constexpr std::size_t kLongestQuote = 60;

std::string quote(std::string_view text) {
    return fmt::format("'{}{}'", text.substr(0, kLongestQuote),
                       text.size() > kLongestQuote ? "..." : "");
}

/// The part of the library's message that says what is wrong, without its prefix and quotes.
std::string reason(std::string_view what) {
    const std::size_t start = what.find("syntax error");
    if (start != std::string_view::npos) what.remove_prefix(start);
    return std::string(what.substr(0, what.find("; last read")));
}

}  // namespace

/// Takes the parser's events: keys and values of the outer object, and the ids.
class JsonRecord::Handler final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit Handler(JsonRecord& record) : m_record(record) {}

    bool null() override { return put({.kind = JsonValue::Kind::kNull}); }
    bool boolean(bool) override { return put({.kind = JsonValue::Kind::kOther}); }
    bool number_integer(number_integer_t value) override {
        if (value >= 0) return number_unsigned(static_cast<number_unsigned_t>(value));  // -0
        return put({.kind = JsonValue::Kind::kNegative, .negative = value});
    }
    bool number_unsigned(number_unsigned_t value) override {
        if (m_depth == 2 && m_key == kIds && m_in_ids) {
            m_record.m_ids.push_back(value);
            return true;
        }
        return put({.kind = JsonValue::Kind::kUnsigned, .number = value});
    }
    bool number_float(number_float_t, const string_t& digits) override {
        return put({.kind = JsonValue::Kind::kFraction, .text = digits});
    }
    bool string(string_t& value) override {
        return put({.kind = JsonValue::Kind::kText, .text = value});
    }
    bool binary(binary_t&) override { return put({.kind = JsonValue::Kind::kOther}); }

    bool start_object(std::size_t) override {
        if (m_depth == 1) put({.kind = JsonValue::Kind::kOther});
        if (m_depth == 2 && m_in_ids) bad_id();
        ++m_depth;
        return true;
    }
    bool end_object() override { return --m_depth, true; }
    bool start_array(std::size_t) override {
        if (m_depth == 0) m_record.m_lines->fail("expected one JSON object on the line");
        if (m_depth == 2 && m_in_ids) bad_id();
        if (m_depth == 1 && m_key == kIds) {
            m_in_ids = true;
            m_record.m_has_ids = true;
        } else if (m_depth == 1) {
            put({.kind = JsonValue::Kind::kOther});
        }
        ++m_depth;
        return true;
    }
    bool end_array() override {
        if (--m_depth == 1) m_in_ids = false;
        return true;
    }
    bool key(string_t& name) override {
        if (m_depth == 1) take_key(name);
        return true;
    }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::json::exception& error) override {
        std::string at = m_name.empty() ? std::string{} : m_name.substr(0, kLongestQuote) + ": ";
        m_record.m_lines->fail(
            fmt::format("{}not valid JSON at column {}: {}", at, position, reason(error.what())));
    }

private:
    void take_key(const std::string& name) {
        if (std::find(m_seen.begin(), m_seen.end(), name) != m_seen.end()) {
            m_record.fail(name, "the key stands twice on the line");
        }
        m_seen.push_back(name);
        m_name = name;
        const auto& keys = m_record.m_schema.keys;
        const auto it = std::find(keys.begin(), keys.end(), name);
        m_key = it != keys.end() ? static_cast<std::size_t>(it - keys.begin()) : kUnknown;
        if (!m_record.m_schema.ids_key.empty() && name == m_record.m_schema.ids_key) m_key = kIds;
        if (m_key == kUnknown && !m_record.m_schema.other_keys) {
            m_record.fail(name, fmt::format("unknown key; known are {}{}{}", fmt::join(keys, ", "),
                                            m_record.m_schema.ids_key.empty() ? "" : ", ",
                                            m_record.m_schema.ids_key));
        }
    }
    bool put(JsonValue value) {
        if (m_depth == 0) m_record.m_lines->fail("expected one JSON object on the line");
        if (m_in_ids && m_depth == 2) bad_id();
        if (m_depth != 1 || m_key == kUnknown) return true;
        if (m_key == kIds) m_record.fail(m_name, "must be an array of ids");
        m_record.m_values[m_key] = std::move(value);
        return true;
    }
    [[noreturn]] void bad_id() const {
        m_record.fail(m_name, fmt::format("entry {} is not a whole number from 0 to {}",
                                          m_record.m_ids.size() + 1, UINT64_MAX));
    }

    JsonRecord& m_record;
    std::size_t m_depth = 0;
    std::size_t m_key = kUnknown;
    bool m_in_ids = false;
    std::string m_name;
    std::vector<std::string> m_seen;
};

JsonRecord::JsonRecord(JsonSchema schema) : m_schema(schema), m_values(schema.keys.size()) {}

void JsonRecord::parse(const LineReader& lines) {
    m_lines = &lines;
    m_ids.clear();
    m_has_ids = false;
    for (JsonValue& value : m_values) value.kind = JsonValue::Kind::kAbsent;
    Handler handler(*this);
    nlohmann::json::sax_parse(lines.line(), &handler);
}

bool JsonRecord::has(std::size_t key) const {
    const JsonValue::Kind kind = m_values[key].kind;
    return kind != JsonValue::Kind::kAbsent && kind != JsonValue::Kind::kNull;
}

std::uint64_t JsonRecord::whole(std::size_t key, std::uint64_t low, std::uint64_t high) const {
    const JsonValue& value = required(key);
    if (value.kind != JsonValue::Kind::kUnsigned || value.number < low || value.number > high) {
        fail(m_schema.keys[key],
             fmt::format("must be a whole number from {} to {}, not {}", low, high, shown(key)));
    }
    return value.number;
}

std::int64_t JsonRecord::integer(std::size_t key) const {
    const JsonValue& value = required(key);
    if (value.kind == JsonValue::Kind::kNegative) return value.negative;
    return static_cast<std::int64_t>(whole(key, 0, INT64_MAX));
}

const std::string& JsonRecord::text(std::size_t key) const {
    const JsonValue& value = required(key);
    if (value.kind != JsonValue::Kind::kText) {
        fail(m_schema.keys[key], fmt::format("must be a text, not {}", shown(key)));
    }
    return value.text;
}

Time JsonRecord::time(std::size_t key, int digits) const {
    const JsonValue& value = required(key);
    std::uint64_t ns = UINT64_MAX;
    if (value.kind == JsonValue::Kind::kUnsigned) {
        ns = scaled_decimal(fmt::format_int(value.number).c_str(), digits);
    } else if (value.kind == JsonValue::Kind::kFraction) {
        ns = scaled_decimal(value.text, digits);
    }
    if (ns > static_cast<std::uint64_t>(kLatestStamp.ps / 1000)) {
        fail(m_schema.keys[key],
             fmt::format("must be a time from 0 to 45 days after the start of the trace, not {}",
                         shown(key)));
    }
    return Time::from_ns(static_cast<std::int64_t>(ns));
}

std::span<const std::uint64_t> JsonRecord::ids() const {
    if (!m_has_ids) fail(m_schema.ids_key, "missing");
    return m_ids;
}

void JsonRecord::fail(std::string_view key, std::string_view message) const {
    m_lines->fail(fmt::format("{}: {}", key.substr(0, kLongestQuote), message));
}

const JsonValue& JsonRecord::required(std::size_t key) const {
    if (m_values[key].kind == JsonValue::Kind::kAbsent) fail(m_schema.keys[key], "missing");
    return m_values[key];
}

std::string JsonRecord::shown(std::size_t key) const {
    const JsonValue& value = m_values[key];
    switch (value.kind) {
        case JsonValue::Kind::kUnsigned:
            return std::to_string(value.number);
        case JsonValue::Kind::kNegative:
            return std::to_string(value.negative);
        case JsonValue::Kind::kFraction:
            return value.text.substr(0, kLongestQuote);
        case JsonValue::Kind::kText:
            return quote(value.text);
        case JsonValue::Kind::kNull:
            return "null";
        case JsonValue::Kind::kAbsent:
        case JsonValue::Kind::kOther:
            return "a value of another type";
    }
    throw InvariantError("JsonRecord: unknown kind of value");
}

std::uint64_t scaled_decimal(std::string_view text, int digits) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    Uint128 value = 0;
    std::size_t i = 0;
    bool point = false;
    bool any = false;
    for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point)); ++i) {
        if (text[i] == '.') {
            point = true;
            continue;
        }
        any = true;
        if (point && value > (static_cast<Uint128>(1) << 100)) continue;
        if (value > (static_cast<Uint128>(1) << 120)) return UINT64_MAX;
        value = value * 10 + static_cast<unsigned>(text[i] - '0');
        if (point) --digits;
    }
    if (!any) return UINT64_MAX;
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        const bool minus = i + 1 < text.size() && text[i + 1] == '-';
        i += 1 + (minus || (i + 1 < text.size() && text[i + 1] == '+') ? 1U : 0U);
        int exponent = 0;
        if (i == text.size()) return UINT64_MAX;
        for (; i < text.size() && is_digit(text[i]); ++i) {
            exponent = std::min(10'000, exponent * 10 + (text[i] - '0'));
        }
        digits += minus ? -exponent : exponent;
    }
    if (i != text.size()) return UINT64_MAX;
    for (; digits > 0 && value != 0; --digits) {
        if (value > UINT64_MAX) return UINT64_MAX;
        value *= 10;
    }
    for (; digits < 0 && value != 0; ++digits) value /= 10;
    return value > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(value);
}

}  // namespace kvplane::workload
