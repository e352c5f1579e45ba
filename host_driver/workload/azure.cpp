// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/azure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "host_driver/workload/json_record.h"
#include "host_driver/workload/line_reader.h"
#include "host_driver/workload/prompt.h"
#include "model/common/random.h"

namespace kvplane::workload {
namespace {

constexpr std::string_view kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr std::size_t kDateLength = 19;  // 2023-11-16 18:17:03

/// The decimal digits at [first, first + count).
std::optional<int> digits(std::string_view text, std::size_t first, std::size_t count) {
    int value = 0;
    const char* begin = text.data() + first;
    const auto [end, error] = std::from_chars(begin, begin + count, value);
    if (error != std::errc{} || end != begin + count || value < 0) return std::nullopt;
    return value;
}

/// Seconds since 1970 of "2023-11-16 18:17:03".
std::optional<std::int64_t> parse_date(std::string_view text) {
    constexpr std::string_view kShape = "dddd-dd-dd dd:dd:dd";
    if (text.size() < kDateLength) return std::nullopt;
    for (std::size_t i = 0; i < kDateLength; ++i) {
        const bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (kShape[i] == 'd' ? !is_digit : text[i] != kShape[i]) return std::nullopt;
    }
    const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
    const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2),
               second = digits(text, 17, 2);
    const std::chrono::year_month_day date{std::chrono::year{*year},
                                           std::chrono::month{static_cast<unsigned>(*month)},
                                           std::chrono::day{static_cast<unsigned>(*day)}};
    // Later years do not fit 64 bits of nanoseconds.
    const bool in_range = *year >= 1970 && *year < 2200;
    if (!in_range || !date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
    const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
    return ((days * 24 + *hour) * 60 + *minute) * 60 + *second;
}

/// Nanoseconds since 1970.
std::optional<std::int64_t> parse_stamp(std::string_view text) {
    const std::optional<std::int64_t> seconds = parse_date(text);
    if (!seconds) return std::nullopt;
    std::string_view rest = text.substr(kDateLength);
    if (rest.ends_with("+00:00")) rest.remove_suffix(6);
    std::uint64_t fraction = 0;
    if (!rest.empty()) {
        const bool only_digits = rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
        if (rest[0] != '.' || rest.size() < 2 || !only_digits) return std::nullopt;
        fraction = scaled_decimal(rest, 9);
    }
    return *seconds * 1'000'000'000 + static_cast<std::int64_t>(fraction);
}

/// A row of the file.
struct Row {
    std::int64_t stamp_ns = 0;
    std::uint32_t input_tokens = 0;
    std::uint32_t output_tokens = 0;
    int line = 0;
};

std::uint32_t parse_tokens(const LineReader& lines, std::string_view column,
                           std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 1 ||
        value > kMostTokens) {
        lines.fail(fmt::format("{}: must be a whole number from 1 to {}, not '{}'", column,
                               kMostTokens, text.substr(0, 40)));
    }
    return static_cast<std::uint32_t>(value);
}

Row parse_row(const LineReader& lines) {
    const std::string_view line = lines.line();
    const std::size_t first = line.find(',');
    const std::size_t second = first == line.npos ? line.npos : line.find(',', first + 1);
    if (second == line.npos || line.find(',', second + 1) != line.npos) {
        lines.fail(fmt::format("expected the three columns {}", kHeader));
    }
    const std::string_view stamp = line.substr(0, first);
    const std::optional<std::int64_t> ns = parse_stamp(stamp);
    if (!ns) {
        lines.fail(fmt::format("TIMESTAMP: must be as 2023-11-16 18:17:03.9799600, not '{}'",
                               stamp.substr(0, 40)));
    }
    return {.stamp_ns = *ns,
            .input_tokens =
                parse_tokens(lines, "ContextTokens", line.substr(first + 1, second - first - 1)),
            .output_tokens = parse_tokens(lines, "GeneratedTokens", line.substr(second + 1)),
            .line = lines.number()};
}

std::vector<Row> read_rows(const std::string& path) {
    LineReader lines(path);
    std::vector<Row> rows;
    if (!lines.next()) return rows;
    if (lines.line() != kHeader) lines.fail(fmt::format("expected the header {}", kHeader));
    while (lines.next()) rows.push_back(parse_row(lines));
    return rows;
}

/// Draws which session a request continues.
class SessionDraw {
public:
    SessionDraw(const AzureConfig& config, std::uint64_t seed)
        : m_config(config), m_random(seed, "workload.azure.sessions") {}

    struct Session {
        PromptWriter::Context context;
        std::uint32_t tokens = 0;  ///< of its context
        Time last;
    };

    /// The index of the session of a request: an old one, or that of a new one at the end.
    std::size_t draw(const RawRequest& request) {
        const bool continues = m_random.uniform(1000) < m_config.continue_permille;
        m_fitting.clear();
        for (std::size_t i = 0; continues && i < m_sessions.size(); ++i) {
            if (fits(m_sessions[i], request)) m_fitting.push_back(i);
        }
        if (!m_fitting.empty()) return m_fitting[m_random.uniform(m_fitting.size())];
        m_sessions.emplace_back();
        return m_sessions.size() - 1;
    }
    Session& operator[](std::size_t index) { return m_sessions[index]; }

private:
    [[nodiscard]] bool fits(const Session& session, const RawRequest& request) const {
        return request.stamp - session.last <= m_config.longest_idle &&
               session.tokens < request.input_tokens &&
               std::uint64_t{session.tokens} * 2 >= request.input_tokens;
    }

    AzureConfig m_config;
    RandomStream m_random;
    std::vector<Session> m_sessions;
    std::vector<std::size_t> m_fitting;
};

}  // namespace

RawTrace read_azure(const std::string& path, const AzureConfig& config, std::uint64_t seed) {
    check_range("azure", "tokens_per_id", config.tokens_per_id, 1, kMostTokens);
    check_range("azure", "continue_permille", config.continue_permille, 0, 1000);
    const std::vector<Row> rows = read_rows(path);
    RawTrace trace{.path = path, .tokens_per_id = config.tokens_per_id};
    if (rows.empty()) return trace;
    const auto earliest =
        std::min_element(rows.begin(), rows.end(),
                         [](const Row& a, const Row& b) { return a.stamp_ns < b.stamp_ns; });
    PromptWriter writer(trace, 0);
    SessionDraw sessions(config, seed);
    for (const Row& row : rows) {
        const std::int64_t ns = row.stamp_ns - earliest->stamp_ns;
        if (ns > kLatestStamp.ps / 1000) {
            throw UserError(path, row.line, "TIMESTAMP: more than 45 days after the earliest");
        }
        RawRequest request{.stamp = Time::from_ns(ns),
                           .input_tokens = row.input_tokens,
                           .output_tokens = row.output_tokens,
                           .line = row.line};
        const std::size_t index = sessions.draw(request);
        SessionDraw::Session& session = sessions[index];
        request.session = static_cast<std::uint32_t>(index + 1);
        writer.append(request, session.context);
        session.tokens = request.input_tokens + request.output_tokens;
        session.last = request.stamp;
    }
    return trace;
}

}  // namespace kvplane::workload
