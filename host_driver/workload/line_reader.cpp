// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/line_reader.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "model/common/errors.h"

namespace kvplane::workload {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kFirstBuffer = std::size_t{1} << 18;

std::string why(int error) { return std::generic_category().message(error); }

}  // namespace

bool is_utf8(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size()) {
        const auto lead = static_cast<unsigned char>(text[i]);
        if (lead < 0x80) {
            ++i;
            continue;
        }
        const std::size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
        if (lead < 0xc2 || lead > 0xf4 || i + more >= text.size()) return false;
        std::uint32_t code = lead & (0x3fU >> more);
        for (std::size_t k = 1; k <= more; ++k) {
            const auto byte = static_cast<unsigned char>(text[i + k]);
            if ((byte & 0xc0) != 0x80) return false;
            code = code << 6 | (byte & 0x3fU);
        }
        constexpr std::uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
        const bool surrogate = code >= 0xd800 && code <= 0xdfff;
        if (code < kSmallest[more] || code > 0x10ffff || surrogate) return false;
        i += more + 1;
    }
    return true;
}

LineReader::LineReader(const std::string& path)
    : m_path(path), m_file(std::fopen(path.c_str(), "rb")), m_buffer(kFirstBuffer, '\0') {
    if (m_file == nullptr) {
        throw UserError(fmt::format("{}: cannot open the trace: {}", path, why(errno)));
    }
}

bool LineReader::next() {
    while (take_line()) {
        if (m_number == 1 && m_line.starts_with(kByteOrderMark)) {
            m_line.remove_prefix(kByteOrderMark.size());
        }
        if (m_line.find_first_not_of(" \t") == std::string_view::npos) continue;
        if (!is_utf8(m_line)) fail("the line is not UTF-8 text");
        return true;
    }
    return false;
}

void LineReader::fail(const std::string& message) const {
    throw UserError(m_path, m_number, message);
}

bool LineReader::take_line() {
    std::size_t searched = 0;
    for (;;) {
        const char* start = m_buffer.data() + m_begin;
        const std::size_t size = m_end - m_begin;
        const void* found = std::memchr(start + searched, '\n', size - searched);
        if (found != nullptr || (!fill() && m_begin != m_end)) {
            start = m_buffer.data() + m_begin;
            const std::size_t length =
                found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - start)
                                 : m_end - m_begin;
            m_begin += length + (found != nullptr ? 1 : 0);
            m_line = {start, length};
            if (m_line.ends_with('\r')) m_line.remove_suffix(1);
            ++m_number;
            return true;
        }
        if (m_begin == m_end) return false;
        searched = size;
    }
}

/// Appends what the file gives next to the buffer; false at its end.
bool LineReader::fill() {
    std::memmove(m_buffer.data(), m_buffer.data() + m_begin, m_end - m_begin);
    m_end -= m_begin;
    m_begin = 0;
    if (m_end > kLongestLine) {
        throw UserError(m_path, m_number + 1,
                        fmt::format("the line is longer than {} bytes", kLongestLine));
    }
    if (m_end == m_buffer.size()) m_buffer.resize(2 * m_buffer.size());
    const std::size_t room = m_buffer.size() - m_end;
    const std::size_t count = std::fread(m_buffer.data() + m_end, 1, room, m_file.get());
    if (count == 0 && std::ferror(m_file.get()) != 0) {
        throw UserError(fmt::format("{}: cannot read the trace: {}", m_path, why(errno)));
    }
    m_end += count;
    return count > 0;
}

}  // namespace kvplane::workload
