// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/line_reader.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/host_driver/workload/trace_file.h"

namespace kvplane::workload {
namespace {

std::vector<std::pair<int, std::size_t>> lines_of(const std::string& content) {
    const test::TraceFile file(content);
    LineReader lines(file.path());
    std::vector<std::pair<int, std::size_t>> out;
    while (lines.next()) out.emplace_back(lines.number(), lines.line().size());
    return out;
}

TEST(LineReaderTest, GivesLinesOfAnyLengthWithTheirNumbers) {
    // Lengths around the first buffer of 2^18 bytes, so that lines begin and end at its edges.
    for (const std::size_t length : {262'142U, 262'143U, 262'144U, 262'145U, 600'000U}) {
        const std::string line(length, 'x');
        const auto got = lines_of("ab\n" + line + "\n\n" + line + "\r\nc");
        const std::vector<std::pair<int, std::size_t>> expected{
            {1, 2}, {2, length}, {4, length}, {5, 1}};
        EXPECT_EQ(got, expected) << length;
    }
}

TEST(LineReaderTest, RejectsLinesWithoutEnd) {
    const test::TraceFile file("a\n");
    std::filesystem::resize_file(file.path(), 2 * LineReader::kLongestLine);  // zeros, no line end
    const std::string error = test::user_error(file.path(), [&] {
        LineReader lines(file.path());
        while (lines.next()) {
        }
        return 0;
    });
    EXPECT_EQ(error, ":2: the line is longer than 67108864 bytes");
}

TEST(LineReaderTest, KnowsUtf8) {
    for (const char* good : {"", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                             "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
        EXPECT_TRUE(is_utf8(good)) << good;
    }
    for (const char* bad :
         {"\x80", "\xc3", "\xc3(", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe2\x82",
          "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff"}) {
        EXPECT_FALSE(is_utf8(bad)) << bad;
    }
}

}  // namespace
}  // namespace kvplane::workload
