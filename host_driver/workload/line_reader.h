// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace kvplane::workload {

/// The lines of a text file, in order. Blank lines are left out; line ends may be LF or CRLF; a
/// byte order mark at the start is left out.
class LineReader {
public:
    /// Longer lines are rejected: no trace needs them, and memory is finite.
    static constexpr std::size_t kLongestLine = std::size_t{64} << 20;

    /// Throws UserError where the file cannot be opened.
    explicit LineReader(const std::string& path);

    /// Moves to the next line that is not blank; false at the end. Throws UserError where the file
    /// cannot be read, or a line is too long or not UTF-8.
    [[nodiscard]] bool next();
    /// The line without its end. Valid until the next call of next().
    [[nodiscard]] std::string_view line() const { return m_line; }
    /// Its number, from 1; after the last line, the number of lines.
    [[nodiscard]] int number() const { return m_number; }
    [[nodiscard]] const std::string& path() const { return m_path; }

    /// Throws UserError for this line.
    [[noreturn]] void fail(const std::string& message) const;

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    bool take_line();
    bool fill();

    std::string m_path;
    std::unique_ptr<std::FILE, Close> m_file;
    std::string m_buffer;
    std::size_t m_begin = 0;  ///< of what is not yet given out, in m_buffer
    std::size_t m_end = 0;
    std::string_view m_line;
    int m_number = 0;
};

/// Whether `text` is well-formed UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace kvplane::workload
