// SPDX-License-Identifier: Apache-2.0
/// One line of a JSON-lines trace: a flat object whose known keys hold numbers, and one of them an
/// array of ids.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host_driver/workload/line_reader.h"
#include "model/common/units.h"

namespace kvplane::workload {

/// What a trace's lines hold.
struct JsonSchema {
    std::span<const std::string_view> keys;  ///< of numbers and texts
    std::string_view ids_key;                ///< of the array of ids; empty where there is none
    bool other_keys = false;                 ///< whether unknown keys are ignored or rejected
};

/// A value of a known key.
struct JsonValue {
    enum class Kind { kAbsent, kNull, kUnsigned, kNegative, kFraction, kText, kOther };
    Kind kind = Kind::kAbsent;
    std::uint64_t number = 0;   ///< of kUnsigned
    std::int64_t negative = 0;  ///< of kNegative
    std::string text{};         ///< of kText; the digits of kFraction
};

/// Parses line after line into the same memory. Every error is a UserError that names file, line
/// and key.
class JsonRecord {
public:
    explicit JsonRecord(JsonSchema schema);

    /// Reads the current line of `lines`, which must outlive the use of what is read.
    void parse(const LineReader& lines);

    /// Whether the key of that index (in JsonSchema::keys) is there and not null.
    [[nodiscard]] bool has(std::size_t key) const;
    /// A whole number in [low, high]. The key is required.
    [[nodiscard]] std::uint64_t whole(std::size_t key, std::uint64_t low, std::uint64_t high) const;
    /// A whole number that may be negative. The key is required.
    [[nodiscard]] std::int64_t integer(std::size_t key) const;
    /// A text. The key is required.
    [[nodiscard]] const std::string& text(std::size_t key) const;
    /// A point in time, from 0 to kLatestStamp, in units of 10^digits ns (6: ms, 9: s). Decimals
    /// down to a nanosecond are read exactly; finer ones are rounded down. The key is required.
    [[nodiscard]] Time time(std::size_t key, int digits) const;
    /// The ids. The key is required, and its values are whole numbers of 64 bits.
    [[nodiscard]] std::span<const std::uint64_t> ids() const;
    [[nodiscard]] bool has_ids() const { return m_has_ids; }

    /// Throws UserError "FILE:LINE: KEY: MESSAGE".
    [[noreturn]] void fail(std::string_view key, std::string_view message) const;

private:
    class Handler;

    [[nodiscard]] const JsonValue& required(std::size_t key) const;
    [[nodiscard]] std::string shown(std::size_t key) const;

    JsonSchema m_schema;
    const LineReader* m_lines = nullptr;
    std::vector<JsonValue> m_values;
    std::vector<std::uint64_t> m_ids;
    bool m_has_ids = false;
};

/// A decimal number such as "61.114" or "6.1e1" in units of 10^-digits, rounded down; UINT64_MAX
/// where it is not such a number, is negative or does not fit.
[[nodiscard]] std::uint64_t scaled_decimal(std::string_view text, int digits);

}  // namespace kvplane::workload
